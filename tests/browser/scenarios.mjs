// What a person does in the dashboard, in real Chromium.
//
//   node scenarios.mjs NAME ARGUMENTS     JSON in, one line of JSON out
//
// A scenario fails when it throws, when the page writes an error to the console, when a dialog opens, or when a
// request that the scenario does not expect fails.

import assert from "node:assert/strict";
import fs from "node:fs";
import {createRequire} from "node:module";
import path from "node:path";

const tools = process.env.QB_BROWSER_TOOLS;
const require = createRequire(path.join(tools, "from-here.js"));
const {chromium} = require("playwright-core");
const AXE = fs.readFileSync(path.join(tools, "axe-core/axe.min.js"), "utf8");
const DEADLINE_MS = 120_000;

class Visit {
  constructor(browser, site) {
    this.browser = browser;
    this.site = site;
    this.complaints = [];
  }

  async open({width = 1280, height = 860, colorScheme = "light", bypassCSP = false} = {}) {
    const context = await this.browser.newContext({viewport: {width, height}, colorScheme, bypassCSP});
    context.setDefaultTimeout(DEADLINE_MS);
    this.page = await context.newPage();
    this.page.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) {
        this.complaints.push(`console: ${message.text()}`);
      }
    });
    this.page.on("pageerror", (error) => this.complaints.push(`error: ${error.message}`));
    this.page.on("dialog", async (dialog) => {
      this.complaints.push(`dialog: ${dialog.message()}`);
      await dialog.dismiss();
    });
    return this.page;
  }

  async go(where) {
    await this.page.goto(this.site + where);
    await this.ready();
  }

  async ready() {
    await this.page.waitForSelector("main[data-ready]");
  }

  async tab(name) {
    await this.page.getByRole("tab", {name}).click();
  }

  /** Serious findings of axe-core. Needs a context without the content security policy. */
  async findings() {
    await this.page.evaluate(AXE);
    const report = await this.page.evaluate(() => globalThis.axe.run());
    return report.violations.filter((one) => ["serious", "critical"].includes(one.impact))
      .map((one) => `${one.id}: ${one.nodes.map((node) => node.target.join(" ")).join(", ")}`);
  }

  async widthOver() {
    return this.page.evaluate(() => document.scrollingElement.scrollWidth - innerWidth);
  }
}

