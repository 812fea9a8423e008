// The compiled graph: where each layer runs, with which precision, and what that costs in accuracy.

import {artifact} from "./api.js";
import {empty, facts, h, key, show} from "./dom.js";
import {count, decibels, percent} from "./format.js";
import {GraphView} from "./graph_view.js";
import {hasEnded} from "./jobs.js";

const MOST_FOUND = 50;

function details(layer, layers) {
  if (layer === undefined) {
    return [h("p", {class: "faint"}, "Choose a layer: click it, find it by name, or walk along the edges with the arrow keys.")];
  }
  const device = {npu: "NPU", cpu: "CPU", input: "input of the model", output: "output of the model"}[layer.device] ?? layer.device;
  return [h("h3", {}, layer.name), facts([
    ["Operator", layer.op], ["Runs on", device], ["Shape", (layer.shape ?? []).join(" × ")],
    ["Float type", layer.dtype],
    ["Activations", layer.activation_bits ? `${layer.activation_bits} bit` : ""],
    ["Weights", layer.weight_bits ? `${layer.weight_bits} bit` : ""],
    ["SQNR, this layer alone", decibels(layer.sqnr_db)],
    ["SQNR, all before too", decibels(layer.entire_sqnr_db)],
    ["Scale", typeof layer.scale === "number" ? layer.scale.toPrecision(5) : ""],
    ["Zero point", layer.zero_point],
    ["Saturated", percent(layer.saturation_share, 3)],
    ["Multiplications", layer.macs ? count(layer.macs) : ""],
    ["Reads", (layer.inputs ?? []).map((input) => layers[input]?.name).join(", ")],
  ]),
  (layer.reasons ?? []).length > 0 ? [h("h4", {}, "Why not on the NPU"), h("ul", {}, layer.reasons.map((reason) => h("li", {}, reason)))] : null,
  layer.note ? h("p", {class: "faint"}, layer.note) : null];
}

function search(layers, onFind) {
  const list = h("ul", {class: "found", "aria-label": "Layers found"});
  const field = h("input", {type: "search", placeholder: `find one of ${layers.length} layers`, "aria-label": "Find a layer",
    oninput: () => {
      const wanted = field.value.trim().toLowerCase();
      const found = wanted === "" ? [] : layers.map((layer, index) => [layer, index])
        .filter(([layer]) => layer.name.toLowerCase().includes(wanted) || layer.op.toLowerCase().includes(wanted));
      show(list, found.slice(0, MOST_FOUND).map(([layer, index]) => h("li", {}, h("button", {type: "button", class: "quiet",
        onclick: () => onFind(index)}, h("span", {class: `key ${layer.device}`}), layer.name, h("span", {class: "faint"}, ` ${layer.op}`)))),
      found.length > MOST_FOUND ? h("li", {class: "faint"}, `and ${found.length - MOST_FOUND} more`) : null);
    }});
  return [field, list];
}

function legend(layers) {
  const on = (device) => layers.filter((layer) => layer.device === device).length;
  return h("p", {class: "legend"}, key("npu", `${on("npu")} on the NPU`), key("cpu", `${on("cpu")} on the CPU`));
}

export async function renderGraph(panel, job) {
  const graph = await artifact(job, "graph.json");
  if (graph === undefined) {
    show(panel, empty(hasEnded(job) ? "This job has no graph." : "The graph comes with the result."));
    return;
  }
  const layers = graph.layers ?? [];
  const canvas = h("canvas", {class: "graph", tabindex: 0, role: "application", "aria-label":
    `Graph of ${layers.length} layers. Arrow keys walk along its edges, plus and minus zoom, 0 shows everything.`});
  const side = h("div", {class: "side-details", role: "status"});
  show(side, details(undefined, layers));
  const tools = h("div", {class: "tools graph-tools"});
  const found = h("div", {class: "graph-side"});
  show(panel, h("div", {class: "graph-frame"}, h("div", {class: "graph-main"}, tools, canvas, legend(layers)), found));
  const view = new GraphView(canvas, layers, (index) => show(side, details(layers[index], layers)));
  const button = (text, label, act) => h("button", {type: "button", class: "button", "aria-label": label, onclick: act}, text);
  show(tools, button("+", "Zoom in", () => view.zoom(1.25)), button("−", "Zoom out", () => view.zoom(0.8)),
    button("Whole graph", undefined, () => view.fit()), button("Inputs", undefined, () => view.start()));
  show(found, search(layers, (index) => view.select(index, true)), side);
}
