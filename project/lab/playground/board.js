// The board of the playground, drawn on one canvas: inputs, units with their heat maps, weights as lines, the output with the points, curves.
// The function below is called with every new state. While the network trains, the picture moves from the state before to the new one until
// the next arrives. What the pointer does becomes an event: add, delete, weight, bias or layers.

const UNIT = 44, TOP = 26, CURVES = 84, GAP = 60, HIT = 7, BELOW = 98; // BELOW: pixels under the canvas, for two lines of text

export default function render({parentElement, data, setTriggerValue}) {
  const root = parentElement.querySelector(".board"), canvas = root.querySelector("canvas");
  const board = root.board = root.board || {hover: null, pen: [0.5, 0.5], keys: false, arrived: 0};
  Object.assign(board, {data, send: (event) => setTriggerValue("event", {...event, serial: Date.now()})});
  const redraw = () => draw(root, canvas, board);
  if (!board.watching) {
    board.watching = new ResizeObserver(redraw);
    board.watching.observe(root);
    listen(root, canvas, board, redraw);
  }
  layerButtons(root, board);
  receive(board, data, redraw);
}

// Between two states

function receive(board, data, redraw) {
  const next = decode(data), shape = JSON.stringify([data.side, data.columns.map((column) => column.units.length), data.rival && data.rival.side]);
  const now = performance.now(), still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const span = data.running && !still && board.shape === shape ? Math.min(now - board.arrived, 700) : 0;
  Object.assign(board, {start: board.now, shape, arrived: now});
  cancelAnimationFrame(board.frame);
  const move = () => {
    const part = span ? Math.min((performance.now() - now) / span, 1) : 1;
    board.now = part < 1 ? mix(board.start, next, part) : next;
    redraw();
    if (part < 1) board.frame = requestAnimationFrame(move);
  };
  move();
}

function mix(from, to, part) {
  if (typeof to === "number") return from + (to - from) * part;
  if (to instanceof Uint8Array) return to.map((value, i) => Math.round(from[i] + (value - from[i]) * part));
  if (Array.isArray(to)) return to.map((each, i) => mix(from[i], each, part));
  return Object.fromEntries(Object.entries(to).map(([key, each]) => [key, mix(from[key], each, part)]));
}

function decode({columns, weights, output, rival}) { // the numbers that move
  const bytes = (map) => typeof map === "string" ? Uint8Array.from(atob(map), (c) => c.charCodeAt(0)) : map;
  const of = (read) => columns.map((column) => column.units.map(read));
  const maps = of((unit) => bytes(unit.map)), biases = of((unit) => unit.bias || 0);
  return {maps, weights, biases, output: bytes(output), other: rival ? bytes(rival.output) : []};
}

// Pictures

function picture(board, name, bytes, side) {
  const made = (board.pictures ??= {})[name] ??= document.createElement("canvas");
  if (made.width !== side) made.width = made.height = side;
  const context = made.getContext("2d"), image = context.createImageData(side, side), table = board.table ??= shades(board.data.colors);
  bytes.forEach((value, i) => {
    const row = side - 1 - Math.floor(i / side), at = 4 * (row * side + i % side); // the smallest x2 is at the bottom
    for (let part = 0; part < 4; part++) image.data[at + part] = table[4 * value + part];
  });
  context.putImageData(image, 0, 0);
  return made;
}

function shades(colors) { // red, green, blue and opacity of each byte
  const table = new Uint8Array(1024);
  for (let value = 0; value < 256; value++) table.set([...shade(value / 255, colors), 255], 4 * value);
  return table;
}

// Layout

