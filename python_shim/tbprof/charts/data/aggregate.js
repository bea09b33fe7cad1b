/* SPDX-License-Identifier: Apache-2.0
 *
 * google.visualization.data: grouping rows by keys, joining two tables, and the functions that
 * make one value of many.
 */
tbc.define('aggregate', ['table_reader', 'data_table'], function (reader, tables) {
  const sum = (values) => values.reduce((total, value) => total + (value || 0), 0);
  const extreme = (values, sign) =>
    values.reduce(
      (best, value) =>
        value === null || (best !== null && reader.compare(value, best) * sign >= 0) ? best : value,
      null
    );

  const FUNCTIONS = {
    sum: sum,
    count: (values) => values.length,
    avg: (values) => (values.length ? sum(values) / values.length : null),
    min: (values) => extreme(values, 1),
    max: (values) => extreme(values, -1),
    month: (date) => date.getMonth(),
  };

  function copyColumn(to, from, column, given) {
    const at = from.columnAt(column);
    to.addColumn({
      type: given.type || from.getColumnType(at),
      id: given.id || from.getColumnId(at),
      label: given.label === undefined ? from.getColumnLabel(at) : given.label,
    });
    return at;
  }

  /** One row for each set of key values, in order of the keys. */
  function group(table, keys, columns) {
    const out = new tables.DataTable();
    const by = keys.map((key) => (key !== null && typeof key === 'object' ? key : { column: key }));
    const keyAt = by.map((key) => copyColumn(out, table, key.column, key));
    const wanted = columns || [];
    const columnAt = wanted.map((column) => copyColumn(out, table, column.column, column));
    const groups = new Map();
    for (const row of table.rowIndexes()) {
      const values = by.map((key, i) => {
        const value = table.getValue(row, keyAt[i]);
        return key.modifier ? key.modifier(value) : value;
      });
      const name = JSON.stringify(values);
      if (!groups.has(name)) groups.set(name, { values: values, rows: [] });
      groups.get(name).rows.push(row);
    }
    const sorted = Array.from(groups.values()).sort((a, b) => compareAll(a.values, b.values));
    const result = (g, column, i) =>
      column.aggregation(g.rows.map((row) => table.getValue(row, columnAt[i])));
    out.loadRows(
      sorted.map((g) => ({
        c: g.values.concat(wanted.map((column, i) => result(g, column, i))),
      }))
    );
    return out;
  }

  function compareAll(a, b) {
    for (let i = 0; i < a.length; i++) {
      const order = reader.compare(a[i], b[i]);
      if (order) return order;
    }
    return 0;
  }

  /** Rows of two tables whose keys are equal; method inner, left, right or full. */
  function join(left, right, method, keys, leftColumns, rightColumns) {
    const out = new tables.DataTable();
    const keyLeft = keys.map((pair) => copyColumn(out, left, pair[0], {}));
    const keyRight = keys.map((pair) => right.columnAt(pair[1]));
    const fromLeft = leftColumns.map((column) => copyColumn(out, left, column, {}));
    const fromRight = rightColumns.map((column) => copyColumn(out, right, column, {}));
    const read = (table, row, columns) =>
      columns.map((c) => (row < 0 ? null : table.getValue(row, c)));
    const index = new Map();
    for (const row of right.rowIndexes()) {
      const name = JSON.stringify(read(right, row, keyRight));
      index.set(name, (index.get(name) || []).concat(row));
    }
    const rows = [];
    const used = new Set();
    const emit = (l, r) =>
      rows.push(
        (l < 0 ? read(right, r, keyRight) : read(left, l, keyLeft)).concat(
          read(left, l, fromLeft),
          read(right, r, fromRight)
        )
      );
    for (const row of left.rowIndexes()) {
      const hits = index.get(JSON.stringify(read(left, row, keyLeft))) || [];
      hits.forEach((hit) => {
        used.add(hit);
        emit(row, hit);
      });
      if (!hits.length && (method === 'left' || method === 'full')) emit(row, -1);
    }
    if (method === 'right' || method === 'full') {
      right
        .rowIndexes()
        .filter((row) => !used.has(row))
        .forEach((row) => emit(-1, row));
    }
    rows.sort((a, b) => compareAll(a.slice(0, keys.length), b.slice(0, keys.length)));
    out.loadRows(rows.map((cells) => ({ c: cells })));
    return out;
  }

  return Object.assign({ group: group, join: join }, FUNCTIONS);
});
