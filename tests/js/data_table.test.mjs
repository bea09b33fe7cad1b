/* SPDX-License-Identifier: Apache-2.0
 *
 * DataTable, DataView, grouping and joining: values that can be checked by reading them.
 */
import test from 'node:test';
import assert from 'node:assert/strict';
import { modules } from './bundle.mjs';

const tbc = modules();
const { DataTable, arrayToDataTable } = tbc.get('data_table');
const { DataView } = tbc.get('data_view');
const aggregate = tbc.get('aggregate');
const problems = tbc.get('problems').list;

const ops = () =>
  new DataTable({
    cols: [
      { id: 'op', label: 'Operation', type: 'string' },
      { id: 'host', label: 'On host', type: 'boolean' },
      { id: 'time_us', label: 'Time (us)', type: 'number', p: { unit: 'us' } },
      { id: 'tip', type: 'string', role: 'tooltip', p: { html: true } },
    ],
    rows: [
      { c: [{ v: 'MatMul' }, { v: false }, { v: 1234.5678 }, { v: '<b>m</b>' }] },
      {
        c: [{ v: 'Conv2D' }, { v: false }, { v: 40, f: 'forty', p: { style: 'color: red' } }, null],
        p: { mark: 1 },
      },
      { c: [{ v: 'Iterator' }, { v: true }, { v: null }, { v: '' }] },
    ],
    p: { is_training: 'true' },
  });
const column = (table, c) => table.rowIndexes().map((row) => table.getValue(row, c));

test('a table from JSON has its columns, roles, properties and cells', () => {
  const t = ops();
  assert.equal(t.getNumberOfRows(), 3);
  assert.equal(t.getNumberOfColumns(), 4);
  assert.equal(t.getColumnId(2), 'time_us');
  assert.equal(t.getColumnLabel('time_us'), 'Time (us)');
  assert.equal(t.getColumnType(1), 'boolean');
  assert.equal(t.getColumnRole(3), 'tooltip');
  assert.equal(t.getColumnProperty(3, 'html'), true);
  assert.equal(t.getColumnProperty(2, 'unit'), 'us');
  assert.equal(t.getColumnProperty(2, 'none'), null);
  assert.equal(t.getTableProperty('is_training'), 'true');
  assert.equal(t.getTableProperty('none'), null);
  assert.equal(t.getRowProperty(1, 'mark'), 1);
  assert.equal(t.getValue(2, 2), null);
  assert.equal(t.getValue(1, 3), null);
  assert.equal(t.getValue(0, 'op'), 'MatMul');
  assert.equal(t.getProperty(1, 2, 'style'), 'color: red');
});

test('the formatted value is the given text or the value in default form', () => {
  const t = ops();
  assert.equal(t.getFormattedValue(0, 2), '1,234.568');
  assert.equal(t.getFormattedValue(1, 2), 'forty');
  assert.equal(t.getFormattedValue(2, 2), '');
  assert.equal(t.getFormattedValue(2, 1), 'true');
  t.setValue(1, 2, 41);
  assert.equal(t.getFormattedValue(1, 2), '41');
});

test('a column is found by id before label', () => {
  const t = arrayToDataTable([
    ['b', 'a'],
    [1, 2],
  ]);
  assert.equal(t.getColumnIndex('a'), 1);
  t.addColumn({ type: 'number', label: 'x', id: 'a' });
  assert.equal(t.getColumnIndex('a'), 2);
  assert.equal(t.getColumnIndex('none'), -1);
  assert.equal(t.getColumnIndex(7), -1);
});

test('wrong indexes throw and say what is allowed', () => {
  const t = ops();
  assert.throws(() => t.getValue(3, 0), /Invalid row index 3\. Should be in the range \[0-2\]\./);
  assert.throws(() => t.getValue(-1, 0), /Invalid row index -1/);
  assert.throws(
    () => t.getValue(0, 4),
    /Invalid column index 4\. Should be an integer in the range \[0-3\]\./
  );
  assert.throws(() => t.getColumnLabel('nobody'), /Invalid column id "nobody"/);
  assert.throws(() => new DataTable().getValue(0, 0), /Table has no rows\./);
  assert.throws(() => t.setProperty(3, 0, 'style', ''), /Invalid row index 3/);
  new DataTable({ cols: [{ type: 'string' }] }).setProperty(0, 0, 'style', 'width: 30%');
});

