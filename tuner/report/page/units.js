// SPDX-License-Identifier: Apache-2.0
// Numbers for people, as in cache/base/units.cpp: four significant digits, the unit that fits.

/** `value` with `digits` significant digits and no exponent. */
function significant(value, digits) {
  if (!Number.isFinite(value)) return String(value);
  if (value === 0) return "0";
  const rounded = Number(value.toPrecision(digits));
  const whole = Math.floor(Math.log10(Math.abs(rounded))) + 1;
  return rounded.toFixed(Math.min(17, Math.max(0, digits - whole)));
}

function scaled(value, steps, digits) {
  const margin = 1 - 0.5 * 10 ** -digits;
  let step = steps[0];
  for (const candidate of steps) {
    if (Math.abs(value) >= candidate[0] * margin) step = candidate;
  }
  return `${significant(value / step[0], digits)} ${step[1]}`.trim();
}

const kTimeSteps = [[1, "ns"], [1e3, "µs"], [1e6, "ms"], [1e9, "s"]];
const kCountSteps = [[1, ""], [1e3, "k"], [1e6, "M"], [1e9, "G"], [1e12, "T"], [1e15, "P"]];
const kByteSteps = [[1, "B"], [1024, "KiB"], [1024 ** 2, "MiB"], [1024 ** 3, "GiB"], [1024 ** 4, "TiB"]];

const showTime = (nanoseconds) => scaled(nanoseconds, kTimeSteps, 4);
const showShare = (fraction) => `${significant(fraction * 100, 3)} %`;
const showRatio = (ratio) => `${significant(ratio, ratio > 0.9 && ratio < 1.1 ? 4 : 3)}x`;

/** 1234567 becomes "1,234,567", for counts. */
const showNumber = (count) => count.toLocaleString("en-US");

/** A text of the functions above without needless zeros, for axes: "2.000 µs" becomes "2 µs". */
const withoutZeros = (text) => text.replace(/(\.\d*?)0+(?=\D|$)/, "$1").replace(/\.(?=\D|$)/, "");

function showCount(count) {
  if (count < 999.5 && Number.isInteger(count)) return String(count);
  return scaled(count, kCountSteps, 4);
}

function showBytes(bytes) {
  let step = kByteSteps[0];
  for (const candidate of kByteSteps) {
    if (Math.abs(bytes) >= candidate[0]) step = candidate;
  }
  const value = bytes / step[0];
  return `${Number.isInteger(value) ? value : significant(value, 3)} ${step[1]}`;
}

function showDuration(seconds) {
  const whole = Math.round(Math.max(seconds, 0));
  const two = (number) => String(number).padStart(2, "0");
  if (seconds < 9.95) return `${withoutZeros(Math.max(seconds, 0).toFixed(1))} s`;
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${two(whole % 60)} s`;
  return `${Math.floor(whole / 3600)} h ${two(Math.floor((whole % 3600) / 60))} min`;
}

/** A moment on an axis: "2 min" for 120 s, and milliseconds below a second. */
function showTick(seconds) {
  if (seconds > 0 && seconds < 1) return withoutZeros(showTime(seconds * 1e9));
  return showDuration(seconds).replace(/ 00 (s|min)$/, "");
}

/** "2026-03-01 14:05 UTC", from seconds since 1970. */
const showMoment = (seconds) => `${new Date(seconds * 1000).toISOString().slice(0, 16).replace("T", " ")} UTC`;

const kShow = {
  none: (value) => (typeof value === "number" && !Number.isInteger(value) ? value.toPrecision(3) : String(value)),
  nanoseconds: showTime,
  bytes: showBytes,
  rate: (value) => significant(value, 4),
  share: showShare,
  ratio: showRatio,
  count: showCount,
};

/** A cell as people read it; "-" if unknown. */
function showCell(value, unit) {
  if (value === null || value === undefined || value === "") return "-";
  if (value === true) return "yes";
  if (value === false) return "no";
  return typeof value === "number" ? kShow[unit](value) : String(value);
}