function arrange(root, board) {
  const {data} = board, width = Math.max(root.clientWidth, 300), wide = width >= 390 + 60 * data.columns.length;
  const page = root.closest(".stMain") || document.scrollingElement;
  const top = root.querySelector(".stage").getBoundingClientRect().top + page.scrollTop, space = window.innerHeight - top - BELOW;
  const side = wide ? Math.min(420, width * 0.36, Math.max(200, space - TOP - 30 - CURVES - 22)) : Math.min(width - 20, 340);
  const total = side + 30 + CURVES, rows = Math.max(...data.columns.map((column) => column.units.length));
  const row = wide ? Math.min(90, Math.max(UNIT + 3, total / rows)) : UNIT + 12, network = rows * row;
  const step = Math.min(wide ? 190 : 110, (width - UNIT - 12 - (wide ? side + GAP : 0)) / Math.max(1, data.columns.length - (wide ? 0 : 1)));
  const columns = data.columns.map((column, c) => {
    const first = TOP + (wide ? (Math.max(network, total) - column.units.length * row) / 2 : 0);
    return {x: 6 + c * step, units: column.units.map((_, u) => first + u * row)};
  });
  const map = wide ? {x: width - side - 10, y: TOP} : {x: 10, y: TOP + network + 40}, curves = {x: map.x, y: map.y + side + 30, width: side};
  const other = data.rival ? {x: map.x, y: curves.y + CURVES + 50} : null;
  const height = 22 + Math.max(TOP + network, other ? other.y + side : curves.y + CURVES);
  return {width, height, side, columns, map, other, curves, wide};
}

// Ends of the line from unit i of a column to unit j of the next one; the last column leads to the output
function line(place, c, i, j) {
  const from = place.columns[c], next = place.columns[c + 1];
  const start = [from.x + UNIT, from.units[i] + UNIT / 2];
  if (next) return [start, [next.x, next.units[j] + UNIT / 2]];
  return [start, place.wide ? [place.map.x, place.map.y + place.side / 2] : [place.map.x + place.side / 2, place.map.y]];
}

const bend = ([[x0, y0], [x1, y1]], t) => { // a cubic curve with horizontal ends
  const s = 1 - t, middle = (x0 + x1) / 2;
  return [s * s * s * x0 + 3 * s * s * t * middle + 3 * s * t * t * middle + t * t * t * x1,
    s * s * s * y0 + 3 * s * s * t * y0 + 3 * s * t * t * y1 + t * t * t * y1];
};

// Drawing

function draw(root, canvas, board) {
  const {data} = board, place = board.place = arrange(root, board), ratio = window.devicePixelRatio || 1;
  if (canvas.width !== Math.round(place.width * ratio) || canvas.height !== Math.round(place.height * ratio)) {
    canvas.width = Math.round(place.width * ratio);
    canvas.height = Math.round(place.height * ratio);
    canvas.style.height = `${place.height}px`;
  }
  const style = getComputedStyle(root), pen = canvas.getContext("2d");
  board.ink = style.getPropertyValue("--st-text-color").trim() || "#222";
  board.paper = style.getPropertyValue("--st-background-color").trim() || "#fff";
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.fillStyle = board.paper;
  pen.fillRect(0, 0, place.width, place.height);
  pen.imageSmoothingEnabled = false;
  pen.font = `13px ${style.getPropertyValue("--st-font").trim() || "sans-serif"}`;
  drawWeights(pen, board, place);
  drawUnits(pen, board, place);
  const hovered = board.hover && board.hover.kind === "unit" ? board.hover : null;
  const shown = picture(board, "output", hovered ? board.now.maps[hovered.column][hovered.unit] : board.now.output, data.side);
  const title = hovered ? data.columns[hovered.column].units[hovered.unit].name : "Output: probability of label 1";
  drawMap(pen, board, place.map, shown, title);
  drawCurves(pen, board, place.curves);
  if (place.other) drawMap(pen, board, place.other, picture(board, "rival", board.now.other, data.rival.side), data.rival.title);
  placeButtons(root, board);
}

function drawWeights(pen, board, place) {
  const {data, hover, now} = board;
  now.weights.forEach((layer, c) => layer.forEach((row, i) => row.forEach((weight, j) => {
    const [[x0, y0], [x1, y1]] = line(place, c, i, j), middle = (x0 + x1) / 2;
    const active = hover && hover.kind === "weight" && hover.layer === c && hover.i === i && hover.j === j;
    pen.beginPath();
    pen.moveTo(x0, y0);
    pen.bezierCurveTo(middle, y0, middle, y1, x1, y1);
    pen.strokeStyle = active ? board.ink : rgb(weight < 0 ? data.colors[0] : data.colors[2]);
    pen.lineWidth = 0.6 + Math.min(6, 2.2 * Math.abs(weight));
    pen.globalAlpha = active ? 1 : 0.25 + 0.6 * Math.min(1, Math.abs(weight));
    pen.stroke();
  })));
  pen.globalAlpha = 1;
}

