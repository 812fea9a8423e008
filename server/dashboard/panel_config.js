// The settings that applied, and where each value came from.

import {card, empty, h, show, table} from "./dom.js";
import {settingsOf} from "./jobs.js";

export function valueText(value) {
  return typeof value === "string" ? value : JSON.stringify(value);
}

export function renderConfig(panel, job) {
  const settings = Object.entries(settingsOf(job));
  if (settings.length === 0) {
    show(panel, empty("The server has no settings of this job."));
    return;
  }
  const changed = settings.filter(([, setting]) => setting.origin !== "default");
  const place = h("div");
  const all = h("input", {type: "checkbox", id: "all-settings", onchange: draw});
  const find = h("input", {type: "search", placeholder: "find a setting", "aria-label": "Find a setting", oninput: draw});
  function draw() {
    const wanted = find.value.toLowerCase();
    const rows = (all.checked || wanted ? settings : changed).filter(([path]) => path.toLowerCase().includes(wanted));
    show(place, rows.length === 0 ? empty(wanted ? "No setting has this in its name." : "Every setting has its default.")
      : card(null, table("Settings", ["Setting", "Value", "Comes from"], rows.map(([path, setting]) => h("tr", {}, h("td", {class: "mono"}, path),
        h("td", {class: "mono text"}, valueText(setting.value)),
        h("td", {class: setting.origin === "default" ? "faint" : ""}, setting.origin))))));
  }
  show(panel, h("div", {class: "tools"}, find, h("label", {}, all, ` all ${settings.length}, also those with their default`)), place);
  draw();
}
