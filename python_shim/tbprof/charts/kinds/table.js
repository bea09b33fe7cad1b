/* SPDX-License-Identifier: Apache-2.0
 *
 * google.visualization.Table: a real HTML table. Columns sort by click or key, long tables have
 * pages, rows can be selected; aria-sort, aria-selected and names of buttons say so to a screen
 * reader. Class names of cells are those which style sheets of pages know.
 */
tbc.define('table', ['chart', 'svg', 'sanitize'], function (base, svg, sanitize) {
  const PREFIX = 'google-visualization-table-';
  const TYPES = {
    number: 'tbc-num ' + PREFIX + 'td-number ' + PREFIX + 'type-number',
    boolean: 'tbc-bool ' + PREFIX + 'td-bool',
  };
  const LONG = 200; // letters from which a cell is shortened to some lines until it is clicked
  const length = (value) =>
    typeof value === 'number' || /^\d+(\.\d+)?$/.test(value) ? value + 'px' : value || '';

  class Table extends base.Chart {
    begin_() {
      const o = this.options_;
      const column = Number(o.sortColumn);
      const sorted =
        o.sortColumn !== undefined && column >= 0 && column < this.data_.getNumberOfColumns();
      this.sort_ = { column: sorted ? column : -1, ascending: o.sortAscending !== false };
      this.page_ = Math.max(0, Number(o.startPage) || 0);
      this.focus_ = null;
      this.order_ = null;
    }

    /** Rows in the order shown. Sorting of mode "event" is left to the page. */
    rows_() {
      if (this.order_) return this.order_;
      const local = this.sort_.column >= 0 && (this.options_.sort || 'enable') === 'enable';
      const key = { column: this.sort_.column, desc: !this.sort_.ascending };
      this.order_ = local ? this.data_.getSortedRows([key]) : this.data_.rowIndexes();
      return this.order_;
    }

    getSortInfo() {
      const sorted = this.sort_ && this.sort_.column >= 0;
      return {
        column: sorted ? this.sort_.column : -1,
        ascending: sorted ? this.sort_.ascending : true,
        sortedIndexes: sorted && this.options_.sort !== 'event' ? this.rows_().slice() : null,
      };
    }

    pageSize_() {
      const o = this.options_;
      const paged = o.page === 'enable' || o.page === 'event';
      return paged ? Math.max(1, Number(o.pageSize) || 10) : Infinity;
    }

    pageCount_() {
      const size = this.pageSize_();
      return size === Infinity ? 1 : Math.max(1, Math.ceil(this.data_.getNumberOfRows() / size));
    }

    resized() {} // the browser lays tables out

    render(root) {
      const o = this.options_;
      if (!this.data_.getNumberOfColumns()) throw new Error('Table has no columns.');
      const names = o.cssClassNames || {};
      root.className += ' tbc-table google-visualization-table';
      root.style.width = length(o.width);
      const scroll = svg.html('div', 'tbc-scroll', root);
      scroll.style.maxHeight = length(o.height);
      if (o.height) scroll.tabIndex = 0;
      const striped = o.alternatingRowStyle !== false ? ' tbc-striped' : '';
      const table = svg.html('table', PREFIX + 'table' + striped, scroll);
      table.style.width = o.width ? '100%' : '';
      this.drawHead_(svg.html('thead', '', table), names);
      this.body_ = svg.html('tbody', '', table);
      this.body_.addEventListener('click', (event) => this.clicked_(event));
      this.body_.addEventListener('keydown', (event) => this.key_(event));
      this.pager_ = svg.html('nav', 'tbc-pager', root);
      this.pager_.setAttribute('aria-label', 'Pages of the table');
      this.drawBody_();
    }

    // ---- head

    drawHead_(head, names) {
      const row = svg.html(
        'tr',
        [PREFIX + 'tr-head', names.headerRow || ''].join(' ').trim(),
        head
      );
      const classes = [PREFIX + 'th', names.headerCell || ''].join(' ').trim();
      if (this.options_.showRowNumber) {
        const th = svg.html('th', classes + ' tbc-num', row);
        th.scope = 'col';
        svg.html('span', 'tbc-head', th, '#').setAttribute('aria-label', 'Row number');
      }
      for (let c = 0; c < this.data_.getNumberOfColumns(); c++) this.drawHeadCell_(row, c, classes);
    }

    drawHeadCell_(row, c, classes) {
      const th = svg.html('th', classes + ' ' + (TYPES[this.data_.getColumnType(c)] || ''), row);
      const sortable = (this.options_.sort || 'enable') !== 'disable';
      th.scope = 'col';
      const head = svg.html(sortable ? 'button' : 'span', 'tbc-head', th);
      const label = svg.html('span', '', head);
      const text = this.data_.getColumnLabel(c) || '';
      head.style.minWidth = this.leastWidth_(c);
      this.fill_(label, text);
      if (!sortable) return;
      head.type = 'button';
      const sorted = this.sort_.column === c;
      th.setAttribute(
        'aria-sort',
        !sorted ? 'none' : this.sort_.ascending ? 'ascending' : 'descending'
      );
      const sign = sorted && !this.sort_.ascending ? '\u25bc' : '\u25b2';
      svg.html('span', 'tbc-arrow', head, sign).setAttribute('aria-hidden', 'true');
      head.addEventListener('click', () => this.sortBy_(c));
    }

    /** Pages break texts at any letter; this keeps columns readable all the same. */
    leastWidth_(c) {
      const rows = this.shownRows_().slice(0, 200);
      const longest = rows.reduce((most, row) => {
        const text = this.data_.getFormattedValue(row, c);
        return Math.max(most, (/</.test(text) ? text.replace(/<[^>]*>/g, '') : text).length);
      }, 0);
      return 'calc(' + (Math.min(longest, longest > LONG ? 44 : 30) + 0.7) + 'ch + 18px)';
    }

    sortBy_(c) {
      const ascending = this.sort_.column === c ? !this.sort_.ascending : true;
      const event = { column: c, ascending: ascending, sortedIndexes: null };
      if (this.options_.sort === 'event') {
        this.trigger_('sort', event);
      } else {
        this.sort_ = { column: c, ascending: ascending };
        this.order_ = null;
        this.page_ = 0;
        this.redraw_();
        this.trigger_('sort', Object.assign(event, { sortedIndexes: this.rows_().slice() }));
      }
      this.focusHead_(c);
    }

    /** A sorted table is a new one; the key focus goes to the same column's head. */
    focusHead_(c) {
      const heads = this.root_ ? this.root_.querySelectorAll('thead button') : [];
      if (heads[c]) heads[c].focus({ preventScroll: true });
    }

    // ---- body

    shownRows_() {
      const size = this.pageSize_();
      if (size === Infinity) return this.rows_();
      this.page_ = Math.min(this.page_, this.pageCount_() - 1);
      return this.rows_().slice(this.page_ * size, (this.page_ + 1) * size);
    }

    drawBody_() {
      const rows = this.shownRows_();
      const first = this.pageSize_() === Infinity ? 0 : this.page_ * this.pageSize_();
      const cells = this.cellClasses_();
      this.body_.textContent = '';
      rows.forEach((row, i) => this.drawRow_(row, first + i, i, cells));
      if (!rows.length) this.drawEmpty_();
      this.drawPager_();
      this.showSelection_();
    }

    cellClasses_() {
      const own = (this.options_.cssClassNames || {}).tableCell || '';
      return Array.from({ length: this.data_.getNumberOfColumns() }, (_, c) =>
        [PREFIX + 'td', TYPES[this.data_.getColumnType(c)] || '', own].join(' ').trim()
      );
    }

    drawEmpty_() {
      const td = svg.html('td', 'tbc-message', svg.html('tr', '', this.body_), 'No data');
      td.colSpan = this.data_.getNumberOfColumns() + (this.options_.showRowNumber ? 1 : 0);
    }

    drawRow_(row, number, i, cells) {
      const names = this.options_.cssClassNames || {};
      const odd = i % 2 ? 'odd' : 'even';
      const tr = svg.html(
        'tr',
        [PREFIX + 'tr-' + odd, names.tableRow || '', (i % 2 && names.oddTableRow) || '']
          .join(' ')
          .trim(),
        this.body_
      );
      tr.dataset.row = row;
      tr.tabIndex = i ? -1 : 0;
      this.dress_(tr, this.data_.getRowProperties(row));
      if (this.options_.showRowNumber) {
        const start =
          this.options_.firstRowNumber === undefined ? 1 : Number(this.options_.firstRowNumber);
        svg.html(
          'td',
          PREFIX + 'td ' + PREFIX + 'seq tbc-num ' + (names.rowNumberCell || names.tableCell || ''),
          tr,
          String(number + start)
        );
      }
      cells.forEach((classes, c) => this.drawCell_(tr, row, c, classes));
    }

    drawCell_(tr, row, c, classes) {
      const td = svg.html('td', classes, tr);
      const text = this.data_.getFormattedValue(row, c);
      if (this.data_.getColumnType(c) === 'boolean' && (text === 'true' || text === 'false')) {
        td.textContent = text === 'true' ? '\u2713' : '\u2717';
        td.setAttribute('aria-label', text);
      } else {
        this.fill_(text.length > LONG ? svg.html('div', 'tbc-long', td) : td, text);
      }
      this.dress_(td, this.data_.getProperties(row, c));
    }

    fill_(element, text) {
      if (this.options_.allowHtml) sanitize.setHtml(element, text);
      else element.textContent = text;
    }

    /** Class and style that a row or cell brings as its properties. */
    dress_(element, properties) {
      if (!properties) return;
      if (properties.className) element.className += ' ' + properties.className;
      if (properties.style) element.style.cssText += properties.style;
    }

    // ---- selection and keys

    rowOf_(event) {
      const tr = event.target.closest('tr');
      return tr && tr.dataset.row !== undefined && tr.parentNode === this.body_ ? tr : null;
    }

    clicked_(event) {
      const tr = this.rowOf_(event);
      if (!tr || event.target.closest('a, button, input')) return;
      const long = event.target.closest('.tbc-long');
      const chosen = window.getSelection ? String(window.getSelection()) : '';
      if (chosen && event.detail < 2) return; // text was marked, not a row clicked
      if (long) long.classList.toggle('tbc-open');
      this.chooseRow_(tr, event.ctrlKey || event.metaKey || event.shiftKey);
    }

    chooseRow_(tr, more) {
      const row = Number(tr.dataset.row);
      const was = this.selection_.some((item) => item.row === row);
      const others = more ? this.selection_.filter((item) => item.row !== row) : [];
      this.selection_ = was ? others : others.concat({ row: row, column: null });
      this.moveFocus_(tr, false);
      this.showSelection_();
      this.trigger_('select', {});
    }

    key_(event) {
      const tr = this.rowOf_(event);
      if (!tr || event.target !== tr) return;
      const next = {
        ArrowDown: tr.nextElementSibling,
        ArrowUp: tr.previousElementSibling,
        Home: this.body_.firstElementChild,
        End: this.body_.lastElementChild,
      }[event.key];
      if (event.key === 'Enter' || event.key === ' ') this.chooseRow_(tr, event.ctrlKey);
      else if (next) this.moveFocus_(next, true);
      else if (event.key === 'PageDown') this.turnTo_(this.page_ + 1);
      else if (event.key === 'PageUp') this.turnTo_(this.page_ - 1);
      else return;
      event.preventDefault();
    }

    moveFocus_(tr, focus) {
      this.body_.querySelectorAll('tr[tabindex="0"]').forEach((other) => {
        other.tabIndex = -1;
      });
      tr.tabIndex = 0;
      if (focus) tr.focus();
    }

    showSelection_() {
      const rows = new Set(this.selection_.map((item) => item.row));
      const own = (this.options_.cssClassNames || {}).selectedTableRow;
      for (const tr of Array.from(this.body_ ? this.body_.children : [])) {
        const on = rows.has(Number(tr.dataset.row)) && tr.dataset.row !== undefined;
        tr.setAttribute('aria-selected', on ? 'true' : 'false');
        tr.classList.toggle(PREFIX + 'tr-sel', on);
        if (own) own.split(' ').forEach((name) => name && tr.classList.toggle(name, on));
      }
    }

    // ---- pages

    turnTo_(page) {
      const last = this.pageCount_() - 1;
      const to = Math.max(0, Math.min(last, page));
      if (to === this.page_ && this.options_.page !== 'event') return;
      if (this.options_.page !== 'event') {
        this.page_ = to;
        this.drawBody_();
        this.root_.querySelector('.tbc-scroll').scrollTop = 0;
      }
      this.trigger_('page', { page: this.options_.page === 'event' ? page - this.page_ : to });
    }

    drawPager_() {
      const focus = this.pager_.contains(document.activeElement)
        ? document.activeElement.dataset.name
        : null;
      this.pager_.textContent = '';
      const count = this.pageCount_();
      this.pager_.hidden =
        this.pageSize_() === Infinity || (count < 2 && this.options_.page !== 'event');
      this.pager_.style.display = this.pager_.hidden ? 'none' : '';
      if (this.pager_.hidden) return;
      const event = this.options_.page === 'event';
      this.button_(
        'Previous',
        '\u2039',
        event || this.page_ > 0,
        () => this.turnTo_(this.page_ - 1),
        'Previous page'
      );
      pagesToShow(this.page_, count).forEach((page) => {
        if (page < 0) svg.html('span', '', this.pager_, '\u2026');
        else this.pageButton_(page);
      });
      this.button_(
        'Next',
        '\u203a',
        event || this.page_ < count - 1,
        () => this.turnTo_(this.page_ + 1),
        'Next page'
      );
      const first = this.page_ * this.pageSize_() + 1;
      const total = this.data_.getNumberOfRows();
      const last = Math.min(total, first + this.pageSize_() - 1);
      svg
        .html(
          'span',
          '',
          this.pager_,
          first + '\u2013' + last + ' of ' + total.toLocaleString('en-US')
        )
        .setAttribute('role', 'status');
      const again =
        focus &&
        Array.from(this.pager_.querySelectorAll('button')).find(
          (b) => b.dataset.name === focus && !b.disabled
        );
      if (again) again.focus({ preventScroll: true });
    }

    pageButton_(page) {
      const button = this.button_(
        'page' + page,
        String(page + 1),
        true,
        () => this.turnTo_(page),
        'Page ' + (page + 1)
      );
      if (page === this.page_) button.setAttribute('aria-current', 'page');
    }

    button_(name, text, enabled, action, label) {
      const button = svg.html('button', '', this.pager_, text);
      button.type = 'button';
      button.dataset.name = name;
      button.disabled = !enabled;
      button.setAttribute('aria-label', label);
      button.addEventListener('click', action);
      return button;
    }
  }
  Table.kind = 'Table';

  /** Page numbers around the current one, the first and the last; -1 stands for a gap. */
  function pagesToShow(page, count) {
    const wanted = new Set([0, count - 1]);
    for (let p = page - 2; p <= page + 2; p++) if (p >= 0 && p < count) wanted.add(p);
    const sorted = Array.from(wanted).sort((a, b) => a - b);
    return [].concat(...sorted.map((p, i) => (i && p - sorted[i - 1] > 1 ? [-1, p] : [p])));
  }

  return { Table: Table, pagesToShow: pagesToShow };
});
