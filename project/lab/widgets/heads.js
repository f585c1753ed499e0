// Heat maps of attention weights: a row for each query, a column for each key. The query under the pointer is framed in all of them.

const SIZE = 280, FEW = 8; // with few positions, the weights are written into the cells

export default function ({parentElement, data, setTriggerValue}) {
  const root = parentElement.querySelector(".heads"), count = data.names.length, cell = SIZE / (count + 1);
  let query = data.query;
  const show = (row) => { query = clamp(row, 0, count - 1); parts.forEach((part, head) => follow(part, data, head, query, cell)); };
  const row = (event, map) => Math.floor(pointerAt(event, map, SIZE, SIZE)[1] / cell) - 1;
  const focused = [...root.querySelectorAll(".map")].indexOf(root.getRootNode().activeElement);
  const parts = data.weights.map((weights, head) => build(data, head, cell));
  root.replaceChildren(...parts.map(({part}) => part));
  for (const {map} of parts) {
    map.onpointermove = (event) => show(row(event, map));
    map.onpointerleave = () => show(data.query);
    map.onclick = (event) => setTriggerValue("query", clamp(row(event, map), 0, count - 1));
    map.onkeydown = (event) => {
      if (!(event.key in ARROWS)) return;
      show(query + ARROWS[event.key][0] - ARROWS[event.key][1]);
      setTriggerValue("query", query);
      event.preventDefault();
    };
  }
  show(data.query);
  if (focused >= 0) parts[focused]?.map.focus();
}

function build(data, head, cell) {
  const part = document.createElement("div"), title = document.createElement("h4"), {names} = data;
  part.className = names.length <= FEW ? "head few" : "head";
  title.textContent = data.titles[head];
  part.append(title);
  const map = svg(part, "svg", {class: "map", viewBox: `0 0 ${SIZE} ${SIZE}`, tabindex: 0, role: "slider", "aria-label": `Query of ${data.titles[head]}`,
    "aria-valuemin": 0, "aria-valuemax": names.length - 1});
  names.forEach((name, i) => {
    svg(map, "text", {x: (i + 1.5) * cell, y: cell / 2}).textContent = name;
    svg(map, "text", {x: cell / 2, y: (i + 1.5) * cell}).textContent = name;
    const end = data.causal ? i + 1 : names.length, y = (i + 1) * cell;
    for (let j = 0; j < end; j++) {
      const weight = data.weights[head][i][j], box = {x: (j + 1) * cell, y, width: cell, height: cell};
      svg(map, "rect", {class: "seen", ...box, "fill-opacity": names.length <= FEW ? 0.6 * weight : weight});
      if (names.length <= FEW) svg(map, "text", {x: box.x + cell / 2, y: y + cell / 2}).textContent = weight.toFixed(2);
    }
    if (end < names.length) svg(map, "rect", {class: "masked", x: (end + 1) * cell, y, width: (names.length - end) * cell, height: cell});
  });
  const frame = svg(map, "rect", {class: "query", x: cell, width: names.length * cell, height: cell});
  const strip = document.createElement("div"), words = document.createElement("p");
  strip.className = "strip";
  part.append(strip, words);
  return {part, map, frame, strip, words};
}

function follow({map, frame, strip, words}, data, head, query, cell) {
  const {names} = data, weights = data.weights[head][query], end = data.causal ? query + 1 : names.length;
  set(frame, {y: (query + 1) * cell});
  strip.replaceChildren(...names.map((name, j) => {
    const key = document.createElement("span"), masked = j >= end;
    key.className = masked ? "hidden" : "";
    key.style.setProperty("--tone", `${masked ? 0 : 60 * weights[j]}%`);
    key.append(name, Object.assign(document.createElement("small"), {textContent: masked ? "masked" : weights[j].toFixed(2)}));
    return key;
  }));
  const seen = weights.slice(0, end), most = seen.indexOf(Math.max(...seen));
  const vector = (values) => `(${values.map((value) => Number(value.toFixed(2))).join(", ")})`;
  const values = data.values?.[head];
  words.textContent = values
    ? `out[${query}] = ${seen.map((weight, j) => `${weight.toFixed(2)}·${vector(values[j])}`).join(" + ")}`
      + ` = ${vector(values[0].map((_, k) => seen.reduce((all, weight, j) => all + weight * values[j][k], 0)))}`
    : `Query ${query} '${names[query]}': most to ${most} '${names[most]}'`;
  set(map, {"aria-valuenow": query, "aria-valuetext": words.textContent});
}
