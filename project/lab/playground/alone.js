
// The board in a file of its own, without a server: the network is evaluated here, and what the pointer changes is evaluated again.

const FEATURES = {
  "x1": (a) => a, "x2": (_, b) => b, "x1^2": (a) => a * a, "x2^2": (_, b) => b * b, "x1*x2": (a, b) => a * b,
  "sin(x1)": (a) => Math.sin(Math.PI * a), "sin(x2)": (_, b) => Math.sin(Math.PI * b),
};
const ACTIVATIONS = {relu: (z) => Math.max(z, 0), tanh: Math.tanh, sigmoid: (z) => 1 / (1 + Math.exp(-z)), linear: (z) => z};

function evaluate({features, activation, weights, biases}, x, y) { // the inputs, and the outputs of each layer
  const found = [features.map((name) => FEATURES[name](2 * x - 1, 2 * y - 1))];
  weights.forEach((rows, layer) => {
    const f = ACTIVATIONS[layer === weights.length - 1 ? "sigmoid" : activation], last = found[layer];
    found.push(biases[layer].map((bias, j) => f(rows.reduce((sum, row, i) => sum + last[i] * row[j], bias))));
  });
  return found;
}

function fill(data) { // the maps
  const {side, columns, activation} = data, cells = [];
  for (let i = 0; i < side * side; i++) cells.push(evaluate(data, (i % side + 0.5) / side, (Math.floor(i / side) + 0.5) / side));
  const of = (layer, j, signed) => {
    const values = cells.map((found) => found[layer][j]), most = 2 * Math.max(1, ...values.map(Math.abs));
    return Uint8Array.from(values, (value) => Math.round(255 * (signed ? value / most + 0.5 : value)));
  };
  columns.forEach((column, layer) => column.units.forEach((unit, j) => { unit.map = of(layer, j, !layer || activation !== "sigmoid"); }));
  data.output = of(columns.length, 0, false);
}

function losses(data) { // as in training: ln(p + 1e-6)
  const mean = (test) => {
    const found = data.points.filter((point) => point[3] === test).map(([x, y, label]) => {
      const [p] = evaluate(data, x, y).at(-1);
      return -Math.log((label ? p : 1 - p) + 1e-6);
    });
    return found.length ? (found.reduce((sum, loss) => sum + loss, 0) / found.length).toFixed(3) : "-";
  };
  return `Training loss ${mean(false)}, test loss ${mean(true)}.`;
}

const data = JSON.parse(document.getElementById("data").textContent);
const change = {
  add: ({x, y}) => data.points.push([x, y, data.label, false]),
  delete: ({number}) => data.points.splice(number, 1),
  weight: ({layer, i, j, value}) => { data.weights[layer][i][j] = value; },
  bias: ({layer, j, value}) => { data.biases[layer][j] = data.columns[layer + 1].units[j].bias = value; },
};

function show() {
  fill(data);
  document.getElementById("losses").textContent = losses(data);
  render({parentElement: document.body, data, setTriggerValue: (_, event) => { change[event.kind](event); show(); }});
}
document.getElementById("label").onchange = (event) => { data.label = Number(event.target.value); };
show();
