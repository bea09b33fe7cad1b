/* SPDX-License-Identifier: Apache-2.0
 *
 * Dates: the text form in which tables carry them, Date(year, month, ...), and patterns for showing
 * them (yyyy-MM-dd HH:mm:ss.SSS and the like). English names; months count from zero as in JS.
 */
tbc.define('date_pattern', [], function () {
  const MONTHS = [
    'January',
    'February',
    'March',
    'April',
    'May',
    'June',
    'July',
    'August',
    'September',
    'October',
    'November',
    'December',
  ];
  const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
  const NAMED = { short: 'M/d/yy', medium: 'MMM d, yyyy', long: 'MMMM d, yyyy' };
  const pad = (value, width) => String(value).padStart(width, '0');

  /** "Date(2024, 0, 31)" becomes a Date; everything else stays what it is. */
  function revive(value) {
    if (typeof value !== 'string' || value.slice(0, 5) !== 'Date(') return value;
    const parts = value.slice(5, -1).split(',').map(Number);
    if (parts.some(Number.isNaN)) return value;
    return parts.length === 1 ? new Date(parts[0]) : new Date(...parts);
  }

  const FIELDS = {
    y: (d, n) => (n === 2 ? pad(d.getFullYear() % 100, 2) : String(d.getFullYear())),
    M: (d, n) =>
      n > 3
        ? MONTHS[d.getMonth()]
        : n === 3
          ? MONTHS[d.getMonth()].slice(0, 3)
          : pad(d.getMonth() + 1, n),
    d: (d, n) => pad(d.getDate(), n),
    E: (d, n) => (n > 3 ? DAYS[d.getDay()] : DAYS[d.getDay()].slice(0, 3)),
    H: (d, n) => pad(d.getHours(), n),
    h: (d, n) => pad(d.getHours() % 12 || 12, n),
    m: (d, n) => pad(d.getMinutes(), n),
    s: (d, n) => pad(d.getSeconds(), n),
    S: (d, n) => pad(d.getMilliseconds(), 3).slice(0, n),
    a: (d) => (d.getHours() < 12 ? 'AM' : 'PM'),
  };

  function write(date, pattern) {
    const text = NAMED[pattern] || pattern;
    return text.replace(/'([^']*)'|([yMdEHhmsSa])\2*/g, (all, literal, field) =>
      field ? FIELDS[field](date, all.length) : literal || "'"
    );
  }

  const TYPES = { date: 'MMM d, yyyy', datetime: 'MMM d, yyyy, h:mm:ss a' };
  function defaultText(value, type) {
    if (Array.isArray(value))
      return value
        .slice(0, 3)
        .map((v) => pad(v || 0, 2))
        .join(':');
    return value instanceof Date ? write(value, TYPES[type] || TYPES.datetime) : String(value);
  }

  return { revive: revive, write: write, defaultText: defaultText };
});
