// One job: head, progress, and panels that are made when they are first looked at.

import {get, jobPath, listen} from "./api.js";
import {eachFrame, empty, facts, h, show} from "./dom.js";
import {seconds, time} from "./format.js";
import {badge, hasEnded, nameOf, runSeconds, stateOf} from "./jobs.js";
import {renderConfig} from "./panel_config.js";
import {EventList} from "./panel_events.js";
import {renderGraph} from "./panel_graph.js";
import {renderLog} from "./panel_log.js";
import {renderReport} from "./panel_report.js";
import {Summary} from "./panel_summary.js";

const PANELS = [["summary", "Summary"], ["graph", "Graph"], ["report", "Report"], ["log", "Log"], ["config", "Settings"],
  ["events", "Events"]];

/** Tabs in the way of the ARIA patterns; which one is open is in the address. */
class Tabs {
  constructor(makers) {
    this.made = new Set();
    this.makers = makers;
    this.tabs = PANELS.map(([id, text]) => h("a", {class: "tab", role: "tab", id: `tab-${id}`, href: `#${id}`,
      "aria-controls": id}, text));
    this.panels = PANELS.map(([id]) => h("section", {role: "tabpanel", id: `panel-${id}`, "aria-labelledby": `tab-${id}`,
      class: "panel", tabindex: 0, hidden: true}));
    this.tabs.forEach((tab, index) => tab.setAttribute("aria-controls", this.panels[index].id));
    this.list = h("div", {class: "tabs", role: "tablist", "aria-label": "About this job", onkeydown: (event) => this.onKey(event)},
      this.tabs);
    addEventListener("hashchange", () => this.open());
  }

  index() {
    return Math.max(0, PANELS.findIndex(([id]) => `#${id}` === location.hash));
  }

  onKey(event) {
    const move = {ArrowRight: 1, ArrowLeft: -1}[event.key];
    if (move !== undefined) {
      const next = (this.index() + move + PANELS.length) % PANELS.length;
      history.replaceState(null, "", `#${PANELS[next][0]}`);
      this.open();
      this.tabs[next].focus();
      event.preventDefault();
    }
  }

  panel(id) {
    return this.panels[PANELS.findIndex(([own]) => own === id)];
  }

  /** Makes a panel anew when it is looked at next, or now when it is open. */
  renew(id) {
    this.made.delete(id);
    if (PANELS[this.index()][0] === id) {
      this.open();
    }
  }

  open() {
    const current = this.index();
    this.tabs.forEach((tab, index) => {
      tab.setAttribute("aria-selected", String(index === current));
      tab.tabIndex = index === current ? 0 : -1;
      this.panels[index].hidden = index !== current;
    });
    const id = PANELS[current][0];
    if (!this.made.has(id)) {
      this.made.add(id);
      Promise.resolve(this.makers[id]?.(this.panels[current])).catch((error) => {
        this.made.delete(id);
        show(this.panels[current], empty(error.message));
      });
    }
  }
}

function failure(job) {
  const why = job.failure;
  if (!why) {
    return null;
  }
  return h("div", {class: "alert", role: "alert"}, h("strong", {}, why.reason_name ?? "Failed"), h("p", {}, why.message ?? ""),
    why.hint ? h("p", {class: "faint"}, why.hint) : null);
}

class Head {
  constructor(place) {
    this.place = place;
    this.bar = h("div", {class: "fill"});
    this.track = h("div", {class: "track wide-track", role: "progressbar", "aria-label": "Progress of the compile", "aria-valuemin": 0,
      "aria-valuemax": 100}, this.bar);
    this.phase = h("p", {class: "faint", role: "status"});
  }

  draw(job) {
    const state = stateOf(job);
    const fraction = hasEnded(job) ? 1 : job.progress?.fraction ?? 0;
    this.bar.style.width = `${Math.round(fraction * 1000) / 10}%`;
    this.track.setAttribute("aria-valuenow", Math.round(fraction * 100));
    this.phase.textContent = hasEnded(job) ? "" : job.wait_reason
      || (job.progress?.phase ? `${job.progress.phase}${job.progress.total > 0 ? `, ${job.progress.done ?? 0} of ${job.progress.total}` : ""}` : "");
    document.title = `${state} · ${nameOf(job)} · qbc`;
    show(this.place, h("div", {class: "title"}, h("h1", {}, nameOf(job), " ", badge(state)),
      h("a", {class: "button", href: `/compare?${new URLSearchParams({a: job.id})}`}, "Compare")),
    facts([["Job", h("code", {}, job.id)], ["Target", job.spec?.target_device], ["Submitted", time(job.create_time)],
      ["Compile time", hasEnded(job) ? seconds(runSeconds(job)) : ""], ["Worker", job.worker_id],
      ["Attempts", job.attempt_count > 1 ? job.attempt_count : ""]]),
    hasEnded(job) ? null : [this.track, this.phase], failure(job));
  }
}

/** What an event says about the job, without asking the server. */
function apply(job, event) {
  job.last_event_seq = event.seq;
  if (event.attempt) {
    job.attempt_count = Math.max(job.attempt_count ?? 0, event.attempt);
  }
  if (event.state) {
    job.state = event.state.state;
  } else if (event.phase) {
    job.progress = {...job.progress, phase: event.phase.phase, done: 0, total: 0};
  } else if (event.progress) {
    job.progress = event.progress;
  }
}

export async function render(place, id) {
  let job = await get(jobPath(id));
  const top = h("div");
  const head = new Head(top);
  const events = new EventList();
  const summary = new Summary();
  const tabs = new Tabs({
    summary: (panel) => summary.attach(panel),
    graph: (panel) => renderGraph(panel, job),
    report: (panel) => renderReport(panel, job),
    log: (panel) => renderLog(panel, job),
    config: (panel) => renderConfig(panel, job),
    events: (panel) => events.attach(panel),
  });
  head.draw(job);
  summary.draw(job, events.all);
  show(place, top, tabs.list, tabs.panels);
  tabs.open();
  const redraw = eachFrame(() => {
    head.draw(job);
    summary.draw(job, events.all);
    events.draw();
  });
  // The phase that is under way grows.
  const clock = setInterval(() => hasEnded(job) ? clearInterval(clock) : redraw(), 1000);
  listen(`${jobPath(id)}/events`, {
    job: async (event) => {
      events.add(event);
      apply(job, event);
      if (event.state || event.result || event.error) {
        job = await get(jobPath(id));
        if (event.result || event.error) {
          ["graph", "report"].forEach((panel) => tabs.renew(panel));
        }
      }
      redraw();
    },
  });
}
