// What every figure that is painted in the browser shares. It comes before the figure's own script; see figure.py.

const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

// Colors

function shade(t, [low, middle, high]) { // t from 0 to 1
  const [from, to, part] = t < 0.5 ? [low, middle, 2 * t] : [middle, high, 2 * t - 1];
  return from.map((value, i) => Math.round(value + (to[i] - value) * part));
}

const rgb = (color) => `rgb(${color.join(" ")})`;

// Paint a heat map on a canvas that is as many pixels wide and high as it has cells; the first row is at the bottom
function paint(canvas, values, side, colors) {
  canvas.width = canvas.height = side;
  const context = canvas.getContext("2d"), image = context.createImageData(side, side);
  values.forEach((value, i) => {
    const row = side - 1 - Math.floor(i / side), at = 4 * (row * side + i % side);
    image.data.set([...shade(value, colors), 255], at);
  });
  context.putImageData(image, 0, 0);
  return canvas;
}

// Elements of SVG

function svg(parent, tag, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  parent.append(made);
  return set(made, attributes);
}

function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

// Pointer and keyboard

// Where the pointer is on an element, in a coordinate system of this width and height
function pointerAt(event, element, width, height) {
  const box = element.getBoundingClientRect();
  return [(event.clientX - box.left) * width / box.width, (event.clientY - box.top) * height / box.height];
}

const ARROWS = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1]};

// What was sent to the page, until its answer: answers to earlier events must not undo a later one
const awaiting = (value) => ({value: JSON.stringify(value), until: performance.now() + 3000});
const unanswered = (sent, value) => sent && sent.value !== JSON.stringify(value) && performance.now() < sent.until ? sent : null;

// Let an element be dragged with a mouse, a finger or the arrow keys.
// move(event): the pointer has moved, at most once a frame; step([right, up]): an arrow key; drop(): the pointer or the key was released.
function drag(element, {move, step, drop}) {
  let last = null, frame = 0;
  const follow = () => { frame = 0; move(last); };
  element.onpointerdown = (event) => {
    if (event.button > 0) return;
    element.setPointerCapture(event.pointerId);
    element.classList.add("held");
    last = event;
    follow();
  };
  element.onpointermove = (event) => {
    if (!element.hasPointerCapture(event.pointerId)) return;
    last = event;
    frame = frame || requestAnimationFrame(follow);
  };
  element.onpointerup = element.onpointercancel = (event) => {
    if (!element.hasPointerCapture(event.pointerId)) return;
    element.releasePointerCapture(event.pointerId);
    element.classList.remove("held");
    cancelAnimationFrame(frame);
    follow();
    drop();
  };
  element.onkeydown = (event) => {
    if (!(event.key in ARROWS)) return;
    step(ARROWS[event.key]);
    event.preventDefault();
    event.stopPropagation();
  };
  element.onkeyup = (event) => { if (event.key in ARROWS) drop(); };
}
