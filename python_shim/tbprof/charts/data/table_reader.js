/* SPDX-License-Identifier: Apache-2.0
 *
 * What DataTable and DataView have in common: everything that only reads cells. A subclass has
 * getNumberOfRows/Columns, getValue, getFormattedValue, getColumn..., rowAt, columnAt, which turn
 * an index (or a column's id) into a valid one or throw.
 */
tbc.define('table_reader', ['number_pattern', 'date_pattern'], function (numbers, dates) {
  function defaultText(value, type) {
    if (value === null || value === undefined) return '';
    if (typeof value === 'number') return numbers.write(value, 'decimal');
    if (type === 'date' || type === 'datetime' || type === 'timeofday') {
      return dates.defaultText(value, type);
    }
    return String(value);
  }

  /** Order of two cell values; what is missing comes first. */
  function compare(a, b) {
    const noA = a === null || a === undefined;
    const noB = b === null || b === undefined;
    if (noA || noB) return noA && noB ? 0 : noA ? -1 : 1;
    return a < b ? -1 : a > b ? 1 : 0;
  }

  function passes(table, row, filter) {
    if (typeof filter === 'function') return filter(table, row);
    const value = table.getValue(row, filter.column);
    if (filter.test) return filter.test(value, row, filter.column, table);
    const has = (bound) => bound !== undefined && bound !== null;
    if (filter.value !== undefined && compare(value, filter.value) !== 0) return false;
    if ((has(filter.minValue) || has(filter.maxValue)) && value === null) return false;
    if (has(filter.minValue) && value < filter.minValue) return false;
    return !(has(filter.maxValue) && value > filter.maxValue);
  }

  class TableReader {
    rowAt(index) {
      const last = this.getNumberOfRows() - 1;
      if (Number.isInteger(index) && index >= 0 && index <= last) return index;
      throw new Error(
        last < 0
          ? 'Table has no rows.'
          : 'Invalid row index ' + index + '. Should be in the range [0-' + last + '].'
      );
    }

    columnAt(column) {
      const last = this.getNumberOfColumns() - 1;
      if (typeof column === 'string') {
        const index = this.getColumnIndex(column);
        if (index >= 0) return index;
        throw new Error('Invalid column id "' + column + '"');
      }
      if (Number.isInteger(column) && column >= 0 && column <= last) return column;
      throw new Error(
        last < 0
          ? 'Table has no columns.'
          : 'Invalid column index ' +
              column +
              '. Should be an integer in the range [0-' +
              last +
              '].'
      );
    }

    /** The index of a column by id, else by label; -1 when there is none. */
    getColumnIndex(column) {
      const n = this.getNumberOfColumns();
      if (typeof column === 'number') return column >= 0 && column < n ? column : -1;
      for (let i = 0; i < n; i++) if (this.getColumnId(i) === column) return i;
      for (let i = 0; i < n; i++) if (this.getColumnLabel(i) === column) return i;
      return -1;
    }

    getColumnProperty(column, name) {
      const value = (this.getColumnProperties(column) || {})[name];
      return value === undefined ? null : value;
    }

    getTableProperty(name) {
      const value = (this.getTableProperties() || {})[name];
      return value === undefined ? null : value;
    }

    getRowProperty(row, name) {
      const value = (this.getRowProperties(row) || {})[name];
      return value === undefined ? null : value;
    }

    getProperty(row, column, name) {
      const value = (this.getProperties(row, column) || {})[name];
      return value === undefined ? null : value;
    }

    rowIndexes() {
      return Array.from({ length: this.getNumberOfRows() }, (_, i) => i);
    }

    columnValues(column) {
      const at = this.columnAt(column);
      return this.rowIndexes().map((row) => this.getValue(row, at));
    }

    getSortedRows(keys) {
      const list = (Array.isArray(keys) ? keys : [keys]).map((key) => {
        const full = key !== null && typeof key === 'object' ? key : { column: key };
        const sign = full.desc ? -1 : 1;
        return { values: this.columnValues(full.column), sign, compare: full.compare || compare };
      });
      return this.rowIndexes().sort((a, b) => {
        for (const key of list) {
          const order = key.compare(key.values[a], key.values[b]) * key.sign;
          if (order) return order;
        }
        return a - b;
      });
    }

    getFilteredRows(filters) {
      const list = Array.isArray(filters) ? filters : [filters];
      return this.rowIndexes().filter((row) => list.every((filter) => passes(this, row, filter)));
    }

    getDistinctValues(column) {
      const sorted = this.columnValues(column).sort(compare);
      return sorted.filter((value, i) => !i || compare(value, sorted[i - 1]) !== 0);
    }

    getColumnRange(column) {
      const range = { min: null, max: null };
      for (const value of this.columnValues(column)) {
        if (value === null) continue;
        if (range.min === null || value < range.min) range.min = value;
        if (range.max === null || value > range.max) range.max = value;
      }
      return range;
    }
  }

  return { TableReader: TableReader, compare: compare, defaultText: defaultText };
});
