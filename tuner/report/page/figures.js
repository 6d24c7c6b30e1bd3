// SPDX-License-Identifier: Apache-2.0
// Numbers over many rows: quantiles, means, groups.

/** The value at share `q` of sorted numbers, interpolated between neighbours. */
function quantile(sorted, q) {
  const at = (sorted.length - 1) * q, low = Math.floor(at);
  const next = Math.min(low + 1, sorted.length - 1);
  return sorted[low] + (sorted[next] - sorted[low]) * (at - low);
}

/** [least, first quartile, median, third quartile, most]. */
function fiveNumbers(values) {
  const sorted = Float64Array.from(values).sort();
  return [0, 0.25, 0.5, 0.75, 1].map((q) => quantile(sorted, q));
}

const geometricMean = (values) => Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length);

/** A map of keys to their rows, in the order of each key's first row. */
function grouped(rows, keyOf) {
  const groups = new Map();
  for (const row of rows) {
    const key = keyOf(row);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(row);
  }
  return groups;
}

const ascending = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b)));

/** The distinct values of `rows`, sorted. */
const distinctValues = (rows, valueOf) => [...new Set(rows.map(valueOf))].sort(ascending);

const plural = (count, word) => `${showNumber(count)} ${word}${count === 1 ? "" : "s"}`;
