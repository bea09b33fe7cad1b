/* SPDX-License-Identifier: Apache-2.0
 *
 * The style sheet of the local charts. Colours of texts and lines are variables with a light and a
 * dark set; rules of tables have no specificity (:where), so that the rules of a page win.
 */
tbc.define('style', [], function () {
  const CSS = `
.tbc {
  --tbc-text: #3c4043; --tbc-muted: #6b7280; --tbc-grid: #e5e7eb;
  --tbc-base: #9aa0a6; --tbc-surface: #ffffff; --tbc-raised: #ffffff; --tbc-border: #d8dce1;
  --tbc-hover: rgba(60, 100, 180, .07); --tbc-selected: rgba(26, 115, 232, .16);
  --tbc-accent: #1a73e8; --tbc-shadow: 0 2px 10px rgba(20, 24, 33, .18); --tbc-stripe: #f8f9fb;
}
.tbc-dark {
  --tbc-text: #e3e5e8; --tbc-muted: #a3a9b3; --tbc-grid: #3b4048;
  --tbc-base: #7d848f; --tbc-surface: #1f2125; --tbc-raised: #2b2e34; --tbc-border: #454a53;
  --tbc-hover: rgba(150, 180, 255, .10); --tbc-selected: rgba(120, 170, 255, .24);
  --tbc-accent: #8ab4f8; --tbc-shadow: 0 2px 12px rgba(0, 0, 0, .55); --tbc-stripe: #26292e;
}
.tbc-chart { position: relative; line-height: normal; }
.tbc-chart svg { display: block; overflow: hidden; user-select: none; }
.tbc-chart svg:focus { outline: none; }
.tbc-chart svg:focus-visible {
  outline: 2px solid var(--tbc-accent); outline-offset: -2px; border-radius: 4px;
}
.tbc-chart svg text { fill: var(--tbc-text); }
.tbc-chart svg text.tbc-muted { fill: var(--tbc-muted); }
.tbc-grid { stroke: var(--tbc-grid); shape-rendering: crispEdges; }
.tbc-base { stroke: var(--tbc-base); shape-rendering: crispEdges; }
.tbc-series { transition: opacity .12s; }
.tbc-dim { opacity: .22; }
.tbc-slice { transition: opacity .12s; stroke: var(--tbc-surface); stroke-width: 1px; }
.tbc-legend-entry { cursor: pointer; outline: none; }
.tbc-legend-entry:focus-visible text { text-decoration: underline; }
.tbc-legend-page { cursor: pointer; fill: var(--tbc-accent) !important; }
.tbc-legend-page[aria-disabled=true] { cursor: default; opacity: .35; }
.tbc-hit { pointer-events: none; }
.tbc-ring { fill: none; stroke: var(--tbc-text); stroke-opacity: .75; pointer-events: none; }
.tbc-dot { stroke: var(--tbc-surface); stroke-width: 1.5; pointer-events: none; }
.tbc-zoom {
  fill: var(--tbc-accent); fill-opacity: .13; stroke: var(--tbc-accent); stroke-opacity: .6;
}
.tbc-message { font-size: 13px; color: var(--tbc-muted); padding: 12px; text-align: center; }
.tbc-tip {
  position: fixed; z-index: 2147483000; left: 0; top: 0; max-width: min(460px, 90vw);
  background: var(--tbc-raised); color: var(--tbc-text); border: 1px solid var(--tbc-border);
  border-radius: 6px; box-shadow: var(--tbc-shadow);
  font: 12px/1.45 Roboto, "Helvetica Neue", Arial, sans-serif; padding: 7px 10px;
  pointer-events: none; overflow-wrap: anywhere;
}
.tbc-tip.tbc-stay { pointer-events: auto; max-height: 70vh; overflow: auto; }
.tbc-tip.tbc-html { padding: 5px 8px; }
.tbc-tip-text { white-space: pre-line; }
.tbc-tip-head { font-weight: 600; margin-bottom: 2px; }
.tbc-tip-row { display: flex; align-items: baseline; gap: 6px; }
.tbc-tip-row i { flex: none; width: 9px; height: 9px; border-radius: 2px; align-self: center; }
.tbc-tip-row b { margin-left: auto; padding-left: 12px; font-variant-numeric: tabular-nums; }
.tbc-table { position: relative; color: var(--tbc-text); font-size: 13px; line-height: 1.4; }
.tbc-scroll { overflow: auto; max-width: 100%; }
.tbc-scroll:focus-visible { outline: 2px solid var(--tbc-accent); outline-offset: -2px; }
:where(.tbc-scroll > table) { border-collapse: separate; border-spacing: 0; font-size: inherit; }
:where(.tbc-scroll > table > thead > tr > th) {
  position: sticky; top: 0; z-index: 1; padding: 0; text-align: left; vertical-align: bottom;
  background: var(--tbc-surface); border-bottom: 1px solid var(--tbc-border); font-weight: 600;
}
.tbc-scroll > table > thead > tr > th { box-shadow: inset 0 -1px 0 var(--tbc-border); }
:where(.tbc-head) {
  display: block; position: relative; width: 100%; box-sizing: border-box; margin: 0;
  padding: 7px 9px; border: 0;
  background: none; color: inherit; font: inherit; text-align: inherit;
}
button.tbc-head { cursor: pointer; }
button.tbc-head:hover { color: var(--tbc-accent); }
button.tbc-head:focus-visible { outline: 2px solid var(--tbc-accent); outline-offset: -2px; }
.tbc-arrow { position: absolute; margin: 5px 0 0 1px; font-size: 8px; line-height: 1; opacity: 0; }
button.tbc-head:hover .tbc-arrow, button.tbc-head:focus-visible .tbc-arrow { opacity: .45; }
th[aria-sort=ascending] .tbc-arrow, th[aria-sort=descending] .tbc-arrow {
  opacity: 1 !important; color: var(--tbc-accent);
}
:where(.tbc-scroll > table > tbody > tr > td) {
  padding: 5px 9px; border-bottom: 1px solid var(--tbc-grid); vertical-align: top;
}
:where(.tbc-num) { text-align: right; font-variant-numeric: tabular-nums; }
:where(.tbc-bool) { text-align: center; }
.tbc-long {
  display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 4; line-clamp: 4;
  overflow: hidden; cursor: zoom-in;
}
.tbc-long.tbc-open { -webkit-line-clamp: none; line-clamp: none; cursor: zoom-out; }
.tbc-striped > tbody > tr:nth-child(even) > td { background: var(--tbc-stripe); }
.tbc-scroll > table > tbody > tr:hover > td { background-color: var(--tbc-hover); }
.tbc-scroll > table > tbody > tr[aria-selected=true] > td {
  background-color: var(--tbc-selected);
}
.tbc-scroll > table > tbody > tr:focus { outline: none; }
.tbc-scroll > table > tbody > tr:focus-visible > td {
  box-shadow: inset 0 1px 0 var(--tbc-accent), inset 0 -1px 0 var(--tbc-accent);
}
.tbc-pager {
  display: flex; flex-wrap: wrap; align-items: center; gap: 2px; padding: 6px 2px;
  color: var(--tbc-muted); font-size: 12px;
}
.tbc-pager button {
  min-width: 28px; height: 26px; padding: 0 7px; border: 1px solid transparent;
  border-radius: 4px; background: none; color: var(--tbc-text); font: inherit; cursor: pointer;
}
.tbc-pager button:hover:not(:disabled) {
  background: var(--tbc-hover); border-color: var(--tbc-border);
}
.tbc-pager button:focus-visible { outline: 2px solid var(--tbc-accent); }
.tbc-pager button:disabled { opacity: .35; cursor: default; }
.tbc-pager button[aria-current=page] { background: var(--tbc-selected); font-weight: 600; }
.tbc-pager span { padding: 0 8px; }
.tbc-org { overflow: auto; }
.tbc-org-link { fill: none; stroke: var(--tbc-base); }
.tbc-org-trial { position: absolute; visibility: hidden; }
.tbc-org-trial .tbc-org-node { height: auto; }
.tbc-org-node {
  box-sizing: border-box; height: 100%; display: flex; flex-direction: column;
  justify-content: center; padding: 4px 8px; border: 1px solid var(--tbc-border);
  border-radius: 6px; background: var(--tbc-raised); color: var(--tbc-text); text-align: center;
  font-size: 12px; line-height: 1.35; overflow-wrap: anywhere;
}
.tbc-org-node[aria-selected=true] { outline: 2px solid var(--tbc-accent); }
@media (prefers-reduced-motion: reduce) {
  .tbc-series, .tbc-slice { transition: none; }
}
`;
  return { CSS: CSS };
});
