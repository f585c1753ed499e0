// The window of a convolution follows the pointer over the image or the result. The cells are those that the page sent; without a pointer
// they show what the page has computed so far.

export default function (props) {
  const {parentElement, data, setTriggerValue} = props, picture = parentElement.querySelector(".picture");
  const terms = parentElement.querySelector(".terms");
  let shown = "";
  const reset = () => {
    shown = "";
    cells({...props, data: data.panels});
    terms.textContent = data.text;
    picture.onpointerleave = reset;
    picture.onpointermove = picture.onpointerdown = follow;
    picture.onclick = (event) => { const at = find(event); if (at) setTriggerValue("picked", at.join()); };
  };
  const parts = () => [...picture.querySelectorAll("section")].map((each) => [...each.querySelectorAll(".cell")]);
  // The element of the result that a cell under the pointer belongs to: itself, or the one whose window has this pixel in its middle
  const find = (event) => {
    const cell = picture.getRootNode().elementFromPoint(event.clientX, event.clientY)?.closest(".cell");
    const [image, , , result] = parts(), height = data.rows.length, width = data.columns.length;
    if (result.includes(cell)) return split(result.indexOf(cell), height, width);
    if (!image.includes(cell)) return null;
    const [, row, column] = split(image.indexOf(cell), image.length / data.image.length / across(), across());
    return [data.channel, nearest(data.rows, row + data.first[0]), nearest(data.columns, column + data.first[1])];
  };
  const across = () => getComputedStyle(picture.querySelector(".grid")).gridTemplateColumns.split(" ").length - 1;
  const follow = (event) => {
    const at = find(event);
    if (!at || at.join() === shown) return;
    shown = at.join();
    show(data, parts(), at, across());
    terms.textContent = arithmetic(data, at);
    const [, weight, added] = picture.querySelectorAll("h4");
    weight.textContent = weight.textContent.replace(/^weight\[\d+\]/, `weight[${at[0]}]`);
    added.textContent = `products, with sum ${figure(sum(products(data, at)))}`;
  };
  reset();
}

// Numbers

const split = (number, height, width) => [Math.floor(number / (height * width)), Math.floor(number / width) % height, number % width];
const nearest = (windows, place) => windows.reduce((best, places, i) => away(places, place) < away(windows[best], place) ? i : best, 0);
const away = (places, place) => Math.abs((places[0] + places.at(-1)) / 2 - place - 0.1); // of two, the one that begins here
const figure = (value) => String(Number(value.toPrecision(4)));
const factor = (value) => value < 0 ? `(${figure(value)})` : figure(value);
const sum = (terms) => terms.reduce((all, {product}) => all + product, 0);

// All products of an element of the result, in the order of the weight
function products({image, weight, rows, columns}, [o, y, x]) {
  return image.flatMap((pixels, c) => rows[y].flatMap((row, i) => columns[x].map((column, j) => {
    const inside = pixels[row]?.[column] !== undefined, pixel = inside ? pixels[row][column] : 0;
    return {c, i, j, row, column, inside, pixel, weight: weight[o][c][i][j], product: pixel * weight[o][c][i][j] + 0};
  })));
}

const name = ({dims}, [o, y, x]) => `out[${(dims === 2 ? [o, y, x] : [o, x]).join(", ")}]`;

function arithmetic(data, at) {
  const terms = products(data, at), width = data.columns[at[2]].length, sums = [];
  const lines = Array.from({length: terms.length / width}, (_, n) => {
    const row = terms.slice(n * width, (n + 1) * width), inside = row.filter((term) => term.inside);
    sums.push(sum(row));
    const label = `channel ${row[0].c}${data.dims === 2 ? `, row ${row[0].row}` : ""}`;
    const says = inside.map(({pixel, weight}) => `${figure(pixel)}·${factor(weight)}`).join(" + ");
    return inside.length ? `${label}: ${says} = ${figure(sums[n])}` : `${label}: outside of the image, 0`;
  });
  const added = sums.map((each, n) => n ? factor(each) : figure(each)).join(" + "), total = figure(sum(terms));
  return [...lines, `${name(data, at)} = ${sums.length > 1 ? `${added} = ${total}` : total}`].join("\n");
}

// Cells

function show(data, [image, weights, parts, result], at, columns) {
  const terms = products(data, at), height = image.length / data.image.length / columns;
  image.forEach((cell, n) => {
    const [c, row, column] = split(n, height, columns), place = [c, row + data.first[0], column + data.first[1]];
    const term = terms.find((each) => [each.c, each.row, each.column].join() === place.join());
    const inside = data.image[c][place[1]]?.[place[2]] !== undefined;
    for (const [look, on] of [["read", term && inside], ["linked", term && !inside], ["faint", !term && !inside]]) cell.classList.toggle(look, !!on);
    cell.dataset.tag = cell.dataset.lights = term ? `t${term.c},${term.i},${term.j}` : `p${place}`;
  });
  const most = Math.max(...terms.map(({product}) => Math.abs(product))) || 1, largest = Math.max(...data.weight.flat(3).map(Math.abs)) || 1;
  terms.forEach((term, n) => {
    fill(weights[n], figure3(term.weight), "", term.weight / largest);
    const said = term.inside ? `${figure3(term.pixel)}·${figure3(term.weight)}` : "";
    fill(parts[n], figure3(term.product), said, term.inside ? term.product / most : null);
    parts[n].classList.toggle("faint", !term.inside);
  });
  const number = (at[0] * data.rows.length + at[1]) * data.columns.length + at[2];
  result.forEach((cell, n) => cell.classList.toggle("chosen", n === number));
}

const figure3 = (value) => String(Number(value.toPrecision(3)));

function fill(cell, text, small, tone) {
  cell.textContent = text;
  if (small) cell.append(Object.assign(document.createElement("small"), {textContent: small}));
  cell.title = small;
  cell.classList.toggle("tone", tone !== null);
  cell.classList.toggle("below", tone < 0);
  cell.style.setProperty("--tone", `${Math.abs(tone) * 60}%`);
}
