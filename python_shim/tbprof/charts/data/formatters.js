/* SPDX-License-Identifier: Apache-2.0
 *
 * google.visualization.*Format: objects that write the text (or a cell's style) of a column. The
 * value of a cell stays what it is, so sorting and charts are not touched.
 */
tbc.define('formatters', ['number_pattern', 'date_pattern'], function (numbers, dates) {
  /** Calls visit(row, value) for each cell of a column that has a value. */
  function each(table, column, visit) {
    const at = table.columnAt(column);
    for (const row of table.rowIndexes()) {
      const value = table.getValue(row, at);
      if (value !== null && value !== undefined) visit(row, value, at);
    }
  }

  class NumberFormat {
    constructor(options) {
      this.options_ = options || {};
      const o = this.options_;
      const digits = o.fractionDigits === undefined ? 2 : Math.max(0, Number(o.fractionDigits));
      const plain = '#,##0' + (digits ? '.' + '0'.repeat(digits) : '');
      this.pattern_ = o.pattern === undefined ? plain : o.pattern;
      this.signs_ = { decimal: o.decimalSymbol, group: o.groupingSymbol };
    }

    formatValue(value) {
      if (value === null || value === undefined || value === '') return '';
      const number = Number(value);
      const o = this.options_;
      const special = this.pattern_ === 'short' || this.pattern_ === 'long';
      const write = (n) =>
        special ? numbers.format(n, this.pattern_) : numbers.write(n, this.pattern_, this.signs_);
      const parens = o.negativeParens && number < 0;
      const text = (o.prefix || '') + write(parens ? -number : number) + (o.suffix || '');
      return parens ? '(' + text + ')' : text;
    }

    format(table, column) {
      each(table, column, (row, value, at) => {
        table.setFormattedValue(row, at, this.formatValue(value));
        if (this.options_.negativeColor && value < 0) {
          table.setProperty(row, at, 'style', 'color: ' + this.options_.negativeColor);
        }
      });
    }
  }

  class DateFormat {
    constructor(options) {
      const o = options || {};
      this.pattern_ = o.pattern || o.formatType || 'medium';
    }

    formatValue(value) {
      return value ? dates.write(value, this.pattern_) : '';
    }

    format(table, column) {
      each(table, column, (row, value, at) =>
        table.setFormattedValue(row, at, this.formatValue(value))
      );
    }
  }

  class PatternFormat {
    constructor(pattern) {
      this.pattern_ = pattern;
    }

    format(table, sources, target, properties) {
      const to = target === undefined || target === null ? sources[0] : target;
      for (const row of table.rowIndexes()) {
        const text = this.pattern_.replace(/\\(.)|\{(\d+)\}/g, (all, literal, i) =>
          literal !== undefined ? literal : table.getFormattedValue(row, sources[Number(i)])
        );
        table.setFormattedValue(row, to, text);
        if (properties) table.setProperties(row, to, properties);
      }
    }
  }

  class ColorFormat {
    constructor() {
      this.ranges_ = [];
    }

    addRange(from, to, color, background) {
      this.ranges_.push({ from, to, color, background });
    }

    format(table, column) {
      const inside = (value, range) =>
        (range.from === null || value >= range.from) && (range.to === null || value < range.to);
      each(table, column, (row, value, at) => {
        const range = this.ranges_.find((r) => inside(value, r));
        if (!range) return;
        const style =
          (range.color ? 'color: ' + range.color + ';' : '') +
          (range.background ? 'background-color: ' + range.background + ';' : '');
        table.setProperty(row, at, 'style', style);
      });
    }
  }

  return { NumberFormat, DateFormat, PatternFormat, ColorFormat };
});
