// SPDX-License-Identifier: Apache-2.0
// The data of the page, as written by tuner/report/page_data.cpp: an index, and blocks that are opened when a view
// first needs them. A report contains both; a service sends them.

const kArrays = {u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, f32: Float32Array};
const kBlocks = ["winners", "evidence", "trials"];

/** The index: ops, devices, specs, sweeps, and the numbers of trials. */
let report = null;
/** The opened blocks of ops, one behind the other. A trial, a problem, a build or a config is a place in these. */
let trials, builds, problems, configs, reasons, winnerTables;
/** The names of the opened blocks. */
let opened;
const memories = [];

/** Calls `make` once for each key, until another block is opened. */
function remembering(make) {
  const known = new Map();
  memories.push(known);
  return (key) => {
    if (!known.has(key)) known.set(key, make(key));
    return known.get(key);
  };
}

function begin(index) {
  report = index;
  trials = {count: 0};
  builds = {count: 0};
  problems = {spec: [], dims: []};
  configs = [];
  reasons = [];
  winnerTables = new Map();
  opened = new Set();
  for (const known of memories) known.clear();
}

const textOf = (id) => document.getElementById(id)?.textContent;

function bytesOfBase64(text) {
  const binary = atob(text.trim());
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; ++i) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/** Unpacks a block: {json, column(packed) → typed array}. */
async function readBlock(compressed) {
  const stream = new Blob([compressed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const length = new DataView(bytes.buffer).getUint32(0, true);
  const json = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  const column = ({type, same, at, count}) => {
    const array = new kArrays[type](count);
    if (same !== undefined) return array.fill(same);
    const size = array.BYTES_PER_ELEMENT, own = new Uint8Array(array.buffer), from = 4 + length + at;
    for (let plane = 0; plane < size; ++plane) {
      const source = bytes.subarray(from + plane * count, from + (plane + 1) * count);
      for (let i = 0, to = plane; i < count; ++i, to += size) own[to] = source[i];
    }
    return array;
  };
  return {json, column};
}

/** The source of a report, whose elements hold all data. */
const kFile = {
  isLive: false,
  index: async () => JSON.parse(textOf("index")),
  block: async (name) => bytesOfBase64(textOf(name)),
};

/** The index of a cache that is empty or cannot be read. */
const emptyIndex = (note) => ({title: "", source: "", made: "", version: "", notes: [note], devices: [], specs: [], sweeps: [], gpus: [],
  modes: [], statuses: [], looks: [], kinds: [], ops: [], first_at: 0});

/** Opens the blocks of `kinds` of the ops that are not yet open; winners always, since they name the problems. */
async function openBlocks(ops, kinds) {
  const wanted = ops.flatMap((op) => kBlocks.filter((kind) => kind === "winners" || kinds.includes(kind)).map((kind) => [op, kind]))
    .filter(([op, kind]) => !opened.has(`${op}.${kind}`));
  if (wanted.length === 0) return;
  const index = report;
  const read = await Promise.all(wanted.map(async ([op, kind]) => ({op, kind, block: await readBlock(await source.block(`${op}.${kind}`))})));
  if (index !== report) return;
  const fresh = read.filter(({op, kind}) => !opened.has(`${op}.${kind}`));
  for (const {op, block} of fresh.filter(({kind}) => kind === "winners")) addWinners(op, block);
  for (const {op, block} of fresh.filter(({kind}) => kind === "evidence")) winnerTables.get(op).addEvidence(block);
  addTrials(fresh.filter(({kind}) => kind === "trials"));
  for (const {op, kind} of fresh) opened.add(`${op}.${kind}`);
  for (const known of memories) known.clear();
}

function addWinners(op, block) {
  const first = problems.dims.length;
  for (const spec of block.column(block.json.problems.spec)) problems.spec.push(spec);
  for (const dims of block.json.problems.dims) problems.dims.push(dims);
  winnerTables.set(op, new WinnerTable(op, first, block));
}

/** Adds trials and builds, and shifts places in the op's own arrays. Places that begin with 1 have 0 for none. */
function addTrials(read) {
  const trialParts = [], buildParts = [];
  let buildCount = builds.count;
  for (const {op, block} of read) {
    const part = Object.fromEntries(Object.entries(block.json.trials).map(([name, packed]) => [name, block.column(packed)]));
    part.problem = Uint32Array.from(part.problem, (place) => place + winnerTables.get(op).firstProblem);
    part.config = Uint32Array.from(part.config, (place) => place + configs.length);
    part.reason = Uint32Array.from(part.reason, (place) => place + reasons.length);
    part.build = Uint32Array.from(part.build, (place) => (place === 0 ? 0 : place + buildCount));
    part.low_ns = part.median_ns.map((median, i) => median * (1 - part.below[i] * 1e-5));
    part.high_ns = part.median_ns.map((median, i) => median * (1 + part.above[i] * 1e-5));
    configs.push(...block.json.configs);
    reasons.push(...block.json.reasons);
    trialParts.push(part);
    buildParts.push(Object.fromEntries(Object.entries(block.json.builds).map(([name, packed]) => [name, block.column(packed)])));
    buildCount += buildParts.at(-1).registers.length;
  }
  if (trialParts.length === 0) return;
  append(trials, trialParts, "problem");
  append(builds, buildParts, "registers");
}

/** Appends the columns of `parts` to those of `whole`, in the widest of their types. */
function append(whole, parts, counted) {
  for (const name of Object.keys(parts[0])) {
    const pieces = [...(name in whole ? [whole[name]] : []), ...parts.map((part) => part[name])];
    const widest = pieces.reduce((a, b) => (b.BYTES_PER_ELEMENT > a.BYTES_PER_ELEMENT ? b : a));
    const joined = new widest.constructor(pieces.reduce((sum, piece) => sum + piece.length, 0));
    let at = 0;
    for (const piece of pieces) {
      joined.set(piece, at);
      at += piece.length;
    }
    whole[name] = joined;
  }
  whole.count = whole[counted].length;
}

/** Each trial is ok, pruned, or a failure. */
const isOk = (trial) => report.statuses[trials.status[trial]] === "ok";
const isPruned = (trial) => report.statuses[trials.status[trial]] === "pruned";
const isFailure = (trial) => !isOk(trial) && !isPruned(trial);

/** The config at a place: {implementation, parameters: Map}. */
const configAt = remembering((place) => parseConfig(configs[place]));

/** Parses a config such as "onchip{num_warps=4,vec=8}". */
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

/** "rows=4096 cols=1024 act=gelu": the dims and attributes of a problem. */
function problemText(problem) {
  const spec = specOf(problem);
  const dims = spec.dims.map((name, i) => `${name}=${problems.dims[problem][i]}`);
  return [...dims, ...Object.entries(spec.attributes).map(([name, value]) => `${name}=${value}`)].join(" ");
}

/** The shape key: "gemm[dtype=bf16,layout=nt]{m=64,n=4096,k=4096}". */
function shapeKey(problem) {
  const spec = specOf(problem);
  const inside = [`dtype=${spec.dtype}`, ...Object.entries(spec.attributes).map(([name, value]) => `${name}=${value}`)];
  const dims = spec.dims.map((name, i) => `${name}=${problems.dims[problem][i]}`);
  return `${spec.op}[${inside.join(",")}]{${dims.join(",")}}`;
}

/** The trials of each problem: places `order[starts[p]]` to `order[starts[p + 1]]`, oldest first. */
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
