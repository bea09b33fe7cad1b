/* SPDX-License-Identifier: Apache-2.0
 *
 * The interactive layer of a chart with axes: what is pointed at, its tooltip and emphasis, the
 * selection, keys, and zooming by dragging (option "explorer").
 */
tbc.define(
  'hover_layer',
  ['svg', 'hover', 'tooltip', 'number_pattern'],
  function (svg, hover, tooltip, numbers) {
    class Layer {
      constructor(chart, node, items) {
        const options = chart.getOptions();
        this.chart_ = chart;
        this.node_ = node;
        this.items_ = items;
        this.byRow_ = options.focusTarget === 'category';
        this.tips_ = options.tooltip || {};
        this.current_ = null;
        this.selected_ = svg.element('g', { class: 'tbc-selection' }, node);
        this.marks_ = svg.element('g', { class: 'tbc-hover' }, node);
        if (options.enableInteractivity === false) return;
        node.addEventListener('pointermove', (event) => this.moved_(event));
        node.addEventListener('pointerleave', () => this.leave());
        node.addEventListener('click', (event) => this.clicked_(event));
        node.addEventListener('keydown', (event) => this.key_(event));
        node.addEventListener('blur', () => this.leave());
        if (options.explorer) this.explore_(options.explorer);
      }

      pointOf_(event) {
        const r = this.node_.getBoundingClientRect();
        return { x: event.clientX - r.left, y: event.clientY - r.top };
      }

      inPlot_(p) {
        const a = this.chart_.frame_.area;
        return (
          p.x >= a.x - 4 && p.x <= a.x + a.width + 4 && p.y >= a.y - 4 && p.y <= a.y + a.height + 4
        );
      }

      itemAt_(event) {
        const p = this.pointOf_(event);
        if (!this.inPlot_(p)) return null;
        return this.byRow_
          ? hover.findRow(this.items_, p.x, p.y, this.chart_.frame_.vertical)
          : hover.find(this.items_, p.x, p.y);
      }

      moved_(event) {
        if (this.drag_) return;
        const item = this.itemAt_(event);
        this.enter_(item);
        if (item && this.shown_ && (item.box || this.byRow_))
          this.tip_(item, event.clientX, event.clientY);
      }

      same_(a, b) {
        if (!a || !b) return a === b;
        return a.row === b.row && (this.byRow_ || a.series === b.series);
      }

      enter_(item) {
        if (this.same_(item, this.current_)) return;
        const before = this.current_;
        this.current_ = item;
        this.marks_.textContent = '';
        if (before) this.chart_.trigger_('onmouseout', this.eventOf_(before));
        if (!item) {
          this.hideTip_();
          return;
        }
        this.mark_(item);
        if (this.tips_.trigger !== 'none' && this.tips_.trigger !== 'selection')
          this.tipAtItem_(item, false);
        this.chart_.trigger_('onmouseover', this.eventOf_(item));
      }

      eventOf_(item) {
        return { row: item.row, column: this.byRow_ ? null : item.series.column };
      }

      mark_(item) {
        const row = this.byRow_ ? this.items_.filter((other) => other.row === item.row) : [item];
        row.forEach((other) => hover.emphasize(this.marks_, other, false));
      }

      tipAtItem_(item, stay) {
        const r = this.node_.getBoundingClientRect();
        this.tip_(item, r.left + item.x, r.top + item.y, stay);
      }

      tip_(item, x, y, stay) {
        this.shown_ = true;
        tooltip.show(this.node_, this.content_(item), x, y, {
          dark: this.chart_.isDark(),
          stay: stay,
        });
      }

      hideTip_() {
        this.shown_ = false;
        tooltip.hide(this.node_);
      }

      content_(item) {
        const m = this.chart_.model_;
        const given = (item.series.roles.tooltip || m.domain.roles.tooltip || [])[0];
        if (given !== undefined && !this.byRow_) {
          const text = m.data.getFormattedValue(item.row, given);
          const html =
            m.data.getColumnProperty(given, 'html') || m.data.getProperty(item.row, given, 'html');
          if (text) return html && this.tips_.isHtml ? { html: text } : { text: text };
        }
        const row = this.byRow_ ? this.items_.filter((other) => other.row === item.row) : [item];
        return { head: m.domain.texts[item.row], rows: row.map((other) => this.line_(m, other)) };
      }

      line_(m, item) {
        const s = item.series;
        let value = m.data.getFormattedValue(item.row, s.column);
        if (s.stacked && m.stackMode === 'percent') {
          value += ' (' + numbers.write(s.high[item.row] - s.low[item.row], '#,##0.#%') + ')';
        }
        return { color: s.color, label: s.label, value: value };
      }

      leave() {
        this.enter_(null);
        this.hideTip_();
      }

      bringForward(index) {
        this.node_
          .querySelectorAll('.tbc-series')
          .forEach((g) =>
            g.classList.toggle(
              'tbc-dim',
              index >= 0 && Number(g.getAttribute('data-series')) !== index
            )
          );
      }

      clicked_(event) {
        if (this.dragged_) {
          this.dragged_ = false;
          return;
        }
        const item = this.itemAt_(event);
        const target = item
          ? this.byRow_
            ? 'category#' + item.row
            : 'point#' + item.series.index + '#' + item.row
          : 'chartarea';
        this.chart_.trigger_('click', { targetID: target });
        if (item) this.choose_(item);
        else if (!event.target.closest('.tbc-legend-entry')) this.hideTip_();
      }

      choose_(item) {
        this.chart_.select_(this.eventOf_(item));
        if (this.tips_.trigger !== 'selection') return;
        if (this.chart_.getSelection().length) this.tipAtItem_(item, true);
        else this.hideTip_();
      }

      showSelection(selection) {
        this.selected_.textContent = '';
        for (const chosen of selection) {
          this.items_
            .filter(
              (item) =>
                (chosen.row === null || item.row === chosen.row) &&
                chosen.row !== null &&
                (chosen.column === null || item.series.column === chosen.column)
            )
            .forEach((item) => hover.emphasize(this.selected_, item, true));
        }
        const column =
          selection.length === 1 && selection[0].row === null ? selection[0].column : null;
        const series = this.chart_.model_.series.find((s) => s.column === column);
        this.bringForward(series ? series.index : -1);
      }

      key_(event) {
        if (event.key === 'Escape') return this.leave();
        if ((event.key === 'Enter' || event.key === ' ') && this.current_) {
          event.preventDefault();
          return this.choose_(this.current_);
        }
        if (event.key.slice(0, 5) !== 'Arrow') return undefined;
        event.preventDefault();
        const next = hover.step(this.items_, this.current_, event.key);
        if (!next) return undefined;
        this.enter_(next);
        if (this.tips_.trigger === 'selection') this.tipAtItem_(next, false);
        return undefined;
      }

      // ---- explorer: zoom by dragging, back by right click or double click

      explore_(explorer) {
        const actions = explorer.actions || ['dragToPan', 'rightClickToReset'];
        const node = this.node_;
        const reset = () => this.chart_.zoomTo_(null, null);
        if (actions.indexOf('rightClickToReset') >= 0) {
          node.addEventListener('contextmenu', (event) => {
            event.preventDefault();
            reset();
          });
          node.addEventListener('dblclick', reset);
        }
        if (actions.indexOf('dragToZoom') < 0 && actions.indexOf('dragToPan') < 0) return;
        const pan = actions.indexOf('dragToZoom') < 0;
        node.style.cursor = pan ? 'grab' : 'crosshair';
        node.style.touchAction = 'none';
        node.addEventListener('pointerdown', (event) => this.press_(event, pan));
        node.addEventListener('pointermove', (event) => this.drag_ && this.pull_(event));
        node.addEventListener('pointerup', (event) => this.drag_ && this.release_(event, explorer));
        node.addEventListener('pointercancel', () => this.dropDrag_());
      }

      press_(event, pan) {
        const p = this.pointOf_(event);
        if (event.button !== 0 || !this.inPlot_(p)) return;
        this.dragged_ = false;
        this.drag_ = { from: p, to: p, pan: pan, box: null };
        this.node_.setPointerCapture(event.pointerId);
      }

      pull_(event) {
        const d = this.drag_;
        const area = this.chart_.frame_.area;
        const p = this.pointOf_(event);
        d.to = {
          x: Math.max(area.x, Math.min(area.x + area.width, p.x)),
          y: Math.max(area.y, Math.min(area.y + area.height, p.y)),
        };
        if (Math.hypot(d.to.x - d.from.x, d.to.y - d.from.y) < 5 && !d.box) return;
        this.enter_(null);
        this.hideTip_();
        this.dragged_ = true;
        if (d.box) d.box.remove();
        const box = {
          x: Math.min(d.from.x, d.to.x),
          y: Math.min(d.from.y, d.to.y),
          width: Math.abs(d.to.x - d.from.x),
          height: Math.abs(d.to.y - d.from.y),
        };
        d.box = svg.rect(this.node_, d.pan ? { x: 0, y: 0, width: 0, height: 0 } : box, {
          class: 'tbc-zoom',
        });
      }

      dropDrag_() {
        if (this.drag_ && this.drag_.box) this.drag_.box.remove();
        this.drag_ = null;
      }

      release_(event, explorer) {
        const d = this.drag_;
        this.dropDrag_();
        if (!this.dragged_) return;
        const frame = this.chart_.frame_;
        const side = (axis, along) => {
          if (axis.type === 'category') return null;
          if (explorer.axis && explorer.axis !== (axis.across ? 'horizontal' : 'vertical'))
            return zoomOf(axis);
          return d.pan
            ? shifted(axis, d.to[along] - d.from[along])
            : between(axis, d.from[along], d.to[along], explorer);
        };
        const domain = side(frame.domain, frame.vertical ? 'y' : 'x');
        const value = side(frame.values[0], frame.vertical ? 'x' : 'y');
        this.chart_.zoomTo_(domain, value);
      }
    }

    const zoomOf = (axis) => ({ min: axis.min, max: axis.max });

    function shifted(axis, pixels) {
      const by = (at) => axis.scale.invert(at - pixels);
      return { min: by(axis.scale.from), max: by(axis.scale.to) };
    }

    /** The values between two pixels; a movement of a few pixels leaves the axis as it is. */
    function between(axis, from, to) {
      if (Math.abs(to - from) < 8) return zoomOf(axis);
      const ends = [axis.scale.invert(from), axis.scale.invert(to)].sort((a, b) => a - b);
      return { min: ends[0], max: ends[1] };
    }

    return { create: (chart, node, items) => new Layer(chart, node, items) };
  }
);
