/* SPDX-License-Identifier: Apache-2.0
 *
 * The one tooltip of the document. It floats above everything, follows the item that is pointed
 * at, stays inside the window, and goes away with the chart it belongs to.
 */
tbc.define('tooltip', ['svg', 'sanitize'], function (svg, sanitize) {
  let box = null;
  let owner = null;

  function create() {
    box = svg.html('div', 'tbc tbc-tip google-visualization-tooltip', document.body);
    box.setAttribute('role', 'tooltip');
    box.hidden = true;
    const check = () => {
      if (owner && !owner.isConnected) hide(owner);
    };
    document.addEventListener('pointermove', check, true);
    window.addEventListener('blur', () => hide(owner));
    window.addEventListener(
      'scroll',
      () => {
        if (!isSticky()) hide(owner);
      },
      true
    );
  }

  const isSticky = () => Boolean(box) && box.classList.contains('tbc-stay');

  /** Content: {html} or {text} as the data gave it, or {head, rows: [{color, label, value}]}. */
  function fill(content) {
    box.textContent = '';
    if (content.html !== undefined) {
      sanitize.setHtml(svg.html('div', '', box), content.html);
    } else if (content.text !== undefined) {
      svg.html('div', 'tbc-tip-text', box, content.text);
    } else {
      if (content.head) svg.html('div', 'tbc-tip-head', box, content.head);
      for (const row of content.rows) {
        const line = svg.html('div', 'tbc-tip-row', box);
        if (row.color) svg.html('i', '', line).style.background = row.color;
        svg.html('span', '', line, row.label);
        svg.html('b', '', line, row.value);
      }
    }
  }

  function place(x, y) {
    const gap = 12;
    const r = box.getBoundingClientRect();
    const left = x + gap + r.width > window.innerWidth - 4 ? x - gap - r.width : x + gap;
    const top = y - gap - r.height < 4 ? y + gap : y - gap - r.height;
    box.style.left =
      Math.round(Math.max(4, Math.min(left, window.innerWidth - r.width - 4))) + 'px';
    box.style.top =
      Math.round(Math.max(4, Math.min(top, window.innerHeight - r.height - 4))) + 'px';
  }

  /** Shows content at window coordinates; `stay`: the pointer may go into it. */
  function show(element, content, x, y, settings) {
    if (!box || !box.isConnected) create();
    owner = element;
    box.classList.toggle('tbc-dark', settings.dark);
    box.classList.toggle('tbc-stay', Boolean(settings.stay));
    box.classList.toggle('tbc-html', content.html !== undefined);
    box.hidden = false;
    box.style.left = box.style.top = '0';
    fill(content);
    place(x, y);
  }

  function hide(element) {
    if (!box || owner !== element) return;
    owner = null;
    box.hidden = true;
  }

  return { show, hide };
});
