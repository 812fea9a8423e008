// What every page says about a job in the same way.

import {h} from "./dom.js";
import {between, duration, seconds} from "./format.js";
import {jobPath} from "./api.js";

export const STATES = ["queued", "running", "retry_wait", "cancelling", "succeeded", "failed", "cancelled", "expired"];
const LABELS = {retry_wait: "waiting to retry"};

export function stateOf(job) {
  return (job.state ?? "JOB_STATE_QUEUED").replace("JOB_STATE_", "").toLowerCase();
}

export function hasEnded(job) {
  return ["succeeded", "failed", "cancelled", "expired"].includes(stateOf(job));
}

export function stateLabel(state) {
  return LABELS[state] ?? state;
}

/** A dot and a word: the colour is not the only sign. */
export function badge(state) {
  return h("span", {class: `badge ${state}`}, h("span", {class: "dot", "aria-hidden": "true"}), stateLabel(state));
}

/** What people call the job: a label "name", else the file that is compiled. */
export function nameOf(job) {
  const main = job.spec?.model?.main ?? "";
  return job.spec?.labels?.name || main || job.spec?.model?.entries?.[0]?.path || "model";
}

export const shortId = (job) => job.id.slice(0, 8) + "…" + job.id.slice(-4);

export function link(job) {
  return h("a", {href: jobPath(job.id)}, nameOf(job));
}

/** Seconds that the compile took, or takes by now. */
export function runSeconds(job) {
  return job.usage?.wall_time !== undefined && hasEnded(job) ? duration(job.usage.wall_time)
    : between(job.start_time, job.finish_time);
}

export function progressText(job) {
  const state = stateOf(job);
  if (state === "running" && job.progress?.phase) {
    return `${job.progress.phase} · ${Math.round((job.progress.fraction ?? 0) * 100)} %`;
  }
  if (hasEnded(job)) {
    return job.cache_hit ? "result was there" : seconds(runSeconds(job));
  }
  return job.wait_reason ?? "";
}

/** The compiler's result line, or undefined. */
export function resultOf(job) {
  try {
    return job.result_json ? JSON.parse(job.result_json) : undefined;
  } catch {
    return undefined;
  }
}

/** {path: {value, origin}} of every setting. */
export function settingsOf(job) {
  try {
    return JSON.parse(job.resolved_config_json ?? "{}").settings ?? {};
  } catch {
    return {};
  }
}
