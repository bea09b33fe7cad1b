/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the plot lies inside a chart. The options give any of left, top, right, bottom, width and
 * height in pixels or per cent; what is left out is placed so that the plot takes the golden
 * section of the chart (61.8 %) in the middle, which the pages are laid out for. Room that texts
 * need and do not get is then taken from the plot.
 */
tbc.define('layout', [], function () {
  const SHARE = 0.618;

  /** A length option in pixels, or null for "not given". */
  function length(value, total) {
    if (value === undefined || value === null || value === '' || value === 'auto') return null;
    if (typeof value === 'string' && value.trim().slice(-1) === '%')
      return (parseFloat(value) / 100) * total;
    const number = parseFloat(value);
    return Number.isFinite(number) ? number : null;
  }

  /** Start and size along one direction from start, end margin and size, each maybe null. */
  function span(start, end, size, total) {
    if (start !== null && end !== null) return { start: start, size: total - start - end };
    const wanted = size !== null ? Math.min(size, total) : null;
    if (start !== null) {
      const rest = total - start;
      return {
        start: start,
        size: Math.min(rest, wanted !== null ? wanted : rest - (total * (1 - SHARE)) / 2),
      };
    }
    const length = wanted !== null ? wanted : total * SHARE;
    if (end !== null)
      return { start: Math.max(0, total - end - length), size: Math.min(length, total - end) };
    return { start: (total - length) / 2, size: length };
  }

  function chartArea(size, options) {
    const o = options || {};
    const x = span(
      length(o.left, size.width),
      length(o.right, size.width),
      length(o.width, size.width),
      size.width
    );
    const y = span(
      length(o.top, size.height),
      length(o.bottom, size.height),
      length(o.height, size.height),
      size.height
    );
    return { x: x.start, y: y.start, width: Math.max(1, x.size), height: Math.max(1, y.size) };
  }

  /** Shrinks an area so that `need` pixels remain on each side, but keeps a third of the chart. */
  function makeRoom(area, need, size) {
    const least = { width: size.width * 0.33, height: size.height * 0.33 };
    let left = Math.max(area.x, need.left || 0);
    let right = Math.min(area.x + area.width, size.width - (need.right || 0));
    let top = Math.max(area.y, need.top || 0);
    let bottom = Math.min(area.y + area.height, size.height - (need.bottom || 0));
    if (right - left < least.width) {
      left = Math.min(left, right - least.width);
    }
    if (bottom - top < least.height) {
      top = Math.max(0, bottom - least.height);
    }
    left = Math.max(0, left);
    right = Math.max(left + 1, right);
    bottom = Math.max(top + 1, bottom);
    return { x: left, y: top, width: right - left, height: bottom - top };
  }

  return { length, chartArea, makeRoom };
});
