/* SPDX-License-Identifier: Apache-2.0
 *
 * What the data of a page breaks (cells of a wrong type, numbers that are none, rows too short) is
 * counted here and never stops a drawing. Tests read the list through window.__gviz.report().
 */
tbc.define('problems', [], function () {
  const LIMIT = 200;
  const list = [];

  function report(text) {
    if (list.length < LIMIT) list.push(text);
  }

  /** The complaint about a value that is not of a column's type, or '' when it fits. */
  function mismatch(type, value) {
    if (value === null || value === undefined) return '';
    const simple = type === 'number' || type === 'string' || type === 'boolean';
    if (simple && typeof value !== type) return JSON.stringify(value) + ' is not ' + type;
    if (type === 'number' && !Number.isFinite(value)) return value + ' is no finite number';
    return '';
  }

  return { list: list, report: report, mismatch: mismatch };
});
