// Before the first paint: the theme that was chosen here earlier. Not a module, so that it runs at once.
(() => {
  const stored = localStorage.getItem("qbc-theme");
  if (stored === "light" || stored === "dark") {
    document.documentElement.dataset.theme = stored;
  }
})();
