// Points, a line that separates them, and the probability of label 1. The line has two handles: its position and its angle.

const SIDE = 400, CELLS = 30, ARM = 0.28, MOST = 10;

export default function ({parentElement, data, setTriggerValue}) {
  const root = parentElement.querySelector(".figure"), line = root.line = root.line || build(root);
  line.data = data;
  line.sent = unanswered(line.sent, data.weights);
  if (!line.sent && !root.querySelector(".held")) Object.assign(line, {weights: data.weights, at: nearest(data.weights, line.at)});
  const send = () => {
    line.sent = awaiting(line.weights);
    setTriggerValue("moved", line.weights);
  };
  const at = (event) => {
    const [x, y] = pointerAt(event, line.stage, 1, 1);
    return [clamp(x, 0, 1), clamp(1 - y, 0, 1)];
  };
  const move = (to) => { line.at = to; place(line, normal(line)); };
  const turn = (x, y) => place(line, [-y, x]); // a direction along the line
  drag(line.position, {move: (event) => move(at(event)), drop: send,
    step: ([right, up]) => move([clamp(line.at[0] + 0.01 * right, 0, 1), clamp(line.at[1] + 0.01 * up, 0, 1)])});
  drag(line.angle, {drop: send,
    move: (event) => {
      const [x, y] = pointerAt(event, line.stage, 1, 1);
      turn(line.side * (x - line.at[0]), line.side * (1 - y - line.at[1]));
    },
    step: ([right, up]) => {
      const [a, b] = normal(line), by = 0.03 * (up - right);
      turn(b * Math.cos(by) + a * Math.sin(by), b * Math.sin(by) - a * Math.cos(by));
    }});
  line.points.replaceChildren();
  line.marks = data.points.map(([x, y, label]) => label
    ? svg(line.points, "path", {d: `M${x * SIDE} ${(1 - y) * SIDE - 7}l6 11h-12z`, fill: data.marks[1]})
    : svg(line.points, "circle", {cx: x * SIDE, cy: (1 - y) * SIDE, r: 5, fill: data.marks[0]}));
  redraw(line);
}

function build(root) {
  const stage = root.querySelector("svg"), handle = (label) => {
    const made = svg(stage, "g", {class: "handle", tabindex: 0, role: "slider", "aria-label": label, "aria-valuemin": -180, "aria-valuemax": 180});
    svg(made, "circle", {class: "reach", r: 24});
    svg(made, "circle", {r: 8});
    return made;
  };
  const zero = svg(svg(stage, "svg", {width: SIDE, height: SIDE}), "line", {class: "zero"}), points = svg(stage, "g", {class: "points"});
  return {stage, zero, points, side: 1, at: [0.5, 0.5], angle: handle("Angle of the line"), position: handle("Position of the line"),
    map: root.querySelector("canvas"), read: (name, text) => { root.querySelector(`.${name}`).textContent = text; }};
}

// Geometry

const score = ([w1, w2, b], [x, y]) => w1 * x + w2 * y + b;

// The point of the line that is nearest to another one, inside of the square
function nearest(weights, [x, y]) {
  const [w1, w2] = weights, away = score(weights, [x, y]) / (w1 * w1 + w2 * w2 || 1);
  return [clamp(x - w1 * away, 0, 1), clamp(y - w2 * away, 0, 1)];
}

function normal({weights: [w1, w2]}) { return w1 || w2 ? [w1, w2] : [1, 0]; }

// Put the line through line.at, at right angles to a vector. The size of the weights, which makes the probability steep, stays.
function place(line, [x, y]) {
  const [w1, w2] = normal(line), size = Math.hypot(w1, w2), length = Math.hypot(x, y);
  if (!length) return;
  const found = [x * size / length, y * size / length];
  found.push(-score([...found, 0], line.at));
  const scale = Math.min(1, ...found.map((value) => MOST / Math.abs(value)));
  line.weights = found.map((value) => Math.round(100 * scale * value) / 100);
  redraw(line);
}

// Drawing

// A value of one of the tables, which hold the results of the functions for evenly spaced scores
function look(table, {low, step}, s) {
  const t = clamp((s - low) / step, 0, table.length - 1.001), i = Math.floor(t);
  return table[i] === null || table[i + 1] === null ? NaN : table[i] + (table[i + 1] - table[i]) * (t - i);
}

function redraw(line) {
  const {data, weights, at} = line, [w1, w2] = normal(line), size = Math.hypot(w1, w2);
  const p = (x) => { const found = look(data.probability, data, score(weights, x)); return found >= 0 ? Math.min(found, 1) : 0.5; };
  paint(line.map, Array.from({length: CELLS * CELLS}, (_, i) => p([(i % CELLS + 0.5) / CELLS, (Math.floor(i / CELLS) + 0.5) / CELLS])), CELLS, data.colors);
  let correct = 0, loss = 0;
  data.points.forEach(([x, y, label], i) => {
    const s = score(weights, [x, y]), good = (s > 0) === (label === 1);
    correct += good;
    loss += look(data.losses[label], data, s);
    line.marks[i].classList.toggle("wrong", !good);
  });
  const along = [w2 / size, -w1 / size], from = ([x, y]) => (t) => [(x + along[0] * t) * SIDE, (1 - y - along[1] * t) * SIDE];
  const away = score(weights, at) / (size * size), foot = [at[0] - w1 * away, at[1] - w2 * away]; // outside of the square if the line is
  const [[x1, y1], [x2, y2]] = [-9, 9].map(from(foot)), end = from(at), hold = ([x, y]) => `translate(${x} ${y})`;
  set(line.zero, {x1, y1, x2, y2, visibility: weights[0] || weights[1] ? "visible" : "hidden"});
  const inside = (side) => end(side * ARM).every((value) => value >= 0 && value <= SIDE);
  if (!line.angle.matches(".held") && !inside(line.side)) line.side = inside(-line.side) ? -line.side : line.side;
  set(line.position, {transform: hold(end(0))});
  set(line.angle, {transform: hold(end(line.side * ARM).map((value) => clamp(value, 0, SIDE)))});
  const text = `${weights[0]} · x₁ ${signed(weights[1])} · x₂ ${signed(weights[2])} > 0`, count = data.points.length;
  for (const handle of [line.position, line.angle]) set(handle, {"aria-valuetext": text, "aria-valuenow": Math.round(Math.atan2(w2, w1) * 180 / Math.PI)});
  line.read("correct", `${correct} of ${count}`);
  line.read("wrong", count - correct);
  line.read("loss", Number.isFinite(loss) ? (loss / count).toFixed(3) : "-");
  line.read("formula", text);
}

const signed = (value) => `${value < 0 ? "−" : "+"} ${Math.abs(value)}`;
