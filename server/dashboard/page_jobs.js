// The list of jobs. Every filter is a link, so each view has an address.

import {get, listen} from "./api.js";
import {card, eachFrame, empty, h, show, table} from "./dom.js";
import {ago, time} from "./format.js";
import {badge, hasEnded, link, nameOf, progressText, shortId, STATES, stateLabel, stateOf} from "./jobs.js";

const PERIODS = [["", "any time"], ["1h", "last hour"], ["24h", "last 24 hours"], ["168h", "last 7 days"]];
const PAGE_SIZE = 50;
// As many as a screen shows: the others are drawn after the first paint.
const FIRST_ROWS = 20;

/** This page's address with other parameters; undefined takes one away, and always the place in the list. */
function address(query, changes) {
  const next = new URLSearchParams(query);
  next.delete("page_token");
  for (const [name, value] of Object.entries(changes)) {
    next.delete(name);
    for (const one of [value].flat()) {
      if (one) {
        next.append(name, one);
      }
    }
  }
  const text = next.toString();
  return text ? `/jobs?${text}` : "/jobs";
}

function chip(text, href, current) {
  return h("a", {class: "chip", href, "aria-current": current ? "true" : null}, text);
}

function filters(query, targets) {
  const states = query.getAll("state");
  const target = query.get("target") ?? "";
  const period = query.get("since") ?? "";
  const row = (label, ...chips) => h("div", {class: "filter", role: "group", "aria-label": label},
    h("span", {class: "label"}, label), chips);
  return h("div", {class: "filters"},
    row("State", chip("all", address(query, {state: undefined}), states.length === 0),
      STATES.map((state) => {
        const on = states.includes(state);
        const next = on ? states.filter((one) => one !== state) : [...states, state];
        return chip(stateLabel(state), address(query, {state: next}), on);
      })),
    row("Target", chip("all", address(query, {target: undefined}), target === ""),
      targets.map((name) => chip(name, address(query, {target: name}), name === target))),
    row("Submitted", PERIODS.map(([value, text]) => chip(text, address(query, {since: value}), value === period))));
}

function listQuery(query) {
  const ask = new URLSearchParams({page_size: PAGE_SIZE});
  query.getAll("state").forEach((state) => ask.append("state", state));
  for (const name of ["target", "page_token", "created_after"]) {
    if (query.get(name)) {
      ask.set(name, query.get(name));
    }
  }
  const hours = Number.parseInt(query.get("since") ?? "", 10);
  if (hours > 0 && !ask.has("created_after")) {
    // Whole minutes: a page token belongs to one filter, so the filter must not move from page to page.
    ask.set("created_after", new Date(Math.floor((Date.now() - hours * 3_600_000) / 60_000) * 60_000).toISOString());
  }
  return ask;
}

function row(job, chosen, onChoose) {
  const name = h("td", {class: "name"}, link(job), h("span", {class: "id mono faint"}, shortId(job)),
    h("span", {class: "narrow faint"}, [job.spec?.target_device, progressText(job)].filter(Boolean).join(" · ")));
  const box = h("input", {type: "checkbox", "aria-label": `Choose ${nameOf(job)} (${shortId(job)}) to compare`, checked: chosen.has(job.id),
    onchange: (event) => onChoose(job.id, event.target.checked)});
  return h("tr", {dataset: {job: job.id}}, h("td", {class: "pick"}, box), h("td", {}, badge(stateOf(job))), name,
    h("td", {class: "not-narrow"}, job.spec?.target_device ?? ""), h("td", {class: "progress not-narrow"}, progressText(job)),
    h("td", {class: "faint"}, h("time", {datetime: job.create_time, title: time(job.create_time)}, ago(job.create_time))));
}

/** Up to two jobs, and the link that compares them. */
class Choice {
  constructor() {
    this.ids = new Set();
    this.link = h("a", {class: "button", href: "/compare", hidden: true}, "Compare");
    this.onChoose = (id, on) => {
      this.ids[on ? "add" : "delete"](id);
      while (this.ids.size > 2) {
        const [first] = this.ids;
        this.ids.delete(first);
        const box = document.querySelector(`tr[data-job="${CSS.escape(first)}"] input`);
        if (box) {
          box.checked = false;
        }
      }
      const [a, b] = this.ids;
      this.link.hidden = this.ids.size !== 2;
      this.link.href = `/compare?${new URLSearchParams({a, b})}`;
    };
  }
}

/** Keeps the rows as the server has them. Gives a function that draws all of them at the next frame. */
function follow(revision, query, jobs, draw, notice) {
  const states = query.getAll("state");
  const target = query.get("target");
  const first = !query.get("page_token");
  const byId = new Map(jobs.map((job) => [job.id, job]));
  const fresh = new Set();
  const redraw = eachFrame(() => draw([...byId.values()]));
  listen(`/events?after=${revision}`, {jobs: (frame) => {
    for (const job of frame.jobs ?? []) {
      const fits = (states.length === 0 || states.includes(stateOf(job))) && (!target || job.spec?.target_device === target);
      if (byId.has(job.id)) {
        byId.set(job.id, job);  // also one that no longer fits: rows do not vanish under the pointer
      } else if (fits && first && !hasEnded(job)) {
        fresh.add(job.id);
      }
    }
    redraw();
    if (fresh.size > 0) {
      show(notice, h("a", {class: "button", href: location.href}, `${fresh.size} new ${fresh.size === 1 ? "job" : "jobs"}: show`));
    }
  }});
  return redraw;
}

export async function render(place) {
  const query = new URLSearchParams(location.search);
  const ask = listQuery(query);
  const [list, server] = await Promise.all([get(`/jobs?${ask}`), get("/server")]);
  const jobs = list.jobs ?? [];
  const choice = new Choice();
  const rows = h("div");
  const notice = h("div", {class: "notice", role: "status"});
  const draw = (all) => show(rows, all.length === 0 ? empty("No job is like that.")
    : card(null, table("Jobs", [{text: "Choose", class: "pick"}, "State", "Model", {text: "Target", class: "not-narrow"},
        {text: "Progress", class: "not-narrow"}, "Submitted"],
      all.map((job) => row(job, choice.ids, choice.onChoose)))));
  draw(jobs.slice(0, FIRST_ROWS));
  const next = new URLSearchParams(query);
  if (ask.has("created_after")) {
    next.set("created_after", ask.get("created_after"));
  }
  next.set("page_token", list.next_page_token ?? "");
  show(place, h("div", {class: "title"}, h("h1", {}, "Jobs"), notice, choice.link), filters(query, server.targets ?? []), rows,
    h("nav", {class: "pager", "aria-label": "Places in the list"},
      query.get("page_token") ? h("a", {class: "button", href: address(query, {created_after: undefined})}, "Newest") : h("span"),
      list.next_page_token ? h("a", {class: "button", rel: "next", href: `/jobs?${next}`}, "Older") : null));
  const redraw = follow(list.revision ?? 0, query, jobs, draw, notice);
  if (jobs.length > FIRST_ROWS) {
    requestAnimationFrame(redraw);  // it waits for one more
  }
}
