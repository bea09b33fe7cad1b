// SPDX-License-Identifier: Apache-2.0
//
// Presses CAPTURE PROFILE in the Profile tab of a TensorBoard: fills in addresses and duration, presses Capture, waits
// for the plugin's answer and prints it: one line of JSON {status, body, shown}.
//
//   node press_capture.mjs URL ADDRESSES DURATION_MS CHROMIUM [SCREENSHOT]
//
// Needs playwright-core where it is run.
import { createRequire } from 'node:module';

const { chromium } = createRequire(process.cwd() + '/x.js')('playwright-core');
const [url, addresses, duration, executablePath, shot] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });

/** The plugin's frame, once its button is there. */
async function pluginFrame(page) {
  for (let i = 0; i < 480; i++) {
    for (const frame of page.frames()) {
      const button = frame.getByRole('button', { name: /capture profile/i }).first();
      if (await button.count().catch(() => 0)) return { frame, button };
    }
    await page.waitForTimeout(500);
  }
  throw new Error('no button CAPTURE PROFILE within 240 s');
}

try {
  const page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
  await page.goto(url + '/#profile', { waitUntil: 'domcontentloaded' });
  const { frame, button } = await pluginFrame(page);
  await button.click();
  const dialog = frame.locator('mat-dialog-container');
  await dialog.getByPlaceholder('localhost:6009,localhost:6010').fill(addresses);
  await dialog.getByLabel(/duration/i).first().fill(duration);
  const answered = page.waitForResponse((r) => r.url().includes('/capture_profile'), { timeout: 240000 });
  await dialog.getByRole('button', { name: /^capture$/i }).click();
  const answer = await answered;
  const body = await answer.text();
  const bar = frame.locator('mat-snack-bar-container, .mat-mdc-snack-bar-container').first();
  await bar.waitFor({ timeout: 5000 }).catch(() => {}); // for the picture
  const shown = (await bar.count()) ? (await bar.innerText()).trim() : '';
  if (shot) await page.screenshot({ path: shot });
  console.log(JSON.stringify({ status: answer.status(), body, shown }));
} finally {
  await browser.close();
}
