// What need not wait for the modules: the theme that was chosen here earlier, before the first paint, and what the
// page of this address is going to ask for: its module and its data. Not a module itself, so that it runs at once.
(() => {
  const stored = localStorage.getItem("qbc-theme");
  if (stored === "light" || stored === "dark") {
    document.documentElement.dataset.theme = stored;
  }
  const [, first, second] = location.pathname.split("/");
  const page = {"": "overview", jobs: second ? "job" : "jobs", compare: "compare"}[first];
  if (!page) {
    return;
  }
  const preload = document.createElement("link");
  preload.rel = "modulepreload";
  preload.href = new URL(`page_${page}.js`, document.currentScript.src);
  document.head.append(preload);
  // Paths as the pages write them: api.js takes an answer only for the same text.
  const paths = {overview: ["/overview", "/jobs?page_size=8"], jobs: location.search ? [] : ["/jobs?page_size=50", "/server"],
    job: [`/jobs/${second}`], compare: []}[page];
  globalThis.firstAnswers = new Map(paths.map((path) => {
    const answer = fetch(`/api/v1${path}`, {credentials: "same-origin"});
    answer.catch(() => {});  // whoever takes it hears of it
    return [`/api/v1${path}`, answer];
  }));
})();
