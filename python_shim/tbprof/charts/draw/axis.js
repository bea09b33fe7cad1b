/* SPDX-License-Identifier: Apache-2.0
 *
 * One axis: its range, ticks and tick texts from options and data, how much room the texts need
 * beside the plot, and the drawing of grid, texts and title. `across` is true for an axis whose
 * values run from left to right.
 */
tbc.define(
  'axis',
  ['scale', 'svg', 'number_pattern', 'date_pattern'],
  function (scale, svg, numbers, dates) {
    const GAP = 6;
    const DAY = 86400e3;
    const TIME_STEPS = [
      1,
      5,
      10,
      50,
      100,
      500,
      1e3,
      5e3,
      15e3,
      30e3,
      60e3,
      300e3,
      900e3,
      1800e3,
      3600e3,
      3 * 3600e3,
      6 * 3600e3,
      12 * 3600e3,
      DAY,
      2 * DAY,
      7 * DAY,
      30 * DAY,
      90 * DAY,
      365 * DAY,
    ];
    const has = (value) => value !== undefined && value !== null && value !== '';

    function isLog(options) {
      return (
        options.logScale === true ||
        options.scaleType === 'log' ||
        options.scaleType === 'mirrorLog'
      );
    }

    function isHidden(color) {
      return color === 'transparent' || color === 'none';
    }

    /** The range that must be shown, before it is rounded: {min, max, exactMin, exactMax}. */
    function bounds(options, range, log) {
      const view = options.viewWindow || {};
      let min = range ? range.min : log ? 1 : 0;
      let max = range ? range.max : log ? 10 : 1;
      if (!log && range && range.zero) {
        min = Math.min(0, min);
        max = Math.max(0, max);
      } else if (!log && range && range.nearZero && min > 0 && min < 0.4 * max) {
        min = 0;
      }
      if (has(options.minValue)) min = Math.min(min, Number(options.minValue));
      if (has(options.maxValue)) max = Math.max(max, Number(options.maxValue));
      const exactMin = has(view.min);
      const exactMax = has(view.max);
      if (exactMin) min = Number(view.min);
      if (exactMax) max = Number(view.max);
      if (!(max > min) && exactMin && !exactMax) max = min + 1;
      return { min, max, exactMin, exactMax };
    }

    function logRange(b) {
      const max = b.max > 0 ? b.max : 10;
      const min = b.min > 0 ? b.min : max / 1e3;
      return {
        min: b.exactMin && b.min > 0 ? min : Math.pow(10, Math.floor(Math.log10(min) + 1e-9)),
        max: b.exactMax ? max : Math.pow(10, Math.ceil(Math.log10(max) - 1e-9)),
      };
    }

    function timeTicks(min, max, count) {
      const step =
        TIME_STEPS.find((s) => (max - min) / s <= count) || TIME_STEPS[TIME_STEPS.length - 1];
      const offset = new Date(min).getTimezoneOffset() * 60e3;
      const out = [];
      for (let t = Math.ceil((min - offset) / step) * step + offset; t <= max; t += step)
        out.push(t);
      return { min, max, step, values: out };
    }

    /** How many ticks an axis of that many pixels has room for. */
    function tickCount(options, length, across) {
      const wanted = (options.gridlines || {}).count;
      if (wanted > 1) return wanted - 1;
      return Math.max(2, Math.floor(length / (across ? 90 : 40)));
    }

    /** Ticks {value, text} and the range [min, max] of a continuous axis. */
    function plan(options, range, length, settings) {
      const log = isLog(options) && settings.type === 'number';
      const b = bounds(options, range, log);
      const count = tickCount(options, length, settings.across);
      let ticks;
      if (log) {
        const r = logRange(b);
        ticks = scale.logTicks(r.min, r.max, count);
      } else if (settings.type === 'date') {
        ticks = timeTicks(b.min, b.max > b.min ? b.max : b.min + 1, count);
      } else {
        ticks = prettyTicks(b, count, settings.extend && options.viewWindowMode !== 'maximized');
      }
      const list = options.ticks
        ? givenTicks(options, ticks, log)
        : ticks.values.map((value) => ({
            value: value,
            text: tickText(value, ticks.step, options, settings),
          }));
      return { log: log, min: ticks.min, max: ticks.max, ticks: list, step: ticks.step };
    }

    function prettyTicks(b, count, extend) {
      const t = scale.linearTicks(b.min, b.max, count, extend);
      const min = b.exactMin || !extend ? b.min : t.min;
      const max = b.exactMax || !extend ? b.max : t.max;
      if (!(max > min)) return t;
      return {
        min,
        max,
        step: t.step,
        values: t.values.filter((v) => v >= min - 1e-12 && v <= max + 1e-12),
      };
    }

    function givenTicks(options, range, log) {
      return options.ticks
        .map((tick) => {
          const full = tick !== null && typeof tick === 'object' && 'v' in tick;
          const value = Number(full ? tick.v : tick);
          const text =
            full && tick.f !== undefined
              ? tick.f
              : tickText(value, 0, options, { type: 'number', log });
          return { value: value, text: String(text) };
        })
        .filter((t) => t.value >= range.min && t.value <= range.max && (!log || t.value > 0));
    }

    function tickText(value, step, options, settings) {
      if (settings.type === 'date') return dateText(value, step, options);
      if (options.format && options.format !== 'none') return numbers.format(value, options.format);
      if (settings.percent) return numbers.write(value, '#,##0.#%');
      if (!step) return logText(value);
      const digits = Math.min(12, scale.decimals(step));
      if (Math.abs(value) >= 1e9 && step >= 1e8) return numbers.format(value, 'short');
      return numbers.write(value, '#,##0' + (digits ? '.' + '0'.repeat(digits) : ''));
    }

    function logText(value) {
      const size = Math.abs(value);
      return size >= 1e5 || (size > 0 && size < 1e-3)
        ? numbers.write(value, '0.###E0')
        : numbers.write(value, '#,##0.###');
    }

    function dateText(value, step, options) {
      const date = new Date(value);
      if (options.format) return dates.write(date, options.format);
      if (step >= 30 * DAY) return dates.write(date, 'MMM yyyy');
      if (step >= DAY) return dates.write(date, 'MMM d');
      return dates.write(date, step >= 60e3 ? 'HH:mm' : step >= 1e3 ? 'HH:mm:ss' : 'ss.SSS');
    }

    /** The pixels that texts and title of an axis take outside the plot. */
    function needed(axis) {
      const shown = axis.textPosition !== 'none' && axis.textPosition !== 'in';
      if (axis.across) {
        const slant = axis.slant ? Math.min(axis.slantHeight, 90) : 0;
        const below = axis.title ? axis.titleFont.size + 6 : 0;
        return (shown ? (slant || axis.font.size) + GAP + 1 : 4) + below;
      }
      const title = axis.title ? axis.titleFont.size + 8 : 0;
      const widest = shown
        ? axis.ticks.reduce((most, t) => Math.max(most, svg.width(t.text, axis.font)), 0)
        : 0;
      return (shown ? Math.min(widest, axis.mostText) + GAP + 4 : 4) + title;
    }

    /** Grid lines go below the data; the base line and texts above. */
    function drawGrid(parent, axis, area) {
      const options = axis.options.gridlines || {};
      if (axis.type === 'category' || isHidden(options.color) || options.count === 0) return;
      for (const tick of axis.ticks) {
        ruler(parent, axis, area, axis.scale(tick.value), {
          class: 'tbc-grid',
          stroke: options.color,
        });
      }
    }

    function ruler(parent, axis, area, at, attributes) {
      if (!Number.isFinite(at)) return;
      const p = Math.round(at);
      const style = attributes.stroke ? 'stroke:' + attributes.stroke : null;
      const a = { class: attributes.class, style: style };
      if (axis.across) svg.line(parent, p, area.y, p, area.y + area.height, a);
      else svg.line(parent, area.x, p, area.x + area.width, p, a);
    }

    /** The line at zero (or at the edge) from which bars and areas rise. */
    function drawBase(parent, axis, area) {
      const color = axis.options.baselineColor;
      if (axis.type === 'category' || isHidden(color)) return;
      const base = has(axis.options.baseline)
        ? Number(axis.options.baseline)
        : axis.min <= 0 && axis.max >= 0 && !axis.log
          ? 0
          : axis.min;
      if (base < axis.min || base > axis.max) return;
      ruler(parent, axis, area, axis.scale(base), { class: 'tbc-base', stroke: color });
    }

    function drawTexts(parent, axis, area) {
      if (axis.textPosition !== 'none') {
        if (axis.across) textsBelow(parent, axis, area);
        else textsBeside(parent, axis, area);
      }
      if (axis.title) drawTitle(parent, axis, area);
    }

    function textsBelow(parent, axis, area) {
      const inside = axis.textPosition === 'in';
      const y = area.y + area.height + (inside ? -GAP : GAP + axis.font.size - 2);
      const shown = axis.type === 'category' ? axis.ticks : withoutOverlap(axis);
      for (const tick of shown) {
        const x = axis.scale(tick.value);
        if (axis.slant) {
          const text = svg.fit(tick.text, axis.font, axis.slantRoom);
          svg.text(
            parent,
            text,
            axis.font,
            {
              'text-anchor': 'end',
              transform: 'rotate(-35 ' + svg.round(x) + ' ' + (y - 4) + ')',
              x: svg.round(x),
              y: y - 4,
            },
            tick.text
          );
        } else {
          const text = svg.fit(tick.text, axis.font, axis.slotRoom || Infinity);
          svg.text(
            parent,
            text,
            axis.font,
            { 'text-anchor': 'middle', x: svg.round(x), y: y },
            tick.text
          );
        }
      }
    }

    /** Texts of a continuous axis from which those that would touch the one before are left out. */
    function withoutOverlap(axis) {
      let end = -Infinity;
      const sorted = axis.ticks.slice().sort((a, b) => axis.scale(a.value) - axis.scale(b.value));
      return sorted.filter((tick) => {
        const half = svg.width(tick.text, axis.font) / 2;
        const x = axis.scale(tick.value);
        if (x - half < end + 6) return false;
        end = x + half;
        return true;
      });
    }

    function textsBeside(parent, axis, area) {
      const inside = axis.textPosition === 'in';
      const left = axis.side !== 'right';
      const x = left ? area.x + (inside ? GAP : -GAP) : area.x + area.width + (inside ? -GAP : GAP);
      const anchor = left !== inside ? 'end' : 'start';
      for (const tick of axis.ticks) {
        const y = axis.scale(tick.value) + axis.font.size * 0.35;
        const text = svg.fit(tick.text, axis.font, axis.mostText);
        svg.text(
          parent,
          text,
          axis.font,
          { 'text-anchor': anchor, x: svg.round(x), y: svg.round(y) },
          tick.text
        );
      }
    }

    function drawTitle(parent, axis, area) {
      const f = axis.titleFont;
      if (axis.across) {
        svg.text(
          parent,
          svg.fit(axis.title, f, area.width + 80),
          f,
          {
            class: 'tbc-muted',
            'text-anchor': 'middle',
            x: svg.round(area.x + area.width / 2),
            y: svg.round(area.y + area.height + needed(axis) - 3),
          },
          axis.title
        );
        return;
      }
      const out = needed(axis) - f.size + 2;
      const x = svg.round(axis.side === 'right' ? area.x + area.width + out + 4 : area.x - out);
      const y = svg.round(area.y + area.height / 2);
      svg.text(
        parent,
        svg.fit(axis.title, f, area.height + 40),
        f,
        {
          class: 'tbc-muted',
          'text-anchor': 'middle',
          x: x,
          y: y,
          transform: 'rotate(-90 ' + x + ' ' + y + ')',
        },
        axis.title
      );
    }

    return { plan, needed, drawGrid, drawBase, drawTexts, isLog };
  }
);
