// SPDX-License-Identifier: Apache-2.0
// The report's data, as tuner/report/page_data.cpp wrote it: columns, read when a view first asks for them.

const report = JSON.parse(document.getElementById("data").textContent);

const kArrays = {u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, f32: Float32Array};

/** A typed array from `{type, data}`, where data is base64. */
function unpack(packed) {
  const text = atob(packed.data);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; ++i) bytes[i] = text.charCodeAt(i);
  return new kArrays[packed.type](bytes.buffer);
}

/** `object` with its packed members unpacked at their first use. */
function lazily(object) {
  const result = {};
  for (const [name, value] of Object.entries(object)) {
    if (value === null || typeof value !== "object" || !("data" in value)) {
      result[name] = value;
      continue;
    }
    Object.defineProperty(result, name, {
      enumerable: true,
      configurable: true,
      get() {
        const array = unpack(value);
        Object.defineProperty(result, name, {value: array, enumerable: true});
        return array;
      },
    });
  }
  return result;
}

const trials = lazily(report.trials);
const builds = lazily(report.builds);
const problems = lazily(report.problems);
const kOk = report.statuses.indexOf("ok");
const kPruned = report.statuses.indexOf("pruned");
/** It was tried, and is not ok. */
const isFailure = (trial) => trials.status[trial] !== kOk && trials.status[trial] !== kPruned;

/** Calls `make` once for each key. */
function remembering(make) {
  const known = new Map();
  return (key) => {
    if (!known.has(key)) known.set(key, make(key));
    return known.get(key);
  };
}

/** {implementation, parameters: Map} of the config at a place. */
const configAt = remembering((place) => parseConfig(report.configs[place]));

/** Of "onchip{num_warps=4,vec=8}". */
function parseConfig(text) {
  const brace = text.indexOf("{");
  if (brace < 0) return {implementation: text, parameters: new Map()};
  const inside = text.slice(brace + 1, -1);
  const pairs = inside === "" ? [] : inside.split(",").map((pair) => {
    const equals = pair.indexOf("=");
    return [pair.slice(0, equals), Number(pair.slice(equals + 1))];
  });
  return {implementation: text.slice(0, brace), parameters: new Map(pairs)};
}

const specOf = (problem) => report.specs[problems.spec[problem]];

/** "rows=4096 cols=1024 act=gelu": what tells a problem of one op and dtype from the others. */
function problemText(problem) {
  const spec = specOf(problem);
  const dims = spec.dims.map((name, i) => `${name}=${problems.dims[problem][i]}`);
  return [...dims, ...Object.entries(spec.attributes).map(([name, value]) => `${name}=${value}`)].join(" ");
}

/** "gemm[dtype=bf16,layout=nt]{m=64,n=4096,k=4096}", as everywhere in Tilewright. */
function shapeKey(problem) {
  const spec = specOf(problem);
  const inside = [`dtype=${spec.dtype}`, ...Object.entries(spec.attributes).map(([name, value]) => `${name}=${value}`)];
  const dims = spec.dims.map((name, i) => `${name}=${problems.dims[problem][i]}`);
  return `${spec.op}[${inside.join(",")}]{${dims.join(",")}}`;
}

/** Trials of each problem: places `order[starts[p]]` to `order[starts[p + 1]]`, oldest first. */
const trialsByProblem = remembering(() => {
  const starts = new Uint32Array(problems.dims.length + 1);
  for (let i = 0; i < trials.count; ++i) ++starts[trials.problem[i] + 1];
  for (let p = 0; p < problems.dims.length; ++p) starts[p + 1] += starts[p];
  const next = starts.slice();
  const order = new Uint32Array(trials.count);
  for (let i = 0; i < trials.count; ++i) order[next[trials.problem[i]]++] = i;
  return {starts, order};
});

function trialsOf(problem) {
  const {starts, order} = trialsByProblem("all");
  return order.subarray(starts[problem], starts[problem + 1]);
}
