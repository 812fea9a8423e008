// What came out of a job, how long each phase took, and its files.

import {artifactUrl} from "./api.js";
import {card, empty, facts, h, show, table} from "./dom.js";
import {bytes, count, decibels, duration, percent, seconds, time} from "./format.js";
import {hasEnded, resultOf} from "./jobs.js";

/** [{attempt, phase, from, to}] in milliseconds; `to` of the last is now while the job runs. */
export function phasesOf(events, ended) {
  const phases = [];
  for (const event of events) {
    const at = Date.parse(event.time);
    const last = phases.at(-1);
    if (event.phase || event.result || event.error || event.state) {
      if (last && last.to === undefined) {
        last.to = at;
      }
    }
    if (event.phase) {
      phases.push({attempt: event.attempt ?? 0, phase: event.phase.phase, from: at});
    }
  }
  const last = phases.at(-1);
  if (last && last.to === undefined) {
    last.to = ended ? last.from : Date.now();
    last.open = !ended;
  }
  return phases;
}

function timeline(events, ended) {
  const phases = phasesOf(events, ended);
  if (phases.length === 0) {
    return empty(ended ? "No phase was recorded." : "Nothing has begun yet.");
  }
  const start = phases[0].from;
  const whole = Math.max(1, phases.at(-1).to - start);
  return h("ol", {class: "timeline"}, phases.map((phase) => {
    const bar = h("span", {class: `fill${phase.open ? " open" : ""}`});
    bar.style.marginInlineStart = `${100 * (phase.from - start) / whole}%`;
    bar.style.width = `max(2px, ${100 * (phase.to - phase.from) / whole}%)`;
    return h("li", {}, h("span", {class: "phase"}, phase.phase, phase.attempt > 1 ? h("span", {class: "faint"}, ` attempt ${phase.attempt}`) : null),
      h("span", {class: "lane"}, bar), h("span", {class: "n faint"}, seconds((phase.to - phase.from) / 1000)));
  }));
}

/** Figures of the check after the compile, output by output. */
function accuracy(report) {
  const check = report?.check;
  const outputs = check?.outputs ?? [];
  if (outputs.length === 0) {
    return null;
  }
  const top = typeof check.quantized_top1 === "number"
    ? h("p", {}, `Top-1: float ${percent(check.float_top1, 2)}, quantized ${percent(check.quantized_top1, 2)}`) : null;
  return card("Accuracy against the float model", top,
    table("Accuracy", ["Output", {text: "SQNR", class: "n"}, {text: "Cosine", class: "n"}, {text: "Agreement", class: "n"},
      {text: "Largest relative error", class: "n"}],
    outputs.map((output) => h("tr", {}, h("td", {}, output.name), h("td", {class: "n"}, decibels(output.sqnr_db)),
      h("td", {class: "n"}, typeof output.cosine === "number" ? output.cosine.toFixed(6) : ""), h("td", {class: "n"}, percent(output.agreement, 2)),
      h("td", {class: "n"}, typeof output.relative_error === "number" ? output.relative_error.toPrecision(3) : "")))),
    check.description ? h("p", {class: "faint"}, check.description) : null);
}

function files(job) {
  const list = job.artifacts ?? [];
  if (list.length === 0) {
    return null;
  }
  return card("Files", table("Files", ["Name", {text: "Size", class: "n"}, "SHA-256"],
    list.map((one) => h("tr", {}, h("td", {}, h("a", {href: artifactUrl(job, one.name), download: one.name}, one.name)),
      h("td", {class: "n"}, bytes(one.size_bytes)), h("td", {class: "mono faint digest", title: one.sha256}, one.sha256)))));
}

function cost(job, report) {
  const plan = report?.plan ?? {};
  return facts([
    ["Wall time", job.usage ? seconds(duration(job.usage.wall_time)) : ""],
    ["CPU time", job.usage ? seconds(duration(job.usage.cpu_time)) : ""],
    ["Peak memory", job.usage?.peak_rss_bytes ? bytes(job.usage.peak_rss_bytes) : ""],
    ["Estimated cycles", plan.estimated_cycles ? count(plan.estimated_cycles) : ""],
    ["Multiplications", plan.macs ? count(plan.macs) : ""],
    ["Arena", plan.arena_bytes ? bytes(plan.arena_bytes) : ""],
    ["Moved", plan.dma_bytes ? bytes(plan.dma_bytes) : ""],
  ]);
}

function asked(job) {
  const labels = Object.entries(job.spec?.labels ?? {});
  const calibration = (job.spec?.calibration ?? []).reduce((total, set) => total + (set.entries?.length ?? 0), 0);
  return facts([
    ["Model", job.spec?.model?.main],
    ["Calibration files", calibration > 0 ? count(calibration) : ""],
    ["Preset", job.spec?.config?.preset],
    ["Device", job.spec?.device],
    ["Priority", job.spec?.priority],
    ["Started", time(job.start_time)],
    ["Ended", time(job.finish_time)],
    ["Compiler", job.compiler_build],
    ["Result", job.cache_hit ? "was there when the job came" : job.joined ? "shared with an equal job" : ""],
    ["Labels", labels.length > 0 ? labels.map(([key, value]) => h("span", {class: "tag"}, `${key}=${value}`)) : ""],
  ]);
}

export class Summary {
  constructor() {
    this.place = h("div");
  }

  attach(panel) {
    show(panel, this.place);
  }

  draw(job, events) {
    const report = resultOf(job)?.report;
    show(this.place, accuracy(report), h("div", {class: "columns"}, card("Phases", timeline(events, hasEnded(job))),
      card("What was asked for", asked(job))), job.usage ? card("Cost", cost(job, report)) : null, files(job));
  }
}
