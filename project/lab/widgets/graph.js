// A computational graph: Play steps through the backward pass. What is pointed at lights up together with its rule and its code.

const PACE = 900, SETTLED = 400, LINE = 15; // milliseconds between two steps, and until a step reaches the address; pixels

export default function ({parentElement, data, setTriggerValue}) {
  const root = parentElement.querySelector(".figure"), {moment, ...rest} = data, made = JSON.stringify(rest), old = root.graph;
  if (old?.made !== made) {
    old?.pause();
    const at = old && visits(old.data) === visits(data) ? {moment: old.moment, sent: old.sent} : {};
    root.graph = {...build(root, data), ...at, data, made, root, pointed: null, playing: 0};
  }
  const graph = root.graph, last = data.steps.length - 1;
  graph.sent = unanswered(graph.sent, moment);
  if (!graph.sent && !graph.playing) graph.moment = moment;
  const tell = () => root.isConnected && setTriggerValue("moment", graph.moment);
  if (graph !== old && graph.sent) tell(); // the data changed during Play, or before the last step reached the address
  const go = (step) => {
    graph.moment = clamp(step, 0, last);
    graph.sent = awaiting(graph.moment);
    redraw(graph);
    clearTimeout(graph.timer);
    if (!graph.playing) graph.timer = setTimeout(tell, SETTLED);
  };
  graph.pause = () => {
    clearInterval(graph.playing);
    clearTimeout(graph.timer);
    graph.playing = 0;
  };
  const play = () => {
    const next = () => {
      if (!root.isConnected) return graph.pause();
      if (graph.moment + 1 >= last) graph.pause();
      go(graph.moment + 1);
    };
    if (graph.moment === last) graph.moment = -1;
    graph.playing = setInterval(next, PACE);
    next();
  };
  const stop = (step) => { graph.pause(); go(step); };
  graph.play.onclick = () => graph.playing ? stop(graph.moment) : play();
  graph.back.onclick = () => stop(graph.moment - 1);
  graph.forward.onclick = () => stop(graph.moment + 1);
  graph.slider.oninput = () => stop(Number(graph.slider.value));
  root.onkeydown = (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || !ARROWS[event.key]?.[0]) return;
    stop(graph.moment + ARROWS[event.key][0]);
    event.preventDefault();
  };
  redraw(graph);
}

// The formula of each node, and the node of each step: the same if only values have changed
const visits = ({nodes, steps}) => JSON.stringify([nodes.map(({lines}) => lines[0]), steps.map(({node}) => node)]);

function build(root, {size: [width, height], nodes, edges, steps, playable}) {
  const find = (name) => root.querySelector(`.${name}`), stage = root.querySelector("svg");
  stage.replaceChildren();
  set(stage, {viewBox: `-2 -2 ${width + 4} ${height + 4}`, style: `--width: ${width + 4}px`});
  const graph = {slider: root.querySelector("input"), play: find("play"), back: find("back"), forward: find("forward"), scroll: find("scroll")};
  graph.slider.max = steps.length - 1;
  graph.play.hidden = !playable;
  find("controls").hidden = steps.length < 2;
  graph.edges = edges.map((edge) => drawn(stage, edge, `edge ${edge.label ? "" : "constant"}`, edge.label ? [edge.label, "", ...edge.remark] : []));
  graph.nodes = nodes.map((node) => drawn(stage, node, `node ${node.kind}`, node.kind === "constant" ? node.lines : [...node.lines, "", node.place]));
  const light = (pointed) => { root.graph.pointed = pointed; explain(root.graph); };
  const point = (group, pointed) => Object.assign(group, {onpointerenter: () => light(pointed), onpointerleave: () => light(null)});
  nodes.forEach((node, i) => node.function && point(graph.nodes[i].group, {node: i}));
  edges.forEach((edge, e) => edge.label && point(graph.edges[e].group, {node: edge.ends[1], edge: e}));
  return graph;
}

