// Draws a graph on a canvas; pan by dragging, zoom by wheel, pinch and keys. Only what is in sight is drawn, so
// a frame costs the same for ten layers and for a thousand.

import {eachFrame} from "./dom.js";
import {layout, NODE} from "./graph_layout.js";

const ZOOM = {least: 0.02, most: 2.5, step: 1.25, text: 0.34};
const MARGIN = 24;

function colours() {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(name).trim();
  return {npu: of("--npu"), npuLine: of("--npu-line"), cpu: of("--cpu"), cpuLine: of("--cpu-line"), border: of("--border"), input: of("--surface"),
    text: of("--text"), faint: of("--faint"), edge: of("--edge"), accent: of("--accent"), good: of("--good"), bad: of("--bad")};
}

/** Cut to `width` with an ellipsis; by the mean width of a character, which is near enough in a box. */
function cut(text, most) {
  return text.length <= most ? text : `…${text.slice(text.length - most + 1)}`;
}

export class GraphView {
  /** `layers`: as graph.json has them. `onSelect(index)` follows every choice of a layer. */
  constructor(canvas, layers, onSelect) {
    this.canvas = canvas;
    this.layers = layers;
    this.onSelect = onSelect;
    this.placed = layout(layers);
    this.selected = -1;
    this.users = layers.map(() => []);
    layers.forEach((layer, index) => (layer.inputs ?? []).forEach((input) => this.users[input]?.push(index)));
    this.scale = 1;
    this.x = 0;
    this.y = 0;
    this.palette = colours();
    this.draw = eachFrame(() => this.paint());
    this.buckets = this.makeBuckets();
    this.listen();
    this.start();
  }

  /** Edges by the horizontal band of the plane that they cross. */
  makeBuckets() {
    const buckets = new Map();
    this.placed.edges.forEach((points, index) => {
      const from = Math.floor(points[0].y / 400);
      const to = Math.floor(points.at(-1).y / 400);
      for (let band = from; band <= to; band += 1) {
        if (!buckets.has(band)) {
          buckets.set(band, []);
        }
        buckets.get(band).push(index);
      }
    });
    return buckets;
  }

  get size() {
    return {width: this.canvas.clientWidth, height: this.canvas.clientHeight};
  }

  /** The first view: readable, at the model's inputs. */
  start() {
    const {width} = this.size;
    this.scale = Math.min(1, Math.max(0.5, (width - 2 * MARGIN) / this.placed.width));
    const first = this.placed.nodes[0] ?? {x: 0};
    const wide = this.placed.width * this.scale > width - 2 * MARGIN;
    this.x = wide ? width / 2 - first.x * this.scale : (width - this.placed.width * this.scale) / 2;
    this.y = MARGIN;
    this.draw();
  }

  fit() {
    const {width, height} = this.size;
    this.scale = Math.max(ZOOM.least, Math.min(1, (width - 2 * MARGIN) / this.placed.width, (height - 2 * MARGIN) / this.placed.height));
    this.x = (width - this.placed.width * this.scale) / 2;
    this.y = (height - this.placed.height * this.scale) / 2;
    this.draw();
  }

  zoom(factor, at) {
    const point = at ?? {x: this.size.width / 2, y: this.size.height / 2};
    const scale = Math.min(ZOOM.most, Math.max(ZOOM.least, this.scale * factor));
    this.x = point.x - (point.x - this.x) * scale / this.scale;
    this.y = point.y - (point.y - this.y) * scale / this.scale;
    this.scale = scale;
    this.draw();
  }

  select(index, centre) {
    this.selected = index;
    if (centre && index >= 0) {
      this.scale = Math.max(this.scale, 0.6);
      const node = this.placed.nodes[index];
      this.x = this.size.width / 2 - node.x * this.scale;
      this.y = this.size.height / 2 - node.y * this.scale;
    }
    this.onSelect(index);
    this.draw();
  }

  /** The layer at a point of the canvas, or -1. */
  at(point) {
    const x = (point.x - this.x) / this.scale;
    const y = (point.y - this.y) / this.scale;
    return this.placed.nodes.findIndex((node) => Math.abs(node.x - x) <= NODE.width / 2 && Math.abs(node.y - y) <= NODE.height / 2);
  }

