/* SPDX-License-Identifier: Apache-2.0
 *
 * Pie charts: names in the first column, sizes in the second. Slices that are smaller than the
 * option sliceVisibilityThreshold become one slice "Other". The legend lies inside the plot area.
 */
tbc.define(
  'pie',
  ['chart', 'layout', 'legend', 'svg', 'color', 'tooltip', 'number_pattern'],
  function (base, layout, legends, svg, color, tooltip, numbers) {
    const OTHER = '#b6bcc6';

    /** Slices {row, text, value, share, color}; row -1 is the rest. */
    function slicesOf(data, options, dark) {
      const values = data
        .rowIndexes()
        .map((row) => Math.max(0, Number(data.getValue(row, 1)) || 0));
      const total = values.reduce((sum, value) => sum + value, 0);
      const least =
        options.sliceVisibilityThreshold === undefined
          ? 1 / 720
          : Number(options.sliceVisibilityThreshold);
      const colors = options.colors && options.colors.length ? options.colors : color.PALETTE;
      const given = options.slices || {};
      const out = [];
      let rest = 0;
      values.forEach((value, row) => {
        if (!value) return;
        if (value / total < least) {
          rest += value;
          return;
        }
        const own = (given[row] && given[row].color) || colors[row % colors.length];
        out.push({
          row: row,
          text: data.getFormattedValue(row, 0),
          valueText: data.getFormattedValue(row, 1),
          value: value,
          share: value / total,
          color: color.visible(own, dark),
        });
      });
      if (rest > 0) {
        out.push({
          row: -1,
          text: options.pieResidueSliceLabel || 'Other',
          valueText: numbers.write(rest, 'decimal'),
          value: rest,
          share: rest / total,
          color: options.pieResidueSliceColor || OTHER,
        });
      }
      return out;
    }

    function arc(center, outer, inner, from, to) {
      const at = (angle, r) =>
        svg.round(center.x + r * Math.sin(angle)) + ',' + svg.round(center.y - r * Math.cos(angle));
      const large = to - from > Math.PI ? 1 : 0;
      const start = inner
        ? 'M' + at(from, inner) + 'L' + at(from, outer)
        : 'M' + center.x + ',' + center.y + 'L' + at(from, outer);
      const curve = 'A' + outer + ',' + outer + ' 0 ' + large + ' 1 ' + at(to, outer);
      const back = inner
        ? 'L' + at(to, inner) + 'A' + inner + ',' + inner + ' 0 ' + large + ' 0 ' + at(from, inner)
        : '';
      return start + curve + back + 'Z';
    }

    /** Circle and legend side by side; the legend is as high as the circle's middle allows. */
    function besideLegend({ area, legend, entries, size }) {
      const texts = entries.map((e) => svg.width(e.text, legend.font));
      const widest = Math.max(0, ...texts) + 24;
      const most = Math.max(area.width - area.height - 14, area.width * 0.35);
      const width = Math.min(widest, area.width * 0.5, most);
      const left = legend.position === 'left';
      const circle = {
        x: area.x + (left ? width + 14 : 0),
        y: area.y,
        width: area.width - width - 14,
        height: area.height,
      };
      const edge = circle.x + circle.width / 2 + Math.min(circle.width, circle.height) / 2 + 18;
      const x = left ? area.x : Math.min(area.x + area.width - width, edge);
      const height = Math.min(area.height, legends.columnHeight(legend, entries.length));
      const box = {
        x: x,
        y: area.y + (area.height - height) / 2,
        width: left ? width : Math.min(widest, size.width - x - 4),
        height: height + 2,
      };
      return { circle, box };
    }

    /** Circle and legend one above the other. */
    function belowLegend({ area, legend, entries }) {
      const height = legends.heightOf(legend, entries, area.width);
      const top = legend.position === 'top';
      const circle = {
        x: area.x,
        y: area.y + (top ? height + 6 : 0),
        width: area.width,
        height: area.height - height - 6,
      };
      const y = top ? area.y : area.y + area.height - height;
      return { circle, box: { x: area.x, y, width: area.width, height, flow: true } };
    }

    class PieChart extends base.Chart {
      leave_() {
        if (this.node_) tooltip.hide(this.node_);
        this.node_ = null;
      }

      render(root) {
        const data = this.data_;
        if (data.getNumberOfColumns() < 2)
          throw new Error('Not enough columns given to draw the requested chart.');
        if (data.getColumnType(1) !== 'number')
          throw new Error('Pie chart should have a second column of type number');
        const size = this.size();
        const options = this.options_;
        this.slices_ = slicesOf(data, options, this.isDark());
        root.classList.add('tbc-chart');
        const node = svg.element(
          'svg',
          {
            width: size.width,
            height: size.height,
            role: 'application',
            tabindex: 0,
            'aria-roledescription': 'pie chart',
            'aria-label': this.summary_(),
          },
          root
        );
        this.node_ = node;
        const family = options.fontName || getComputedStyle(root).fontFamily || 'sans-serif';
        const text = { size: Number(options.fontSize) || 12, family, dark: this.isDark() };
        const places = this.places_(size, text);
        this.drawTitle_(node, places);
        if (!this.slices_.length) {
          svg.text(node, 'No data', text, {
            x: size.width / 2,
            y: size.height / 2,
            'text-anchor': 'middle',
            class: 'tbc-muted',
          });
          return;
        }
        this.drawSlices_(node, places, text);
        this.drawLegend_(node, places);
        node.addEventListener('pointerleave', () => this.point_(null));
        node.addEventListener('keydown', (event) => this.key_(event));
        node.addEventListener('blur', () => this.point_(null));
        this.showSelection_();
      }

      summary_() {
        const parts = this.slices_
          .slice(0, 8)
          .map((s) => s.text + ' ' + numbers.write(s.share, '#,##0.#%'));
        return (
          (this.options_.title ? this.options_.title + '. ' : '') +
          'Pie chart: ' +
          parts.join(', ') +
          '. Arrow keys move through the slices.'
        );
      }

      /** Title line, circle and legend box inside the plot area. */
      places_(size, text) {
        const options = this.options_;
        const titleFont = svg.font(options.titleTextStyle, {
          size: text.size + 1,
          family: text.family,
          bold: true,
        });
        const titleHeight = options.title ? titleFont.size + 10 : 0;
        const wanted = layout.chartArea(size, options.chartArea);
        const area = layout.makeRoom(
          wanted,
          { top: titleHeight + 2, bottom: 2, left: 2, right: 2 },
          size
        );
        const legend = legends.read(options.legend, text);
        const entries = this.slices_.map((s, i) => ({ text: s.text, color: s.color, key: i }));
        const place = { area, legend, entries, size };
        const beside = ['right', 'left', 'labeled'].indexOf(legend.position) >= 0;
        const above = legend.position === 'top' || legend.position === 'bottom';
        const parts = beside ? besideLegend(place) : above ? belowLegend(place) : { circle: area };
        const { circle, box } = parts;
        return { area, circle, box, legend, entries, titleFont, title: options.title };
      }

      drawTitle_(node, places) {
        if (!places.title) return;
        const c = places.circle; // the title stands close above what is drawn
        const gap = (c.height - Math.min(c.width, c.height)) / 2;
        svg.text(
          node,
          svg.fit(places.title, places.titleFont, this.size().width - 8),
          places.titleFont,
          { x: places.area.x, y: places.area.y - 8 + gap * 0.7, class: 'tbc-title' },
          places.title
        );
      }

      drawSlices_(node, places, text) {
        const c = places.circle;
        const radius = svg.round(Math.max(8, Math.min(c.width, c.height) / 2 - 3));
        const center = { x: svg.round(c.x + c.width / 2), y: svg.round(c.y + c.height / 2) };
        const inner = svg.round(radius * (Number(this.options_.pieHole) || 0));
        const label = svg.font(this.options_.pieSliceTextStyle, {
          size: text.size - 1,
          family: text.family,
        });
        let angle = ((Number(this.options_.pieStartAngle) || 0) * Math.PI) / 180;
        this.slices_.forEach((slice, i) => {
          const to = angle + Math.min(slice.share, 0.99999) * 2 * Math.PI;
          slice.middle = (angle + to) / 2;
          slice.center = center;
          slice.radius = radius;
          slice.node = svg.element(
            'path',
            {
              d: arc(center, radius, inner, angle, to),
              fill: slice.color,
              class: 'tbc-slice',
              'data-label': slice.text,
              'data-share': slice.share.toFixed(6),
            },
            node
          );
          slice.node.addEventListener('pointermove', (event) => this.point_(i, event));
          slice.node.addEventListener('click', () => this.click_(i));
          this.drawLabel_(node, slice, inner, label);
          angle = to;
        });
        this.ring_ = svg.element('g', { class: 'tbc-hover' }, node);
      }

      drawLabel_(node, slice, inner, font) {
        const what = this.options_.pieSliceText || 'percentage';
        if (what === 'none') return;
        const text =
          what === 'label'
            ? slice.text
            : what === 'value'
              ? slice.valueText
              : numbers.write(slice.share, '#,##0.#%');
        const r = inner ? (slice.radius + inner) / 2 : slice.radius * 0.64;
        const thick = inner ? slice.radius - inner : slice.radius;
        const room = slice.share > 0.5 ? slice.radius : 2 * r * Math.sin(slice.share * Math.PI);
        if (svg.width(text, font) + 4 > Math.min(room, thick) || font.size > room) return;
        const f = Object.assign({}, font, { color: font.color || color.textOn(slice.color) });
        svg.text(node, text, f, {
          x: svg.round(slice.center.x + r * Math.sin(slice.middle)),
          class: 'tbc-hit',
          y: svg.round(slice.center.y - r * Math.cos(slice.middle) + f.size * 0.35),
          'text-anchor': 'middle',
        });
      }

      drawLegend_(node, places) {
        if (!places.box) return;
        legends.draw(node, places.legend, places.entries, places.box, {
          enter: (i) => this.point_(i),
          leave: () => this.point_(null),
          click: (i) => this.click_(i),
        });
      }

      /** Brings a slice forward (null: none) and shows its tooltip at the pointer or its middle. */
      point_(i, event) {
        const before = this.at_ === undefined ? null : this.at_;
        this.at_ = i;
        if (i !== before) {
          this.slices_.forEach(
            (s, k) => s.node && s.node.classList.toggle('tbc-dim', i !== null && k !== i)
          );
          if (before !== null)
            this.trigger_('onmouseout', { row: this.slices_[before].row, column: null });
          if (i !== null) this.trigger_('onmouseover', { row: this.slices_[i].row, column: null });
        }
        if (i === null) tooltip.hide(this.node_);
        else this.tip_(this.slices_[i], event);
      }

      tip_(slice, event) {
        const tips = this.options_.tooltip || {};
        if (tips.trigger === 'none') return;
        const r = this.node_.getBoundingClientRect();
        const x = event
          ? event.clientX
          : r.left + slice.center.x + slice.radius * 0.7 * Math.sin(slice.middle);
        const y = event
          ? event.clientY
          : r.top + slice.center.y - slice.radius * 0.7 * Math.cos(slice.middle);
        tooltip.show(this.node_, this.content_(slice), x, y, { dark: this.isDark() });
      }

      content_(slice) {
        const data = this.data_;
        const role = (c) => data.getColumnRole(c) === 'tooltip';
        const given = Array.from({ length: data.getNumberOfColumns() }, (_, c) => c).find(role);
        if (given !== undefined && slice.row >= 0) {
          const text = data.getFormattedValue(slice.row, given);
          const html =
            data.getColumnProperty(given, 'html') && (this.options_.tooltip || {}).isHtml;
          if (text) return html ? { html: text } : { text: text };
        }
        const value = slice.valueText + ' (' + numbers.write(slice.share, '#,##0.#%') + ')';
        return {
          head: slice.text,
          rows: [{ color: slice.color, label: data.getColumnLabel(1), value: value }],
        };
      }

      click_(i) {
        const slice = this.slices_[i];
        this.trigger_('click', { targetID: 'slice#' + slice.row });
        if (slice.row >= 0) this.select_({ row: slice.row, column: null });
      }

      key_(event) {
        const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
        const at = this.at_ === undefined || this.at_ === null ? -1 : this.at_;
        if (event.key === 'Escape') this.point_(null);
        else if ((event.key === 'Enter' || event.key === ' ') && at >= 0) this.click_(at);
        else if (by) this.point_((at + by + this.slices_.length) % this.slices_.length);
        else return;
        event.preventDefault();
      }

      showSelection_() {
        if (!this.ring_) return;
        this.ring_.textContent = '';
        for (const chosen of this.selection_) {
          const slice = this.slices_.find((s) => s.row === chosen.row);
          if (slice)
            svg.element(
              'path',
              { d: slice.node.getAttribute('d'), class: 'tbc-ring', 'stroke-width': 2 },
              this.ring_
            );
        }
      }
    }
    PieChart.kind = 'PieChart';

    return { PieChart: PieChart };
  }
);
