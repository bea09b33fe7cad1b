/* SPDX-License-Identifier: Apache-2.0
 *
 * google.visualization.DataView: chosen rows and columns of a table, and columns that a function
 * computes from a row. A view reads through; it never copies, so it follows its table.
 */
tbc.define('data_view', ['table_reader', 'data_table'], function (reader, tables) {
  function range(from, to) {
    const out = [];
    for (let i = from; i <= to; i++) out.push(i);
    return out;
  }

  /** Functions that a computed column may name instead of bringing its own. */
  const NAMED = {
    identity: (table, row, source) => table.getValue(row, source),
    stringify: (table, row, source) => table.getFormattedValue(row, source),
    emptyString: () => '',
    error: () => null,
    fillFromTop: (table, row, source) => firstValue(table, row, source, -1),
    fillFromBottom: (table, row, source) => firstValue(table, row, source, 1),
  };

  function firstValue(table, row, source, step) {
    for (let r = row; r >= 0 && r < table.getNumberOfRows(); r += step) {
      const value = table.getValue(r, source);
      if (value !== null) return value;
    }
    return null;
  }

  class DataView extends reader.TableReader {
    constructor(table) {
      super();
      if (!table) throw new Error('Data table is not defined.');
      this.table_ = table;
      this.columns_ = range(0, table.getNumberOfColumns() - 1).map((source) => ({ source }));
      this.rows_ = null; // all
    }

    static fromJSON(table, given) {
      const json = typeof given === 'string' ? JSON.parse(given) : given;
      const view = new DataView(table);
      if (json.columns) view.setColumns(json.columns);
      if (json.rows) view.setRows(json.rows);
      return view;
    }

    setColumns(columns) {
      this.columns_ = columns.map((column) => this.toColumn_(column));
    }

    toColumn_(given) {
      if (given === null || typeof given !== 'object')
        return { source: this.table_.columnAt(given) };
      const hasSource = given.sourceColumn !== undefined && given.sourceColumn !== null;
      if (!hasSource && given.calc === undefined) {
        throw new Error('Invalid column input, expected either a number or an object.');
      }
      const calc = typeof given.calc === 'string' ? NAMED[given.calc] : given.calc;
      if (given.calc !== undefined && !calc)
        throw new Error('Unknown function "' + given.calc + '"');
      const properties = Object.assign({}, given.properties || given.p);
      if (given.role) properties.role = given.role;
      const source = hasSource ? this.table_.columnAt(given.sourceColumn) : -1;
      return { source: source, calc: calc, given: given, properties: properties };
    }

    setRows(from, to) {
      const rows = typeof from === 'number' ? range(from, to) : Array.from(from);
      rows.forEach((row) => this.table_.rowAt(row));
      this.rows_ = rows;
    }

    hideColumns(columns) {
      const hidden = new Set(columns.map((column) => this.table_.columnAt(column)));
      this.columns_ = this.columns_.filter((c) => c.given || !hidden.has(c.source));
    }

    hideRows(from, to) {
      const hidden = new Set(typeof from === 'number' ? range(from, to) : from);
      this.rows_ = this.getViewRows().filter((row) => !hidden.has(row));
    }

    getViewColumns() {
      return this.columns_.map((c) => c.given || c.source);
    }
    getViewRows() {
      return this.rows_ ? this.rows_.slice() : this.table_.rowIndexes();
    }
    getTableColumnIndex(column) {
      return this.columns_[this.columnAt(column)].source;
    }
    getViewRowIndex(row) {
      return this.rows_ ? this.rows_.indexOf(row) : row;
    }
    getNumberOfRows() {
      return this.rows_ ? this.rows_.length : this.table_.getNumberOfRows();
    }
    getNumberOfColumns() {
      return this.columns_.length;
    }

    getTableRowIndex(row) {
      const at = this.rowAt(row);
      return this.rows_ ? this.rows_[at] : at;
    }

    getViewColumnIndex(column) {
      const source = this.table_.columnAt(column);
      return this.columns_.findIndex((c) => !c.given && c.source === source);
    }

    /** An attribute of a column: what the view says, else what the table says, else ''. */
    attribute_(column, name, ask) {
      const c = this.columns_[this.columnAt(column)];
      if (c.given && c.given[name] !== undefined) return c.given[name];
      return c.source >= 0 ? this.table_[ask](c.source) : '';
    }

    getColumnId(column) {
      return this.attribute_(column, 'id', 'getColumnId');
    }
    getColumnLabel(column) {
      return this.attribute_(column, 'label', 'getColumnLabel');
    }
    getColumnType(column) {
      return this.attribute_(column, 'type', 'getColumnType');
    }
    getColumnPattern(column) {
      return this.attribute_(column, 'pattern', 'getColumnPattern');
    }

    getColumnRole(column) {
      return (this.getColumnProperties(column) || {}).role || '';
    }

    getColumnProperties(column) {
      const c = this.columns_[this.columnAt(column)];
      if (c.given && Object.keys(c.properties).length) return c.properties;
      return c.source >= 0 ? this.table_.getColumnProperties(c.source) : c.properties;
    }

    /** A cell that is computed: {v, f}; the function may return a value or such a cell. */
    computed_(row, c) {
      const value = c.calc(this.table_, this.getTableRowIndex(row), c.source);
      if (value === undefined || value === null) return { v: null };
      const cell = typeof value === 'object' && !(value instanceof Date) && 'v' in value;
      return cell ? value : { v: value };
    }

    getValue(row, column) {
      const c = this.columns_[this.columnAt(column)];
      if (c.calc) return this.computed_(row, c).v;
      return this.table_.getValue(this.getTableRowIndex(row), c.source);
    }

    getFormattedValue(row, column) {
      const c = this.columns_[this.columnAt(column)];
      if (!c.calc) return this.table_.getFormattedValue(this.getTableRowIndex(row), c.source);
      const cell = this.computed_(row, c);
      return cell.f !== undefined ? cell.f : reader.defaultText(cell.v, this.getColumnType(column));
    }

    getProperties(row, column) {
      const c = this.columns_[this.columnAt(column)];
      if (c.calc) return {};
      return this.table_.getProperties(this.getTableRowIndex(row), c.source);
    }

    getRowProperties(row) {
      return this.table_.getRowProperties(this.getTableRowIndex(row));
    }
    getTableProperties() {
      return this.table_.getTableProperties();
    }

    clone() {
      const copy = new DataView(this.table_);
      copy.columns_ = this.columns_.slice();
      copy.rows_ = this.rows_ && this.rows_.slice();
      return copy;
    }

    toDataTable() {
      const columns = range(0, this.columns_.length - 1);
      const cols = columns.map((c) => ({
        id: this.getColumnId(c),
        label: this.getColumnLabel(c),
        type: this.getColumnType(c) || 'string',
        p: Object.assign({}, this.getColumnProperties(c)),
      }));
      const table = new tables.DataTable({ cols: cols, p: this.getTableProperties() });
      table.loadRows(
        this.rowIndexes().map((row) => ({
          c: columns.map((c) => this.copyOfCell_(row, c)),
          p: this.getRowProperties(row),
        }))
      );
      return table;
    }

    copyOfCell_(row, column) {
      const c = this.columns_[column];
      const cell = c.calc
        ? Object.assign({}, this.computed_(row, c))
        : { v: this.getValue(row, column), p: this.getProperties(row, column) };
      const text = this.getFormattedValue(row, column);
      if (text !== reader.defaultText(cell.v, this.getColumnType(column))) cell.f = text;
      return cell;
    }

    toJSON() {
      return this.toDataTable().toJSON();
    }
  }

  return { DataView: DataView };
});
