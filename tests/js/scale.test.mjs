/* SPDX-License-Identifier: Apache-2.0
 *
 * Scales, ticks, plot areas, stacking, trees and colours: arithmetic without a page.
 */
import test from 'node:test';
import assert from 'node:assert/strict';
import { modules } from './bundle.mjs';

const tbc = modules();
const scale = tbc.get('scale');
const layout = tbc.get('layout');
const model = tbc.get('model');
const color = tbc.get('color');
const org = tbc.get('org');
const { pagesToShow } = tbc.get('table');
const { plainBrackets, safeLink } = tbc.get('sanitize');
const { arrayToDataTable } = tbc.get('data_table');

test('steps are 1, 2, 2.5 or 5 times a power of ten', () => {
  assert.equal(scale.niceStep(10, 5), 2);
  assert.equal(scale.niceStep(26, 6), 5);
  assert.equal(scale.niceStep(1, 4), 0.25);
  assert.equal(scale.niceStep(0.003, 3), 0.001);
  assert.equal(scale.niceStep(1e9, 7), 2e8);
  assert.equal(scale.niceStep(0, 5), 1);
});

test('linear ticks lie inside, or the range grows to them', () => {
  assert.deepEqual(scale.linearTicks(0, 26.7, 6, true).values, [0, 5, 10, 15, 20, 25, 30]);
  assert.deepEqual(scale.linearTicks(1.2, 4.9, 4, false).values, [2, 3, 4]);
  assert.deepEqual(scale.linearTicks(0, 0.3, 3, true).values, [0, 0.1, 0.2, 0.3]);
  assert.deepEqual(scale.linearTicks(-30, 45, 4, true).values, [-40, -20, 0, 20, 40, 60]);
  const one = scale.linearTicks(5, 5, 5, true);
  assert.deepEqual([one.min, one.max], [0, 10]);
  const none = scale.linearTicks(0, 0, 5, true);
  assert.deepEqual([none.min, none.max], [0, 1]);
  assert.equal(Object.is(scale.linearTicks(-1, 1, 2, true).values[1], 0), true);
});

test('logarithmic ticks are powers of ten', () => {
  assert.deepEqual(scale.logTicks(0.01, 1000, 10).values, [0.01, 0.1, 1, 10, 100, 1000]);
  assert.deepEqual(scale.logTicks(1e-5, 1e5, 6).values, [1e-5, 1e-3, 0.1, 10, 1000, 1e5]);
});

test('scales go to pixels and back', () => {
  const up = scale.linear(0, 50, 300, 100);
  assert.equal(up(0), 300);
  assert.equal(up(25), 200);
  assert.equal(up.invert(150), 37.5);
  const log = scale.log(1, 100, 0, 200);
  assert.equal(log(10), 100);
  assert.equal(Math.round(log.invert(100)), 10);
  assert.equal(Number.isNaN(log(0)), true);
  const names = scale.category(4, 0, 200);
  assert.deepEqual([names(0), names(3), names.slot], [25, 175, 50]);
  assert.equal(names.invert(75), 1);
});

test('decimals that a step needs', () => {
  assert.deepEqual([10, 1, 0.5, 0.25, 0.001, 2.5e-7].map(scale.decimals), [0, 0, 1, 2, 3, 8]);
});

test('plot area: pixels, per cent, golden section, room for texts', () => {
  const size = { width: 1000, height: 500 };
  assert.deepEqual(layout.chartArea(size, { left: 50, width: '60%', top: 10, height: '90%' }), {
    x: 50,
    y: 10,
    width: 600,
    height: 450,
  });
  const middle = layout.chartArea(size, {});
  assert.equal(Math.round(middle.width), 618);
  assert.equal(Math.round(middle.x), 191);
  assert.deepEqual(layout.chartArea(size, { left: 60, right: 40, width: '100%', height: '80%' }), {
    x: 60,
    y: 50,
    width: 900,
    height: 400,
  });
  assert.deepEqual(layout.chartArea(size, { width: '100%', height: '100%' }), {
    x: 0,
    y: 0,
    width: 1000,
    height: 500,
  });
  const area = layout.makeRoom(
    { x: 10, y: 10, width: 600, height: 480 },
    { left: 50, bottom: 40 },
    size
  );
  assert.deepEqual(area, { x: 50, y: 10, width: 560, height: 450 });
  const full = layout.makeRoom(
    { x: 0, y: 0, width: 90, height: 90 },
    { left: 500, bottom: 500 },
    { width: 90, height: 90 }
  );
  assert.ok(full.width > 0 && full.height > 0);
});

const settings = { type: 'area', domainOptions: {}, dark: false };
const list = (values) => Array.from(values, (v) => Math.round(v * 1e6) / 1e6);

test('stacking piles values, negative ones downwards', () => {
  const t = arrayToDataTable([
    ['x', 'a', 'b', 'c'],
    ['p', 1, 2, -1],
    ['q', null, 4, -2],
  ]);
  const m = model.read(t, { isStacked: true }, settings);
  assert.deepEqual(
    m.series.map((s) => list(s.low)),
    [
      [0, 0],
      [1, 0],
      [0, 0],
    ]
  );
  assert.deepEqual(
    m.series.map((s) => list(s.high)),
    [
      [1, 0],
      [3, 4],
      [-1, -2],
    ]
  );
  assert.deepEqual(model.valueRange(m, 0), { min: -2, max: 4, zero: true });
});