function drawUnits(pen, board, place) {
  board.data.columns.forEach((column, c) => {
    pen.textAlign = "center";
    column.units.forEach((unit, u) => {
      const x = place.columns[c].x, y = place.columns[c].units[u];
      pen.drawImage(picture(board, `${c} ${u}`, board.now.maps[c][u], board.data.side), x, y, UNIT, UNIT);
      const active = board.hover && board.hover.kind === "unit" && board.hover.column === c && board.hover.unit === u;
      pen.strokeStyle = board.ink;
      pen.lineWidth = active ? 2.5 : 1;
      pen.strokeRect(x, y, UNIT, UNIT);
      pen.fillStyle = board.ink;
      if (c === 0) { // in the picture, so that the units may be close together
        const width = pen.measureText(unit.label).width + 6;
        pen.fillStyle = board.paper;
        pen.fillRect(x + 1, y + 1, width, 17);
        pen.fillStyle = board.ink;
        pen.fillText(unit.label, x + 1 + width / 2, y + 14);
      } else { // its bias, a small square that can be edited
        pen.fillStyle = rgb(board.now.biases[c][u] < 0 ? board.data.colors[0] : board.data.colors[2]);
        pen.fillRect(x - 4, y + UNIT - 4, 8, 8);
        pen.strokeRect(x - 4, y + UNIT - 4, 8, 8);
      }
    });
  });
}

function drawMap(pen, board, at, image, title) {
  const {side} = board.place;
  pen.fillStyle = board.ink;
  pen.textAlign = "left";
  pen.fillText(title, at.x, at.y - 9);
  pen.imageSmoothingEnabled = true;
  pen.drawImage(image, at.x, at.y, side, side);
  pen.imageSmoothingEnabled = false;
  pen.strokeStyle = board.ink;
  pen.lineWidth = 1;
  pen.strokeRect(at.x, at.y, side, side);
  for (const [x, y, label, test] of board.data.points) point(pen, board, at.x + x * side, at.y + (1 - y) * side, label, test);
  if (board.keys && at === board.place.map) {
    const [x, y] = [at.x + board.pen[0] * side, at.y + (1 - board.pen[1]) * side];
    pen.strokeStyle = "#000";
    pen.beginPath();
    pen.moveTo(x - 9, y); pen.lineTo(x + 9, y); pen.moveTo(x, y - 9); pen.lineTo(x, y + 9);
    pen.stroke();
  }
}

function point(pen, board, x, y, label, test) { // label 0: a circle, label 1: a triangle; a test point is hollow
  pen.beginPath();
  if (label) for (const [a, b] of [[0, -5], [5, 4], [-5, 4], [0, -5]]) pen.lineTo(x + a, y + b);
  else pen.arc(x, y, 4, 0, 2 * Math.PI);
  const color = rgb(board.data.marks[label]);
  pen.fillStyle = test ? "#fff" : color;
  pen.fill();
  pen.strokeStyle = test ? color : "#fff";
  pen.lineWidth = test ? 2 : 1;
  pen.stroke();
}