// A node, or an edge and its label, with these lines of text. The first line of a label is above the edge, the others are below it.
function drawn(stage, {box: [x, y, w, h], path}, name, lines) {
  const group = svg(stage, "g", {class: name});
  svg(group, "rect", {class: "box", x: x - w / 2, y: y - h / 2, width: w, height: h, rx: 6});
  if (path) {
    svg(group, "path", {d: path});
    const [, end] = path.match(/ ([\d.]+)H[\d.]+$/), tip = path.match(/H([\d.]+)$/)[1];
    svg(group, "path", {class: "head", d: `M${tip} ${end}l-7 -4v8z`});
  }
  const texts = lines.map((line, i) => {
    const text = svg(group, "text", {x, y: path ? y + (i ? i * LINE - 2 : -6) : y + (i + (1 - lines.length) / 2) * LINE + 4});
    text.textContent = line;
    return text;
  });
  return {group, texts};
}

// The graph after a step

function redraw(graph) {
  const {data, moment} = graph, step = data.steps[moment], gradients = {}, passed = {};
  for (const each of data.steps.slice(0, moment + 1)) {
    Object.assign(gradients, each.gradients);
    for (const [edge, gradient] of Object.entries(each.passed)) passed[edge] = {gradient, arrived: each.arrived};
  }
  data.nodes.forEach((node, i) => {
    const {group, texts} = graph.nodes[i];
    group.classList.toggle("now", step.node === i);
    group.classList.toggle("done", node.visited <= moment);
    if (node.kind !== "constant") texts.at(-2).textContent = `gradient ${gradients[i] ?? "-"}`;
  });
  data.edges.forEach((edge, e) => {
    const {group, texts} = graph.edges[e];
    group.classList.toggle("now", edge.id in step.passed);
    if (!edge.label) return;
    texts[1].textContent = edge.id in passed ? `← ${passed[edge.id].gradient}` : "";
    set(texts[1], {class: "passed"});
    texts.slice(2).forEach((text) => set(text, {class: "remark", visibility: edge.id in step.remarks ? "visible" : "hidden"}));
  });
  graph.slider.value = moment;
  graph.back.disabled = moment === 0;
  graph.forward.disabled = moment === data.steps.length - 1;
  if (graph.root.getRootNode().activeElement?.disabled) graph.scroll.focus(); // so that the arrow keys go on
  graph.play.textContent = graph.playing ? "Pause" : "Play";
  const write = (name, text) => { graph.root.querySelector(`.${name}`).textContent = text; };
  write("sentence", step.sentence);
  write("words", step.words);
  graph.root.querySelector(".pictures").innerHTML = step.pictures ?? "";
  graph.passed = passed;
  if (step.node !== null) {
    const box = data.nodes[step.node].box[0] / data.size[0] * graph.scroll.scrollWidth;
    graph.scroll.scrollTo({left: box - graph.scroll.clientWidth / 2, behavior: "smooth"});
  }
  explain(graph);
}

// The local rules and the code of what is pointed at, or else of the node of this step

function explain(graph) {
  const {data, moment, root, passed} = graph, current = data.steps[moment].node, {node: i, edge} = graph.pointed ?? {node: current};
  const node = data.nodes[i], find = (name) => root.querySelector(`.local ${name}`), source = node && data.functions[node.function];
  graph.nodes.forEach(({group}, n) => group.classList.toggle("lit", n === i));
  graph.edges.forEach(({group}, e) => group.classList.toggle("lit", e === edge));
  find(".name").textContent = node?.function ? node.lines[0] : "";
  find(".hint").hidden = node?.function;
  find("ul").replaceChildren(...data.edges.flatMap((each, e) => {
    if (!each.label || each.ends[1] !== i) return [];
    const row = document.createElement("li"), {gradient, arrived} = passed[each.id] ?? {};
    const local = each.local && `; your backward returned ${each.local} for 1`;
    row.textContent = each.rule + local + (gradient ? each.local ? ` and ${gradient} for ${arrived}` : `; passes ${gradient}` : "");
    row.classList.toggle("lit", edge === undefined || edge === e);
    return [row];
  }));
  find(".saved").textContent = node?.saved ? `Saved for its backward: ${node.saved} (${moment < node.freed ? "still needed" : "freed"})` : "";
  find(".where").textContent = source?.where ?? "";
  find("pre").hidden = !source;
  find("pre").replaceChildren(...(source?.lines ?? []).map((line, number) => {
    const text = document.createElement("span");
    text.textContent = line;
    text.classList.toggle("lit", source.returned.includes(number));
    return text;
  }));
}
