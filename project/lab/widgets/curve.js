// A point on the curve of a function, its tangent and the secant of the central difference; beside it, the error for every epsilon.
// All values are from tables: nothing is computed here but the places of lines on the screen.

const WIDTH = 480, HEIGHT = 270, LEFT = 52, BOTTOM = 242, TOP = 12, RIGHT = 470, REACH = 2, LEAST = 1e-17;

export default function ({parentElement, data, setTriggerValue}) {
  const root = parentElement.querySelector(".figure"), curve = root.curve = root.curve || build(root);
  curve.data = data;
  curve.sent = unanswered(curve.sent, [data.place, data.epsilon]);
  if (!curve.sent && !root.querySelector(".held")) Object.assign(curve, {place: data.place, epsilon: data.epsilon});
  const send = () => {
    curve.sent = awaiting([curve.place, curve.epsilon]);
    setTriggerValue("moved", {places: curve.place, epsilons: curve.epsilon});
  };
  const nearest = (values, x) => values.reduce((best, value, i) => Math.abs(value - x) < Math.abs(values[best] - x) ? i : best, 0);
  const go = (place) => { curve.place = clamp(place, 0, data.places.length - 1); redraw(curve); };
  const choose = (epsilon) => { curve.epsilon = clamp(epsilon, 0, data.epsilons.length - 1); redraw(curve); };
  drag(curve.point, {drop: send, step: ([right, up]) => go(curve.place + right + up),
    move: (event) => go(nearest(data.places, curve.x.back(pointerAt(event, curve.plane, WIDTH, HEIGHT)[0])))});
  drag(curve.mark, {drop: send, step: ([right, up]) => choose(curve.epsilon - right - up),
    move: (event) => choose(nearest(data.epsilons.map(Math.log10), Math.log10(curve.e.back(pointerAt(event, curve.errors, WIDTH, HEIGHT)[0]))))});
  redraw(curve);
}

function build(root) {
  const [plane, errors] = root.querySelectorAll("svg"), layers = (parent) => [svg(parent, "g", {}), svg(parent, "g", {})];
  const handle = (parent, label) => {
    const made = svg(parent, "g", {class: "handle", tabindex: 0, role: "slider", "aria-label": label});
    svg(made, "circle", {class: "reach", r: 24});
    svg(made, "circle", {r: 7});
    return made;
  };
  const [axes, lines] = layers(plane), [scale, dots] = layers(errors);
  return {plane, errors, axes, lines, scale, dots, center: null, point: handle(plane, "Point on the curve"), mark: handle(errors, "epsilon"),
    read: (name, text) => { root.querySelector(`.${name}`).textContent = text; }};
}

// Scales

// From a range of values to one of pixels; logarithmic if asked for
function scaled(low, high, from, to, log = false) {
  const f = log ? Math.log10 : (v) => v, [a, b] = [f(low), f(high)];
  const to_pixel = (value) => from + (f(value) - a) / (b - a) * (to - from);
  to_pixel.back = (pixel) => { const v = a + (pixel - from) / (to - from) * (b - a); return log ? 10 ** v : v; };
  return to_pixel;
}

// At most about `count` round numbers of a range
function ticks(low, high, count) {
  const power = 10 ** Math.floor(Math.log10((high - low) / count));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => (high - low) / each <= count);
  return Array.from({length: Math.floor(high / step) - Math.ceil(low / step) + 1}, (_, i) => (Math.ceil(low / step) + i) * step);
}

const short = (value, digits = 6) => value === null ? "-" : String(Number(value.toPrecision(digits)));

// Drawing

function path(points, x, y) {
  let pen = "M";
  return points.map(([a, b]) => {
    if (b === null) { pen = "M"; return ""; }
    const text = `${pen}${x(a).toFixed(1)} ${clamp(y(b), -4000, 4000).toFixed(1)}`;
    pen = "L";
    return text;
  }).join("");
}

function axes(parent, x, xs, y, ys, name) {
  parent.replaceChildren();
  for (const value of xs) {
    svg(parent, "line", {class: value ? "axis" : "axis zero", x1: x(value), x2: x(value), y1: TOP, y2: BOTTOM});
    svg(parent, "text", {class: "label middle", x: x(value), y: BOTTOM + 17}).textContent = name(value);
  }
  for (const value of ys) {
    svg(parent, "line", {class: value ? "axis" : "axis zero", x1: LEFT, x2: RIGHT, y1: y(value), y2: y(value)});
    svg(parent, "text", {class: "label right", x: LEFT - 6, y: y(value) + 4}).textContent = name(value);
  }
}

