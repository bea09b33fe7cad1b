/* SPDX-License-Identifier: Apache-2.0
 *
 * The local charts for tests: the files of manifest.txt put together as python_shim does it, and
 * their modules one by one (those that need no browser).
 */
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const here = path.dirname(fileURLToPath(import.meta.url));
export const folder = path.join(here, '../../python_shim/tbprof/charts');

export function fileNames() {
  const lines = fs.readFileSync(path.join(folder, 'manifest.txt'), 'utf8').split('\n');
  return lines.map((line) => line.trim()).filter((line) => line && !line.startsWith('#'));
}

export function bundle() {
  const parts = fileNames().map((name) => fs.readFileSync(path.join(folder, name), 'utf8'));
  return "(function () {\n'use strict';\n" + parts.join('') + '})();\n';
}

/** A fresh set of modules; get(name) is the object that the module made. */
export function modules() {
  const parts = fileNames().map((name) => fs.readFileSync(path.join(folder, name), 'utf8'));
  return new Function("'use strict';" + parts.join('') + 'return tbc;')();
}
