/* SPDX-License-Identifier: Apache-2.0
 *
 * Opens pages of the Profile tab in headless Chromium and tells what stands on them; whether that
 * is right is for judge.py to say.
 *
 *   node tab.mjs <PLAN.json
 *
 * The plan: url of TensorBoard, chromium, modules (a folder whose node_modules has
 * playwright-core), charts (a script in place of the public chart library, or null: no page gets
 * one from outside), shots (a folder), pages (run, tool, host, shot, and listed: the tools that
 * the plugin offers for the run). Nothing but this machine is
 * reached. One line of JSON per page.
 */
import fs from 'node:fs';
import path from 'node:path';
import { createRequire } from 'node:module';

const OPEN_MS = 120000; // for the frontend to choose the page
// A page is finished after so many looks that showed nothing new, with no request open. A look waits for the page, so
// on a busy machine they take longer, as everything does.
const SETTLED_LOOKS = 5;
const EMPTY_TRACE_LOOKS = 20; // the trace viewer parses in silence before it shows anything
const SETTLED_MS = 40000; // or after so long
const LOOK_MS = 250;
const DATA = /\/data\/plugin\/profile\/data\?/;
const PLUGIN = /\/data\/plugin\/profile\//;

const plan = JSON.parse(fs.readFileSync(0, 'utf8'));
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const seen = { answers: [], errors: [], open: 0 }; // since the last page was opened; requests without an answer

async function startBrowser() {
  const { chromium } = createRequire(path.join(plan.modules, 'x.js'))('playwright-core');
  return chromium.launch({
    executablePath: plan.chromium,
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'],
  });
}

async function stayHome(context) {
  const isElsewhere = (url) => !['127.0.0.1', 'localhost'].includes(url.hostname);
  await context.route(isElsewhere, (route) => {
    const url = route.request().url();
    if (plan.charts && /\/charts\/loader\.js|\/jsapi/.test(url))
      return route.fulfill({ contentType: 'text/javascript', path: plan.charts });
    if (/fonts\./.test(url)) return route.fulfill({ contentType: 'text/css', body: '' });
    return route.abort();
  });
}

function listen(page) {
  page.on('pageerror', (error) => seen.errors.push('script: ' + String(error).slice(0, 200)));
  page.on('request', () => seen.open++);
  page.on('requestfinished', () => seen.open--);
  page.on('requestfailed', () => seen.open--);
  page.on('response', (response) => {
    const url = response.url();
    if (DATA.test(url))
      seen.answers.push({
        tag: new URL(url).searchParams.get('tag'),
        status: response.status(),
        is_ours: 'x-tbprof' in response.headers(),
      });
    else if (PLUGIN.test(url) && response.status() >= 400 && !url.endsWith('/profile/'))
      seen.errors.push(`HTTP ${response.status()} for ${new URL(url).pathname}`);
  });
}

const frameOf = (page, pattern) => page.frames().find((frame) => pattern.test(frame.url()));
const pluginFrame = (page) => frameOf(page, /\/profile\/(?!trace_viewer_index)/);
const traceFrame = (page) => frameOf(page, /trace_viewer_index\.html/);

const inFrame = (frame, what, otherwise) =>
  frame ? frame.evaluate(what).catch(() => otherwise) : otherwise;
const textOf = (frame) => inFrame(frame, () => document.body.innerText, '');

/** Charts and tables on the page, as the chart library tells. */
const chartsOf = (page) =>
  inFrame(pluginFrame(page), () => (window.__gviz ? window.__gviz.report() : null), null);

/** Processes and threads that the trace viewer has, each with its number of slices. */
const tracksOf = (page) =>
  inFrame(
    traceFrame(page),
    () => {
      const viewer = document.querySelector('tf-trace-viewer');
      const inner = viewer && viewer._traceViewer;
      const model = viewer && (viewer._model || viewer._traceModel || (inner && inner.model));
      if (!model) return null;
      const processes = Object.values(model.processes).map((process) => ({
        pid: process.pid,
        name: process.name,
        threads: Object.values(process.threads).map((thread) => ({
          tid: thread.tid,
          slices: thread.sliceGroup.slices.length,
        })),
      }));
      const warnings = Array.from(model.importWarnings || [], (w) => `${w.type}: ${w.message}`);
      return { processes, warnings };
    },
    null
  );

