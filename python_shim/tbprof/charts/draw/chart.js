/* SPDX-License-Identifier: Apache-2.0
 *
 * What every visualization has: its element, data and options, drawing and drawing again, the
 * selection, and events. A subclass has `kind` and render(root), which fills an empty element.
 * A fault of the data becomes a message in the chart's place and an "error" event, not an
 * exception: the page around it goes on. Only draw() itself announces "ready"; a drawing that
 * follows a new size or theme is nothing that a page should hear about.
 */
tbc.define(
  'chart',
  ['events', 'live', 'theme', 'svg', 'problems', 'data_table'],
  function (events, live, theme, svg, problems, tables) {
    const DEFAULT = { width: 400, height: 200 };

    class Chart {
      constructor(container) {
        if (!container) throw new Error('Container is not defined');
        this.container_ = container;
        this.data_ = null;
        this.options_ = {};
        this.selection_ = [];
        this.drawn_ = null; // width and theme of the last drawing
        this.waiting_ = false; // for "ready" of the last draw()
      }

      get kind() {
        return this.constructor.kind;
      }
      getContainer() {
        return this.container_;
      }
      getData() {
        return this.data_;
      }
      getOptions() {
        return this.options_;
      }
      isWaiting() {
        return this.waiting_;
      }
      getSelection() {
        return this.selection_.map((item) => Object.assign({}, item));
      }

      draw(data, options) {
        if (!data) throw new Error('Data table is not defined.');
        this.data_ = typeof data.getNumberOfRows === 'function' ? data : new tables.DataTable(data);
        this.options_ = options || {};
        this.selection_ = [];
        this.begin_();
        this.waiting_ = true;
        live.add(this);
        const error = this.redraw_();
        setTimeout(() => {
          this.waiting_ = false;
          if (error) events.trigger(this, 'error', { id: '', message: error.message });
          else events.trigger(this, 'ready', {});
        }, 0);
      }

      begin_() {} // a new draw(): a subclass forgets zoom, page and the like

      redraw_() {
        theme.install();
        const dark = theme.isDark(this.container_);
        this.drawn_ = { width: this.container_.clientWidth, dark: dark };
        const root = svg.html('div', 'tbc' + (dark ? ' tbc-dark' : ''));
        this.leave_();
        // The old height is kept until the new drawing stands: else the page would scroll.
        const height = this.root_ && this.root_.isConnected ? this.root_.offsetHeight : 0;
        root.style.minHeight = height + 'px';
        this.container_.textContent = '';
        this.container_.appendChild(root);
        this.root_ = root;
        const error = this.tryRender_(root);
        root.style.minHeight = '';
        return error;
      }

      tryRender_(root) {
        try {
          this.render(root);
        } catch (error) {
          root.textContent = '';
          svg.html('div', 'tbc-message', root, error.message).setAttribute('role', 'alert');
          // What a page keeps hidden is often not ready yet, and nobody sees it.
          if (live.isVisible(this.container_)) problems.report(this.kind + ': ' + error.message);
          return error;
        }
        return null;
      }

      leave_() {} // the drawing goes away: a subclass hides what floats above it

      isDark() {
        return this.drawn_.dark;
      }

      /** Width and height of the drawing: the options, else the element, else a default. */
      size() {
        const one = (name, client) => {
          const given = parseFloat(this.options_[name]);
          if (typeof this.options_[name] === 'string' && /%\s*$/.test(this.options_[name])) {
            return (this.container_[client] * given) / 100 || DEFAULT[name];
          }
          return given > 0 ? given : this.container_[client] || DEFAULT[name];
        };
        return { width: one('width', 'clientWidth'), height: one('height', 'clientHeight') };
      }

      resized() {
        const fixed = parseFloat(this.options_.width) > 0 && !/%/.test(this.options_.width);
        const width = this.container_.clientWidth;
        if (!this.data_ || !width || Math.abs(width - this.drawn_.width) < 2) return;
        if (fixed && this.drawn_.width) return;
        this.redraw_();
      }

      themeChanged() {
        if (this.data_ && theme.isDark(this.container_) !== this.drawn_.dark) this.redraw_();
      }

      setSelection(selection) {
        this.selection_ = (selection || []).map((item) => ({
          row: item.row === undefined ? null : item.row,
          column: item.column === undefined ? null : item.column,
        }));
        if (this.root_) this.showSelection_();
      }

      showSelection_() {}

      /** A click of the user: the same item again clears it. */
      select_(item) {
        const same = this.selection_.some((s) => s.row === item.row && s.column === item.column);
        this.selection_ = same ? [] : [item];
        this.showSelection_();
        events.trigger(this, 'select', {});
      }

      trigger_(name, event) {
        events.trigger(this, name, event);
      }

      clearChart() {
        this.leave_();
        live.remove(this);
        this.container_.textContent = '';
        this.root_ = null;
        this.data_ = null;
        this.selection_ = [];
      }
    }

    return { Chart: Chart };
  }
);
