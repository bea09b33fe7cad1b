/* SPDX-License-Identifier: Apache-2.0
 *
 * google.visualization.DataTable: columns with type, label, id, role and properties; rows of cells
 * {v, f, p}. Adding a row of the wrong length or type throws; a table that comes as JSON is taken
 * as it is and its faults are noted, because the page has nobody to tell them to.
 */
tbc.define(
  'data_table',
  ['table_reader', 'problems', 'date_pattern'],
  function (reader, problems, dates) {
    function toCell(given) {
      if (given === null || given === undefined) return { v: null };
      if (typeof given !== 'object' || given instanceof Date || Array.isArray(given))
        return { v: given };
      const cell = { v: given.v === undefined ? null : given.v };
      if (given.f !== undefined && given.f !== null) cell.f = given.f;
      if (given.p) cell.p = Object.assign({}, given.p);
      return cell;
    }

    function toColumn(given) {
      const column = Object.assign({ id: '', label: '', type: 'string' }, given);
      column.p = Object.assign({}, given.p || given.properties);
      if (column.role) column.p.role = column.role;
      return column;
    }

    function datesToText(key, value) {
      const raw = this[key];
      if (!(raw instanceof Date)) return value;
      return (
        'Date(' +
        [
          raw.getFullYear(),
          raw.getMonth(),
          raw.getDate(),
          raw.getHours(),
          raw.getMinutes(),
          raw.getSeconds(),
          raw.getMilliseconds(),
        ].join(', ') +
        ')'
      );
    }

    class DataTable extends reader.TableReader {
      constructor(given) {
        super();
        this.columns_ = [];
        this.rows_ = [];
        this.properties_ = {};
        if (given === null || given === undefined) return;
        const json = typeof given === 'string' ? JSON.parse(given) : given;
        this.load_(typeof json.toJSON === 'function' ? JSON.parse(json.toJSON()) : json);
      }

      load_(json) {
        this.columns_ = (json.cols || []).map(toColumn);
        this.properties_ = Object.assign({}, json.p);
        this.loadRows(json.rows || []);
      }

      /** Appends rows {c: cells, p: properties} without refusing values of a wrong type. */
      loadRows(rows) {
        const n = this.columns_.length;
        for (const row of rows) {
          const i = this.rows_.length;
          const cells = ((row && row.c) || []).map(toCell);
          const what =
            'row ' + i + ' has ' + cells.length + ' cells, the table has ' + n + ' columns';
          if (cells.length > n) throw new Error(what);
          if (cells.length < n) problems.report(what);
          while (cells.length < n) cells.push({ v: null });
          cells.forEach((cell, c) => this.loadValue_(cell, i, c));
          this.rows_.push({ c: cells, p: Object.assign({}, row && row.p) });
        }
      }

      loadValue_(cell, row, c) {
        const column = this.columns_[c];
        if (column.type === 'date' || column.type === 'datetime') cell.v = dates.revive(cell.v);
        this.note_(cell.v, row, c);
      }

      note_(value, row, c) {
        const what = problems.mismatch(this.columns_[c].type, value);
        const column = this.columns_[c].id || c;
        if (what)
          problems.report('type mismatch: ' + what + ' (row ' + row + ', column ' + column + ')');
      }

      cell_(row, column) {
        return this.rows_[this.rowAt(row)].c[this.columnAt(column)];
      }

      getNumberOfRows() {
        return this.rows_.length;
      }
      getNumberOfColumns() {
        return this.columns_.length;
      }
      getColumnId(column) {
        return this.columns_[this.columnAt(column)].id;
      }
      getColumnLabel(column) {
        return this.columns_[this.columnAt(column)].label;
      }
      getColumnType(column) {
        return this.columns_[this.columnAt(column)].type;
      }
      getColumnPattern(column) {
        return this.columns_[this.columnAt(column)].pattern || '';
      }
      getColumnRole(column) {
        return this.columns_[this.columnAt(column)].p.role || '';
      }
      getColumnProperties(column) {
        return this.columns_[this.columnAt(column)].p;
      }
      getTableProperties() {
        return this.properties_;
      }
      getRowProperties(row) {
        return this.rows_[this.rowAt(row)].p;
      }
      getValue(row, column) {
        return this.cell_(row, column).v;
      }
      getProperties(row, column) {
        return this.cell_(row, column).p || {};
      }

      getFormattedValue(row, column) {
        const cell = this.cell_(row, column);
        return cell.f !== undefined
          ? cell.f
          : reader.defaultText(cell.v, this.getColumnType(column));
      }

      setColumnLabel(column, label) {
        this.columns_[this.columnAt(column)].label = label;
      }
      setColumnProperty(column, name, value) {
        this.getColumnProperties(column)[name] = value;
      }
      setColumnProperties(column, all) {
        this.columns_[this.columnAt(column)].p = all || {};
      }
      setTableProperty(name, value) {
        this.properties_[name] = value;
      }
      setTableProperties(all) {
        this.properties_ = all || {};
      }
      setRowProperty(row, name, value) {
        this.getRowProperties(row)[name] = value;
      }
      setRowProperties(row, all) {
        this.rows_[this.rowAt(row)].p = all || {};
      }

      /** Pages dress the first row without asking whether there is one. */
      setProperty(row, column, name, value) {
        if (!this.rows_.length) return;
        const cell = this.cell_(row, column);
        cell.p = Object.assign({}, cell.p);
        cell.p[name] = value;
      }

      setProperties(row, column, all) {
        this.cell_(row, column).p = all || {};
      }

      setFormattedValue(row, column, text) {
        const cell = this.cell_(row, column);
        if (text === null || text === undefined) delete cell.f;
        else cell.f = text;
      }

      setValue(row, column, value) {
        const cell = this.cell_(row, column);
        this.note_(value, row, this.columnAt(column));
        cell.v = value === undefined ? null : value;
        delete cell.f;
      }

      setCell(row, column, value, text, properties) {
        if (value !== undefined) this.setValue(row, column, value);
        if (text !== undefined) this.setFormattedValue(row, column, text);
        if (properties !== undefined) this.setProperties(row, column, properties);
      }

      addColumn(what, label, id) {
        this.insertColumn(this.columns_.length, what, label, id);
        return this.columns_.length - 1;
      }

      insertColumn(at, what, label, id) {
        const given =
          typeof what === 'object' ? what : { type: what, label: label || '', id: id || '' };
        this.columns_.splice(at, 0, toColumn(given));
        for (const row of this.rows_) row.c.splice(at, 0, { v: null });
      }

      removeColumn(at) {
        this.removeColumns(at, 1);
      }

      removeColumns(at, n) {
        this.columns_.splice(at, n);
        for (const row of this.rows_) row.c.splice(at, n);
      }

      addRow(cells) {
        return this.addRows([cells]);
      }

      addRows(rows) {
        this.insertRows(this.rows_.length, rows);
        return this.rows_.length - 1;
      }

      insertRows(at, rows) {
        const list =
          typeof rows === 'number' ? Array.from({ length: rows }, () => undefined) : rows;
        if (!Array.isArray(list))
          throw new Error('Argument given to addRows must be a number or an array.');
        this.rows_.splice(at, 0, ...list.map((cells) => ({ c: this.checkedRow_(cells), p: {} })));
      }

      checkedRow_(given) {
        if (given === null || given === undefined) return this.columns_.map(() => ({ v: null }));
        if (given.length !== this.columns_.length) {
          throw new Error(
            'Row given with size different than ' +
              this.columns_.length +
              ' (the number of columns in the table).'
          );
        }
        return Array.from(given, (value, c) => this.checkedCell_(toCell(value), c));
      }

      checkedCell_(cell, c) {
        const type = this.columns_[c].type;
        const simple = type === 'number' || type === 'string' || type === 'boolean';
        if (simple && cell.v !== null && typeof cell.v !== type) {
          throw new Error(
            'Type mismatch. Value ' +
              cell.v +
              ' does not match type ' +
              type +
              ' in column index ' +
              c
          );
        }
        return cell;
      }

      removeRow(at) {
        this.removeRows(at, 1);
      }
      removeRows(at, n) {
        this.rows_.splice(at, n);
      }

      sort(keys) {
        const order = this.getSortedRows(keys);
        this.rows_ = order.map((row) => this.rows_[row]);
      }

      clone() {
        const copy = new DataTable();
        copy.columns_ = this.columns_.map((column) => toColumn(column));
        copy.rows_ = this.rows_.map((row) => ({
          c: row.c.map(toCell),
          p: Object.assign({}, row.p),
        }));
        copy.properties_ = Object.assign({}, this.properties_);
        return copy;
      }

      toDataTable() {
        return this.clone();
      }

      toJSON() {
        const cols = this.columns_.map((c) => ({ id: c.id, label: c.label, type: c.type, p: c.p }));
        return JSON.stringify({ cols: cols, rows: this.rows_, p: this.properties_ }, datesToText);
      }
    }

    function typeOf(values) {
      const sample = values.find((value) => value !== null && value !== undefined);
      if (sample instanceof Date) return 'date';
      const type = typeof sample;
      return type === 'number' || type === 'boolean' ? type : 'string';
    }

    /** Rows of an array become a table; the first one names the columns unless `noHeader`. */
    function arrayToDataTable(rows, noHeader) {
      const table = new DataTable();
      if (!rows || !rows.length) return table;
      const body = noHeader ? rows : rows.slice(1);
      rows[0].forEach((head, c) => {
        const type = typeOf(body.map((row) => toCell(row[c]).v));
        if (noHeader) table.addColumn(type);
        else if (head !== null && typeof head === 'object')
          table.addColumn(Object.assign({ type }, head));
        else table.addColumn(type, String(head));
      });
      table.addRows(body);
      return table;
    }

    return { DataTable: DataTable, arrayToDataTable: arrayToDataTable };
  }
);
