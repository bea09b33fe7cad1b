/* SPDX-License-Identifier: Apache-2.0
 *
 * A table read as a chart with axes: the first column is the domain, every following column
 * without a role is a series, and a column with a role (tooltip, annotation, interval, style,
 * certainty) belongs to the column before it. Stacking happens here, too: each series has the
 * values `low` and `high` between which it is drawn. Missing values are NaN.
 */
tbc.define('model', ['color'], function (color) {
  const TYPES = ['line', 'area', 'bars', 'steppedArea', 'scatter'];
  const STACKABLE = { bars: true, area: true, steppedArea: true };

  /** The value of an axis option for one of possibly several axes. */
  function axisOptions(options, name, index) {
    const many = options[name.replace('Axis', 'Axes')] || {};
    return Object.assign({}, options[name], many[index]);
  }

  function readDomain(data, column, options) {
    const type = data.getColumnType(column);
    const discrete = type === 'string' || type === 'boolean' || options.type === 'category';
    const rows = data.rowIndexes();
    const raw = rows.map((row) => data.getValue(row, column));
    return {
      column: column,
      type: discrete ? 'category' : type === 'number' ? 'number' : 'date',
      values: discrete ? rows : raw.map((value) => (value === null ? NaN : Number(value))),
      texts: rows.map((row) => data.getFormattedValue(row, column)),
      label: data.getColumnLabel(column),
      roles: {},
    };
  }

  function numbersOf(data, column) {
    return Float64Array.from(data.rowIndexes(), (row) => {
      const value = data.getValue(row, column);
      return value === null || value === undefined ? NaN : Number(value);
    });
  }

  function styleOf(options, index, type, dark) {
    const given = Object.assign({}, (options.series || {})[index]);
    const colors = options.colors && options.colors.length ? options.colors : color.PALETTE;
    const pick = (name, otherwise) => {
      if (given[name] !== undefined) return given[name];
      return options[name] !== undefined ? options[name] : otherwise;
    };
    const kind = TYPES.indexOf(given.type) >= 0 ? given.type : type;
    return {
      type: kind,
      axis: Number(pick('targetAxisIndex', 0)) || 0,
      color: color.visible(given.color || colors[index % colors.length], dark),
      lineWidth: Number(pick('lineWidth', kind === 'scatter' ? 0 : 2)),
      pointSize: Number(pick('pointSize', kind === 'scatter' ? 7 : 0)),
      pointShape: shapeName(pick('pointShape', 'circle')),
      pointsVisible: pick('pointsVisible', true) !== false,
      dash: given.lineDashStyle || options.lineDashStyle || null,
      areaOpacity: Number(pick('areaOpacity', 0.3)),
      opacity: Number(pick('dataOpacity', 1)),
      inLegend: given.visibleInLegend !== false,
      label: given.labelInLegend,
      interactive: given.enableInteractivity !== false,
    };
  }

  function shapeName(shape) {
    return shape !== null && typeof shape === 'object' ? shape.type : shape;
  }

  /** Columns to a domain and series; throws what a reader of the page should know. */
  function read(data, options, settings) {
    const columns = data.getNumberOfColumns();
    if (!columns) throw new Error('Table has no columns.');
    if (columns < 2) throw new Error('Not enough columns given to draw the requested chart.');
    const domain = readDomain(data, 0, settings.domainOptions);
    const series = [];
    let owner = domain;
    for (let c = 1; c < columns; c++) {
      const role = data.getColumnRole(c);
      if (role && role !== 'data') {
        if (role !== 'domain') (owner.roles[role] = owner.roles[role] || []).push(c);
        continue;
      }
      if (data.getColumnType(c) !== 'number') {
        throw new Error('Data column(s) for axis #0 cannot be of type ' + data.getColumnType(c));
      }
      const index = series.length;
      const style = styleOf(options, index, settings.type, settings.dark);
      owner = Object.assign(style, {
        index: index,
        column: c,
        roles: {},
        values: numbersOf(data, c),
        stacked: false,
        label: style.label || data.getColumnLabel(c) || data.getColumnId(c),
      });
      series.push(owner);
    }
    if (!series.length) throw new Error('Not enough columns given to draw the requested chart.');
    const model = { data: data, domain: domain, series: series, rows: data.getNumberOfRows() };
    stack(model, stackMode(options.isStacked));
    return model;
  }

  function stackMode(option) {
    if (option === 'percent' || option === 'relative') return option;
    return option === true || option === 'true' || option === 'absolute' ? 'absolute' : '';
  }

  /** Sets low and high of every series; in the modes percent and relative a row adds up to 1. */
  function stack(model, mode) {
    model.stackMode = mode;
    const share = mode === 'percent' || mode === 'relative';
    const sums = new Map(); // axis and type -> what is stacked so far, upwards and downwards
    for (const s of model.series) {
      s.low = new Float64Array(model.rows);
      s.high = Float64Array.from(s.values);
      s.stacked = Boolean(mode && STACKABLE[s.type]);
      if (!s.stacked) continue;
      const key = s.axis + s.type;
      if (!sums.has(key)) {
        const totals = share ? rowTotals(model, s) : null;
        sums.set(key, {
          up: new Float64Array(model.rows),
          down: new Float64Array(model.rows),
          totals,
        });
      }
      pile(s, sums.get(key));
    }
  }

  function rowTotals(model, like) {
    const totals = new Float64Array(model.rows);
    for (const s of model.series) {
      if (s.axis !== like.axis || s.type !== like.type) continue;
      s.values.forEach((value, row) => {
        totals[row] += Math.abs(value) || 0;
      });
    }
    return totals;
  }

  function pile(s, sum) {
    for (let row = 0; row < s.values.length; row++) {
      const raw = s.values[row];
      const total = sum.totals ? sum.totals[row] : 1;
      const value = Number.isNaN(raw) || !total ? 0 : raw / total;
      const side = value < 0 ? sum.down : sum.up;
      s.low[row] = side[row];
      side[row] += value;
      s.high[row] = side[row];
    }
  }

  /** Smallest and largest value that is drawn on a value axis; null when there is none. */
  function valueRange(model, axis) {
    let min = Infinity;
    let max = -Infinity;
    let zero = false;
    for (const s of model.series) {
      if (s.axis !== axis) continue;
      zero = zero || (s.type !== 'line' && s.type !== 'scatter');
      const extra = (s.roles.interval || []).map((c) => numbersOf(model.data, c));
      for (const values of [s.high].concat(s.stacked ? [s.low] : [], extra)) {
        for (const value of values) {
          if (value < min) min = value;
          if (value > max) max = value;
        }
      }
    }
    if (min > max) return null;
    return { min: min, max: max, zero: zero };
  }

  return { read, axisOptions, valueRange, numbersOf };
});
