// Two jobs side by side: accuracy, size, time, and the settings that differ.

import {get, jobPath} from "./api.js";
import {card, empty, h, show, table} from "./dom.js";
import {bytes, duration, seconds, time} from "./format.js";
import {badge, link, nameOf, resultOf, runSeconds, settingsOf, shortId, stateOf} from "./jobs.js";
import {valueText} from "./panel_config.js";

function executable(job) {
  const file = (job.artifacts ?? []).find((one) => one.name.endsWith(".mxq"));
  return file ? Number(file.size_bytes) : undefined;
}

/** [label, value of a job as a number, as text, whether more is better, how a difference is written]. */
const FIGURES = [
  ["Compile time", (job) => runSeconds(job), seconds, false],
  ["CPU time", (job) => duration(job.usage?.cpu_time), seconds, false],
  ["Peak memory", (job) => job.usage?.peak_rss_bytes === undefined ? undefined : Number(job.usage.peak_rss_bytes), bytes, false],
  ["Size of the executable", executable, bytes, false],
  ["Estimated cycles", (job) => resultOf(job)?.report?.plan?.estimated_cycles, (value) => value.toLocaleString("en"), false],
  ["Arena", (job) => resultOf(job)?.report?.plan?.arena_bytes, bytes, false],
];

function outputFigures(a, b) {
  const outputs = (job) => resultOf(job)?.report?.check?.outputs ?? [];
  const names = [...new Set([...outputs(a), ...outputs(b)].map((output) => output.name))];
  const of = (name, field) => (job) => outputs(job).find((output) => output.name === name)?.[field];
  return names.flatMap((name) => [
    [`${name}: SQNR`, of(name, "sqnr_db"), (value) => `${value.toFixed(2)} dB`, true, (a, b) => `${Math.abs(b - a).toFixed(2)} dB`],
    [`${name}: cosine`, of(name, "cosine"), (value) => value.toFixed(6), true, (a, b) => Math.abs(b - a).toFixed(6)],
    [`${name}: agreement`, of(name, "agreement"), (value) => `${(100 * value).toFixed(2)} %`, true, (a, b) => `${Math.abs(100 * (b - a)).toFixed(2)} points`],
  ]);
}

const relative = (a, b) => a === 0 ? "" : `${Math.abs(100 * (b - a) / a).toFixed(1)} %`;

function difference(a, b, more, size = relative) {
  if (typeof a !== "number" || typeof b !== "number" || a === b) {
    return h("td", {class: "n faint"}, a === b && a !== undefined ? "=" : "");
  }
  const change = `${b > a ? "+" : "−"}${size(a, b)}`;
  const better = b > a === more;
  return h("td", {class: `n ${better ? "better" : "worse"}`}, change, h("span", {class: "hidden"}, better ? " better" : " worse"));
}

function figures(a, b) {
  const rows = [...outputFigures(a, b), ...FIGURES].map(([label, read, text, more, size]) => {
    const [left, right] = [read(a), read(b)];
    if (typeof left !== "number" && typeof right !== "number") {
      return null;
    }
    const cell = (value) => h("td", {class: "n"}, typeof value === "number" ? text(value) : "–");
    return h("tr", {}, h("th", {scope: "row"}, label), cell(left), cell(right), difference(left, right, more, size));
  }).filter((row) => row !== null);
  return rows.length === 0 ? empty("Neither job has figures.") : table("Figures", ["Figure", {text: "A", class: "n"}, {text: "B", class: "n"},
    {text: "A to B", class: "n"}], rows);
}

function settings(a, b) {
  const [left, right] = [settingsOf(a), settingsOf(b)];
  const rows = [...new Set([...Object.keys(left), ...Object.keys(right)])].sort()
    .filter((path) => JSON.stringify(left[path]?.value) !== JSON.stringify(right[path]?.value))
    .map((path) => h("tr", {}, h("th", {scope: "row", class: "mono"}, path), [left, right].map((side) => h("td", {class: "text"},
      h("span", {class: "mono"}, side[path] ? valueText(side[path].value) : "–"),
      side[path] && side[path].origin !== "default" ? h("span", {class: "faint"}, ` ${side[path].origin}`) : null))));
  return rows.length === 0 ? empty("The settings are the same.") : table("Settings that differ", ["Setting", "A", "B"], rows);
}

function sides(a, b) {
  return h("div", {class: "columns"}, [["A", a], ["B", b]].map(([letter, job]) => h("section", {class: "card"},
    h("h2", {}, `${letter}: `, link(job)), h("p", {}, badge(stateOf(job))), h("p", {class: "faint"}, [job.spec?.target_device,
      time(job.create_time), shortId(job)].filter(Boolean).join(" · ")))));
}

async function choose(place, a) {
  const jobs = ((await get("/jobs?page_size=100&state=succeeded")).jobs ?? []);
  const select = (name, label, chosen) => h("label", {class: "field"}, label, h("select", {name}, jobs.map((job, index) =>
    h("option", {value: job.id, selected: chosen ? job.id === chosen : index === (name === "b" ? 1 : 0)},
      `${nameOf(job)} · ${job.spec?.target_device ?? ""} · ${time(job.create_time)} · ${shortId(job)}`))));
  show(place, h("h1", {}, "Compare"), jobs.length < 2 ? empty("There are not yet two jobs that succeeded.")
    : card(null, h("form", {action: "/compare", method: "get", class: "form"}, select("a", "A", a), select("b", "B"),
      h("button", {type: "submit", class: "button"}, "Compare"))));
}

export async function render(place) {
  const query = new URLSearchParams(location.search);
  const [a, b] = [query.get("a"), query.get("b")];
  if (!a || !b) {
    await choose(place, a);
    return;
  }
  const [left, right] = await Promise.all([get(jobPath(a)), get(jobPath(b))]);
  show(place, h("div", {class: "title"}, h("h1", {}, "Compare"), h("a", {class: "button", href: `/compare?${new URLSearchParams({a: b, b: a})}`}, "Swap")),
    sides(left, right), card("Figures", figures(left, right)), card("Settings that differ", settings(left, right)));
}