test('a row must fit the columns in number and type', () => {
  const t = new DataTable();
  t.addColumn('string', 'Name');
  t.addColumn('number', 'Size', 'size');
  assert.equal(t.addRow(['a', 1]), 0);
  assert.equal(
    t.addRows([
      ['b', { v: 2, f: 'two' }],
      ['c', null],
    ]),
    2
  );
  assert.throws(() => t.addRow(['d']), /Row given with size different than 2/);
  assert.throws(
    () => t.addRow(['d', '4']),
    /Type mismatch\. Value 4 does not match type number in column index 1/
  );
  assert.throws(() => t.addRows('x'), /must be a number or an array/);
  assert.equal(t.getNumberOfRows(), 3);
  assert.equal(t.addRows(2), 4);
  assert.equal(t.getValue(4, 1), null);
});

test('faults of a JSON table are noted, not thrown', () => {
  const before = problems.length;
  const t = new DataTable({
    cols: [
      { id: 'n', type: 'number' },
      { id: 'm', type: 'number' },
    ],
    rows: [{ c: [{ v: '7' }] }],
  });
  assert.equal(t.getValue(0, 1), null);
  assert.deepEqual(problems.slice(before), [
    'row 0 has 1 cells, the table has 2 columns',
    'type mismatch: "7" is not number (row 0, column n)',
  ]);
  t.setValue(0, 1, NaN);
  assert.match(problems[before + 2], /NaN is no finite number/);
  assert.throws(
    () => new DataTable({ cols: [{ type: 'number' }], rows: [{ c: [1, 2] }] }),
    /row 0 has 2 cells/
  );
});

test('columns and rows can be inserted and removed', () => {
  const t = ops();
  t.insertColumn(1, 'number', 'Rank');
  assert.deepEqual(column(t, 1), [null, null, null]);
  t.setCell(0, 1, 1, 'first', { className: 'top' });
  assert.equal(t.getFormattedValue(0, 1), 'first');
  assert.equal(t.getProperty(0, 1, 'className'), 'top');
  t.removeColumn(0);
  assert.equal(t.getColumnLabel(0), 'Rank');
  t.removeRows(0, 2);
  assert.equal(t.getNumberOfRows(), 1);
  assert.equal(t.getValue(0, 1), true);
});

test('sorting keeps equal rows in order and puts missing values first', () => {
  const t = ops();
  assert.deepEqual(t.getSortedRows(2), [2, 1, 0]);
  assert.deepEqual(t.getSortedRows([{ column: 1 }, { column: 2, desc: true }]), [0, 1, 2]);
  assert.deepEqual(t.getSortedRows({ column: 2, desc: true }), [0, 1, 2]);
  assert.deepEqual(
    t.getSortedRows([{ column: 0, compare: (a, b) => a.length - b.length }]),
    [0, 1, 2]
  );
  t.sort({ column: 0 });
  assert.deepEqual(column(t, 0), ['Conv2D', 'Iterator', 'MatMul']);
});

test('filters: value, range, test function, and a function of the row', () => {
  const t = ops();
  assert.deepEqual(t.getFilteredRows([{ column: 0, value: 'Conv2D' }]), [1]);
  assert.deepEqual(t.getFilteredRows([{ column: 2, minValue: 41 }]), [0]);
  assert.deepEqual(t.getFilteredRows([{ column: 2, minValue: null, maxValue: 40 }]), [1]);
  assert.deepEqual(
    t.getFilteredRows([{ column: 0, test: (v) => v.toLowerCase().includes('m') }]),
    [0]
  );
  assert.deepEqual(t.getFilteredRows([{ column: 2, value: null }]), [2]);
  assert.deepEqual(
    t.getFilteredRows((table, row) => row > 0),
    [1, 2]
  );
});

