/* SPDX-License-Identifier: Apache-2.0
 *
 * Colours: the palette of series that got none, and whether a colour can be seen on the page's
 * background (a page may ask for black on a dark one).
 */
tbc.define('color', [], function () {
  const PALETTE = [
    '#3b74d6',
    '#e07b39',
    '#2c9c72',
    '#b455c0',
    '#d4505a',
    '#1d9fb5',
    '#c99a1b',
    '#7d6bd9',
    '#82a52f',
    '#c75590',
    '#5d87a1',
    '#a3734f',
  ];
  let context = null;

  /** Any CSS colour as [red, green, blue, alpha], or null for none and transparent. */
  function parse(text) {
    if (!text || text === 'none' || text === 'transparent') return null;
    const hex = /^#([0-9a-f]{3}|[0-9a-f]{6})$/i.exec(text);
    if (hex) {
      const wide = hex[1].length === 6 ? hex[1] : hex[1].replace(/./g, '$&$&');
      return [0, 2, 4].map((i) => parseInt(wide.slice(i, i + 2), 16)).concat(1);
    }
    const rgb = /^rgba?\(([^)]*)\)$/.exec(text);
    if (rgb) {
      const parts = rgb[1]
        .split(/[\s,/]+/)
        .filter(Boolean)
        .map(Number);
      const alpha = parts.length > 3 ? parts[3] : 1;
      return alpha === 0 ? null : parts.slice(0, 3).concat(alpha);
    }
    return named(text);
  }

  function named(text) {
    if (typeof document === 'undefined') return null;
    if (!context) context = document.createElement('canvas').getContext('2d');
    if (!context) return null;
    context.fillStyle = '#010203';
    context.fillStyle = text;
    return context.fillStyle === '#010203' ? null : parse(context.fillStyle);
  }

  /** Relative luminance, 0 (black) to 1 (white), as defined for contrast on the web. */
  function luminance(rgb) {
    const [r, g, b] = rgb.slice(0, 3).map((value) => {
      const part = value / 255;
      return part <= 0.04045 ? part / 12.92 : Math.pow((part + 0.055) / 1.055, 2.4);
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  }

  function mix(rgb, other, share) {
    const part = rgb.slice(0, 3).map((value, i) => Math.round(value + (other[i] - value) * share));
    return 'rgb(' + part.join(', ') + ')';
  }

  /** Pages may leave the # of a colour out, which CSS does not know. */
  function css(text) {
    return /^([0-9a-f]{3}|[0-9a-f]{6})$/i.test(text) ? '#' + text : text;
  }

  /** The colour itself, or a lighter (darker) one when it would vanish on a dark (light) page. */
  function visible(given, dark) {
    const text = css(given);
    const rgb = parse(text);
    if (!rgb) return text;
    const light = luminance(rgb);
    if (dark && light < 0.09) return mix(rgb, [255, 255, 255], 0.45);
    if (!dark && light > 0.92) return mix(rgb, [0, 0, 0], 0.25);
    return text;
  }

  /** Black or white, whichever reads better on the colour. */
  function textOn(text) {
    const rgb = parse(text);
    return !rgb || luminance(rgb) > 0.36 ? '#1b1b1f' : '#ffffff';
  }

  return { PALETTE, parse, luminance, visible, textOn };
});
