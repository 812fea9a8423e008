// Which page an address shows, and what all pages have.

import {empty, h, show} from "./dom.js";

const PAGES = [
  [/^\/$/, "Overview", () => import("./page_overview.js")],
  [/^\/jobs$/, "Jobs", () => import("./page_jobs.js")],
  [/^\/jobs\/([^/]+)$/, "Job", () => import("./page_job.js")],
  [/^\/compare$/, "Compare", () => import("./page_compare.js")],
];
const THEMES = ["auto", "light", "dark"];

function applyTheme(theme) {
  const button = document.getElementById("theme");
  if (theme === "auto") {
    delete document.documentElement.dataset.theme;
    localStorage.removeItem("qbc-theme");
  } else {
    document.documentElement.dataset.theme = theme;
    localStorage.setItem("qbc-theme", theme);
  }
  show(button, h("span", {class: "not-narrow"}, "Theme: "), theme);
  button.setAttribute("aria-label", `Theme: ${theme}`);
  document.dispatchEvent(new Event("themechange"));
}

function setUpTheme() {
  const current = () => document.documentElement.dataset.theme ?? "auto";
  applyTheme(current());
  document.getElementById("theme").addEventListener("click", () => {
    applyTheme(THEMES[(THEMES.indexOf(current()) + 1) % THEMES.length]);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    document.dispatchEvent(new Event("themechange"));
  });
}

function markPage(path) {
  for (const anchor of document.querySelectorAll("#pages a")) {
    const own = anchor.getAttribute("href");
    if (own === path || (own !== "/" && path.startsWith(`${own}/`))) {
      anchor.setAttribute("aria-current", "page");
    }
  }
}

async function main() {
  setUpTheme();
  const path = location.pathname;
  markPage(path);
  const place = document.getElementById("main");
  const page = PAGES.find(([pattern]) => pattern.test(path));
  document.title = `${page[1]} · qbc`;
  try {
    const module = await page[2]();
    await module.render(place, ...path.match(page[0]).slice(1).map(decodeURIComponent));
  } catch (error) {
    show(place, h("h1", {}, error.status === 404 ? "Not found" : "Something went wrong"), empty(error.message));
    if (error.status === undefined) {
      throw error;
    }
  }
  place.dataset.ready = "1";
}

main();
