// The first page: queue, throughput, workers, the newest jobs.

import {get, listen} from "./api.js";
import {card, eachFrame, empty, h, key, show, svg, table} from "./dom.js";
import {ago, count, time} from "./format.js";
import {badge, link, progressText, stateOf} from "./jobs.js";

const REFRESH_MS = 10_000;
const CHART = {width: 720, height: 132, foot: 18};

function tile(label, value, more, href) {
  const inside = [h("span", {class: "label"}, label), h("span", {class: "value"}, value),
    h("span", {class: "more"}, more ?? "")];
  return href ? h("a", {class: "tile", href}, inside) : h("div", {class: "tile"}, inside);
}

function meter(label, used, total) {
  const bar = h("span", {class: "fill"});
  bar.style.width = total > 0 ? `${100 * used / total}%` : "0";
  return h("div", {class: "tile"}, h("span", {class: "label"}, label),
    h("span", {class: "value"}, `${used}`, h("span", {class: "of"}, ` / ${total}`)),
    h("span", {class: "track", role: "img", "aria-label": `${used} of ${total} in use`}, bar));
}

const sum = (list, field) => list.reduce((total, one) => total + one[field], 0);

function tiles(overview) {
  const n = overview.counts;
  const waiting = (n.queued ?? 0) + (n.retry_wait ?? 0);
  const gpus = sum(overview.workers, "gpus");
  return h("div", {class: "tiles"},
    tile("Waiting", count(waiting), n.retry_wait ? `${n.retry_wait} to try again` : "", "/jobs?state=queued&state=retry_wait"),
    tile("Running", count((n.running ?? 0) + (n.cancelling ?? 0)), "", "/jobs?state=running&state=cancelling"),
    tile("Succeeded", count(n.succeeded ?? 0), "", "/jobs?state=succeeded"),
    tile("Failed", count(n.failed ?? 0), "", "/jobs?state=failed"),
    meter("Slots", sum(overview.workers, "busy_slots"), sum(overview.workers, "slots")),
    gpus > 0 ? meter("GPUs", sum(overview.workers, "busy_gpus"), gpus) : null);
}

/** Jobs that ended, a bar an hour. */
function chart(throughput) {
  const hours = throughput.hours;
  const most = Math.max(1, ...hours.map((hour) => hour.succeeded + hour.failed + hour.other));
  const step = CHART.width / hours.length;
  const scale = (CHART.height - CHART.foot - 6) / most;
  const bars = hours.flatMap((hour, index) => {
    let base = CHART.height - CHART.foot;
    const start = new Date(Date.now() - (hours.length - 1 - index) * 3_600_000);
    const title = `${start.getHours()}:00: ${hour.succeeded} succeeded, ${hour.failed} failed, ${hour.other} other`;
    return ["succeeded", "failed", "other"].map((kind) => {
      const height = hour[kind] * scale;
      base -= height;
      return height > 0 ? svg("rect", {class: `bar-${kind}`, x: index * step + 2, y: base, width: step - 4, height, rx: 2},
        svg("title", {}, title)) : null;
    });
  });
  const labels = hours.map((_, index) => {
    const start = new Date(Date.now() - (hours.length - 1 - index) * 3_600_000);
    return index % 6 === 5 ? svg("text", {class: "axis", x: index * step + step / 2, y: CHART.height - 4, "text-anchor": "middle"},
      `${start.getHours()}:00`) : null;
  });
  const base = CHART.height - CHART.foot;
  const total = sum(hours, "succeeded") + sum(hours, "failed") + sum(hours, "other");
  return h("div", {}, svg("svg", {class: "chart", viewBox: `0 0 ${CHART.width} ${CHART.height}`, role: "img",
    "aria-label": `${total} jobs ended in the last 24 hours, at most ${most} in one hour`},
  svg("line", {class: "rule", x1: 0, x2: CHART.width, y1: base + 0.5, y2: base + 0.5}), bars, labels),
  h("p", {class: "legend"}, key("succeeded", `${count(sum(hours, "succeeded"))} succeeded`), key("failed", `${count(sum(hours, "failed"))} failed`),
    key("other", `${count(sum(hours, "other"))} cancelled or expired`),
    throughput.complete ? "" : " (of the newest 3000 jobs)"));
}

function workers(list) {
  if (list.length === 0) {
    return empty("No worker is connected: jobs are accepted and wait.");
  }
  return table("Workers", ["Worker", {text: "Slots", class: "n"}, {text: "GPUs", class: "n"}, "Compiler"],
    list.map((worker) => h("tr", {}, h("td", {}, worker.worker_id, worker.draining ? h("span", {class: "note"}, " ending") : null),
      h("td", {class: "n"}, `${worker.busy_slots} / ${worker.slots}`),
      h("td", {class: "n"}, worker.gpus > 0 ? `${worker.busy_gpus} / ${worker.gpus}` : "–"),
      h("td", {class: "mono"}, worker.compiler_build))));
}

function recent(jobs) {
  if (jobs.length === 0) {
    return empty("No jobs yet. Submit one: qbc compile net.onnx --target-device aries-rb --calib-data-path samples/");
  }
  return h("ul", {class: "rows"}, jobs.map((job) => h("li", {}, badge(stateOf(job)), h("span", {class: "grow"}, link(job)),
    h("span", {class: "faint"}, progressText(job)),
    h("time", {class: "faint", datetime: job.create_time, title: time(job.create_time)}, ago(job.create_time)))));
}

export async function render(place) {
  const [overview, list] = await Promise.all([get("/overview"), get("/jobs?page_size=8")]);
  const parts = {tiles: h("div"), chart: h("div"), workers: h("div"), recent: h("div")};
  const draw = (now, jobs) => {
    show(parts.tiles, tiles(now));
    show(parts.chart, chart(now.throughput));
    show(parts.workers, workers(now.workers));
    show(parts.recent, recent(jobs));
  };
  draw(overview, list.jobs ?? []);
  show(place, h("h1", {}, "Overview"), parts.tiles,
    h("div", {class: "columns"}, card("Last 24 hours", parts.chart), card("Workers", parts.workers)),
    card("Newest jobs", parts.recent, h("p", {class: "end"}, h("a", {href: "/jobs"}, "All jobs"))),
    h("p", {class: "foot"}, `qbc-server ${overview.server_version} · `, h("a", {href: "/api/v1/openapi.json"}, "API"),
      " · ", h("a", {href: "/metrics"}, "Metrics")));
  let busy = false;
  const refresh = async () => {
    if (busy || document.hidden) {
      return;
    }
    busy = true;
    try {
      const [now, jobs] = await Promise.all([get("/overview"), get("/jobs?page_size=8")]);
      draw(now, jobs.jobs ?? []);
    } finally {
      busy = false;
    }
  };
  listen(`/events?after=${list.revision ?? 0}`, {jobs: eachFrame(refresh)});
  setInterval(refresh, REFRESH_MS);
}