function redraw(curve) {
  const {data, place, epsilon} = curve, x0 = data.places[place], h = data.epsilons[epsilon];
  const value = (x) => { // of the curve, between two of its points
    const t = (x - data.around[0]) / (data.around[1] - data.around[0]), i = clamp(Math.floor(t + 1e-9), 0, data.around.length - 2);
    const [a, b] = [data.heights[i], data.heights[i + 1]], part = t - i;
    return Math.abs(part) < 1e-6 ? a : a === null || b === null ? null : a + (b - a) * part;
  };
  const height = value(x0), numeric = data.numeric[epsilon][place], slope = data.slopes ? data.slopes[place] : null;
  const edge = REACH - 0.5; // the picture moves only when the point is near its edge
  curve.center = curve.center === null ? x0 : clamp(curve.center, x0 - edge, x0 + edge);
  const low = curve.center - REACH, high = curve.center + REACH, inside = data.around.map((x, i) => [x, data.heights[i]]);
  const seen = inside.filter(([x, y]) => y !== null && x >= low && x <= high).map(([, y]) => y);
  const [least, most] = seen.length ? [Math.min(...seen), Math.max(...seen)] : [0, 1], margin = 0.1 * (most - least) || 1;
  const x = curve.x = scaled(low, high, LEFT, RIGHT), y = scaled(least - margin, most + margin, BOTTOM, TOP);
  axes(curve.axes, x, ticks(low, high, 6), y, ticks(least - margin, most + margin, 6), (v) => short(v, 4));
  curve.lines.replaceChildren();
  const plot = svg(curve.lines, "svg", {x: LEFT, y: TOP, width: RIGHT - LEFT, height: BOTTOM - TOP, viewBox: `${LEFT} ${TOP} ${RIGHT - LEFT} ${BOTTOM - TOP}`});
  const line = (name, at, b) => b !== null && svg(plot, "path", {class: name, d: path([low, high].map((v) => [v, at + b * (v - x0)]), x, y)});
  svg(plot, "path", {class: "curve", d: path(inside, x, y)});
  const ends = [x0 - h, x0 + h].map((at) => [at, value(at)]).filter(([, b]) => b !== null);
  if (ends.length === 2) line("secant", (ends[0][1] + ends[1][1]) / 2, numeric);
  if (height !== null) line("tangent", height, slope);
  for (const [a, b] of ends) svg(plot, "circle", {class: "end", r: 4.5, cx: x(a), cy: y(b)});
  set(curve.point, {transform: `translate(${x(x0)} ${height === null ? BOTTOM : clamp(y(height), TOP, BOTTOM)})`, "aria-valuenow": x0,
    "aria-valuemin": data.places[0], "aria-valuemax": data.places.at(-1), "aria-valuetext": `x = ${short(x0)}, f(x) = ${short(height)}`});
  const away = numeric === null || slope === null ? null : Math.abs(numeric - slope);
  const texts = {x: short(x0), height: height === null ? "undefined" : short(height), size: h.toExponential(0), numeric: short(numeric, 9),
    slope: short(slope, 9), away: away === null ? "-" : away.toExponential(2)};
  for (const [name, text] of Object.entries(texts)) curve.read(name, text);
  errors(curve, slope, away, texts.size);
}

function errors(curve, slope, away, size) {
  const {data, place, epsilon} = curve, sizes = data.epsilons, found = sizes.map((h, e) => [h, data.numeric[e][place]]);
  const points = found.map(([h, n]) => [h, n === null || slope === null ? null : Math.max(Math.abs(n - slope), LEAST)]);
  const known = points.map(([, error]) => error).filter((error) => error !== null);
  const low = Math.min(1e-12, ...known), high = Math.max(1, ...known);
  const x = curve.e = scaled(sizes.at(-1), sizes[0], LEFT, RIGHT, true), y = scaled(low / 3, high * 3, BOTTOM, TOP, true);
  const powers = Array.from({length: 30}, (_, i) => 10 ** (2 * i - 40)).filter((v) => v >= low / 3 && v <= high * 3);
  axes(curve.scale, x, sizes.filter((_, i) => i % 3 === 0), y, powers, (v) => v.toExponential(0));
  curve.dots.replaceChildren();
  svg(curve.dots, "path", {class: "curve", d: path(points, x, y)});
  set(curve.mark, {transform: `translate(${x(sizes[epsilon])} ${away === null ? BOTTOM : y(Math.max(away, LEAST))})`, "aria-valuenow": epsilon,
    "aria-valuemin": 0, "aria-valuemax": sizes.length - 1, "aria-valuetext": `${size}, error ${away === null ? "unknown" : away.toExponential(1)}`});
}
