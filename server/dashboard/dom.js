// Elements from data. Text is always text: nothing here, or anywhere in the dashboard, parses HTML.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) {
      continue;
    }
    if (name.startsWith("on")) {
      element.addEventListener(name.slice(2), value);
    } else if (name === "dataset") {
      Object.assign(element.dataset, value);
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  element.append(...children.flat(3).filter((child) => child !== undefined && child !== null && child !== false));
  return element;
}

/** An HTML element; children are elements, text, or lists of them. */
export function h(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** An SVG element. */
export function svg(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/** Replaces what is in `element`. */
export function show(element, ...children) {
  element.replaceChildren();
  return fill(element, {}, children);
}

/** A table whose header row is `heads`: text, or {text, class}. */
export function table(caption, heads, rows) {
  const cells = heads.map((head) => typeof head === "string" ? h("th", {scope: "col"}, head)
    : h("th", {scope: "col", class: head.class}, head.text));
  return h("div", {class: "wide", tabindex: 0, role: "region", "aria-label": caption},
    h("table", {}, h("caption", {class: "hidden"}, caption), h("thead", {}, h("tr", {}, cells)),
      h("tbody", {}, rows)));
}

/** A definition list of [term, value] pairs; pairs without a value are left out. */
export function facts(pairs) {
  return h("dl", {class: "facts"}, pairs.filter(([, value]) => value !== undefined && value !== null && value !== "")
    .map(([term, value]) => h("div", {}, h("dt", {}, term), h("dd", {}, value))));
}

export function card(title, ...children) {
  return h("section", {class: "card"}, title ? h("h2", {}, title) : null, children);
}

/** A coloured square and what it stands for. */
export function key(kind, text) {
  return h("span", {class: "key-pair"}, h("span", {class: `key ${kind}`, "aria-hidden": "true"}), text);
}

/** What stands where there is nothing yet. */
export function empty(text) {
  return h("p", {class: "empty"}, text);
}

/** Calls `act` at the next frame, however often it is asked for before that. */
export function eachFrame(act) {
  let asked = false;
  return () => {
    if (!asked) {
      asked = true;
      requestAnimationFrame(() => {
        asked = false;
        act();
      });
    }
  };
}
