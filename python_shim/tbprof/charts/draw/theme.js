/* SPDX-License-Identifier: Apache-2.0
 *
 * Light or dark is what the page behind the chart is, not what the system prefers: the plugin's
 * page stays white on a dark system. The style sheet is added with the first drawing.
 */
tbc.define('theme', ['color', 'style'], function (color, style) {
  const ID = 'tbprof-charts-style';

  function install() {
    if (document.getElementById(ID)) return;
    const element = document.createElement('style');
    element.id = ID;
    element.textContent = style.CSS;
    document.head.insertBefore(element, document.head.firstChild);
  }

  /** Is what lies behind the element dark? Without any background the page's colour scheme says. */
  function isDark(element) {
    for (let at = element; at; at = at.parentElement) {
      const rgb = color.parse(getComputedStyle(at).backgroundColor);
      if (rgb && rgb[3] > 0.5) return color.luminance(rgb) < 0.25;
    }
    const scheme = getComputedStyle(document.documentElement).colorScheme || '';
    const prefersDark =
      window.matchMedia && window.matchMedia('(prefers-color-scheme: dark)').matches;
    return scheme.indexOf('dark') >= 0 && (scheme.indexOf('light') < 0 || prefersDark);
  }

  return { install: install, isDark: isDark };
});