test('distinct values are sorted; the range leaves missing values out', () => {
  const t = arrayToDataTable([['n'], [3], [1], [3], [null], [2]]);
  assert.deepEqual(t.getDistinctValues(0), [null, 1, 2, 3]);
  assert.deepEqual(t.getColumnRange(0), { min: 1, max: 3 });
  assert.deepEqual(arrayToDataTable([['n']]).getColumnRange(0), { min: null, max: null });
});

test('clone and JSON carry everything and share nothing', () => {
  const t = ops();
  const copy = t.clone();
  copy.setValue(0, 0, 'other');
  copy.setRowProperty(1, 'mark', 2);
  assert.equal(t.getValue(0, 0), 'MatMul');
  assert.equal(t.getRowProperty(1, 'mark'), 1);
  const again = new DataTable(JSON.parse(t.toJSON()));
  assert.equal(again.toJSON(), t.toJSON());
  assert.equal(again.getColumnRole(3), 'tooltip');
  assert.equal(again.getFormattedValue(1, 2), 'forty');
});

test('dates travel as text', () => {
  const t = arrayToDataTable([['when'], [new Date(2024, 0, 31, 13, 5, 9)]]);
  assert.equal(t.getColumnType(0), 'date');
  const again = new DataTable(t.toJSON());
  assert.equal(again.getValue(0, 0).getTime(), new Date(2024, 0, 31, 13, 5, 9).getTime());
  assert.equal(again.getFormattedValue(0, 0), 'Jan 31, 2024');
});

test('arrayToDataTable finds types, roles and does without a header', () => {
  const t = arrayToDataTable([
    ['a', 'b', { role: 'tooltip', p: { html: true } }, 'c'],
    [null, 'x', 't', true],
    [2, 'y', 'u', false],
  ]);
  assert.deepEqual(
    [0, 1, 2, 3].map((c) => t.getColumnType(c)),
    ['number', 'string', 'string', 'boolean']
  );
  assert.equal(t.getColumnRole(2), 'tooltip');
  const bare = arrayToDataTable([[1, 'x']], true);
  assert.equal(bare.getNumberOfRows(), 1);
  assert.equal(bare.getColumnLabel(0), '');
  assert.equal(arrayToDataTable([]).getNumberOfColumns(), 0);
});

test('a view shows chosen rows and columns and follows its table', () => {
  const t = ops();
  const v = new DataView(t);
  v.setColumns([2, 'op']);
  v.setRows([2, 0]);
  assert.equal(v.getNumberOfColumns(), 2);
  assert.deepEqual(column(v, 1), ['Iterator', 'MatMul']);
  assert.equal(v.getColumnLabel(0), 'Time (us)');
  assert.equal(v.getTableRowIndex(1), 0);
  assert.equal(v.getTableColumnIndex(0), 2);
  assert.equal(v.getViewRowIndex(1), -1);
  assert.equal(v.getViewColumnIndex(0), 1);
  t.setValue(0, 0, 'BatchMatMul');
  assert.equal(v.getValue(1, 1), 'BatchMatMul');
  assert.deepEqual(v.getSortedRows([{ column: 0, desc: true }]), [1, 0]);
  v.setRows(0, 1);
  v.hideRows([0]);
  assert.deepEqual(v.getViewRows(), [1]);
  v.hideColumns([2]);
  assert.equal(v.getNumberOfColumns(), 1);
  assert.throws(() => v.setRows([9]), /Invalid row index 9/);
  assert.throws(() => v.setColumns([9]), /Invalid column index 9/);
  assert.throws(() => v.setColumns([{ type: 'number' }]), /expected either a number or an object/);
  assert.throws(() => new DataView(undefined), /Data table is not defined/);
});

