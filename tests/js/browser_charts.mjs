/* SPDX-License-Identifier: Apache-2.0
 *
 * Draws every kind of chart in headless Chromium and checks what stands in the page: heights of
 * bars, texts of axes and legends, tooltips, sorting, pages, selection, keys, zoom, sizes, themes.
 *
 *   node browser_charts.mjs [--out DIR] [--chromium PATH] [--dark]
 *
 * --out keeps screenshots. Needs the npm package playwright-core (here, in the working directory or
 * in a folder of NODE_PATH) and Chromium; without them it says so and exits with 77 (skipped).
 */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { bundle } from './bundle.mjs';
import { gallery } from './gallery.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const option = (name, otherwise) => {
  const at = process.argv.indexOf('--' + name);
  return at > 0 ? process.argv[at + 1] : otherwise;
};
const dark = process.argv.includes('--dark');
const out = option('out', '');

function skip(why) {
  console.log('skipped: ' + why);
  process.exit(77);
}

function playwright() {
  const folders = [process.cwd(), here].concat(
    (process.env.NODE_PATH || '')
      .split(':')
      .filter(Boolean)
      .map((folder) => path.join(folder, '..'))
  );
  for (const folder of folders) {
    try {
      return createRequire(path.join(folder, 'x.js'))('playwright-core');
    } catch {
      /* the next folder */
    }
  }
  return skip('no playwright-core (npm install playwright-core)');
}

const executablePath = option('chromium', process.env.CHROMIUM || '/usr/bin/chromium');
if (!fs.existsSync(executablePath)) skip('no ' + executablePath);
const browser = await playwright().chromium.launch({
  executablePath,
  args: ['--no-sandbox', '--disable-gpu'],
});
const page = await browser.newPage({ viewport: { width: 1300, height: 900 } });
const errors = [];
page.on('pageerror', (error) => errors.push(String(error)));

async function openGallery() {
  const place = (g) =>
    `<h4>${g.id}</h4><div id="${g.id}" style="width:${g.width}px;` +
    `${g.kind === 'Table' ? '' : `height:${g.height}px;`}"></div>`;
  const colors = dark ? 'background:#1c1e22;color:#ddd;' : '';
  await page.setContent(
    `<!doctype html><style>body{font-family:Arial,sans-serif;${colors}}</style>` +
      gallery.map(place).join('')
  );
  await page.addScriptTag({ content: bundle() });
  await page.evaluate(async (entries) => {
    await google.charts.load('current', { packages: ['corechart', 'table'] });
    window.charts = {};
    window.heard = [];
    const listen = (chart, id, name) =>
      google.visualization.events.addListener(chart, name, (event) =>
        heard.push([id, name, event])
      );
    for (const g of entries) {
      const chart = new google.visualization[g.kind](document.getElementById(g.id));
      charts[g.id] = chart;
      ['ready', 'error', 'select', 'sort', 'page', 'click', 'onmouseover', 'onmouseout'].forEach(
        (n) => listen(chart, g.id, n)
      );
      chart.draw(google.visualization.arrayToDataTable(g.table), g.options);
    }
  }, gallery);
  await until((n) => heard.filter((h) => h[1] === 'ready').length >= n, gallery.length);
}

/** Until it is true of the page, or for two minutes: what follows tells what is wrong then. */
const until = (isTrue, value) => page.waitForFunction(isTrue, value, { timeout: 120000 }).catch(() => {});
const frames = () =>
  page.evaluate(() => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r))));
const texts = (selector) => page.locator(selector).allTextContents();
const boxes = (id) =>
  page.evaluate(
    (name) =>
      Array.from(document.querySelectorAll(`#${name} .tbc-bar`), (bar) => ({
        series: bar.parentNode.dataset.label,
        x: +bar.getAttribute('x'),
        y: +bar.getAttribute('y'),
        width: +bar.getAttribute('width'),
        height: +bar.getAttribute('height'),
      })),
    id
  );
const heardOf = (id, name) =>
  page.evaluate(
    ([i, n]) => heard.filter((h) => h[0] === i && h[1] === n).map((h) => h[2]),
    [id, name]
  );
const tip = () =>
  page.evaluate(() => {
    const box = document.querySelector('.tbc-tip');
    return box && !box.hidden ? box.innerText : '';
  });
