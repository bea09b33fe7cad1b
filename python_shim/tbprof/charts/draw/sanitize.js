/* SPDX-License-Identifier: Apache-2.0
 *
 * Markup that comes with the data (links in tables, tooltips) is shown, but names of ops come from
 * files: only harmless elements and attributes stay, parsed in a document that runs nothing.
 */
tbc.define('sanitize', [], function () {
  const ELEMENTS = new Set(
    (
      'A ABBR B BIG BLOCKQUOTE BR CENTER CODE DD DIV DL DT EM FONT H1 H2 H3 H4 H5 H6 HR I KBD ' +
      'LABEL LI MARK OL P PRE S SAMP SECTION SMALL SPAN STRIKE STRONG SUB SUP TABLE TBODY TD ' +
      'TFOOT TH THEAD TR TT U UL VAR'
    ).split(' ')
  );
  const ATTRIBUTES = new Set(
    (
      'align alt aria-label bgcolor border class color colspan dir face height href ' +
      'id lang name rel role rowspan size style target title valign width'
    ).split(' ')
  );
  const DROPPED = new Set('SCRIPT STYLE IFRAME OBJECT EMBED TEMPLATE NOSCRIPT SVG MATH'.split(' '));

  function safeLink(text) {
    const plain = text.replace(/[\u0000-\u0020]+/g, '').toLowerCase();
    const scheme = /^([a-z][a-z0-9+.-]*):/.exec(plain);
    return !scheme || ['http', 'https', 'mailto'].indexOf(scheme[1]) >= 0;
  }

  function safeStyle(text) {
    return !/url\s*\(|expression|javascript:|@import|\\/i.test(text);
  }

  function keep(attribute) {
    const name = attribute.name.toLowerCase();
    if (!ATTRIBUTES.has(name) && name.slice(0, 5) !== 'data-') return false;
    if (name === 'href') return safeLink(attribute.value);
    return name !== 'style' || safeStyle(attribute.value);
  }

  function copy(from, to, owner) {
    for (const node of Array.from(from.childNodes)) {
      if (node.nodeType === 3) {
        to.appendChild(owner.createTextNode(node.nodeValue));
      } else if (node.nodeType === 1 && !DROPPED.has(node.nodeName.toUpperCase())) {
        copyElement(node, to, owner);
      }
    }
  }

  function copyElement(node, to, owner) {
    if (!ELEMENTS.has(node.nodeName)) {
      copy(node, to, owner); // an unknown element: its text stays
      return;
    }
    const element = owner.createElement(node.nodeName.toLowerCase());
    for (const attribute of Array.from(node.attributes)) {
      if (keep(attribute)) element.setAttribute(attribute.name, attribute.value);
    }
    if (element.target === '_blank') element.rel = 'noopener noreferrer';
    copy(node, element, owner);
    to.appendChild(element);
  }

  /** "kernel<float, 4>" is no markup: a "<" that opens no known element is text. */
  function plainBrackets(text) {
    return text.replace(/<(?=\/?([a-z][a-z0-9]*)?([\s/>]|$)?)/gi, (all, name, end) => {
      const upper = (name || '').toUpperCase();
      return end !== undefined && (ELEMENTS.has(upper) || DROPPED.has(upper)) ? all : '&lt;';
    });
  }

  /** Puts markup into an element, without anything that could act. */
  function setHtml(element, html) {
    const text = String(html);
    element.textContent = '';
    if (!/[<&]/.test(text)) {
      element.textContent = text;
      return;
    }
    const parsed = new DOMParser().parseFromString(
      '<!doctype html><body>' + plainBrackets(text),
      'text/html'
    );
    copy(parsed.body, element, element.ownerDocument);
  }

  return { setHtml: setHtml, safeLink: safeLink, plainBrackets: plainBrackets };
});