  listen() {
    const canvas = this.canvas;
    const point = (event) => {
      const box = canvas.getBoundingClientRect();
      return {x: event.clientX - box.left, y: event.clientY - box.top};
    };
    const held = new Map();
    let moved = 0;
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      held.set(event.pointerId, point(event));
      moved = 0;
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!held.has(event.pointerId)) {
        canvas.classList.toggle("over", this.at(point(event)) >= 0);
        return;
      }
      const before = [...held.values()];
      const old = held.get(event.pointerId);
      const now = point(event);
      held.set(event.pointerId, now);
      moved += Math.abs(now.x - old.x) + Math.abs(now.y - old.y);
      if (held.size === 1) {
        this.x += now.x - old.x;
        this.y += now.y - old.y;
        this.draw();
      } else if (held.size === 2) {
        const after = [...held.values()];
        const apart = (pair) => Math.hypot(pair[0].x - pair[1].x, pair[0].y - pair[1].y);
        this.zoom(apart(after) / Math.max(1, apart(before)), {x: (after[0].x + after[1].x) / 2, y: (after[0].y + after[1].y) / 2});
      }
    });
    const release = (event) => {
      if (held.delete(event.pointerId) && event.type === "pointerup" && moved < 5) {
        this.select(this.at(point(event)), false);
      }
    };
    canvas.addEventListener("pointerup", release);
    canvas.addEventListener("pointercancel", release);
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0015)), point(event));
    }, {passive: false});
    canvas.addEventListener("keydown", (event) => this.onKey(event));
    new ResizeObserver(() => this.draw()).observe(canvas);
    document.addEventListener("themechange", () => {
      this.palette = colours();
      this.draw();
    });
  }

  /** Arrows go along the edges; + and - zoom, 0 shows everything. */
  onKey(event) {
    const act = {
      "+": () => this.zoom(ZOOM.step), "=": () => this.zoom(ZOOM.step), "-": () => this.zoom(1 / ZOOM.step), "0": () => this.fit(),
      ArrowDown: () => this.go(this.users[this.selected]?.[0] ?? (this.selected < 0 ? 0 : undefined)),
      ArrowUp: () => this.go(this.layers[this.selected]?.inputs?.[0]),
      ArrowRight: () => this.go(this.beside(1)), ArrowLeft: () => this.go(this.beside(-1)),
      Escape: () => this.select(-1, false),
    }[event.key];
    if (act !== undefined) {
      event.preventDefault();
      act();
    }
  }

  go(index) {
    if (index !== undefined) {
      this.select(index, true);
    }
  }

  /** The nearest layer of the same rank on one side. */
  beside(side) {
    const here = this.placed.nodes[this.selected];
    let best;
    this.placed.nodes.forEach((node, index) => {
      const away = here ? (node.x - here.x) * side : 0;
      if (here && node.y === here.y && away > 0 && (best === undefined || away < (this.placed.nodes[best].x - here.x) * side)) {
        best = index;
      }
    });
    return best;
  }

  paint() {
    const ratio = devicePixelRatio || 1;
    const {width, height} = this.size;
    if (width === 0 || height === 0) {
      return;
    }
    if (this.canvas.width !== Math.round(width * ratio) || this.canvas.height !== Math.round(height * ratio)) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
    }
    const pen = this.canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.translate(this.x, this.y);
    pen.scale(this.scale, this.scale);
    const sight = {left: -this.x / this.scale, top: -this.y / this.scale};
    sight.right = sight.left + width / this.scale;
    sight.bottom = sight.top + height / this.scale;
    this.paintEdges(pen, sight);
    this.paintNodes(pen, sight);
    this.canvas.dataset.painted = "1";
  }

  paintEdges(pen, sight) {
    const drawn = new Set();
    const marked = new Path2D();
    const plain = new Path2D();
    const node = this.placed.nodes[this.selected];
    for (let band = Math.floor(sight.top / 400); band <= Math.floor(sight.bottom / 400); band += 1) {
      for (const index of this.buckets.get(band) ?? []) {
        if (drawn.has(index)) {
          continue;
        }
        drawn.add(index);
        const points = this.placed.edges[index];
        const end = points.at(-1);
        const touches = node && ((points[0].x === node.x && points[0].y === node.y + NODE.height / 2)
          || (end.x === node.x && end.y === node.y - NODE.height / 2));
        const path = touches ? marked : plain;
        path.moveTo(points[0].x, points[0].y);
        for (let step = 1; step < points.length; step += 1) {
          const [from, to] = [points[step - 1], points[step]];
          const middle = (from.y + to.y) / 2;
          path.bezierCurveTo(from.x, middle, to.x, middle, to.x, to.y);
        }
      }
    }
    pen.lineWidth = Math.max(1.2, 0.8 / this.scale);
    pen.strokeStyle = this.palette.edge;
    pen.stroke(plain);
    pen.lineWidth *= 1.8;
    pen.strokeStyle = this.palette.accent;
    pen.stroke(marked);
  }

  paintNodes(pen, sight) {
    const text = this.scale >= ZOOM.text;
    pen.textBaseline = "middle";
    this.placed.nodes.forEach((node, index) => {
      const left = node.x - NODE.width / 2;
      const top = node.y - NODE.height / 2;
      if (left > sight.right || left + NODE.width < sight.left || top > sight.bottom || top + NODE.height < sight.top) {
        return;
      }
      this.paintNode(pen, this.layers[index], {left, top, text, chosen: index === this.selected});
    });
  }

  paintNode(pen, layer, {left, top, text, chosen}) {
    const cpu = layer.device === "cpu";
    const border = layer.device !== "cpu" && layer.device !== "npu";
    pen.beginPath();
    pen.roundRect(left, top, NODE.width, NODE.height, border ? NODE.height / 2 : 6);
    pen.fillStyle = border ? this.palette.input : cpu ? this.palette.cpu : this.palette.npu;
    pen.fill();
    pen.setLineDash(cpu ? [5, 3] : []);
    pen.lineWidth = chosen ? 3 : 1.25;
    pen.strokeStyle = chosen ? this.palette.accent : border ? this.palette.border : cpu ? this.palette.cpuLine : this.palette.npuLine;
    pen.stroke();
    pen.setLineDash([]);
    if (!text) {
      return;
    }
    pen.fillStyle = this.palette.text;
    pen.font = "600 12.5px system-ui, sans-serif";
    pen.textAlign = border ? "center" : "left";
    const x = border ? left + NODE.width / 2 : left + 10;
    pen.fillText(cut(layer.op, 18), x, top + 15);
    pen.font = "11px system-ui, sans-serif";
    pen.fillStyle = this.palette.faint;
    pen.fillText(cut(border ? layer.name : (layer.shape ?? []).join(" × "), 26), x, top + 31);
    if (!border) {
      pen.textAlign = "right";
      pen.fillText(cpu ? "CPU" : layer.activation_bits ? `${layer.activation_bits} bit` : "NPU", left + NODE.width - 10, top + 15);
    }
  }
}
