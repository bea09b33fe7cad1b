/* SPDX-License-Identifier: Apache-2.0
 *
 * Building blocks of a drawing: elements, paths, and the width of a text before it is drawn.
 */
tbc.define('svg', ['color'], function (color) {
  const NS = 'http://www.w3.org/2000/svg';
  const widths = new Map();
  let context = null;

  function element(name, attributes, parent) {
    const node = document.createElementNS(NS, name);
    for (const key of Object.keys(attributes || {})) {
      const value = attributes[key];
      if (value !== undefined && value !== null) node.setAttribute(key, value);
    }
    if (parent) parent.appendChild(node);
    return node;
  }

  function html(name, className, parent, text) {
    const node = document.createElement(name);
    if (className) node.className = className;
    if (text !== undefined) node.textContent = text;
    if (parent) parent.appendChild(node);
    return node;
  }

  /** A text style of the options as what drawing needs. */
  function font(style, base) {
    const s = style || {};
    return {
      size: Number(s.fontSize) || base.size,
      family: s.fontName || base.family,
      bold: s.bold === undefined ? Boolean(base.bold) : Boolean(s.bold),
      italic: s.italic === undefined ? Boolean(base.italic) : Boolean(s.italic),
      color: s.color ? color.visible(s.color, base.dark) : null,
    };
  }

  function width(text, f) {
    const css = (f.italic ? 'italic ' : '') + (f.bold ? 'bold ' : '') + f.size + 'px ' + f.family;
    const key = css + '|' + text;
    if (widths.has(key)) return widths.get(key);
    if (!context) context = document.createElement('canvas').getContext('2d');
    context.font = css;
    const value = context.measureText(text).width;
    if (widths.size > 20000) widths.clear();
    widths.set(key, value);
    return value;
  }

  /** The text, or its beginning with "..." that fits into `room` pixels ('' when nothing does). */
  function fit(text, f, room) {
    if (width(text, f) <= room) return text;
    let low = 0;
    let high = text.length;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (width(text.slice(0, middle) + '\u2026', f) <= room) low = middle;
      else high = middle - 1;
    }
    return low ? text.slice(0, low).trimEnd() + '\u2026' : '';
  }

  /** A <text>; what was cut off is in its <title>. */
  function text(parent, content, f, attributes, full) {
    const node = element(
      'text',
      Object.assign(
        {
          'font-size': f.size,
          'font-weight': f.bold ? 'bold' : null,
          'font-style': f.italic ? 'italic' : null,
          style:
            (f.family === 'inherit' ? '' : 'font-family:' + f.family + ';') +
            (f.color ? 'fill:' + f.color : ''),
        },
        attributes
      ),
      parent
    );
    node.textContent = content;
    if (full !== undefined && full !== content) element('title', {}, node).textContent = full;
    return node;
  }

  const round = (value) => Math.round(value * 100) / 100;

  function rect(parent, box, attributes) {
    return element(
      'rect',
      Object.assign(
        {
          x: round(box.x),
          y: round(box.y),
          width: round(Math.max(0, box.width)),
          height: round(Math.max(0, box.height)),
        },
        attributes
      ),
      parent
    );
  }

  function line(parent, x1, y1, x2, y2, attributes) {
    return element(
      'line',
      Object.assign({ x1: round(x1), y1: round(y1), x2: round(x2), y2: round(y2) }, attributes),
      parent
    );
  }

  return { element, html, font, width, fit, text, rect, line, round };
});
