/* SPDX-License-Identifier: Apache-2.0
 *
 * The last file: puts everything under `google`, as the official loader does. Nothing is loaded,
 * so load() only calls back; `google.visualization` is there at once, which spares the pages a
 * race between their data and the charts.
 */
tbc.define(
  'loader',
  [
    'data_table',
    'data_view',
    'aggregate',
    'formatters',
    'events',
    'table',
    'cartesian',
    'pie',
    'org',
    'chart',
    'live',
  ],
  function (tables, views, aggregate, formatters, events, table, cartesian, pie, org, base, live) {
    /** Kinds that pages can name but never draw: they say so in their place. */
    function missing(name) {
      const Kind = class extends base.Chart {
        render() {
          throw new Error(name + ' is not part of the local charts.');
        }
      };
      Kind.kind = name;
      return Kind;
    }

    const visualization = Object.assign(
      {
        DataTable: tables.DataTable,
        DataView: views.DataView,
        arrayToDataTable: tables.arrayToDataTable,
        data: aggregate,
        events: events,
        Table: table.Table,
        PieChart: pie.PieChart,
        OrgChart: org.OrgChart,
        BubbleChart: missing('BubbleChart'),
        CandlestickChart: missing('CandlestickChart'),
        Histogram: missing('Histogram'),
      },
      formatters,
      cartesian
    );

    let loaded = false;
    const waiting = [];

    function call(callback) {
      setTimeout(callback, 0);
    }

    /** load(options), load('current', options) or, older, load('visualization', '1', options). */
    function load() {
      const options =
        Array.from(arguments).find((given) => given !== null && typeof given === 'object') || {};
      live.loads.push(options.packages || []);
      if (options.callback) setOnLoadCallback(options.callback);
      return new Promise((resolve) =>
        call(() => {
          loaded = true;
          waiting.splice(0).forEach(call);
          resolve();
        })
      );
    }

    function setOnLoadCallback(callback) {
      if (!callback) return new Promise((resolve) => setOnLoadCallback(resolve));
      if (loaded) call(callback);
      else waiting.push(callback);
      return undefined;
    }

    function install() {
      if (window.__gviz) return; // the page asked for the loader twice
      window.__gviz = { report: live.report };
      const google = window.google || {};
      google.charts = { load: load, safeLoad: load, setOnLoadCallback: setOnLoadCallback };
      google.visualization = visualization;
      google.load = load;
      google.setOnLoadCallback = setOnLoadCallback;
      window.google = google;
    }

    if (typeof window !== 'undefined') install();
    return { visualization: visualization, load: load };
  }
);
