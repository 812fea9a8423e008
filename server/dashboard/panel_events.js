// The job's events, newest last.

import {card, h, show, table} from "./dom.js";
import {stateLabel} from "./jobs.js";

const MOST_ROWS = 500;

function describe(event) {
  if (event.state) {
    const state = event.state.state.replace("JOB_STATE_", "").toLowerCase();
    return ["state", `${stateLabel(state)}${event.state.reason ? `: ${event.state.reason}` : ""}`];
  }
  if (event.phase) {
    return ["phase", event.phase.phase];
  }
  if (event.progress) {
    const {phase, fraction, done, total, unit} = event.progress;
    return ["progress", `${phase ?? ""} ${Math.round((fraction ?? 0) * 100)} %${total > 0 ? `, ${done ?? 0} of ${total} ${unit ?? ""}` : ""}`];
  }
  if (event.log) {
    const severity = (event.log.severity ?? "").replace("LOG_SEVERITY_", "").toLowerCase();
    return [severity || "log", `${event.log.logger ? `${event.log.logger}: ` : ""}${event.log.message ?? ""}`];
  }
  if (event.result) {
    return ["result", (event.result.artifacts ?? []).map((one) => one.name).join(", ")];
  }
  return ["error", event.error?.failure?.message ?? ""];
}

export class EventList {
  constructor() {
    this.all = [];
    this.panel = null;
  }

  add(event) {
    this.all.push(event);
  }

  attach(panel) {
    this.panel = panel;
    this.draw();
  }

  draw() {
    if (this.panel === null || this.panel.hidden) {
      return;
    }
    const shown = this.all.slice(-MOST_ROWS);
    show(this.panel, this.all.length > shown.length ? h("p", {class: "faint"}, `The last ${MOST_ROWS} of ${this.all.length}.`) : null,
      card(null, table("Events", [{text: "#", class: "n"}, "Time", "Kind", ""], shown.map((event) => {
        const [kind, text] = describe(event);
        return h("tr", {}, h("td", {class: "n faint"}, event.seq), h("td", {class: "faint nowrap"}, new Date(event.time).toLocaleTimeString()),
          h("td", {class: `kind ${kind}`}, kind), h("td", {class: "text"}, text));
      }))));
  }
}