function drawCurves(pen, board, at) {
  const {curves, colors, rival} = board.data, all = [...curves.train, ...curves.test, ...(rival ? [...rival.train, ...rival.test] : [])];
  const values = all.filter((value) => value !== null), most = Math.max(0.1, ...values);
  pen.fillStyle = board.ink;
  pen.textAlign = "left";
  pen.fillText(rival ? "Loss (gray: the rival)" : "Loss", at.x, at.y - 9);
  pen.textAlign = "right";
  pen.fillText(most.toPrecision(2), at.x + at.width, at.y - 9);
  pen.strokeStyle = board.ink;
  pen.lineWidth = 1;
  pen.strokeRect(at.x, at.y, at.width, CURVES);
  const last = Math.max(2, curves.train.length, rival ? rival.train.length : 0) - 1;
  const curve = (losses, color, dash) => {
    pen.beginPath();
    losses.forEach((loss, i) => loss !== null && pen.lineTo(at.x + i / last * at.width, at.y + CURVES * (1 - Math.min(loss / most, 1))));
    pen.setLineDash(dash);
    pen.strokeStyle = color;
    pen.lineWidth = 2;
    pen.stroke();
    pen.setLineDash([]);
  };
  if (rival) { curve(rival.train, "#8a9199", []); curve(rival.test, "#8a9199", [5, 4]); }
  curve(curves.train, rgb(colors[2]), []);
  curve(curves.test, rgb(colors[0]), [5, 4]);
  const keys = [["training", colors[2]], ...(curves.test.some((loss) => loss !== null) ? [["test, dashed", colors[0]]] : [])];
  pen.textAlign = "left";
  keys.forEach(([text, color], i) => {
    pen.fillStyle = rgb(color);
    pen.fillRect(at.x + i * 90, at.y + CURVES + 9, 14, 3);
    pen.fillStyle = board.ink;
    pen.fillText(text, at.x + 18 + i * 90, at.y + CURVES + 15);
  });
}

// Pointer and keyboard

function find(board, x, y) {
  const {data, place} = board, {map, side} = place;
  if (x >= map.x && x <= map.x + side && y >= map.y && y <= map.y + side) {
    const at = [(x - map.x) / side, 1 - (y - map.y) / side];
    return {kind: "map", at, point: nearest(data.points, at)};
  }
  for (const [c, column] of place.columns.entries()) for (const [u, top] of column.units.entries()) {
    if (c && Math.abs(x - column.x) <= 6 && Math.abs(y - top - UNIT) <= 6) return {kind: "bias", layer: c - 1, j: u};
    if (x >= column.x && x <= column.x + UNIT && y >= top && y <= top + UNIT) return {kind: "unit", column: c, unit: u};
  }
  let best = null, distance = HIT;
  data.weights.forEach((layer, c) => layer.forEach((row, i) => row.forEach((_, j) => {
    const ends = line(place, c, i, j);
    for (let t = 0; t <= 1.001; t += 0.04) {
      const [a, b] = bend(ends, t), away = Math.hypot(a - x, b - y);
      if (away < distance) [best, distance] = [{kind: "weight", layer: c, i, j}, away];
    }
  })));
  return best;
}

function nearest(points, [x, y]) {
  let found = -1, least = 0.025;
  points.forEach(([a, b], i) => {
    const away = Math.hypot(a - x, b - y);
    if (away < least) [found, least] = [i, away];
  });
  return found;
}

const HINT = "Orange: low or negative. Blue: high or positive. Thicker: larger. Click a line or the corner of a unit to change a number.";

function listen(root, canvas, board, redraw) {
  const tip = root.querySelector(".tip"), edit = root.querySelector(".edit");
  const at = (event) => pointerAt(event, canvas, board.place.width, board.place.height);
  tip.textContent = HINT;
  canvas.onpointermove = (event) => {
    const [x, y] = at(event), found = board.hover = find(board, x, y);
    tip.textContent = found ? describe(board.data, found) : HINT;
    canvas.style.cursor = found ? "pointer" : "default";
    redraw();
  };
  canvas.onpointerleave = () => {
    board.hover = null;
    tip.textContent = HINT;
    redraw();
  };
  canvas.onclick = (event) => {
    const [x, y] = at(event), found = find(board, x, y);
    if (!found) return;
    if (found.kind === "map") place(board, found.at, found.point);
    else if (found.kind !== "unit") ask(board, edit, found, x, y);
  };
  canvas.onfocus = () => { board.keys = canvas.matches(":focus-visible"); redraw(); };
  canvas.onblur = () => { board.keys = false; redraw(); };
  canvas.onkeydown = (event) => {
    if (event.key in ARROWS) board.pen = board.pen.map((value, axis) => clamp(value + ARROWS[event.key][axis] * 0.02, 0, 1));
    else if (event.key === "Enter" || event.key === " ") place(board, board.pen, -1);
    else if (event.key === "Delete" || event.key === "Backspace") {
      const found = nearest(board.data.points, board.pen);
      if (found >= 0) place(board, board.pen, found);
    } else return;
    board.keys = true;
    event.preventDefault();
    event.stopPropagation();
    redraw();
  };
  root.querySelector(".save").onclick = () => canvas.toBlob((blob) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = "playground.png";
    link.click();
    URL.revokeObjectURL(link.href);
  });
}