test('stacking in per cent makes rows of one', () => {
  const t = arrayToDataTable([
    ['x', 'a', 'b'],
    ['p', 1, 3],
    ['q', 0, 0],
  ]);
  const m = model.read(t, { isStacked: 'percent' }, settings);
  assert.deepEqual(
    m.series.map((s) => list(s.high)),
    [
      [0.25, 0],
      [1, 0],
    ]
  );
});

test('a line on another axis stays out of the stack', () => {
  const t = arrayToDataTable([
    ['t', 'stack', 'heap', 'frag'],
    [1, 2, 3, 50],
  ]);
  const m = model.read(
    t,
    { isStacked: true, series: { 2: { type: 'line', targetAxisIndex: 1 } } },
    settings
  );
  assert.equal(m.series[2].stacked, false);
  assert.deepEqual(list(m.series[2].high), [50]);
  assert.deepEqual(list(m.series[1].high), [5]);
  assert.deepEqual(model.valueRange(m, 1), { min: 50, max: 50, zero: false });
});

test('roles belong to the column before them', () => {
  const tip = { type: 'string', role: 'tooltip' };
  const t = arrayToDataTable([
    ['x', tip, 'a', tip, { type: 'number', role: 'interval' }, 'b'],
    [1, 'd', 2, 'a', 3, 4],
  ]);
  const m = model.read(t, {}, settings);
  assert.deepEqual(m.domain.roles, { tooltip: [1] });
  assert.deepEqual(
    m.series.map((s) => s.column),
    [2, 5]
  );
  assert.deepEqual(m.series[0].roles, { tooltip: [3], interval: [4] });
});

test('data that is no chart says why', () => {
  const read = (rows) => () => model.read(arrayToDataTable(rows), {}, settings);
  assert.throws(read([]), /Table has no columns/);
  assert.throws(read([['x'], [1]]), /Not enough columns/);
  assert.throws(
    read([
      ['x', 'y'],
      [1, 'text'],
    ]),
    /cannot be of type string/
  );
});

test('axis options: one for all, and one of several', () => {
  const options = { vAxis: { title: 'all', format: 'short' }, vAxes: { 1: { title: 'second' } } };
  assert.deepEqual(model.axisOptions(options, 'vAxis', 0), { title: 'all', format: 'short' });
  assert.deepEqual(model.axisOptions(options, 'vAxis', 1), { title: 'second', format: 'short' });
});

test('trees: parents above the middle of their children, cycles cut', () => {
  const t = arrayToDataTable([
    ['name', 'parent'],
    ['r', ''],
    ['a', 'r'],
    ['b', 'r'],
    ['c', 'a'],
    ['d', 'a'],
    ['x', 'y'],
    ['y', 'x'],
  ]);
  const nodes = org.nodesOf(t);
  const extent = org.place(nodes);
  assert.deepEqual(extent, { columns: 4, levels: 3 });
  assert.deepEqual(
    nodes.slice(0, 5).map((n) => [n.level, n.column]),
    [
      [0, 1.25],
      [1, 0.5],
      [1, 2],
      [2, 0],
      [2, 1],
    ]
  );
  assert.equal(nodes[5].parent, nodes[6]);
  assert.equal(nodes[6].parent, null);
});

test('page numbers around the current one', () => {
  assert.deepEqual(pagesToShow(0, 3), [0, 1, 2]);
  assert.deepEqual(pagesToShow(5, 12), [0, -1, 3, 4, 5, 6, 7, -1, 11]);
  assert.deepEqual(pagesToShow(0, 1), [0]);
});

test('colours are read, and made visible on the page', () => {
  assert.deepEqual(color.parse('#f80'), [255, 136, 0, 1]);
  assert.deepEqual(color.parse('rgba(1, 2, 3, .5)'), [1, 2, 3, 0.5]);
  assert.equal(color.parse('transparent'), null);
  assert.equal(color.parse('rgba(0,0,0,0)'), null);
  assert.equal(color.luminance([255, 255, 255]), 1);
  assert.equal(color.visible('#000000', false), '#000000');
  assert.equal(color.visible('0067A5', false), '#0067A5');
  assert.equal(color.visible('#000000', true), 'rgb(115, 115, 115)');
  assert.equal(color.visible('#ffffff', false), 'rgb(191, 191, 191)');
  assert.equal(color.textOn('#ffff00'), '#1b1b1f');
  assert.equal(color.textOn('#00008b'), '#ffffff');
});

test('only known elements are markup, only harmless links are links', () => {
  assert.equal(
    plainBrackets('kernel<float, 4>(<b>x</b>) <a href="u">l</a><br/>'),
    'kernel&lt;float, 4>(<b>x</b>) <a href="u">l</a><br/>'
  );
  assert.equal(plainBrackets('a < b, vector<int>'), 'a &lt; b, vector&lt;int>');
  assert.deepEqual(['/data?x=1', 'https://a', 'mailto:x'].map(safeLink), [true, true, true]);
  assert.deepEqual(
    ['javascript:x', ' java\nscript:x', 'data:text/html,x', 'vbscript:x'].map(safeLink),
    [false, false, false, false]
  );
});