const SCENARIOS = {
  /** The list shows the job as soon as it is submitted; its page follows it to the end. */
  async follow(visit, {job}) {
    const page = await visit.open();
    await visit.go(`/jobs/${job}`);
    await page.locator("h1 .badge.succeeded").waitFor();
    const phases = await page.locator(".timeline .phase").allTextContents();
    await visit.tab("Graph");
    await page.waitForSelector("canvas[data-painted]");
    await page.getByRole("searchbox", {name: "Find a layer"}).fill("conv");
    await page.locator(".found button").first().click();
    const details = await page.locator(".side-details").innerText();
    await visit.tab("Report");
    const frame = page.frameLocator("iframe.report");
    await frame.locator("h1").waitFor();
    const report = await frame.locator("body").innerText();
    await visit.tab("Log");
    await page.locator("pre.log").filter({hasText: /\S/}).waitFor();
    await visit.tab("Settings");
    const settings = await page.locator("#panel-config").innerText();
    await visit.tab("Events");
    await page.locator("td.kind.result").waitFor();
    await visit.tab("Summary");
    const files = await page.locator("a[download]").allTextContents();
    return {phases, details, report, settings, files, accuracy: await page.locator("main").innerText()};
  },

  /** A list that is open when a job is submitted. `wait` is a file that this scenario makes when it looks. */
  async arrives(visit, {looking}) {
    const page = await visit.open();
    await visit.go("/jobs");
    fs.writeFileSync(looking, "");
    await page.getByRole("link", {name: /1 new job: show/}).click();
    await visit.ready();
    await page.locator("tbody tr").first().locator(".badge.running").waitFor();
    await page.locator("tbody tr").first().getByRole("link").click();
    await visit.ready();
    const seen = await page.locator("h1").innerText();
    return {seen};
  },

  /** Names and messages with markup in them, everywhere they are shown. */
  async hostile(visit, {jobs, names}) {
    const page = await visit.open();
    const texts = [];
    for (const where of ["/", "/jobs", ...jobs.map((job) => `/jobs/${job}`), ...jobs.map((job) => `/jobs/${job}#events`),
      ...jobs.map((job) => `/jobs/${job}#log`), `/compare?a=${jobs[0]}&b=${jobs[1]}`, "/compare",
      "/jobs?target=%3Cscript%3Epwned%3D1%3C%2Fscript%3E", `/jobs/${jobs[0]}#%3Cimg%20src=x%20onerror=pwned=1%3E`]) {
      await visit.go(where);
      await page.waitForTimeout(150);
      texts.push(await page.locator("body").innerText());
      assert.equal(await page.evaluate(() => globalThis.pwned), undefined, where);
      assert.equal(await page.locator("main img, main script, main iframe, main object").count(), 0, where);
    }
    for (const name of names) {
      assert.ok(texts.some((text) => text.includes(name)), `'${name}' is shown as it is`);
    }
    return {};
  },

  /** The policy itself: code that got into the page would not run. */
  async policy(visit) {
    const page = await visit.open();
    await visit.go("/");
    const ran = await page.evaluate(async () => {
      const script = document.createElement("script");
      try {
        script.textContent = "globalThis.pwned = 1";
        document.body.append(script);
        document.body.innerHTML += "<img src=x onerror='globalThis.pwned = 2'>";
      } catch {
        // Trusted Types refuse the text itself.
      }
      await new Promise((resolve) => setTimeout(resolve, 200));
      return globalThis.pwned;
    });
    assert.equal(ran, undefined);
    const blocked = visit.complaints.splice(0).length;
    return {blocked};
  },

  /** A server that asks who looks: a wrong token, the right one, its job with stream, frame and file, and out again. */
  async login(visit, {job, token, wrong, picture}) {
    const page = await visit.open();
    const addresses = [];
    page.on("request", (request) => addresses.push(request.url()));
    const unauthorized = () => {
      // A browser itself writes one line for each answer 401.
      const [expected, other] = [visit.complaints.filter((one) => one.includes("401")), visit.complaints.filter((one) => !one.includes("401"))];
      visit.complaints.splice(0, visit.complaints.length, ...other);
      return expected.length;
    };
    await visit.go(`/jobs/${job}`);
    assert.equal(await page.title(), "Sign in · qbc");
    const field = page.getByLabel("Token");
    assert.equal(await field.getAttribute("type"), "password");
    await field.fill(wrong);
    await page.keyboard.press("Enter");
    const refused = await page.getByRole("alert").filter({hasText: /\S/}).innerText();
    await field.fill("no token at all");
    await page.getByRole("button", {name: "Sign in"}).click();
    await page.getByRole("alert").filter({hasText: "That is not a token"}).waitFor();
    assert.ok(unauthorized() >= 2);
    await field.fill(` ${token} `);
    await page.getByRole("button", {name: "Sign in"}).click();
    await page.locator("h1 .badge.succeeded").waitFor();
    await visit.tab("Log");
    await page.locator("pre.log").filter({hasText: /\S/}).waitFor();
    const [file] = await Promise.all([page.waitForEvent("download"), (async () => {
      await visit.tab("Summary");
      await page.locator("a[download]").first().click();
    })()]);
    const bytes = fs.statSync(await file.path()).size;
    const stored = await page.evaluate(() => JSON.stringify({...localStorage, ...sessionStorage}) + document.cookie);
    await visit.go("/jobs");
    assert.equal(await page.locator(`tr[data-job="${job}"]`).count(), 1);
    await page.setViewportSize({width: 390, height: 844});
    assert.equal(await visit.widthOver(), 0);
    await page.getByRole("button", {name: "Sign out"}).click();
    await page.getByLabel("Token").waitFor();
    await visit.go("/jobs");
    await page.getByLabel("Token").waitFor();
    assert.equal(await page.getByRole("button", {name: "Sign out"}).count(), 0);
    await visit.open({width: 390, height: 844, bypassCSP: true});
    await visit.go("/jobs");
    assert.deepEqual([await visit.findings(), await visit.widthOver()], [[], 0]);
    if (picture) {
      await visit.page.screenshot({path: picture});
    }
    unauthorized();
    for (const text of [stored, ...addresses]) {
      assert.ok(!text.includes(token) && !text.includes(token.split("_")[2]), "the token is in no address and no storage");
    }
    return {refused, bytes, requests: addresses.length};
  },

  async failure(visit, {job}) {
    const page = await visit.open();
    await visit.go(`/jobs/${job}`);
    return {alert: await page.getByRole("alert").innerText(), graph: await (async () => {
      await visit.tab("Graph");
      return page.locator("#panel-graph").innerText();
    })()};
  },

  async keyboard(visit, {job}) {
    const page = await visit.open();
    await visit.go(`/jobs/${job}`);
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement.textContent), "Skip to content");
    await page.getByRole("tab", {name: "Summary"}).focus();
    await page.keyboard.press("ArrowRight");
    assert.equal(await page.evaluate(() => document.activeElement.textContent), "Graph");
    await page.waitForSelector("canvas[data-painted]");
    await page.locator("canvas").focus();
    for (const key of ["ArrowDown", "ArrowDown", "+", "-", "0"]) {
      await page.keyboard.press(key);
    }
    const details = await page.locator(".side-details h3").innerText();
    await page.keyboard.press("Escape");
    assert.equal(await page.locator(".side-details h3").count(), 0);
    return {details};
  },

  async filters(visit, {failed, succeeded}) {
    const page = await visit.open();
    const asked = [];
    page.on("request", (request) => asked.push(new URL(request.url()).pathname));
    await visit.go("/jobs");
    // What first.js has asked for is what the page takes.
    assert.deepEqual(["/api/v1/jobs", "/api/v1/server"].map((path) => asked.filter((one) => one === path).length), [1, 1]);
    await page.getByRole("link", {name: "failed", exact: true}).click();
    await visit.ready();
    assert.equal(new URL(page.url()).search, "?state=failed");
    const ids = async () => page.locator("tr[data-job]").evaluateAll((rows) => rows.map((row) => row.dataset.job));
    assert.deepEqual((await ids()).includes(failed), true);
    assert.deepEqual((await ids()).includes(succeeded), false);
    await page.getByRole("link", {name: "succeeded", exact: true}).click();
    await visit.ready();
    assert.equal((await ids()).includes(succeeded), true);
    for (const id of [failed, succeeded]) {
      await page.locator(`tr[data-job="${id}"] input`).check();
    }
    await page.getByRole("link", {name: "Compare", exact: true}).last().click();
    await visit.ready();
    return {compared: await page.locator("main").innerText()};
  },

  async access(visit, {pages, widths}) {
    const found = [];
    for (const width of widths) {
      for (const colorScheme of ["light", "dark"]) {
        const page = await visit.open({width, height: width < 600 ? 844 : 860, colorScheme, bypassCSP: true});
        for (const where of pages) {
          await visit.go(where);
          await page.waitForTimeout(200);
          const over = await visit.widthOver();
          if (over > 0) {
            found.push(`${where} at ${width}: ${over} px too wide`);
          }
          found.push(...(await visit.findings()).map((finding) => `${where} at ${width}, ${colorScheme}: ${finding}`));
        }
        await page.context().close();
      }
    }
    return {found};
  },

  /** Pictures for people to look at: [{path, where, width, colorScheme}]. */
  async pictures(visit, {shots}) {
    for (const shot of shots) {
      const page = await visit.open(shot);
      await visit.go(shot.where);
      await page.waitForTimeout(400);
      if (shot.layer) {
        await page.getByRole("searchbox", {name: "Find a layer"}).fill(shot.layer);
        await page.locator(".found button").first().click();
        await page.getByRole("searchbox", {name: "Find a layer"}).fill("");
        await page.waitForTimeout(200);
      }
      await page.screenshot({path: shot.path});
      await page.context().close();
    }
    return {};
  },

  /** A picture of a file's content, as high as it is. */
  async picture(visit, {file, path: picture, width}) {
    const page = await visit.open({width, height: 150});
    await page.goto(file);
    await page.screenshot({path: picture, fullPage: true});
    return {};
  },

  /**
   * Milliseconds of the page's own clock until what it is about has been painted: the list, the graph. `api` is how long
   * the request for the list took.
   */
  async speed(visit, {list, graph, rounds}) {
    const page = await visit.open();
    // In the page, because a question from here takes tens of milliseconds and disturbs what it measures.
    await page.addInitScript(() => {
      const done = () => document.querySelector(location.hash === "#graph" ? "canvas[data-painted]" : "main[data-ready]");
      new MutationObserver((_, observer) => {
        if (done()) {
          observer.disconnect();
          requestAnimationFrame(() => {
            const afterPaint = new MessageChannel();
            afterPaint.port1.onmessage = () => performance.mark("painted");
            afterPaint.port2.postMessage(null);
          });
        }
      }).observe(document, {subtree: true, childList: true, attributes: true});
    });
    const painted = async (where) => {
      await page.goto("about:blank");
      await page.goto(visit.site + where);
      await page.waitForFunction(() => performance.getEntriesByName("painted").length > 0);
      return page.evaluate(() => performance.getEntriesByName("painted")[0].startTime);
    };
    const times = {list: [], api: [], graph: []};
    for (let round = 0; round < rounds; round += 1) {
      if (list) {
        times.list.push(await painted(list));
        times.api.push(await page.evaluate(() => Math.max(...performance.getEntriesByType("resource")
          .filter((entry) => entry.name.includes("/api/v1/jobs?")).map((entry) => entry.duration))));
      }
      if (graph) {
        times.graph.push(await painted(graph));
      }
    }
    return times;
  },
};

async function main() {
  const [name, text] = process.argv.slice(2);
  const {site, ...rest} = JSON.parse(text);
  const browser = await chromium.launch({executablePath: "/usr/bin/chromium", args: process.getuid() === 0 ? ["--no-sandbox"] : []});
  const visit = new Visit(browser, site);
  try {
    const result = await SCENARIOS[name](visit, rest);
    assert.deepEqual(visit.complaints, []);
    console.log(JSON.stringify(result));
  } finally {
    await browser.close();
  }
}

main().catch((error) => {
  console.error(error.stack ?? error);
  process.exitCode = 1;
});