test('computed columns of a view', () => {
  const v = new DataView(ops());
  v.setColumns([
    {
      calc: (table, row) => (table.getValue(row, 2) || 0) * 2,
      type: 'number',
      label: 'Double',
      id: 'double',
    },
    { calc: 'stringify', sourceColumn: 2, type: 'string', role: 'annotation' },
    { sourceColumn: 2, label: 'Renamed' },
    { calc: (table, row) => ({ v: row, f: 'row ' + row }), type: 'number' },
    { calc: () => undefined, type: 'string', role: 'tooltip', properties: { html: true } },
  ]);
  assert.deepEqual(column(v, 0), [2469.1356, 80, 0]);
  assert.equal(v.getColumnId(0), 'double');
  assert.equal(v.getValue(1, 1), 'forty');
  assert.equal(v.getColumnRole(1), 'annotation');
  assert.equal(v.getColumnLabel(2), 'Renamed');
  assert.equal(v.getColumnId(2), 'time_us');
  assert.equal(v.getFormattedValue(2, 3), 'row 2');
  assert.equal(v.getValue(0, 4), null);
  assert.equal(v.getColumnProperty(4, 'html'), true);
  const t = v.toDataTable();
  assert.equal(t.getColumnRole(4), 'tooltip');
  assert.equal(t.getFormattedValue(1, 2), 'forty');
  assert.equal(t.getFormattedValue(2, 3), 'row 2');
  assert.equal(t.getRowProperty(1, 'mark'), 1);
});

test('a view of a view, and a copy of it', () => {
  const inner = new DataView(ops());
  inner.setRows([1, 2]);
  const outer = new DataView(inner);
  outer.setColumns([0]);
  outer.setRows([1]);
  assert.equal(outer.getValue(0, 0), 'Iterator');
  const copy = outer.clone();
  copy.setRows([0]);
  assert.equal(outer.getValue(0, 0), 'Iterator');
  assert.equal(copy.getValue(0, 0), 'Conv2D');
  assert.equal(DataView.fromJSON(ops(), '{"columns":[2],"rows":[1]}').getValue(0, 0), 40);
});

test('group sums per key, in order of the keys', () => {
  const t = arrayToDataTable([
    ['type', 'n', 'us'],
    ['b', 1, 10],
    ['a', 2, 20],
    ['b', 3, null],
    ['a', 4, 40],
  ]);
  const g = aggregate.group(
    t,
    [0],
    [
      { column: 2, aggregation: aggregate.sum, type: 'number' },
      { column: 1, aggregation: aggregate.max, type: 'number', label: 'most' },
      { column: 1, aggregation: aggregate.count, type: 'number' },
      { column: 1, aggregation: aggregate.avg, type: 'number' },
      { column: 2, aggregation: aggregate.min, type: 'number' },
    ]
  );
  assert.deepEqual(
    g.rowIndexes().map((row) => [0, 1, 2, 3, 4, 5].map((c) => g.getValue(row, c))),
    [
      ['a', 60, 4, 2, 3, 20],
      ['b', 10, 3, 2, 2, 10],
    ]
  );
  assert.equal(g.getColumnLabel(2), 'most');
  assert.equal(g.getColumnLabel(1), 'us');
  const upper = aggregate.group(t, [
    { column: 'type', modifier: (v) => v.toUpperCase(), type: 'string', label: 'T' },
  ]);
  assert.deepEqual(column(upper, 0), ['A', 'B']);
});

test('join: inner, left, right, full', () => {
  const a = arrayToDataTable([
    ['k', 'x'],
    ['p', 1],
    ['q', 2],
  ]);
  const b = arrayToDataTable([
    ['k', 'y'],
    ['q', 20],
    ['r', 30],
  ]);
  const rows = (method) => {
    const j = aggregate.join(a, b, method, [[0, 0]], [1], [1]);
    return j.rowIndexes().map((row) => [0, 1, 2].map((c) => j.getValue(row, c)));
  };
  assert.deepEqual(rows('inner'), [['q', 2, 20]]);
  assert.deepEqual(rows('left'), [
    ['p', 1, null],
    ['q', 2, 20],
  ]);
  assert.deepEqual(rows('right'), [
    ['q', 2, 20],
    ['r', null, 30],
  ]);
  assert.deepEqual(rows('full'), [
    ['p', 1, null],
    ['q', 2, 20],
    ['r', null, 30],
  ]);
});