const near = (a, b, slack, what) =>
  assert.ok(Math.abs(a - b) <= slack, `${what}: ${a} is not ${b}`);
async function boxOf(selector) {
  const found = page.locator(selector).first();
  await found.scrollIntoViewIfNeeded();
  await frames(); // the event of scrolling, which comes before the next one, hides tooltips
  return found.boundingBox();
}
async function pointAt(id, x, y) {
  const box = await boxOf(`#${id} svg`);
  await page.mouse.move(box.x + x, box.y + y);
}
const layoutOf = (id, call, value) =>
  page.evaluate(([i, c, v]) => charts[i].getChartLayoutInterface()[c](v), [id, call, value]);

const checks = {
  async 'every chart is ready, none has an error'() {
    for (const g of gallery) {
      assert.equal((await heardOf(g.id, 'ready')).length, 1, g.id);
      assert.equal((await heardOf(g.id, 'error')).length, 0, g.id);
    }
    const report = await page.evaluate(() => __gviz.report());
    assert.deepEqual(report.problems, []);
    assert.equal(report.draws.length, gallery.length);
    const kernels = report.draws.find((d) => d.rows === 37 && d.kind === 'Table');
    assert.equal(kernels.all[0][1], 'void cudnn::bn_fw_tr_1C11_kernel<float, 512, true, 1>(0');
    assert.equal(kernels.visible, true);
    assert.equal(
      report.draws.find((d) => d.cols[3] && d.cols[3].role === 'tooltip').kind,
      'AreaChart'
    );
  },

  async 'columns are as high as their values, negative ones hang'() {
    const b = await boxes('columns');
    const height = (series, i) => b.filter((bar) => bar.series === series)[i].height;
    near(height('GFLOP/s', 0) / height('Peak', 0), 0.5, 0.01, '100 of 200');
    near(height('GFLOP/s', 2) / height('GFLOP/s', 0), 0.25, 0.01, '25 of 100');
    near(height('GFLOP/s', 3), height('GFLOP/s', 2), 0.1, '-25 and 25');
    const own = b.filter((bar) => bar.series === 'GFLOP/s');
    near(own[3].y, own[0].y + own[0].height, 0.1, 'the negative column starts at zero');
    assert.ok(
      own[0].x + own[0].width <= b.filter((bar) => bar.series === 'Peak')[0].x,
      'side by side'
    );
    assert.deepEqual(await texts('#columns .tbc-legend-entry text'), ['GFLOP/s', 'Peak']);
    const axis = await texts('#columns .tbc-axes text');
    for (const text of ['-100', '0', '100', '200', 'convolution', 'rng', 'GFLOP/s'])
      assert.ok(axis.includes(text), text);
    assert.deepEqual(await texts('#columns .tbc-title'), ['Groups']);
  },

  async 'stacked columns stand on each other, with the annotation on top'() {
    const b = await boxes('latency');
    const of = (series) => b.filter((bar) => bar.series === series);
    near(of('Host')[0].y, of('Device')[0].y + of('Device')[0].height, 0.1, 'host below device');
    near(of('Device')[0].height / of('Host')[0].height, 4 / 1.5, 0.02, 'device to host');
    assert.deepEqual(await texts('#latency .tbc-annotation'), ['6.0', '9.0', '12.5', '18.0']);
    assert.ok((await texts('#latency .tbc-axes text')).includes('10ms'));
  },

  async 'per cent stacks fill the plot'() {
    const b = await boxes('host-columns');
    const area = await layoutOf('host-columns', 'getChartAreaBoundingBox');
    near(
      b.reduce((sum, bar) => sum + bar.height, 0),
      area.height,
      0.5,
      'sum of heights'
    );
    near(b[1].height / area.height, 0.5, 0.005, 'half');
    assert.ok((await texts('#host-columns .tbc-axes text')).includes('100%'));
    const wide = await boxes('max-heap');
    near(
      wide.reduce((sum, bar) => sum + bar.width, 0),
      700,
      1,
      'the heap bar fills its place'
    );
    near(wide[0].width, 280, 0.5, '40 per cent');
    assert.deepEqual(await texts('#max-heap text'), []);
  },

  async 'bars lie, names stand beside them'() {
    const b = await boxes('utilization');
    near(b[5].width / b[0].width, 6, 0.05, '90 to 15');
    assert.ok(b[0].y < b[1].y, 'first row on top');
    const axis = await texts('#utilization .tbc-axes text');
    assert.ok(
      axis.includes('HBM Read Bandwidth and more words') && axis.includes('100%'),
      axis.join()
    );
    assert.equal((await texts('#utilization .tbc-legend-entry')).length, 0);
  },

  async 'a stacked area has its series, legend, every second step and a title'() {
    assert.equal(await page.locator('#step-time .tbc-area').count(), 7);
    assert.equal((await texts('#step-time .tbc-legend-entry text')).length, 7);
    const axis = await texts('#step-time .tbc-axes text');
    assert.ok(
      axis.includes('22') && !axis.includes('21') && axis.includes('Step Number'),
      axis.join()
    );
    await pointAt(
      'step-time',
      await layoutOf('step-time', 'getXLocation', 7),
      await layoutOf('step-time', 'getYLocation', 8)
    );
    assert.deepEqual((await tip()).split('\n'), ['7', 'Device compute', '8']);
    await page.mouse.move(2, 2);
    assert.equal(await tip(), '');
  },

  async 'two axes, and a tooltip that a click brings'() {
    const x = await layoutOf('memory', 'getXLocation', 250);
    const y = await layoutOf(
      'memory',
      'getYLocation',
      0.2 + 0.8 + 0.6 * Math.sin(100 / 17) + 20 / 80
    );
    await pointAt('memory', x, y);
    assert.equal(await tip(), '', 'not by pointing');
    await page.mouse.down();
    await page.mouse.up();
    assert.match(await tip(), /^timestamp\(ms\): 250\nevent: allocation/);
    assert.deepEqual(await page.evaluate(() => charts.memory.getSelection()), [
      { row: 100, column: 2 },
    ]);
    assert.equal((await heardOf('memory', 'select')).length, 1);
    const axis = await texts('#memory .tbc-axes text');
    for (const text of ['Memory Usage (GiBs)', 'Fragmentation (%)', 'Timestamp (ms)', '80'])
      assert.ok(axis.includes(text), text);
    await page.mouse.down();
    await page.mouse.up();
    assert.equal(await tip(), '', 'a second click clears');
    assert.deepEqual(await page.evaluate(() => charts.memory.getSelection()), []);
  },

  async 'dragging zooms, a right click goes back'() {
    const axis = () => texts('#memory .tbc-axes text');
    const before = await axis();
    const box = await boxOf('#memory svg');
    await page.mouse.move(box.x + 300, box.y + 150);
    await page.mouse.down();
    await page.mouse.move(box.x + 400, box.y + 250, { steps: 4 });
    assert.equal(await page.locator('#memory .tbc-zoom').count(), 1);
    await page.mouse.up();
    const zoomed = await axis();
    assert.notDeepEqual(zoomed, before);
    near(
      await layoutOf(
        'memory',
        'getHAxisValue',
        (await layoutOf('memory', 'getChartAreaBoundingBox')).left
      ),
      100 + ((300 - 69) / 980) * 298.5,
      12,
      'left end'
    );
    await page.mouse.click(box.x + 350, box.y + 200, { button: 'right' });
    assert.deepEqual(await axis(), before);
    await page.mouse.move(box.x + 300, box.y + 150);
    await page.mouse.down();
    await page.mouse.move(box.x + 400, box.y + 250, { steps: 4 });
    await page.mouse.up();
    await page.locator('#memory text', { hasText: 'Reset zoom' }).click();
    assert.deepEqual(await axis(), before);
    assert.equal(await page.locator('#memory text', { hasText: 'Reset zoom' }).count(), 0);
    assert.equal((await heardOf('memory', 'ready')).length, 1, 'no page hears of zooming');
  },

  async 'logarithmic axes, shapes, lines, and tooltips with markup'() {
    const axis = await texts('#roofline .tbc-axes text');
    for (const text of ['1E-5', '0.01', '1,000', '10,000', '1E6'])
      assert.ok(axis.includes(text), text);
    assert.ok(!axis.includes('1E7'), 'no tick that the options do not have');
    near(
      (await layoutOf('roofline', 'getXLocation', 10)) -
        (await layoutOf('roofline', 'getXLocation', 1)),
      (await layoutOf('roofline', 'getXLocation', 1000)) -
        (await layoutOf('roofline', 'getXLocation', 100)),
      0.01,
      'decades'
    );
    assert.equal(await page.locator('#roofline [data-label="HBM Roofline"] .tbc-point').count(), 0);
    assert.equal(await page.locator('#roofline [data-label="HBM Roofline"] .tbc-line').count(), 1);
    assert.match(
      await page.locator('#roofline [data-label="Program"] path').getAttribute('d'),
      /^(M|L|[-\d.,]|Z)+$/
    );
    const x = await layoutOf('roofline', 'getXLocation', 5);
    const y = await layoutOf('roofline', 'getYLocation', 750);
    const box = await boxOf('#roofline svg');
    await page.mouse.click(box.x + x, box.y + y);
    assert.equal(await tip(), 'conv 24');
    assert.equal(await page.locator('.tbc-tip b').count(), 1);
    await page.mouse.click(box.x + x, box.y + y);
  },

  async 'intervals, gaps, one axis of the options'() {
    assert.equal(await page.locator('#input-line .tbc-interval rect').count(), 10);
    assert.ok((await texts('#input-line .tbc-axes text')).includes('60%'));
    assert.equal(
      await page.locator('#negative-line [data-label="difference"] .tbc-line').count(),
      2,
      'two pieces around the gap'
    );
    assert.equal(await page.locator('#negative-line [data-label="drift"] .tbc-line').count(), 1);
    assert.equal(await page.locator('#combo .tbc-bar').count(), 8);
    assert.equal(await page.locator('#combo .tbc-line').count(), 1);
    assert.match(
      await page.locator('#stepped [data-label="Reads"] .tbc-line').getAttribute('d'),
      /^M\S+$/
    );
  },

  async 'categories: the whole row is pointed at, without a tooltip when there is none to be'() {
    const b = await boxes('pod');
    await pointAt('pod', b[2].x + 5, b[2].y + 5);
    assert.deepEqual(await heardOf('pod', 'onmouseover'), [{ row: 2, column: null }]);
    assert.equal(await tip(), '');
    assert.equal(await page.locator('#pod .tbc-ring').count(), 4);
    assert.deepEqual(await texts('#pod .tbc-legend-entry text'), [
      'High flops compute',
      'Low flops compute',
      'Host infeed',
      'All reduce',
    ]);
    await page.mouse.move(2, 2);
    assert.equal((await heardOf('pod', 'onmouseout')).length, 1);
  },

  async 'pies: shares, the rest, tooltip, legend, selection'() {
    const shares = await page.evaluate(() =>
      Array.from(document.querySelectorAll('#donut .tbc-slice'), (s) => +s.dataset.share)
    );
    assert.deepEqual(shares, [0.75, 0.25]);
    assert.deepEqual((await texts('#donut text')).slice(0, 2), ['75%', '25%']);
    assert.equal((await texts('#pie-title .tbc-legend-entry text')).slice(-1)[0], 'Other');
    assert.equal(await page.locator('#pie .tbc-slice').count(), 11);
    await page.locator('#pie .tbc-legend-page').last().click();
    assert.deepEqual(await texts('#pie .tbc-legend-entry text'), ['Mean', 'Other']);
    const box = await boxOf('#donut svg');
    const slice = await boxOf('#donut .tbc-slice');
    await page.mouse.move(slice.x + slice.width - 12, slice.y + slice.height / 2);
    assert.deepEqual((await tip()).split('\n'), ['Read', 'v', '3 (75%)']);
    await page.mouse.click(slice.x + slice.width - 12, slice.y + slice.height / 2);
    assert.deepEqual(await page.evaluate(() => charts.donut.getSelection()), [
      { row: 0, column: null },
    ]);
    await page.mouse.move(box.x - 5, box.y - 5);
    assert.equal(await tip(), '');
  },

  async 'trees: boxes and links'() {
    assert.equal(await page.locator('#org .tbc-org-node').count(), 6);
    assert.equal(await page.locator('#org .tbc-org-link').count(), 5);
    const at = async (name) => page.locator('#org .tbc-org-node', { hasText: name }).boundingBox();
    const [root, map, batch, shuffle] = [
      await at('Root'),
      await at('Map'),
      await at('Batch'),
      await at('Shuffle'),
    ];
    near(root.x, (map.x + batch.x) / 2, 1, 'root in the middle');
    assert.ok(shuffle.y > map.y && map.y > root.y, 'levels');
  },

  async 'tables: sorting by click and key'() {
    const first = async () =>
      (await texts('#kernels tbody tr:first-child td')).map((t) => t.trim());
    assert.equal((await first())[0], '1');
    const head = page.locator('#kernels th', { hasText: 'Total (us)' });
    assert.equal(await head.getAttribute('aria-sort'), 'none');
    await head.locator('button').click();
    assert.equal(await head.getAttribute('aria-sort'), 'ascending');
    assert.deepEqual(
      (await first()).slice(3, 6),
      ['10', '1386.0', '0.1%'],
      'by value, not by text'
    );
    await page.keyboard.press('Enter');
    assert.equal(await head.getAttribute('aria-sort'), 'descending');
    assert.equal((await first())[4], '9000.0');
    const sorts = await heardOf('kernels', 'sort');
    assert.deepEqual(
      sorts.map((s) => [s.column, s.ascending]),
      [
        [4, true],
        [4, false],
      ]
    );
    assert.deepEqual(
      (await page.evaluate(() => charts.kernels.getSortInfo())).sortedIndexes.slice(0, 3),
      [0, 1, 2]
    );
  },

  async 'tables: pages, rows by key, selection, types'() {
    assert.equal(await page.locator('#kernels tbody tr').count(), 10);
    assert.deepEqual(await texts('#kernels nav [role=status]'), ['1\u201310 of 37']);
    await page.locator('#kernels nav button', { hasText: '4' }).click();
    assert.equal(await page.locator('#kernels tbody tr').count(), 7);
    assert.equal(await page.locator('#kernels nav [aria-current=page]').textContent(), '4');
    assert.equal(
      await page.locator('#kernels nav button[aria-label="Next page"]').isDisabled(),
      true
    );
    assert.deepEqual(await heardOf('kernels', 'page'), [{ page: 3 }]);
    await page.locator('#kernels tbody tr').first().focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press(' ');
    assert.deepEqual(await page.evaluate(() => charts.kernels.getSelection()), [
      { row: 31, column: null },
    ]);
    assert.equal(await page.locator('#kernels tr[aria-selected=true]').count(), 1);
    await page.evaluate(() => charts.kernels.setSelection([{ row: 30 }, { row: 32 }]));
    assert.equal(await page.locator('#kernels tr[aria-selected=true]').count(), 2);
    const cell = (n) => page.locator(`#kernels tbody tr:first-child td:nth-child(${n})`);
    assert.match(
      await cell(5).getAttribute('class'),
      /google-visualization-table-type-number google-chart-table-table-cell/
    );
    assert.match(await cell(3).textContent(), /^[\u2713\u2717]$/);
    assert.match(
      await cell(2).textContent(),
      /^void cudnn::bn_fw_tr_1C11_kernel<float, 512, true, 1>\(30$/,
      'a template is no markup'
    );
    assert.match(
      await page.locator('#kernels th').first().getAttribute('class'),
      /google-chart-table-header-cell/
    );
    const sticky = await page.evaluate(() => {
      const scroll = document.querySelector('#scrolled .tbc-scroll');
      scroll.scrollTop = 300;
      return (
        scroll.querySelector('th').getBoundingClientRect().top - scroll.getBoundingClientRect().top
      );
    });
    near(sticky, 0, 1, 'the head stays');
    assert.equal((await texts('#scrolled tbody tr:first-child td'))[0], '1', 'row numbers');
  },

  async 'markup is harmless'() {
    const state = await page.evaluate(async () => {
      window.hurt = 0;
      const place = document.body.appendChild(document.createElement('div'));
      const chart = new google.visualization.Table(place);
      const bad = [
        '<img src=x onerror="hurt=1">',
        '<a href="javascript:hurt=1" onclick="hurt=1">go</a>',
        '<script>hurt=1</scr' + 'ipt>',
        '<b onmouseover="hurt=1" style="background:url(x)">b</b>',
        '<svg onload="hurt=1"></svg>',
        '<a href="/x?a=1" target="_blank">op</a>',
      ];
      chart.draw(google.visualization.arrayToDataTable([['x']].concat(bad.map((t) => [t]))), {
        allowHtml: true,
      });
      await new Promise((r) => setTimeout(r, 50));
      const body = place.querySelector('tbody');
      const names = Array.from(body.querySelectorAll('td *'), (e) => e.localName);
      const attributes = Array.from(body.querySelectorAll('td *'), (e) =>
        Array.from(e.attributes, (a) => a.name + '=' + a.value)
      ).flat();
      const text = body.innerText;
      place.remove();
      return { names, attributes, text, hurt: window.hurt };
    });
    assert.equal(state.hurt, 0);
    assert.deepEqual(state.names, ['a', 'b', 'a']);
    assert.deepEqual(state.attributes, ['href=/x?a=1', 'target=_blank', 'rel=noopener noreferrer']);
    assert.match(state.text, /<img src=x onerror="hurt=1">\ngo\n/, 'an unknown element is text');
  },

  async 'keys move through a chart'() {
    await boxOf('#columns svg');
    await page.locator('#columns svg').focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    assert.deepEqual((await tip()).split('\n'), ['fusion', 'GFLOP/s', '50']);
    await page.keyboard.press('ArrowDown');
    assert.deepEqual((await tip()).split('\n'), ['fusion', 'Peak', '200']);
    await page.keyboard.press('Enter');
    assert.deepEqual(await page.evaluate(() => charts.columns.getSelection()), [
      { row: 1, column: 2 },
    ]);
    assert.equal(await page.locator('#columns .tbc-selection rect').count(), 1);
    await page.keyboard.press('Escape');
    assert.equal(await tip(), '');
    assert.match(
      await page.locator('#columns svg').getAttribute('aria-label'),
      /Groups\. Column Chart, 4 rows: GFLOP\/s, Peak/
    );
  },

  async 'the legend brings a series forward and selects it'() {
    const entry = page.locator('#columns .tbc-legend-entry').last();
    await entry.hover();
    assert.equal(await page.locator('#columns .tbc-dim').count(), 1);
    await entry.click();
    assert.deepEqual(await page.evaluate(() => charts.columns.getSelection()), [
      { row: null, column: 2 },
    ]);
    await entry.click();
    await page.mouse.move(2, 2);
    assert.equal(await page.locator('#columns .tbc-dim').count(), 0);
  },

  async 'a new width draws again, silently'() {
    const width = () => page.locator('#columns svg').evaluate((s) => s.getAttribute('width'));
    assert.equal(await width(), '520');
    await page.evaluate(() => {
      document.getElementById('columns').style.width = '700px';
    });
    await until((w) => document.querySelector('#columns svg').getAttribute('width') === w, '700');
    assert.equal(await width(), '700');
    assert.equal((await heardOf('columns', 'ready')).length, 1);
    await page.evaluate(() => {
      document.getElementById('columns').style.width = '520px';
    });
    await until((w) => document.querySelector('#columns svg').getAttribute('width') === w, '520');
  },

  async 'a chart that is shown later draws then, at its real width'() {
    const widths = await page.evaluate(async () => {
      const place = document.body.appendChild(document.createElement('div'));
      place.style.cssText = 'display:none;width:640px;height:150px';
      const chart = new google.visualization.LineChart(place);
      chart.draw(
        google.visualization.arrayToDataTable([
          ['x', 'y'],
          [1, 2],
          [2, 3],
        ]),
        {}
      );
      const before = place.querySelector('svg').getAttribute('width');
      place.style.display = '';
      const width = () => place.querySelector('svg').getAttribute('width');
      for (let i = 0; i < 6000 && width() === before; i++) await new Promise((r) => setTimeout(r, 20));
      const after = width();
      chart.clearChart();
      const left = place.childNodes.length;
      place.remove();
      return [before, after, left];
    });
    assert.deepEqual(widths, ['400', '640', 0]);
  },

  async 'light and dark follow the page'() {
    const isDark = () =>
      page.evaluate(() => document.querySelectorAll('#columns .tbc-dark').length);
    assert.equal(await isDark(), dark ? 1 : 0);
    await page.evaluate(
      (color) => {
        document.body.style.background = color;
      },
      dark ? '#ffffff' : '#202124'
    );
    await until(
      (n) => document.querySelectorAll('#columns .tbc-dark').length === n,
      dark ? 0 : 1
    );
    assert.equal(await isDark(), dark ? 0 : 1);
    await page.evaluate(
      (color) => {
        document.body.style.background = color;
      },
      dark ? '#1c1e22' : ''
    );
    await until(
      (n) => document.querySelectorAll('#columns .tbc-dark').length === n,
      dark ? 1 : 0
    );
  },

  async 'faults become messages, not exceptions'() {
    const state = await page.evaluate(async () => {
      const place = document.body.appendChild(document.createElement('div'));
      const v = google.visualization;
      const chart = new v.LineChart(place);
      const told = [];
      v.events.addListener(chart, 'error', (e) => told.push(e.message));
      chart.draw(
        v.arrayToDataTable([
          ['x', 'y'],
          [1, 'a'],
        ]),
        {}
      );
      const text = place.innerText;
      let thrown = '';
      try {
        chart.draw(undefined, {});
      } catch (error) {
        thrown = error.message;
      }
      new v.BubbleChart(place).draw(
        v.arrayToDataTable([
          ['x', 'y'],
          [1, 2],
        ]),
        {}
      );
      const bubble = place.innerText;
      for (let i = 0; i < 6000 && !told.length; i++) await new Promise((r) => setTimeout(r, 20));
      const noted = __gviz.report().problems.length;
      place.remove();
      return { text, thrown, bubble, told, noted };
    });
    assert.equal(state.text.trim(), 'Data column(s) for axis #0 cannot be of type string');
    assert.deepEqual(state.told, [state.text.trim()]);
    assert.equal(state.thrown, 'Data table is not defined.');
    assert.match(state.bubble, /BubbleChart is not part of the local charts/);
    assert.equal(state.noted, 2);
  },

  async 'a hundred thousand points are drawn in a moment'() {
    const state = await page.evaluate(() => {
      const place = document.body.appendChild(document.createElement('div'));
      place.style.cssText = 'width:900px;height:300px';
      const t = new google.visualization.DataTable();
      t.addColumn('number', 'x');
      t.addColumn('number', 'y');
      t.addRows(Array.from({ length: 100000 }, (_, i) => [i, Math.sin(i / 500) * i]));
      const start = performance.now();
      new google.visualization.LineChart(place).draw(t, {});
      const spent = performance.now() - start;
      const length = place.querySelector('.tbc-line').getAttribute('d').length;
      place.remove();
      return { spent, length };
    });
    assert.ok(state.spent < 30000, `${state.spent} ms`); // one step for each pair would take minutes
    assert.ok(state.length < 60000, `path of ${state.length} letters`);
  },

  async 'no tooltip stays when its chart goes'() {
    await pointAt('columns', (await boxes('columns'))[0].x + 5, (await boxes('columns'))[0].y + 5);
    assert.notEqual(await tip(), '');
    await page.evaluate(() => document.getElementById('columns').remove());
    await page.mouse.move(400, 400);
    assert.equal(await tip(), '');
    const left = await page.evaluate(() => __gviz.report().draws.length);
    assert.equal(left, gallery.length - 1);
  },
};

let failed = 0;
await openGallery();
if (out) {
  fs.mkdirSync(out, { recursive: true });
  for (const g of gallery)
    await page
      .locator('#' + g.id)
      .screenshot({ path: path.join(out, g.id + (dark ? '-dark' : '') + '.png') });
}
for (const [name, check] of Object.entries(checks)) {
  try {
    await check();
    console.log('ok      ' + name);
  } catch (error) {
    failed++;
    console.log('FAILED  ' + name + '\n' + String(error.stack).split('\n').slice(0, 12).join('\n'));
  }
}
if (errors.length) {
  failed++;
  console.log('FAILED  page errors: ' + errors.slice(0, 3).join('; '));
}
await browser.close();
console.log(`${Object.keys(checks).length - failed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
