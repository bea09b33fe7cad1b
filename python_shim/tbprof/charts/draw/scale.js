/* SPDX-License-Identifier: Apache-2.0
 *
 * From values to pixels: linear, logarithmic and category scales, and the round numbers at which
 * an axis is marked. Pure arithmetic; `from`/`to` are the pixels of the smallest and largest value
 * (to < from for an axis that grows upwards).
 */
tbc.define('scale', [], function () {
  /** Removes the noise of binary fractions: 0.30000000000000004 is 0.3. */
  const clean = (value) => Number(value.toPrecision(12));

  /** The smallest of 1, 2, 2.5 and 5 times a power of ten that makes at most `count` steps. */
  function niceStep(span, count) {
    const raw = span / Math.max(1, count);
    if (!(raw > 0) || !Number.isFinite(raw)) return 1;
    const power = Math.pow(10, Math.floor(Math.log10(raw)));
    const unit = [1, 2, 2.5, 5, 10].find((u) => raw <= u * power * (1 + 1e-9));
    return clean(unit * power);
  }

  /** The multiples of `step` inside [min, max]. */
  function multiples(min, max, step) {
    const out = [];
    const slack = 1e-9;
    const last = Math.floor(max / step + slack);
    for (let i = Math.ceil(min / step - slack); i <= last && out.length < 1000; i++) {
      out.push(clean(i * step) + 0); // + 0: no negative zero
    }
    return out;
  }

  /** Round ticks for [min, max]; with `extend` the range grows to the next ticks outside. */
  function linearTicks(min, max, count, extend) {
    let low = min;
    let high = max;
    if (!(high > low)) {
      high += Math.abs(low) || 1; // one value: zero (or its double) to its double (or zero)
      low -= Math.abs(low);
    }
    const step = niceStep(high - low, count);
    if (extend) {
      low = clean(Math.floor(low / step + 1e-9) * step);
      high = clean(Math.ceil(high / step - 1e-9) * step);
    }
    return { min: low, max: high, step: step, values: multiples(low, high, step) };
  }

  /** Powers of ten inside [min, max], thinned to at most `count`. */
  function logTicks(min, max, count) {
    const first = Math.ceil(Math.log10(min) - 1e-9);
    const last = Math.floor(Math.log10(max) + 1e-9);
    const every = Math.max(1, Math.ceil((last - first + 1) / Math.max(1, count)));
    const out = [];
    for (let i = first; i <= last; i += every) out.push(Number('1e' + i));
    return { min: min, max: max, step: 0, values: out };
  }

  function linear(min, max, from, to) {
    const span = max - min || 1;
    const scale = (value) => from + ((value - min) / span) * (to - from);
    scale.invert = (pixel) => min + ((pixel - from) / (to - from || 1)) * span;
    return Object.assign(scale, { type: 'linear', min: min, max: max, from: from, to: to });
  }

  /** Values that have no logarithm are NaN: nothing is drawn for them. */
  function log(min, max, from, to) {
    const low = Math.log(min);
    const span = Math.log(max) - low || 1;
    const scale = (value) =>
      value > 0 ? from + ((Math.log(value) - low) / span) * (to - from) : NaN;
    scale.invert = (pixel) => Math.exp(low + ((pixel - from) / (to - from || 1)) * span);
    return Object.assign(scale, { type: 'log', min: min, max: max, from: from, to: to });
  }

  /** Category i has the slot [i, i + 1); its place is the middle of the slot. */
  function category(count, from, to) {
    const slot = (to - from) / Math.max(1, count);
    const scale = (index) => from + (index + 0.5) * slot;
    scale.invert = (pixel) => (pixel - from) / (slot || 1) - 0.5;
    return Object.assign(scale, {
      type: 'category',
      min: 0,
      max: count - 1,
      from: from,
      to: to,
      slot: Math.abs(slot),
    });
  }

  /** Decimals that a step needs: 0.25 needs 2, 10 none. */
  function decimals(step) {
    if (!(step > 0)) return 0;
    const text = clean(step).toExponential();
    const digits = (text.split('e')[0].split('.')[1] || '').length;
    return Math.max(0, digits - Number(text.split('e')[1]));
  }

  return { niceStep, linearTicks, logTicks, linear, log, category, decimals };
});
