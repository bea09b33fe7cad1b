/* SPDX-License-Identifier: Apache-2.0
 *
 * The frame of a chart with axes: plot area, domain axis, value axes and their scales. The room
 * for texts depends on the ticks and the ticks on the length of the axis, so the area is planned
 * twice: first as the options say, then with the room that the texts turned out to need.
 */
tbc.define(
  'frame',
  ['layout', 'model', 'axis', 'scale', 'svg'],
  function (layout, model, axes, scale, svg) {
    const SLANT = Math.sin((35 * Math.PI) / 180);

    function baseAxis(options, context, across) {
      const side = across ? 'bottom' : 'left';
      const bare = context.bare.indexOf(side) >= 0;
      return {
        options: options,
        across: across,
        title: bare ? '' : options.title || '',
        font: svg.font(options.textStyle, context.text),
        titleFont: svg.font(options.titleTextStyle, context.text),
        textPosition: bare ? 'none' : options.textPosition || 'out',
        side: side,
        ticks: [],
        mostText: context.size.width * 0.4,
      };
    }

    function pixels(axis, area) {
      const ends = axis.across ? [area.x, area.x + area.width] : [area.y + area.height, area.y];
      if (axis.topDown) ends.reverse();
      return Number(axis.options.direction) === -1 ? ends.reverse() : ends;
    }

    function rangeOf(values) {
      let min = Infinity;
      let max = -Infinity;
      for (const value of values) {
        if (value < min) min = value;
        if (value > max) max = value;
      }
      return min > max ? null : { min: min, max: max };
    }

    /** Half of the smallest distance, so that bars at the ends of a number axis fit. */
    function barMargin(values) {
      const sorted = Array.from(values)
        .filter(Number.isFinite)
        .sort((a, b) => a - b);
      let least = Infinity;
      for (let i = 1; i < sorted.length; i++) {
        const gap = sorted[i] - sorted[i - 1];
        if (gap > 0 && gap < least) least = gap;
      }
      return Number.isFinite(least) ? least / 2 : 0.5;
    }

    function domainAxis(m, options, context, area) {
      const across = !context.vertical;
      const axis = baseAxis(options, context, across);
      axis.type = m.domain.type;
      if (axis.type === 'category') {
        axis.topDown = !across;
        const ends = pixels(axis, area);
        axis.scale = scale.category(m.rows, ends[0], ends[1]);
        categoryTicks(axis, m, area);
        return axis;
      }
      let range = rangeOf(m.domain.values);
      const bars = m.series.some((s) => s.type === 'bars');
      if (range && bars) {
        const margin = barMargin(m.domain.values);
        range = { min: range.min - margin, max: range.max + margin };
      }
      const scatter = m.series.every((s) => s.type === 'scatter');
      if (range) range.nearZero = scatter;
      continuous(axis, options, range, area, {
        type: axis.type,
        across,
        extend: scatter,
        zoom: context.zoom.domain,
      });
      return axis;
    }

    function continuous(axis, options, range, area, settings) {
      const zoom = settings.zoom;
      const o = zoom ? Object.assign({}, options, { viewWindow: zoom, ticks: null }) : options;
      const length = axis.across ? area.width : area.height;
      const p = axes.plan(o, range, length, settings);
      const ends = pixels(axis, area);
      axis.scale = (p.log ? scale.log : scale.linear)(p.min, p.max, ends[0], ends[1]);
      Object.assign(axis, { ticks: p.ticks, min: p.min, max: p.max, log: p.log, step: p.step });
    }

    /** Texts of categories: all, every n-th, or slanted when they are names and there is room. */
    function categoryTicks(axis, m, area) {
      const texts = m.domain.texts;
      const slot = axis.scale.slot;
      const widest = texts.reduce((most, text) => Math.max(most, svg.width(text, axis.font)), 0);
      const given = Math.max(1, Math.floor(Number(axis.options.showTextEvery)) || 1);
      let every = given;
      if (!axis.across) {
        every = Math.max(given, Math.ceil((axis.font.size + 2) / slot));
      } else if (widest + 8 > slot * given) {
        const slantable =
          axis.options.slantedText !== false && texts.some((text) => text.length > 6);
        axis.slant =
          axis.options.slantedText === true || (slantable && slot * given >= axis.font.size + 2);
        axis.slantRoom = Math.min(widest, 110);
        axis.slantHeight = axis.slantRoom * SLANT + axis.font.size * 0.6;
        every = axis.slant ? given : Math.max(given, Math.ceil((widest + 10) / slot));
      }
      axis.slotRoom = Math.max(slot * every - 4, 14);
      axis.ticks = texts
        .map((text, i) => ({ value: i, text: text }))
        .filter((_, i) => i % every === 0);
      axis.min = 0;
      axis.max = m.rows - 1;
    }

    function valueAxis(m, index, options, context, area) {
      const axis = baseAxis(options, context, context.vertical);
      axis.type = 'number';
      axis.index = index;
      const range = model.valueRange(m, index);
      if (range) range.nearZero = true;
      const percent = m.stackMode === 'percent' || m.stackMode === 'relative';
      const o = percent ? Object.assign({ minValue: 0, maxValue: 1 }, options) : options;
      continuous(axis, o, range, area, {
        type: 'number',
        across: context.vertical,
        extend: true,
        percent: m.stackMode === 'percent' && percent,
        zoom: index === 0 ? context.zoom.value : null,
      });
      return axis;
    }

    function indexesOf(m) {
      return Array.from(new Set(m.series.map((s) => s.axis))).sort((a, b) => a - b);
    }

    function build(m, options, context, area) {
      const names = context.vertical ? ['vAxis', 'hAxis'] : ['hAxis', 'vAxis'];
      const domain = domainAxis(m, model.axisOptions(options, names[0], 0), context, area);
      const values = indexesOf(m).map((index) =>
        valueAxis(m, index, model.axisOptions(options, names[1], index), context, area)
      );
      if (values.length > 1 && !context.vertical) values[1].side = 'right';
      return { area: area, domain: domain, values: values, vertical: context.vertical };
    }

    /** Sides on which the options leave the plot no margin: the page wants no texts there. */
    function bareSides(wanted, size) {
      const margins = {
        left: wanted.x,
        right: size.width - wanted.x - wanted.width,
        top: wanted.y,
        bottom: size.height - wanted.y - wanted.height,
      };
      return Object.keys(margins).filter((side) => margins[side] < 3);
    }

    function roomFor(frame, context) {
      const need = { left: 4, right: 6, top: context.top + 6, bottom: 4 };
      for (const axis of [frame.domain].concat(frame.values)) {
        const side = axis.across ? 'bottom' : axis.side;
        need[side] = Math.max(need[side], axes.needed(axis));
      }
      context.bare.forEach((side) => {
        need[side] = side === 'top' ? context.top : 0;
      });
      return need;
    }

    /** Area, axes and scales; `context`: size, fonts, vertical, zoom, room above the plot. */
    function create(m, options, context) {
      const wanted = layout.chartArea(context.size, options.chartArea);
      context.bare = bareSides(wanted, context.size);
      const first = build(m, options, context, wanted);
      const area = layout.makeRoom(wanted, roomFor(first, context), context.size);
      const frame = build(m, options, context, area);
      frame.valueOf = new Map(frame.values.map((axis) => [axis.index, axis]));
      return frame;
    }

    return { create };
  }
);
