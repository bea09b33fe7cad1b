/* SPDX-License-Identifier: Apache-2.0
 *
 * The legend: entries {text, color, dash, key} beside or above the plot. When there are more than
 * fit, it has pages. Pointing at an entry brings its series forward, a click selects it.
 */
tbc.define('legend', ['svg'], function (svg) {
  const SWATCH = 11;

  function read(option, base) {
    const given = typeof option === 'string' ? { position: option } : option || {};
    return {
      position: given.position || 'right',
      font: svg.font(given.textStyle, base),
      maxLines: Math.max(1, Number(given.maxLines) || 1),
    };
  }

  const rowHeight = (legend) => Math.round(legend.font.size * 1.55);

  /** Pixels that `count` entries take below each other. */
  function columnHeight(legend, count) {
    return count * rowHeight(legend);
  }

  /** Breaks entries into lines of at most `room` pixels, for a legend above or below. */
  function lines(legend, entries, room) {
    const out = [[]];
    let used = 0;
    for (const entry of entries) {
      const most = Math.max(60, room - SWATCH - 6);
      const text = svg.fit(entry.text, legend.font, most);
      const width = SWATCH + 6 + svg.width(text, legend.font) + 16;
      if (used && used + width - 16 > room) {
        out.push([]);
        used = 0;
      }
      out[out.length - 1].push({ entry: entry, text: text, x: used });
      used += width;
    }
    return out;
  }

  /** Pixels that a legend above or below the plot takes. */
  function heightOf(legend, entries, room) {
    if (legend.position !== 'top' && legend.position !== 'bottom') return 0;
    return Math.min(legend.maxLines, lines(legend, entries, room).length) * rowHeight(legend);
  }

  function drawEntry(parent, placed, legend, actions) {
    const entry = placed.entry;
    const group = svg.element(
      'g',
      {
        class: 'tbc-legend-entry',
        tabindex: -1,
        role: 'button',
        'aria-label': entry.text,
        'data-key': entry.key,
      },
      parent
    );
    const middle = placed.y + rowHeight(legend) / 2;
    svg.rect(
      group,
      { x: placed.x, y: placed.y, width: placed.width, height: rowHeight(legend) },
      { fill: 'transparent' }
    );
    if (entry.dash) {
      svg.line(group, placed.x, middle, placed.x + SWATCH, middle, {
        stroke: entry.color,
        'stroke-width': 2.5,
        'stroke-dasharray': '3 2',
      });
    } else {
      svg.rect(
        group,
        { x: placed.x, y: middle - SWATCH / 2, width: SWATCH, height: SWATCH },
        { fill: entry.color, rx: 2 }
      );
    }
    svg.text(
      group,
      placed.text,
      legend.font,
      { x: placed.x + SWATCH + 6, y: middle + legend.font.size * 0.35 },
      entry.text
    );
    group.addEventListener('mouseenter', () => actions.enter(entry.key));
    group.addEventListener('mouseleave', () => actions.leave(entry.key));
    group.addEventListener('click', () => actions.click(entry.key));
  }

  /** Places entries on pages: a list of pages, each a list of entries with x, y and width. */
  function paginate(legend, entries, box) {
    const height = rowHeight(legend);
    const fits = Math.max(1, Math.floor((box.height + 2) / height));
    const rows = box.flow
      ? lines(legend, entries, box.width)
      : entries.map((entry) => [
          { entry: entry, x: 0, text: svg.fit(entry.text, legend.font, box.width - SWATCH - 6) },
        ]);
    const perPage = rows.length > fits ? Math.max(1, fits - (box.flow ? 0 : 1)) : fits;
    const pages = [];
    for (let at = 0; at < rows.length; at += perPage) {
      pages.push(
        [].concat(
          ...rows.slice(at, at + perPage).map((row, i) =>
            row.map((item) =>
              Object.assign(item, {
                x: box.x + item.x,
                y: box.y + i * height,
                width: SWATCH + 6 + svg.width(item.text, legend.font),
              })
            )
          )
        )
      );
    }
    return pages;
  }

  /** Draws the legend into `box` {x, y, width, height, flow}; returns nothing. */
  function draw(parent, legend, entries, box, actions) {
    if (!entries.length || box.width < 20) return;
    const pages = paginate(legend, entries, box);
    const group = svg.element('g', { class: 'tbc-legend' }, parent);
    showPage(group, legend, pages, 0, box, actions);
  }

  function showPage(group, legend, pages, page, box, actions) {
    group.textContent = '';
    pages[page].forEach((placed) => drawEntry(group, placed, legend, actions));
    if (pages.length < 2) return;
    const height = rowHeight(legend);
    const y = box.flow ? box.y + height * 0.5 + 4 : box.y + (pages[0].length + 0.5) * height + 4;
    const x = box.flow ? box.x + box.width - 64 : box.x;
    const turn = (by) => showPage(group, legend, pages, page + by, box, actions);
    arrow(group, '\u25b2', x, y, page > 0 ? () => turn(-1) : null, legend.font);
    svg.text(group, page + 1 + '/' + pages.length, legend.font, {
      x: x + 16,
      y: y,
      class: 'tbc-muted',
    });
    arrow(
      group,
      '\u25bc',
      x + 22 + svg.width(page + 1 + '/' + pages.length, legend.font),
      y,
      page < pages.length - 1 ? () => turn(1) : null,
      legend.font
    );
  }

  function arrow(parent, sign, x, y, action, font) {
    const node = svg.text(parent, sign, font, {
      x: x,
      y: y,
      class: 'tbc-legend-page',
      role: 'button',
      'aria-disabled': action ? null : 'true',
    });
    if (action)
      node.addEventListener('click', (event) => {
        event.stopPropagation();
        action();
      });
  }

  return { read, heightOf, columnHeight, draw };
});
