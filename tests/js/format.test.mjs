/* SPDX-License-Identifier: Apache-2.0
 *
 * Number and date patterns, formatters, events, the loader without a page.
 */
import test from 'node:test';
import assert from 'node:assert/strict';
import { bundle, fileNames, modules } from './bundle.mjs';

const tbc = modules();
const numbers = tbc.get('number_pattern');
const dates = tbc.get('date_pattern');
const { NumberFormat, PatternFormat, DateFormat, ColorFormat } = tbc.get('formatters');
const { arrayToDataTable } = tbc.get('data_table');
const events = tbc.get('events');

test('number patterns', () => {
  const cases = [
    ['#,##0.###', 1234567.8916, '1,234,567.892'],
    ['#,##0.###', 0.5, '0.5'],
    ['#,##0.###', -1234, '-1,234'],
    ['##.#%', 0.1234, '12.3%'],
    ['##.#%', 0.005, '0.5%'],
    ['##.#%', 1, '100%'],
    ['##.##%', 0.12345, '12.35%'],
    ['###.####ms', 12.5, '12.5ms'],
    ["###.###'%'", 40, '40%'],
    ['###.####', 0.00004, '0'],
    ['0.00', 1.005, '1.00'],
    ['0.00', 2.5, '2.50'],
    ['000', 7, '007'],
    ['#,##0', 999.5, '1,000'],
    ['0.##;(0.##)', -3.5, '(3.5)'],
    ['$#,##0.00', 1234.5, '$1,234.50'],
    ["''0''", 5, "'5'"],
    ['0.###E0', 123456, '1.235E5'],
    ['0.###E0', 0.00001, '1E-5'],
    ['0.0E00', 0, '0.0E00'],
    ['#,##0.0', -0.04, '0.0'],
    ['#', 1e15, '1000000000000000'],
    ['.##', 0.5, '.5'],
  ];
  for (const [pattern, value, text] of cases)
    assert.equal(numbers.write(value, pattern), text, pattern + ' ' + value);
  assert.equal(numbers.write(NaN, '0'), 'NaN');
  assert.equal(numbers.write(-Infinity, '0'), '-\u221e');
});

test('named and compact formats', () => {
  assert.equal(numbers.format(0.25, 'percent'), '25%');
  assert.equal(numbers.format(1234.5, 'decimal'), '1,234.5');
  assert.equal(numbers.format(1234567, 'short'), '1.23M');
  assert.equal(numbers.format(-1500, 'short'), '-1.5K');
  assert.equal(numbers.format(999.9, 'short'), '1K');
  assert.equal(numbers.format(2e9, 'long'), '2 billion');
  assert.equal(numbers.format(12, 'short'), '12');
  assert.equal(numbers.format(5, ''), '5');
});

test('NumberFormat writes texts and leaves values', () => {
  const t = arrayToDataTable([['n'], [1234.567], [null], [-2]]);
  new NumberFormat({ fractionDigits: 0 }).format(t, 0);
  assert.deepEqual(
    [0, 1, 2].map((r) => t.getFormattedValue(r, 0)),
    ['1,235', '', '-2']
  );
  assert.equal(t.getValue(0, 0), 1234.567);
  assert.equal(new NumberFormat().formatValue(3), '3.00');
  assert.equal(new NumberFormat({ pattern: '##.#%' }).formatValue(0.071), '7.1%');
  assert.equal(
    new NumberFormat({ prefix: '~', suffix: ' ms', fractionDigits: 1 }).formatValue(2.25),
    '~2.3 ms'
  );
  assert.equal(new NumberFormat({ negativeParens: true }).formatValue(-1.5), '(1.50)');
  assert.equal(
    new NumberFormat({ decimalSymbol: ',', groupingSymbol: '.' }).formatValue(1234.5),
    '1.234,50'
  );
  new NumberFormat({ negativeColor: 'red' }).format(t, 0);
  assert.equal(t.getProperty(2, 0, 'style'), 'color: red');
});

test('PatternFormat joins texts of columns', () => {
  const t = arrayToDataTable([
    ['name', 'about', 'n'],
    ['a', 'first', 5],
  ]);
  new PatternFormat('<div title="{1}">{0}</div>').format(t, [0, 1], 0);
  assert.equal(t.getFormattedValue(0, 0), '<div title="first">a</div>');
  assert.equal(t.getValue(0, 0), 'a');
  new PatternFormat('{0} \\{0}').format(t, [2]);
  assert.equal(t.getFormattedValue(0, 2), '5 {0}');
});

test('ColorFormat marks the cells of a range', () => {
  const t = arrayToDataTable([['n'], [1], [5], [9]]);
  const f = new ColorFormat();
  f.addRange(null, 2, 'red', 'white');
  f.addRange(8, null, 'green');
  f.format(t, 0);
  assert.equal(t.getProperty(0, 0, 'style'), 'color: red;background-color: white;');
  assert.equal(t.getProperty(1, 0, 'style'), null);
  assert.equal(t.getProperty(2, 0, 'style'), 'color: green;');
});

test('dates', () => {
  const date = new Date(2024, 2, 5, 15, 4, 9, 70);
  assert.equal(dates.write(date, 'yyyy-MM-dd HH:mm:ss.SSS'), '2024-03-05 15:04:09.070');
  assert.equal(dates.write(date, "EEE, d MMM yy 'at' h a"), 'Tue, 5 Mar 24 at 3 PM');
  assert.equal(new DateFormat({ formatType: 'long' }).formatValue(date), 'March 5, 2024');
  assert.equal(dates.revive('Date(2024, 2, 5)').getMonth(), 2);
  assert.equal(dates.revive('Date(x)'), 'Date(x)');
  assert.equal(dates.revive('plain'), 'plain');
});

test('events: order, one time, removal', () => {
  const source = {};
  const heard = [];
  const handle = events.addListener(source, 'select', (e) => heard.push('a' + e.row));
  events.addOneTimeListener(source, 'select', (e) => heard.push('b' + e.row));
  events.trigger(source, 'select', { row: 1 });
  events.trigger(source, 'select', { row: 2 });
  assert.deepEqual(heard, ['a1', 'b1', 'a2']);
  assert.equal(events.removeListener(handle), true);
  events.trigger(source, 'select', { row: 3 });
  events.addListener(source, 'ready', () => heard.push('ready'));
  events.removeAllListeners(source);
  events.trigger(source, 'ready');
  assert.deepEqual(heard, ['a1', 'b1', 'a2']);
});

test('modules come after what they need', () => {
  assert.throws(() => tbc.get('nobody'), /not defined yet/);
  assert.throws(() => tbc.define('scale', [], () => 0), /defined twice/);
  assert.throws(() => tbc.define('early', ['later'], () => 0), /"later" is not defined yet/);
  assert.equal(new Set(fileNames()).size, fileNames().length);
});

test('the loader calls back, before and after it has loaded', async () => {
  const page = { window: {} };
  new Function('window', bundle())(page.window);
  const { google, __gviz } = page.window;
  const order = [];
  google.charts.setOnLoadCallback(() => order.push('early'));
  await google.charts.load('current', {
    packages: ['corechart'],
    callback: () => order.push('option'),
  });
  google.charts.setOnLoadCallback(() => order.push('late'));
  await google.charts.setOnLoadCallback();
  assert.deepEqual(order, ['early', 'option', 'late']);
  assert.deepEqual(__gviz.report().loads, [['corechart']]);
  const again = google.visualization;
  new Function('window', bundle())(page.window);
  assert.equal(page.window.google.visualization, again);
});
