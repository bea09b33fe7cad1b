/* SPDX-License-Identifier: Apache-2.0
 *
 * Area, bar, column, combo, line, scatter and stepped area charts: one drawing, which differs in
 * the type of its series and in the direction of its domain.
 */
tbc.define(
  'cartesian',
  ['chart', 'model', 'frame', 'axis', 'marks', 'legend', 'svg', 'hover_layer'],
  function (base, model, frames, axes, marks, legends, svg, hoverLayer) {
    let clips = 0;

    class CartesianChart extends base.Chart {
      begin_() {
        this.zoom_ = { domain: null, value: null };
      }

      leave_() {
        if (this.layer_) this.layer_.leave();
        this.layer_ = null;
      }

      isVertical_() {
        const option = this.options_.orientation;
        return option ? option === 'vertical' : Boolean(this.constructor.vertical);
      }

      render(root) {
        const options = this.options_;
        const size = this.size();
        const vertical = this.isVertical_();
        const type =
          this.kind === 'ComboChart' ? options.seriesType || 'line' : this.constructor.type;
        const domainOptions = model.axisOptions(options, vertical ? 'vAxis' : 'hAxis', 0);
        this.model_ = model.read(this.data_, options, {
          type: type,
          domainOptions,
          dark: this.isDark(),
        });
        root.classList.add('tbc-chart');
        const node = this.createSvg_(root, size);
        const text = this.textBase_();
        const entries = this.legendEntries_();
        const legend = legends.read(options.legend, text);
        const head = this.headHeight_(legend, entries, size, text);
        const frame = frames.create(this.model_, options, {
          size: size,
          vertical: vertical,
          text: text,
          zoom: this.zoom_,
          top: head.total,
        });
        this.frame_ = frame;
        const items = this.drawData_(node, frame);
        this.drawHead_(node, frame, head, text);
        this.layer_ = hoverLayer.create(this, node, items);
        this.drawLegend_(node, legend, entries, size);
        if (this.zoom_.domain || this.zoom_.value) this.drawReset_(node, frame.area, text);
        this.showSelection_();
      }

      /** The way back from a zoom, for those who do not know the right click. */
      drawReset_(node, area, text) {
        const place = { x: area.x + area.width - 6, y: area.y + 14, 'text-anchor': 'end' };
        const attributes = Object.assign({ class: 'tbc-legend-page', role: 'button' }, place);
        const button = svg.text(node, 'Reset zoom', text, attributes);
        button.addEventListener('pointerdown', (event) => event.stopPropagation());
        button.addEventListener('click', (event) => {
          event.stopPropagation();
          this.zoomTo_(null, null);
        });
      }

      createSvg_(root, size) {
        const node = svg.element(
          'svg',
          {
            width: size.width,
            height: size.height,
            role: 'application',
            tabindex: 0,
            'aria-roledescription': 'chart',
            'aria-label': this.summary_(),
          },
          root
        );
        const background = this.options_.backgroundColor;
        const fill =
          background !== null && typeof background === 'object' ? background.fill : background;
        if (fill && fill !== 'transparent' && fill !== 'none') {
          svg.rect(node, { x: 0, y: 0, width: size.width, height: size.height }, { fill: fill });
        }
        return node;
      }

      summary_() {
        const names = this.model_.series
          .slice(0, 12)
          .map((s) => s.label)
          .join(', ');
        const title = this.options_.title ? this.options_.title + '. ' : '';
        return (
          title +
          this.kind.replace(/([a-z])([A-Z])/g, '$1 $2') +
          ', ' +
          this.model_.rows +
          ' rows: ' +
          names +
          '. Arrow keys move through the values.'
        );
      }

      textBase_() {
        const family =
          this.options_.fontName || getComputedStyle(this.root_).fontFamily || 'sans-serif';
        return { size: Number(this.options_.fontSize) || 12, family: family, dark: this.isDark() };
      }

      legendEntries_() {
        return this.model_.series
          .filter((s) => s.inLegend)
          .map((s) => ({
            text: s.label,
            color: s.color,
            key: s.index,
            dash: s.type === 'line' && s.dash,
          }));
      }

      /** Pixels above the plot for title and legend. */
      headHeight_(legend, entries, size, text) {
        const options = this.options_;
        const font = svg.font(options.titleTextStyle, {
          size: text.size + 2,
          family: text.family,
          bold: true,
        });
        const outside =
          options.title && options.titlePosition !== 'none' && options.titlePosition !== 'in';
        const title = outside ? font.size + 12 : 0;
        const legendTop =
          legend.position === 'top' ? legends.heightOf(legend, entries, size.width * 0.8) + 8 : 0;
        return { font: font, title: title, legend: legendTop, total: title + legendTop };
      }

      drawHead_(node, frame, head) {
        if (!head.title) return;
        const y = frame.area.y - head.legend - 10;
        svg.text(
          node,
          svg.fit(this.options_.title, head.font, frame.area.width + 60),
          head.font,
          { x: svg.round(frame.area.x), y: svg.round(y), class: 'tbc-title' },
          this.options_.title
        );
      }

      drawData_(node, frame) {
        const area = frame.area;
        const id = 'tbc-clip-' + ++clips;
        const clip = svg.element('clipPath', { id: id }, svg.element('defs', {}, node));
        // Points and boxes at the ends of the domain are whole, unless the view cuts values off.
        const view = frame.domain.options.viewWindow || {};
        const cut =
          this.zoom_.domain || typeof view.min === 'number' || typeof view.max === 'number';
        const bleed = cut ? 1 : 7;
        svg.rect(clip, {
          x: area.x - bleed,
          y: area.y - bleed,
          width: area.width + 2 * bleed,
          height: area.height + 2 * bleed,
        });
        const below = svg.element('g', { class: 'tbc-grid-lines' }, node);
        axes.drawGrid(below, frame.domain, area);
        axes.drawGrid(below, frame.values[0], area);
        const plot = svg.element('g', { class: 'tbc-plot', 'clip-path': 'url(#' + id + ')' }, node);
        const items = this.drawSeries_(plot, frame);
        const above = svg.element('g', { class: 'tbc-axes' }, node);
        for (const axis of frame.values.concat(frame.domain)) {
          axes.drawBase(above, axis, area);
          axes.drawTexts(above, axis, area);
        }
        marks.annotations(
          svg.element('g', { class: 'tbc-annotations' }, node),
          this.model_,
          frame,
          items,
          this.options_
        );
        const edge = (item) =>
          item.x >= area.x - 2 &&
          item.x <= area.x + area.width + 2 &&
          item.y >= area.y - 2 &&
          item.y <= area.y + area.height + 2;
        return items.filter((item) => item.series.interactive && (item.box || edge(item)));
      }

      drawSeries_(plot, frame) {
        const m = this.model_;
        if (!m.rows) {
          svg.text(
            plot,
            'No data',
            { size: 12, family: 'inherit' },
            {
              x: frame.area.x + frame.area.width / 2,
              y: frame.area.y + frame.area.height / 2,
              'text-anchor': 'middle',
              class: 'tbc-muted',
            }
          );
          return [];
        }
        let items = m.series.some((s) => s.type === 'bars')
          ? marks.bars(plot, m, frame, this.options_)
          : [];
        for (const s of m.series) {
          if (s.type === 'bars') continue;
          const draw = s.type === 'scatter' ? marks.scatter : marks.line;
          marks.intervals(plot, m, frame, s, this.options_);
          items = items.concat(draw(plot, m, frame, s, this.options_));
        }
        return items;
      }

      drawLegend_(node, legend, entries, size) {
        const area = this.frame_.area;
        const right = this.frame_.values.find((axis) => axis.side === 'right');
        const beside = right ? axes.needed(right) : 0;
        const bottom = size.height - area.y - area.height;
        const boxes = {
          right: {
            x: area.x + area.width + 16 + beside,
            y: area.y,
            height: Math.max(area.height, 20),
            width: size.width - area.x - area.width - 22 - beside,
          },
          left: { x: 4, y: area.y, width: area.x - 60, height: area.height },
          in: { x: area.x + 8, y: area.y + 4, width: area.width - 16, height: area.height },
          top: { x: area.x, width: size.width - area.x - 8, flow: true },
          bottom: {
            x: area.x,
            width: area.width,
            flow: true,
            y: size.height - Math.min(bottom, 22),
            height: 20,
          },
        };
        const box = boxes[legend.position === 'labeled' ? 'right' : legend.position];
        if (!box) return;
        if (legend.position === 'top') {
          box.height = legends.heightOf(legend, entries, box.width);
          box.y = area.y - box.height - 8;
        }
        legends.draw(node, legend, entries, box, {
          enter: (key) => this.layer_.bringForward(key),
          leave: () => this.layer_.bringForward(-1),
          click: (key) => this.select_({ row: null, column: this.model_.series[key].column }),
        });
      }

      showSelection_() {
        if (this.layer_) this.layer_.showSelection(this.selection_);
      }

      /** Shows a part of the axes ({min, max} each, null for all) and draws again. */
      zoomTo_(domain, value) {
        this.zoom_ = { domain: domain, value: value };
        this.redraw_();
      }

      getChartLayoutInterface() {
        const frame = this.frame_;
        const area = frame.area;
        const scales = frame.vertical
          ? [frame.values[0].scale, frame.domain.scale]
          : [frame.domain.scale, frame.values[0].scale];
        return {
          getChartAreaBoundingBox: () => ({
            left: area.x,
            top: area.y,
            width: area.width,
            height: area.height,
          }),
          getXLocation: (value) => scales[0](value),
          getYLocation: (value) => scales[1](value),
          getHAxisValue: (pixel) => scales[0].invert(pixel),
          getVAxisValue: (pixel) => scales[1].invert(pixel),
        };
      }
    }

    function kind(name, type, vertical) {
      const Kind = class extends CartesianChart {};
      Kind.kind = name;
      Kind.type = type;
      Kind.vertical = vertical;
      return Kind;
    }

    return {
      AreaChart: kind('AreaChart', 'area', false),
      BarChart: kind('BarChart', 'bars', true),
      ColumnChart: kind('ColumnChart', 'bars', false),
      ComboChart: kind('ComboChart', 'line', false),
      LineChart: kind('LineChart', 'line', false),
      ScatterChart: kind('ScatterChart', 'scatter', false),
      SteppedAreaChart: kind('SteppedAreaChart', 'steppedArea', false),
    };
  }
);
