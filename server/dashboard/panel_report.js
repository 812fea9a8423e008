// The accuracy report that the compile wrote: a page of its own, in a frame that may do nothing.

import {artifactUrl} from "./api.js";
import {empty, h, show} from "./dom.js";
import {hasEnded} from "./jobs.js";

export function renderReport(panel, job) {
  if (!(job.artifacts ?? []).some((one) => one.name === "report.html")) {
    show(panel, empty(hasEnded(job) ? "This job has no report." : "The report comes with the result."));
    return;
  }
  const url = `${artifactUrl(job, "report.html")}?view=1`;
  show(panel, h("p", {class: "end"}, h("a", {href: url, target: "_blank", rel: "noopener"}, "Open alone")),
    h("iframe", {class: "report", src: url, sandbox: "", title: "Accuracy report", referrerpolicy: "no-referrer"}));
}
