/* SPDX-License-Identifier: Apache-2.0
 *
 * The marks of series: bars, lines, areas, steps, points, intervals and annotations. Each returns
 * what can be pointed at: bars as rectangles, everything else as points. `place` turns a pair
 * (domain value, value) into pixels, so that horizontal and vertical charts share everything.
 */
tbc.define('marks', ['svg', 'model'], function (svg, model) {
  const round = svg.round;

  /** Pixel functions of a series: along the domain and along its value axis. */
  function placer(frame, series) {
    const domain = frame.domain.scale;
    const value = frame.valueOf.get(series.axis).scale;
    const at = (d, v) =>
      frame.vertical ? { x: value(v), y: domain(d) } : { x: domain(d), y: value(v) };
    return { domain: domain, value: value, at: at };
  }

  /** The value from which bars and areas rise: zero, or the low end of the axis. */
  function floorOf(axis) {
    return axis.log ? axis.min : Math.max(axis.min, Math.min(axis.max, 0));
  }

  // ---- bars

  function barSlot(frame, m, option) {
    let slot = frame.domain.scale.slot;
    if (!slot) {
      const at = Array.from(m.domain.values, frame.domain.scale)
        .filter(Number.isFinite)
        .sort((a, b) => a - b);
      const gaps = at
        .slice(1)
        .map((p, i) => p - at[i])
        .filter((gap) => gap > 0.01);
      slot = gaps.length
        ? Math.min(...gaps)
        : Math.abs(frame.domain.scale.to - frame.domain.scale.from) / 2;
    }
    const given = (option || {}).groupWidth;
    if (given === undefined) return slot * 0.618;
    const share = typeof given === 'string' && given.slice(-1) === '%';
    return share ? (slot * parseFloat(given)) / 100 : Math.min(parseFloat(given), slot);
  }

  function bars(parent, m, frame, options) {
    const all = m.series.filter((s) => s.type === 'bars');
    const group = barSlot(frame, m, options.bar);
    const lanes = []; // side by side; all that is stacked on one axis shares a lane
    for (const s of all) {
      const key = s.stacked ? 'stack' + s.axis : 'own' + s.index;
      if (lanes.indexOf(key) < 0) lanes.push(key);
      s.lane = lanes.indexOf(key);
    }
    const width = group / Math.max(1, lanes.length);
    const gap = lanes.length > 1 && width >= 5 ? 1 : 0;
    return [].concat(
      ...all.map((s) =>
        seriesBars(parent, m, frame, s, {
          offset: -group / 2 + s.lane * width,
          width: Math.max(0.5, width - gap),
        })
      )
    );
  }

  function seriesBars(parent, m, frame, s, lane) {
    const g = seriesGroup(parent, s);
    const place = placer(frame, s);
    const axis = frame.valueOf.get(s.axis);
    const floor = floorOf(axis);
    const found = [];
    const styles = (s.roles.style || [])[0];
    for (let row = 0; row < m.rows; row++) {
      if (Number.isNaN(s.values[row])) continue;
      const from = place.value(
        s.stacked ? Math.max(s.low[row], axis.log ? floor : -Infinity) : floor
      );
      const to = place.value(s.high[row]);
      const middle = place.domain(m.domain.values[row]);
      if (!Number.isFinite(from + to + middle)) continue;
      const box = frame.vertical
        ? {
            x: Math.min(from, to),
            y: middle + lane.offset,
            width: Math.abs(to - from),
            height: lane.width,
          }
        : {
            x: middle + lane.offset,
            y: Math.min(from, to),
            width: lane.width,
            height: Math.abs(to - from),
          };
      const attributes = { fill: s.color, 'fill-opacity': s.opacity, class: 'tbc-bar' };
      const given = styles !== undefined ? m.data.getValue(row, styles) : null;
      if (given) attributes.style = /:/.test(given) ? barStyle(given) : 'fill:' + given;
      svg.rect(g, box, attributes);
      found.push({
        row,
        series: s,
        box,
        x: frame.vertical ? to : box.x + box.width / 2,
        y: frame.vertical ? box.y + box.height / 2 : to,
      });
    }
    return found;
  }

  /** A style column speaks of color, opacity and stroke-*; a rectangle of fill and fill-opacity. */
  function barStyle(text) {
    return text
      .replace(/(^|;)\s*color\s*:/g, '$1fill:')
      .replace(/(^|;)\s*opacity\s*:/g, '$1fill-opacity:');
  }

  function seriesGroup(parent, s) {
    return svg.element(
      'g',
      { class: 'tbc-series', 'data-series': s.index, 'data-label': s.label },
      parent
    );
  }

  // ---- lines and areas

  /** Pixels of a series in pieces without gaps; rows that are missing end a piece. */
  function pieces(m, frame, s, values, joinGaps) {
    const place = placer(frame, s);
    const out = [[]];
    for (let row = 0; row < m.rows; row++) {
      const p = place.at(m.domain.values[row], values[row]);
      if (Number.isFinite(p.x + p.y) && !(Number.isNaN(s.values[row]) && !s.stacked)) {
        p.row = row;
        out[out.length - 1].push(p);
      } else if (!joinGaps && out[out.length - 1].length) {
        out.push([]);
      }
    }
    return out.filter((piece) => piece.length);
  }

  /**
   * Of each pixel column the first, lowest, highest and last point: the picture stays the same,
   * a path of a million points becomes one of some thousand.
   */
  function thin(points) {
    if (points.length < 4000) return points;
    const out = [];
    for (let at = 0; at < points.length;) {
      const column = Math.round(points[at].x);
      let end = at;
      let low = at;
      let high = at;
      while (end + 1 < points.length && Math.round(points[end + 1].x) === column) {
        end++;
        if (points[end].y < points[low].y) low = end;
        if (points[end].y > points[high].y) high = end;
      }
      for (const i of Array.from(new Set([at, low, high, end])).sort((a, b) => a - b))
        out.push(points[i]);
      at = end + 1;
    }
    return out;
  }

  const pathOf = (points) =>
    points.map((p, i) => (i ? 'L' : 'M') + round(p.x) + ',' + round(p.y)).join('');

  /** Corner points of steps: each value holds for the whole slot of its category. */
  function stepped(points, frame) {
    const slot = frame.domain.scale.slot || 0;
    const half = points.length === 1 ? Math.min(slot || 120, 120) / 2 : slot / 2;
    return [].concat(
      ...points.map((p, i) => {
        const next = points[i + 1];
        const reach = half || (next ? (next.x - p.x) / 2 : 0);
        return [
          { x: p.x - reach, y: p.y },
          { x: p.x + reach, y: p.y },
        ];
      })
    );
  }

  function strokeOf(s) {
    return {
      fill: 'none',
      stroke: s.color,
      'stroke-width': s.lineWidth,
      'stroke-linejoin': 'round',
      'stroke-linecap': 'round',
      'stroke-dasharray': s.dash ? s.dash.join(' ') : null,
      class: 'tbc-line',
    };
  }

  function line(parent, m, frame, s, options) {
    const g = seriesGroup(parent, s);
    const fill = s.type === 'area' || s.type === 'steppedArea';
    const step = s.type === 'steppedArea' || (fill && m.rows === 1); // one row: a block
    const found = [];
    for (const piece of pieces(m, frame, s, s.high, options.interpolateNulls)) {
      const top = step ? stepped(piece, frame) : thin(piece);
      if (fill) areaBelow(g, m, frame, s, piece, top, step);
      if (s.lineWidth > 0 && (piece.length > 1 || step) && !isFlat(s))
        svg.element('path', Object.assign({ d: pathOf(top) }, strokeOf(s)), g);
      if (piece.length === 1 && s.lineWidth > 0 && !step)
        point(g, piece[0], Object.assign({}, s, { pointSize: 6 }), 1);
      piece.forEach((p) => found.push({ row: p.row, series: s, x: p.x, y: p.y, band: fill }));
    }
    if (s.pointSize > 0 && s.pointsVisible) found.forEach((p) => point(g, p, s, 1));
    return found;
  }

  /** A layer of zeros only would hide the line of the layer below it. */
  function isFlat(s) {
    return s.stacked && s.index > 0 && s.high.every((value, row) => value === s.low[row]);
  }

  function areaBelow(g, m, frame, s, piece, top, step) {
    const place = placer(frame, s);
    const floor = floorOf(frame.valueOf.get(s.axis));
    const below = piece.map((p) =>
      place.at(m.domain.values[p.row], s.stacked ? s.low[p.row] : floor)
    );
    const bottom = step ? stepped(below, frame) : thin(below);
    const d = pathOf(top) + pathOf(bottom.slice().reverse()).replace('M', 'L') + 'Z';
    svg.element(
      'path',
      { d: d, fill: s.color, 'fill-opacity': s.areaOpacity, class: 'tbc-area' },
      g
    );
  }

  // ---- points

  const SIDES = { triangle: 3, square: 4, diamond: 4, polygon: 5, star: 5 };
  const TURN = { square: Math.PI / 4 };

  /** The outline of a point as path; a star has inner corners between the outer ones. */
  function shapePath(shape, x, y, radius) {
    const n = SIDES[shape];
    const star = shape === 'star';
    const corners = star ? n * 2 : n;
    const points = [];
    for (let i = 0; i < corners; i++) {
      const r = star && i % 2 ? radius * 0.45 : radius;
      const angle = (TURN[shape] || 0) - Math.PI / 2 + (i * 2 * Math.PI) / corners;
      points.push({ x: x + r * Math.cos(angle), y: y + r * Math.sin(angle) });
    }
    return pathOf(points) + 'Z';
  }

  function point(g, p, s, opacity) {
    const radius = s.pointSize / 2;
    const attributes = { fill: s.color, 'fill-opacity': opacity * s.opacity, class: 'tbc-point' };
    if (SIDES[s.pointShape]) {
      svg.element(
        'path',
        Object.assign({ d: shapePath(s.pointShape, p.x, p.y, radius * 1.15) }, attributes),
        g
      );
    } else {
      svg.element(
        'circle',
        Object.assign({ cx: round(p.x), cy: round(p.y), r: round(radius) }, attributes),
        g
      );
    }
  }

  function scatter(parent, m, frame, s, options) {
    const g = seriesGroup(parent, s);
    const found = [];
    for (const piece of pieces(m, frame, s, s.high, options.interpolateNulls)) {
      if (s.lineWidth > 0 && piece.length > 1) {
        svg.element('path', Object.assign({ d: pathOf(thin(piece)) }, strokeOf(s)), g);
      }
      piece.forEach((p) => found.push({ row: p.row, series: s, x: p.x, y: p.y, scatter: true }));
    }
    if (s.pointSize > 0 && s.pointsVisible) found.forEach((p) => point(g, p, s, 1));
    return found;
  }

  // ---- intervals: ranges around a value, from columns with the role "interval"

  function intervals(parent, m, frame, s, options) {
    const columns = s.roles.interval || [];
    if (!columns.length) return;
    const style = Object.assign({ style: 'bars', lineWidth: 1, color: s.color }, options.intervals);
    const g = svg.element('g', { class: 'tbc-interval' }, parent);
    const values = columns.map((c) => model.numbersOf(m.data, c));
    const place = placer(frame, s);
    const half = Math.min(6, Math.max(1.5, barSlot(frame, m, null) / 4));
    const edges = [];
    for (let row = 0; row < m.rows; row++) {
      const inRow = values.map((list) => list[row]).filter(Number.isFinite);
      if (!inRow.length) continue;
      const low = place.at(m.domain.values[row], Math.min(...inRow));
      const high = place.at(m.domain.values[row], Math.max(...inRow));
      edges.push({ low, high });
      if (style.style === 'boxes') intervalBox(g, low, high, half, style);
      else if (style.style !== 'area' && style.style !== 'line')
        intervalBar(g, low, high, half, style);
    }
    if (style.style === 'area' && edges.length) {
      const d =
        pathOf(edges.map((e) => e.high)) +
        pathOf(edges.map((e) => e.low).reverse()).replace('M', 'L') +
        'Z';
      svg.element('path', { d: d, fill: style.color, 'fill-opacity': style.fillOpacity || 0.2 }, g);
    }
  }

  function intervalBox(g, low, high, half, style) {
    const box = {
      x: low.x - half,
      y: Math.min(low.y, high.y),
      width: 2 * half,
      height: Math.abs(high.y - low.y),
    };
    svg.rect(g, box, {
      fill: style.color,
      'fill-opacity': 0.12,
      stroke: style.color,
      'stroke-opacity': 0.55,
      'stroke-width': Math.min(1.5, style.lineWidth),
    });
  }

  function intervalBar(g, low, high, half, style) {
    const attributes = { stroke: style.color, 'stroke-width': style.lineWidth };
    svg.line(g, low.x, low.y, high.x, high.y, attributes);
    for (const p of [low, high]) svg.line(g, p.x - half, p.y, p.x + half, p.y, attributes);
  }

  // ---- annotations: texts at items, from columns with the role "annotation"

  function annotations(parent, m, frame, items, options) {
    const font = svg.font((options.annotations || {}).textStyle, { size: 11, family: 'inherit' });
    for (const item of items) {
      const column = (item.series.roles.annotation || [])[0];
      if (column === undefined) continue;
      const value = m.data.getValue(item.row, column);
      if (value === null || value === '') continue;
      const text = m.data.getFormattedValue(item.row, column);
      const y = frame.vertical ? item.y + font.size * 0.35 : Math.max(font.size, item.y - 5);
      const x = frame.vertical ? item.x + 4 : item.x;
      svg.text(parent, text, font, {
        x: round(x),
        y: round(y),
        class: 'tbc-annotation',
        'text-anchor': frame.vertical ? 'start' : 'middle',
      });
    }
  }

  return { bars, line, scatter, intervals, annotations };
});
