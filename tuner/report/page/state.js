// SPDX-License-Identifier: Apache-2.0
// The state of the page: view, filters and choices. All of it is in the address behind #, so that a view can be linked
// to and the browser's Back returns to it.

const kFilters = ["op", "dtype", "device", "mode"];

/** The choices of the address, as typed. */
function readAddress() {
  return Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
}

/** The address with `changes`; an empty value removes a choice. */
function addressOf(changes) {
  const words = new URLSearchParams(readAddress());
  for (const [name, value] of Object.entries(changes)) {
    if (value === "" || value === null || value === undefined) words.delete(name);
    else words.set(name, value);
  }
  return `#${words}`;
}

function go(changes) {
  location.hash = addressOf(changes);
}

/** The values of each filter, given those before it: {op: [...], dtype: [...], device: [...], mode: [...]}. */
function filterValues(state) {
  const tried = triedKinds("all");
  const fit = (kind, names) => names.every((name) => !state[name] || kind[name] === state[name]);
  const distinct = (name, names) => [...new Set(tried.filter((kind) => fit(kind, names)).map((kind) => kind[name]))];
  return {
    op: distinct("op", []).sort(),
    dtype: distinct("dtype", ["op"]).sort(),
    device: distinct("device", []),
    mode: distinct("mode", ["device"]).sort(),
  };
}

/** Each kind of problem that has trials, with their numbers: {op, dtype, device, mode, problems, trials, tried, failed,
 *  pruned}, the most trials first. */
const triedKinds = remembering(() => {
  return report.kinds.map((kind) => {
    const {op, dtype} = report.specs[kind.spec];
    return {...kind, op, dtype, device: report.devices[kind.device].fingerprint, mode: report.modes[kind.mode]};
  }).sort((a, b) => b.trials - a.trials);
});

/** The address's choices, completed: always a device and a mode (times of different ones are not compared), an op and a
 *  dtype if the view needs them. Choices that the cache does not have are ignored. */
function stateFor(view) {
  const state = {op: "", dtype: "", device: "", mode: "", ...readAddress()};
  const first = (name, names) => {
    const fits = triedKinds("all").filter((kind) => names.every((other) => !state[other] || kind[other] === state[other]));
    return fits.length > 0 ? fits[0][name] : "";
  };
  const known = (name) => triedKinds("all").some((kind) => kind[name] === state[name]);
  for (const name of kFilters) {
    if (state[name] && !known(name)) state[name] = "";
  }
  if (!state.device) state.device = first("device", ["op", "dtype", "mode"]);
  if (!state.mode) state.mode = first("mode", ["device", "op", "dtype"]);
  if (!state.op && view.needs.includes("op")) state.op = first("op", ["device", "mode", "dtype"]);
  if (state.dtype && !filterValues(state).dtype.includes(state.dtype)) state.dtype = "";
  if (!state.dtype && view.needs.includes("dtype")) state.dtype = first("dtype", ["op", "device", "mode"]);
  return state;
}
