/* SPDX-License-Identifier: Apache-2.0
 *
 * The charts that are on the page now. They draw again when their width or the page's theme
 * changes; those whose element has left the document are forgotten. window.__gviz.report() tells
 * tests what is shown: nothing is recorded for it, it reads the charts when it is called.
 */
tbc.define('live', ['problems'], function (problems) {
  const charts = new Map(); // container -> { chart, number }
  const loads = [];
  let drawings = 0;
  let sizes = null;
  let watching = false;

  function forgetLost() {
    for (const [container, entry] of charts) {
      if (container.isConnected || entry.chart.isWaiting()) continue;
      charts.delete(container);
      if (sizes) sizes.unobserve(container);
    }
  }

  function add(chart) {
    const container = chart.getContainer();
    forgetLost();
    watch();
    charts.set(container, { chart: chart, number: ++drawings });
    if (sizes) sizes.observe(container);
  }

  function remove(chart) {
    charts.delete(chart.getContainer());
    if (sizes) sizes.unobserve(chart.getContainer());
  }

  function watch() {
    if (watching) return;
    watching = true;
    if (window.ResizeObserver) {
      sizes = new ResizeObserver((entries) =>
        requestAnimationFrame(() =>
          entries.forEach((e) => {
            const entry = charts.get(e.target);
            if (entry && e.target.isConnected) entry.chart.resized();
          })
        )
      );
    }
    const themeChanged = () =>
      requestAnimationFrame(() => {
        for (const entry of charts.values())
          if (entry.chart.getContainer().isConnected) entry.chart.themeChanged();
      });
    const options = { attributes: true, attributeFilter: ['class', 'style', 'data-theme'] };
    const observer = new MutationObserver(themeChanged);
    observer.observe(document.documentElement, options);
    if (document.body) observer.observe(document.body, options);
    if (window.matchMedia) {
      const query = window.matchMedia('(prefers-color-scheme: dark)');
      if (query.addEventListener) query.addEventListener('change', themeChanged);
    }
  }

  function isVisible(element) {
    if (element.offsetParent === null || element.closest('.hidden-content')) return false;
    if (!element.checkVisibility) return true;
    return element.checkVisibility({ checkVisibilityCSS: true, checkOpacity: true });
  }

  function columnsOf(data) {
    return Array.from({ length: data.getNumberOfColumns() }, (_, c) => ({
      id: data.getColumnId(c),
      label: data.getColumnLabel(c),
      type: data.getColumnType(c),
      role: data.getColumnRole(c),
    }));
  }

  function describe(container, entry) {
    const data = entry.chart.getData();
    const columns = columnsOf(data);
    const rows = data.getNumberOfRows();
    const plain = (value) => (typeof value === 'string' ? value.slice(0, 200) : value);
    const rowOf = (row) => columns.map((_, c) => plain(data.getValue(row, c)));
    const small = rows * columns.length <= 20000;
    return {
      n: entry.number,
      kind: entry.chart.kind,
      rows: rows,
      cols: columns,
      title: entry.chart.getOptions().title || '',
      first: rows ? rowOf(0) : null,
      last: rows > 1 ? rowOf(rows - 1) : null,
      connected: true,
      visible: isVisible(container),
      all: small ? data.rowIndexes().map(rowOf) : null,
    };
  }

  function report() {
    forgetLost();
    const shown = Array.from(charts).filter(([container]) => container.isConnected);
    return {
      charts: 'tbprof',
      problems: problems.list,
      loads: loads,
      total: drawings,
      draws: shown
        .map(([container, entry]) => describe(container, entry))
        .sort((a, b) => a.n - b.n),
    };
  }

  return { add, remove, report, isVisible, loads };
});