const place = (board, [x, y], number) => board.send(number >= 0 ? {kind: "delete", number} : {kind: "add", x, y});

function describe(data, found) {
  const round = (value) => value.toFixed(3), name = (c, u) => data.columns[c] ? data.columns[c].units[u].name : "the output";
  if (found.kind === "map") return found.point >= 0 ? "Click: remove this point" : `Click: add a point of label ${data.label}`;
  if (found.kind === "weight") {
    return `Weight from ${name(found.layer, found.i)} to ${name(found.layer + 1, found.j)}: ${round(data.weights[found.layer][found.i][found.j])}`;
  }
  const unit = found.kind === "bias" ? data.columns[found.layer + 1].units[found.j] : data.columns[found.column].units[found.unit];
  return found.kind === "bias" ? `Bias of ${unit.name}: ${round(unit.bias)}` : unit.name;
}

function ask(board, edit, found, x, y) {
  const {data} = board, now = found.kind === "bias" ? data.columns[found.layer + 1].units[found.j].bias : data.weights[found.layer][found.i][found.j];
  edit.value = now.toFixed(3);
  edit.setAttribute("aria-label", describe(data, found));
  Object.assign(edit.style, {display: "block", left: `${Math.min(x, board.place.width - 100)}px`, top: `${y}px`});
  edit.focus();
  edit.select();
  edit.onkeydown = (event) => {
    event.stopPropagation();
    if (event.key === "Enter" && Number.isFinite(edit.valueAsNumber)) board.send({...found, value: edit.valueAsNumber});
    if (event.key === "Enter" || event.key === "Escape") edit.blur();
  };
  edit.onblur = () => { edit.style.display = "none"; };
}

// Buttons over the columns: a unit more or less, a layer more or less

function layerButtons(root, board) {
  const bar = root.querySelector(".layers"), layers = board.data.columns.slice(1).map((column) => column.units.length);
  if (bar.dataset.layers === JSON.stringify(layers)) return;
  bar.dataset.layers = JSON.stringify(layers);
  const button = (text, label, changed, allowed) => {
    const made = document.createElement("button");
    Object.assign(made, {type: "button", textContent: text, disabled: !allowed, title: label});
    made.setAttribute("aria-label", label);
    made.onclick = () => board.send({kind: "layers", layers: changed});
    return made;
  };
  const {most_units, most_layers} = board.data;
  const groups = layers.map((units, c) => {
    const group = document.createElement("span"), count = document.createElement("b"), other = (n) => layers.map((k, i) => i === c ? n : k);
    count.textContent = units;
    group.append(
      button("−", `Remove a unit of hidden layer ${c + 1}`, other(units - 1), units > 1), count,
      button("+", `Add a unit to hidden layer ${c + 1}`, other(units + 1), units < most_units));
    return group;
  });
  const ends = document.createElement("span");
  ends.className = "ends";
  ends.append("Hidden layers ",
    button("−", "Remove the last hidden layer", layers.slice(0, -1), layers.length > 0),
    button("+", "Add a hidden layer", [...layers, Math.min(3, most_units)], layers.length < most_layers));
  bar.replaceChildren(...groups, ends);
}

function placeButtons(root, board) {
  root.querySelectorAll(".layers > span:not(.ends)").forEach((group, c) => {
    const column = board.place.columns[c + 1];
    if (column) group.style.left = `${column.x + UNIT / 2}px`;
  });
}
