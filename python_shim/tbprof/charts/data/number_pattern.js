/* SPDX-License-Identifier: Apache-2.0
 *
 * Number patterns in the notation of Unicode (#,##0.00, ##.#%, 0.###E0, '...' for literal text,
 * a second part after ';' for negative numbers). Reading a pattern and writing a number are
 * separate; patterns that were read are kept.
 */
tbc.define('number_pattern', [], function () {
  const NAMED = {
    '': '#,##0.###',
    decimal: '#,##0.###',
    percent: '#,##0%',
    scientific: '0.#####E0',
    currency: '$#,##0.00',
    none: '#.################',
  };
  const known = new Map();

  /** Splits "prefix digits suffix" of one part; text in quotes is literal, '' is one quote. */
  function split(part) {
    const out = { prefix: '', digits: '', suffix: '', scale: 1 };
    let quoted = false;
    for (let i = 0; i < part.length; i++) {
      const c = part[i];
      const where = out.digits ? 'suffix' : 'prefix';
      if (c === "'") {
        if (part[i + 1] === "'") out[where] += part[++i];
        else quoted = !quoted;
      } else if (!quoted && isDigitSign(part, i, out)) {
        out.digits += c;
      } else {
        if (!quoted && c === '%') out.scale = 100;
        if (!quoted && c === '\u2030') out.scale = 1000;
        out[where] += c;
      }
    }
    return out;
  }

  function isDigitSign(part, at, out) {
    if (out.suffix) return false;
    const c = part[at];
    if ('#0,.'.indexOf(c) >= 0) return true;
    const exponent = c === 'E' && out.digits && /^E\+?0/.test(part.slice(at));
    return exponent || (c === '+' && out.digits.slice(-1) === 'E');
  }

  function count(text, sign) {
    return text.split(sign).length - 1;
  }

  function read(pattern) {
    const text = pattern in NAMED ? NAMED[pattern] : pattern;
    if (known.has(text)) return known.get(text);
    const parts = text.split(/;(?=(?:[^']*'[^']*')*[^']*$)/);
    const main = split(parts[0]);
    const negative = parts[1] === undefined ? null : split(parts[1]);
    const mantissa = main.digits.split('E')[0];
    const exponent = main.digits.split('E')[1];
    const whole = mantissa.split('.')[0];
    const fraction = mantissa.split('.')[1] || '';
    const minWhole = count(whole, '0') || (count(whole, '#') ? 1 : 0);
    const group = whole.lastIndexOf(',');
    const out = {
      prefix: main.prefix,
      suffix: main.suffix,
      scale: main.scale,
      negativePrefix: negative ? negative.prefix : '-' + main.prefix,
      negativeSuffix: negative ? negative.suffix : main.suffix,
      minWhole: minWhole,
      minFraction: count(fraction, '0'),
      maxFraction: fraction.length,
      group: group < 0 ? 0 : whole.length - group - 1,
      exponent: exponent === undefined ? 0 : count(exponent, '0'),
    };
    known.set(text, out);
    return out;
  }

  function grouped(digits, size, sign) {
    if (!size) return digits;
    let out = '';
    for (let end = digits.length; end > 0; end -= size) {
      const piece = digits.slice(Math.max(0, end - size), end);
      out = out ? piece + sign + out : piece;
    }
    return out;
  }

  /** The digits of a number >= 0: fixed point, zeros beyond the smallest fraction cut off. */
  function fixed(value, minWhole, minFraction, maxFraction) {
    const text = value < 1e21 ? value.toFixed(Math.min(maxFraction, 100)) : String(BigInt(value));
    const dot = text.indexOf('.');
    let whole = dot < 0 ? text : text.slice(0, dot);
    let fraction = dot < 0 ? '' : text.slice(dot + 1);
    while (fraction.length > minFraction && fraction.slice(-1) === '0')
      fraction = fraction.slice(0, -1);
    while (whole.length < minWhole) whole = '0' + whole;
    if (!minWhole && whole === '0' && fraction) whole = '';
    return { whole: whole, fraction: fraction };
  }

  function write(value, pattern, signs) {
    const p = typeof pattern === 'string' ? read(pattern) : pattern;
    const point = (signs && signs.decimal) || '.';
    const comma = signs && signs.group !== undefined ? signs.group : ',';
    if (Number.isNaN(value)) return 'NaN';
    const size = Math.abs(value) * p.scale;
    if (!Number.isFinite(size)) return (value < 0 ? '-' : '') + '\u221e';
    let power = 0;
    if (p.exponent && size) power = Math.floor(Math.log10(size)) + 1 - Math.max(1, p.minWhole);
    const d = fixed(size / Math.pow(10, power), p.minWhole, p.minFraction, p.maxFraction);
    let text = grouped(d.whole, p.group, comma) + (d.fraction ? point + d.fraction : '');
    if (p.exponent)
      text += 'E' + (power < 0 ? '-' : '') + String(Math.abs(power)).padStart(p.exponent, '0');
    const minus = value < 0 && /[1-9]/.test(text);
    return (minus ? p.negativePrefix : p.prefix) + text + (minus ? p.negativeSuffix : p.suffix);
  }

  const UNITS = [
    [1e12, 'T', ' trillion'],
    [1e9, 'B', ' billion'],
    [1e6, 'M', ' million'],
    [1e3, 'K', ' thousand'],
  ];
  /** 1234567 as "1.23M" (short) or "1.23 million" (long). */
  function compact(value, long) {
    const unit = UNITS.find((u) => Math.abs(value) >= u[0] * 0.9995);
    if (!unit) return write(value, '#,##0.##');
    return write(value / unit[0], '#,##0.##') + unit[long ? 2 : 1];
  }

  /** What an axis or a formatter was told: a pattern, a name, or nothing. */
  function format(value, pattern) {
    if (pattern === 'short') return compact(value, false);
    if (pattern === 'long') return compact(value, true);
    return write(value, pattern || '');
  }

  return { read: read, write: write, format: format };
});
