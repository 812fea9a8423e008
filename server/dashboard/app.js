// Which page an address shows, and what all pages have.

import {signOut} from "./api.js";
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

// The tenant that signed in here. The session itself is a cookie that no script sees.
const TENANT = "qbc-tenant";

function setUpSession(place) {
  const button = document.getElementById("sign-out");
  const tenant = localStorage.getItem(TENANT);
  button.hidden = tenant === null;
  button.setAttribute("aria-label", `Sign out ${tenant}`);
  button.addEventListener("click", async () => {
    localStorage.removeItem(TENANT);
    await signOut();
    location.assign("/");
  });
  document.addEventListener("signedout", async () => {
    localStorage.removeItem(TENANT);
    button.hidden = true;
    document.title = "Sign in · qbc";
    const login = await import("./page_login.js");
    login.render(place, (name) => {
      localStorage.setItem(TENANT, name);
      location.reload();
    });
    place.dataset.ready = "1";
  }, {once: true});
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
  setUpSession(place);
  const page = PAGES.find(([pattern]) => pattern.test(path));
  document.title = `${page[1]} · qbc`;
  try {
    const module = await page[2]();
    await module.render(place, ...path.match(page[0]).slice(1).map(decodeURIComponent));
  } catch (error) {
    if (error.status === 401) {
      return;  // the form to sign in is on its way
    }
    show(place, h("h1", {}, error.status === 404 ? "Not found" : "Something went wrong"), empty(error.message));
    if (error.status === undefined) {
      throw error;
    }
  }
  place.dataset.ready = "1";
}

main();
