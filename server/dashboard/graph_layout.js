// Where the layers of a graph are drawn: ranks from top to bottom, few crossings, short edges.
//
// The steps of Sugiyama's method: rank by the longest way from an input, a waypoint in every rank that a long
// edge passes, order within ranks by the mean place of the neighbours, places by the same mean with a
// least distance. A graph of n layers and waypoints costs O(n log n) a sweep.

export const NODE = {width: 168, height: 44};
const GAP_X = 28;
const GAP_Y = 36;
const WAYPOINT_WIDTH = 10;
const SWEEPS = 6;
// Edges over more ranks than this get no waypoints: they are drawn straight.
const LONGEST_EDGE = 60;

function rank(layers) {
  const ranks = new Array(layers.length).fill(0);
  // Inputs come before their users in the file; an edge that does not is ignored.
  layers.forEach((layer, index) => {
    for (const input of layer.inputs ?? []) {
      if (input < index) {
        ranks[index] = Math.max(ranks[index], ranks[input] + 1);
      }
    }
  });
  // An input of the model stands just above its first user.
  const first = new Array(layers.length).fill(Infinity);
  layers.forEach((layer, index) => (layer.inputs ?? []).forEach((input) => {
    if (input < index) {
      first[input] = Math.min(first[input], ranks[index]);
    }
  }));
  layers.forEach((layer, index) => {
    if ((layer.inputs ?? []).length === 0 && first[index] < Infinity) {
      ranks[index] = first[index] - 1;
    }
  });
  return ranks;
}

/** Cells of every rank, and the chains of cells that edges pass. */
function cells(layers, ranks) {
  const rows = Array.from({length: Math.max(0, ...ranks) + 1}, () => []);
  const all = layers.map((_, index) => ({index, rank: ranks[index], width: NODE.width, up: [], down: [], x: 0}));
  all.forEach((cell) => rows[cell.rank].push(cell));
  const edges = [];
  const join = (from, to) => {
    from.down.push(to);
    to.up.push(from);
  };
  layers.forEach((layer, index) => {
    for (const input of new Set(layer.inputs ?? [])) {
      if (input >= index) {
        continue;
      }
      const chain = [all[input]];
      const span = ranks[index] - ranks[input];
      if (span <= LONGEST_EDGE) {
        for (let at = ranks[input] + 1; at < ranks[index]; at += 1) {
          const waypoint = {index: -1, rank: at, width: WAYPOINT_WIDTH, up: [], down: [], x: 0};
          rows[at].push(waypoint);
          join(chain.at(-1), waypoint);
          chain.push(waypoint);
        }
        join(chain.at(-1), all[index]);
      }
      chain.push(all[index]);
      edges.push(chain);
    }
  });
  return {rows, all, edges};
}

function mean(list) {
  let total = 0;
  for (const cell of list) {
    total += cell.x;
  }
  return total / list.length;
}

/** Puts the cells of a row as near to their wishes as the least distance allows. */
function place(row) {
  let right = -Infinity;
  let drift = 0;
  for (const cell of row) {
    const wish = cell.x;
    cell.x = Math.max(wish, right + cell.width / 2);
    right = cell.x + cell.width / 2 + GAP_X;
    drift += cell.x - wish;
  }
  drift /= row.length || 1;
  for (const cell of row) {
    cell.x -= drift;
  }
}

function sweep(rows, side) {
  const order = side === "up" ? rows : [...rows].reverse();
  for (const row of order) {
    for (const cell of row) {
      if (cell[side].length > 0) {
        cell.x = mean(cell[side]);
      }
    }
    row.sort((a, b) => a.x - b.x);
    place(row);
  }
}

/**
 * {nodes: [{x, y}] by layer (middles), edges: [[{x, y}, ...]] from a layer's bottom to another's top, width,
 * height}. x begins at 0, y too.
 */
export function layout(layers) {
  const {rows, all, edges} = cells(layers, rank(layers));
  for (const row of rows) {
    let x = 0;
    for (const cell of row) {
      cell.x = x + cell.width / 2;
      x += cell.width + GAP_X;
    }
  }
  for (let turn = 0; turn < SWEEPS; turn += 1) {
    sweep(rows, turn % 2 === 0 ? "up" : "down");
  }
  let left = Infinity;
  let right = -Infinity;
  for (const cell of rows.flat()) {
    left = Math.min(left, cell.x - cell.width / 2);
    right = Math.max(right, cell.x + cell.width / 2);
  }
  const y = (at) => at * (NODE.height + GAP_Y) + NODE.height / 2;
  const nodes = all.map((cell) => ({x: cell.x - left, y: y(cell.rank)}));
  const lines = edges.map((chain) => chain.map((cell, step) => ({x: cell.x - left,
    y: y(cell.rank) + (step === 0 ? NODE.height / 2 : step === chain.length - 1 ? -NODE.height / 2 : 0)})));
  return {nodes, edges: lines, width: Math.max(NODE.width, right - left), height: y(rows.length - 1) + NODE.height / 2};
}
