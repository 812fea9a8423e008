// The style sheet of the HTML report: light and dark by the reader's own setting.
#pragma once

namespace qb {

inline constexpr char kReportStyle[] = R"(
:root { color-scheme: light dark; --page: #fbfbfc; --panel: #fff; --ink: #1c2230; --soft: #667085;
  --line: #e3e6ec; --bar: #4a78d0; --weak: #d99a1c; --bad: #d0453f; --entire: #12263f; --good: #2f8f5b; }
@media (prefers-color-scheme: dark) { :root { --page: #14171d; --panel: #1b2028; --ink: #e6e9ef;
  --soft: #98a1b3; --line: #2e3542; --bar: #6d9bf0; --weak: #e0ad45; --bad: #ef7068; --entire: #f2f4f8;
  --good: #58c08a; } }
* { box-sizing: border-box; }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--page);
  max-width: 76rem; margin: 0 auto; padding: 2rem 1.2rem 4rem; }
h1 { font-size: 1.5rem; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 2.4rem 0 .3rem; }
p { margin: .2rem 0 .9rem; max-width: 62rem; } p.sub, .soft { color: var(--soft); }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(11rem, 1fr)); gap: .8rem; }
.card, .panel { background: var(--panel); border: 1px solid var(--line); border-radius: .6rem;
  padding: .7rem 1rem; }
.card { color: var(--soft); font-size: .85rem; }
.card b { display: block; font-size: 1.5rem; font-weight: 600; line-height: 1.3; color: var(--ink);
  font-variant-numeric: tabular-nums; }
.wide { overflow-x: auto; background: var(--panel); border: 1px solid var(--line); border-radius: .6rem; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { text-align: left; padding: .35rem .7rem; border-bottom: 1px solid var(--line); }
tr:last-child td { border-bottom: 0; } th { color: var(--soft); font-weight: 500; white-space: nowrap; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.name { min-width: 15rem; } .nb { white-space: nowrap; }
td.name, .name { font-family: ui-monospace, monospace; font-size: .85em; overflow-wrap: anywhere; }
td.bad { color: var(--bad); } td.weak { color: var(--weak); }
ol.culprits { list-style: none; margin: 0; padding: 0; display: grid; gap: .6rem; }
ol.culprits li { display: grid; grid-template-columns: 4.5rem 1fr; gap: 0 1rem; }
.share { font-size: 1.25rem; font-weight: 600; text-align: right; font-variant-numeric: tabular-nums; }
.track { grid-column: 1 / -1; height: .3rem; border-radius: .2rem; background: var(--line); margin-top: .5rem; }
.track div { height: 100%; border-radius: .2rem; background: var(--bad); }
code, pre { font: .85rem/1.45 ui-monospace, monospace; }
pre { overflow-x: auto; margin: .3rem 0; } code { overflow-wrap: anywhere; }
.plots { display: grid; grid-template-columns: repeat(auto-fill, minmax(21rem, 1fr)); gap: .8rem; }
.panel h3 { font: 600 .85rem ui-monospace, monospace; margin: 0; overflow-wrap: anywhere; }
svg { display: block; width: 100%; height: auto; } svg text { fill: var(--soft); font: 11px system-ui, sans-serif; }
.grid { stroke: var(--line); } .axis { stroke: var(--soft); }
.b { fill: var(--bar); } .b.weak { fill: var(--weak); } .b.bad, .b.out { fill: var(--bad); }
.entire { fill: none; stroke: var(--entire); stroke-width: 1.6; stroke-linejoin: round; }
.clip { stroke: var(--bad); stroke-dasharray: 4 3; }
.key { display: inline-block; width: .8rem; height: .8rem; border-radius: .15rem; margin: 0 .3rem 0 .9rem;
  vertical-align: -.08rem; } .key:first-child { margin-left: 0; }
summary { cursor: pointer; color: var(--soft); margin: 1.6rem 0 .6rem; }
@media print { .wide { overflow: visible; } details > * { display: block; } }
)";

}  // namespace qb