/** The page that the frontend shows, from the last part of its frame's address. */
function shownTool(page) {
  const frame = pluginFrame(page);
  if (!frame) return '';
  const tail = frame.url().replace(/^.*\/data\/plugin\/profile\//, '');
  return decodeURIComponent(tail.split(/[;?]/)[0]).replace(/\/$/, '');
}

/** Frontends up to 2.8 take no page from the address: it is chosen in the list beside the page. */
async function choose(page, tool, listed) {
  const bare = (text) => text.trim().replace(/[@#^]+$/, '');
  const frame = pluginFrame(page);
  const lists = frame.locator('mat-select');
  const texts = (await lists.allInnerTexts()).map(bare);
  const at = texts.findIndex((text) => listed.map(bare).includes(text));
  if (at < 0) return;
  await lists.nth(at).click({ timeout: 30000 });
  await sleep(400);
  const options = frame.locator('mat-option');
  const wanted = (await options.allInnerTexts()).findIndex((text) => bare(text) === bare(tool));
  if (wanted >= 0) await options.nth(wanted).click({ timeout: 30000 });
}

async function open(page, { run, tool, host, listed }) {
  const query = new URLSearchParams({ run, tag: tool, tool });
  if (host) query.set('host', host);
  await page.goto('about:blank');
  Object.assign(seen, { answers: [], errors: [], open: 0 });
  await page.goto(`${plan.url}/?${query}#profile`, { waitUntil: 'domcontentloaded' });
  const start = Date.now();
  let hasChosen = false;
  while (Date.now() - start < OPEN_MS) {
    const shown = shownTool(page);
    if (shown === tool && seen.answers.some((answer) => answer.tag === tool)) return true;
    if (!hasChosen && shown && Date.now() - start > 6000 && !/html$/.test(shown)) {
      hasChosen = true;
      await choose(page, tool, listed).catch(() => {});
    }
    await sleep(LOOK_MS);
  }
  return false;
}

async function look(page, tool) {
  const isTrace = tool.startsWith('trace_viewer');
  const charts = await chartsOf(page);
  return {
    text: (await textOf(pluginFrame(page))) + (isTrace ? '\n' + (await textOf(traceFrame(page))) : ''),
    charts,
    tracks: isTrace ? await tracksOf(page) : null,
  };
}

const signature = (view) =>
  [
    view.text.length,
    view.charts && view.charts.total,
    view.charts && view.charts.draws.length,
    seen.answers.length,
    view.tracks && view.tracks.processes.length,
  ].join('/');

/** What the page shows when it has come to rest. */
async function settled(page, tool) {
  const start = Date.now();
  const wanted = () =>
    tool.startsWith('trace_viewer') && !view.tracks ? EMPTY_TRACE_LOOKS : SETTLED_LOOKS;
  let view = await look(page, tool);
  let last = signature(view);
  let same = 0;
  while (Date.now() - start < SETTLED_MS && same < wanted()) {
    await sleep(LOOK_MS);
    view = await look(page, tool);
    same = seen.open > 0 || signature(view) !== last ? 0 : same + 1;
    last = signature(view);
  }
  return view;
}

const browser = await startBrowser();
try {
  const context = await browser.newContext({ viewport: { width: 1500, height: 1100 } });
  await stayHome(context);
  const page = await context.newPage();
  listen(page);
  for (const wanted of plan.pages) {
    const isOpen = await open(page, wanted);
    const view = await settled(page, wanted.tool);
    await page.screenshot({ path: path.join(plan.shots, wanted.shot) });
    const answers = seen.answers.filter((answer) => answer.tag === wanted.tool);
    const line = { ...wanted, listed: undefined, is_open: isOpen, ...view, answers, errors: seen.errors };
    line.tab = await textOf(page.mainFrame());
    console.log(JSON.stringify(line));
  }
} finally {
  await browser.close();
}
