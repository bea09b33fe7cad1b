/* SPDX-License-Identifier: Apache-2.0
 *
 * Pointing, clicking and keys in a chart with axes. The items are searched by arithmetic, not by
 * elements under the pointer, so thin lines and small points are easy to hit and a chart of many
 * points stays quick. An item is { row, series, x, y, box? }.
 */
tbc.define('hover', ['svg'], function (svg) {
  const REACH = { line: 40, scatter: 18 };

  function inside(box, x, y, slack) {
    return (
      x >= box.x - slack &&
      x <= box.x + box.width + slack &&
      y >= box.y - slack &&
      y <= box.y + box.height + slack
    );
  }

  /** The item at a pixel: a bar that contains it, else the nearest point within reach. */
  function find(items, x, y) {
    let best = null;
    let least = Infinity;
    for (const item of items) {
      if (item.box) {
        if (inside(item.box, x, y, 1)) return item;
        continue;
      }
      const dx = item.x - x;
      const dy = item.y - y;
      const distance = dx * dx + dy * dy;
      if (distance < least) {
        least = distance;
        best = item;
      }
    }
    if (!best) return null;
    const reach = best.scatter ? REACH.scatter + best.series.pointSize / 2 : REACH.line;
    return least <= reach * reach ? best : inBand(items, x, y);
  }

  /** Inside a filled area: the nearest row, and of its series the one just above the pixel. */
  function inBand(items, x, y) {
    let row = -1;
    let least = Infinity;
    for (const item of items) {
      if (item.band && Math.abs(item.x - x) < least) {
        least = Math.abs(item.x - x);
        row = item.row;
      }
    }
    let best = null;
    for (const item of items) {
      if (item.band && item.row === row && item.y <= y && (!best || item.y > best.y)) best = item;
    }
    return best;
  }

  /** All items of the row that is nearest along the domain (focusTarget "category"). */
  function findRow(items, x, y, vertical) {
    let best = null;
    let least = Infinity;
    for (const item of items) {
      const at = item.box
        ? vertical
          ? item.box.y + item.box.height / 2
          : item.box.x + item.box.width / 2
        : vertical
          ? item.y
          : item.x;
      const distance = Math.abs(at - (vertical ? y : x));
      if (distance < least) {
        least = distance;
        best = item;
      }
    }
    return best;
  }

  /** The mark around an item: an outline of a bar, a dot on a line, a ring around a point. */
  function emphasize(parent, item, selected) {
    if (item.box) {
      svg.rect(
        parent,
        {
          x: item.box.x - 0.5,
          y: item.box.y - 0.5,
          width: item.box.width + 1,
          height: item.box.height + 1,
        },
        { class: 'tbc-ring', 'stroke-width': selected ? 2 : 1.25 }
      );
      return;
    }
    const radius = Math.max(4.5, item.series.pointSize / 2 + (item.scatter ? 2.5 : 1.5));
    const circle = { cx: svg.round(item.x), cy: svg.round(item.y), r: radius };
    if (!item.scatter)
      svg.element(
        'circle',
        Object.assign({ class: 'tbc-dot', fill: item.series.color }, circle),
        parent
      );
    if (item.scatter || selected) {
      svg.element(
        'circle',
        Object.assign({}, circle, {
          class: 'tbc-ring',
          'stroke-width': selected ? 2 : 1.5,
          r: radius + (item.scatter ? 0 : 2),
        }),
        parent
      );
    }
  }

  /** The next item for an arrow key: along the row direction, or to another series of the row. */
  function step(items, from, key) {
    if (!items.length) return null;
    if (!from) return items[0];
    const along = key === 'ArrowRight' ? 1 : key === 'ArrowLeft' ? -1 : 0;
    const same = items.filter((item) =>
      along ? item.series === from.series : item.row === from.row
    );
    same.sort((a, b) => (along ? a.row - b.row : a.series.index - b.series.index));
    const at = same.findIndex((item) => item.row === from.row && item.series === from.series);
    const by = along || (key === 'ArrowDown' ? 1 : -1);
    return same[Math.max(0, Math.min(same.length - 1, at + by))];
  }

  return { find, findRow, emphasize, step };
});
