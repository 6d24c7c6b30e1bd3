// SPDX-License-Identifier: Apache-2.0
// The work of each compiler and device of a sweep over time: a lane each, a bar for each piece of work. If there are
// too many bars, a lane has equal stretches, each filled by kind of work in proportion to the time spent.

const kWork = ["compile", "set up", "verify", "measure", "final"];
/** As in moments.hpp, in seconds. */
const kTickSeconds = 1e-4;

/** Whether the times of a sweep's work are known. */
const hasLanes = (sweep) => report.sweeps[sweep].first > 0;

/** The lanes of a sweep: {name, bars}, devices first. Bars are {kind, from, to, trial or build}, ordered by their
 *  beginning, in seconds since the first. */
const lanesOf = remembering((sweep) => {
  const lanes = new Map();
  const put = (name, order, bar) => {
    if (!lanes.has(name)) lanes.set(name, {name, order, bars: []});
    lanes.get(name).bars.push(bar);
  };
  const finals = new Set();
  for (let i = 0; i < trials.count; ++i) {
    if (trials.sweep[i] - 1 !== sweep || trials.began[i] === 0) continue;
    const gpu = trials.gpu[i], name = deviceLane(trials.device[i] * 65536 + gpu);
    let at = (trials.began[i] - 1) * kTickSeconds;
    const isFinal = report.looks[trials.look[i]] === "final";
    // All configs of one final have the same bar.
    const key = `${name} ${at} ${trials.problem[i]}`;
    if (isFinal && finals.has(key)) continue;
    if (isFinal) finals.add(key);
    for (const [kind, length] of [["set up", trials.set_up_us[i]], ["verify", trials.verify_us[i]],
      [isFinal ? "final" : "measure", trials.measure_us[i]]]) {
      if (length > 0) put(name, gpu, {kind, from: at, to: at + length / 1e6, trial: i});
      at += length / 1e6;
    }
  }
  for (let i = 0; i < builds.sweep.length; ++i) {
    if (builds.sweep[i] - 1 !== sweep || builds.began[i] === 0) continue;
    const from = (builds.began[i] - 1) * kTickSeconds, worker = builds.worker[i];
    put(`compiler ${worker + 1}`, 1000 + worker, {kind: "compile", from, to: from + builds.milliseconds[i] / 1e3, build: i});
  }
  for (const lane of lanes.values()) lane.bars.sort((a, b) => a.from - b.from);
  return [...lanes.values()].sort((a, b) => a.order - b.order);
});

/** By 65536 times the device plus its GPU. The first digits of UUIDs tell GPUs of one model apart. */
const deviceLane = remembering((key) => {
  const {name, emulator} = report.devices[Math.floor(key / 65536)];
  const uuid = report.gpus[key % 65536];
  return emulator || uuid === "" ? "emulator" : `${name} ${uuid.replace(/^GPU-/, "").slice(0, 8)}`;
});

/** The end of the last piece of work. */
const workEnd = (lanes) => lanes.reduce((end, lane) => lane.bars.reduce((a, bar) => Math.max(a, bar.to), end), 0);

/** Seconds of each kind of work in a lane, within a stretch. */
function workIn(bars, begin, end) {
  const seconds = new Map();
  for (const bar of bars) {
    const length = Math.min(bar.to, end) - Math.max(bar.from, begin);
    if (length > 0) seconds.set(bar.kind, (seconds.get(bar.kind) || 0) + length);
  }
  return seconds;
}

/** The first trial of each binary. */
const trialOfBuild = remembering(() => {
  const first = new Map();
  for (let i = 0; i < trials.count; ++i) if (trials.build[i] > 0 && !first.has(trials.build[i] - 1)) first.set(trials.build[i] - 1, i);
  return first;
});

/** The subject of a bar: [config, problem]. */
function subjectOf(bar) {
  const trial = bar.trial ?? trialOfBuild("all").get(bar.build);
  if (trial === undefined) return ["a reference, or a config that came to no trial", ""];
  const problem = `${specOf(trials.problem[trial]).op} ${specOf(trials.problem[trial]).dtype} ${problemText(trials.problem[trial])}`;
  return [bar.kind === "final" ? "the leaders, in turns" : configText(trial), problem];
}

const showLength = (seconds) => showTime(seconds * 1e9);

const kMostBars = 2500;
const kStretches = 400;

/** Pieces of lanes between two moments, by kind of work: {value: [lane, from, to, bottom, top], bar or seconds}. */
function piecesOf(lanes, begin, end) {
  const seen = lanes.map((lane) => lane.bars.filter((bar) => bar.to >= begin && bar.from <= end));
  const pieces = new Map(kWork.map((kind) => [kind, []]));
  if (seen.reduce((sum, bars) => sum + bars.length, 0) <= kMostBars) {
    seen.forEach((bars, lane) => bars.forEach((bar) => pieces.get(bar.kind).push({value: [lane, bar.from, bar.to, 0, 1], bar})));
    return pieces;
  }
  const width = (end - begin) / kStretches;
  seen.forEach((bars, lane) => {
    const filled = Array.from({length: kStretches}, () => new Map());
    for (const bar of bars) {
      const last = Math.min(kStretches - 1, Math.floor((bar.to - begin) / width));
      for (let i = Math.max(0, Math.floor((bar.from - begin) / width)); i <= last; ++i) {
        const length = Math.min(bar.to, begin + (i + 1) * width) - Math.max(bar.from, begin + i * width);
        if (length > 0) filled[i].set(bar.kind, (filled[i].get(bar.kind) || 0) + length);
      }
    }
    filled.forEach((seconds, i) => {
      let bottom = 0;
      for (const kind of kWork.filter((one) => seconds.has(one))) {
        const top = Math.min(1, bottom + seconds.get(kind) / width);
        pieces.get(kind).push({value: [lane, begin + i * width, begin + (i + 1) * width, bottom, top], seconds});
        bottom = top;
      }
    });
  });
  return pieces;
}

function pieceLines(lanes, {value, bar, seconds}) {
  const [lane, from, to] = value;
  if (bar) return [`${bar.kind}, ${showLength(to - from)}`, ...subjectOf(bar), `${lanes[lane].name}, ${showLength(from)} after the first`];
  return [`${lanes[lane].name}, ${showLength(from)} to ${showLength(to)}`,
    ...[...seconds].map(([kind, length]) => `${kind} ${showShare(length / (to - from))}`)];
}

/** A rectangle over its share of the lane's height. */
function drawPiece(parameters, api) {
  const [left, middle] = api.coord([api.value(1), api.value(0)]), [right] = api.coord([api.value(2), api.value(0)]);
  const height = api.size([0, 1])[1] * 0.7, bottom = middle + height / 2;
  const {x, y, width, height: high} = parameters.coordSys;
  const shape = echarts.graphic.clipRectByRect({x: left, y: bottom - height * api.value(4), width: Math.max(right - left, 1),
    height: height * (api.value(4) - api.value(3))}, {x, y, width, height: high});
  return shape && {type: "rect", shape, style: {fill: api.visual("color")}};
}

/** The lanes between two moments; `whole` is the end of the last work. */
function lanesFigure(lanes, begin, end, whole) {
  const seriesOf = (from, to) => {
    const pieces = piecesOf(lanes, from, to);
    return kWork.map((kind) => ({id: kind, type: "custom", name: kind, progressive: 0, renderItem: drawPiece, encode: {x: [1, 2], y: 0},
      data: pieces.get(kind)}));
  };
  const inside = (bar) => bar.to >= begin && bar.from <= end;
  const title = "Compilers and devices";
  return chartFigure({
    title,
    words: "What each of them did and when. Point at a bar to read its config and problem; drag the handles below, or the bars, to look " +
      "closer. Where bars are too many to be told apart, a lane is filled as far as its time was spent.",
    height: (isNarrow() ? 146 : 130) + 26 * lanes.length,
    options: () => ({
      legend: {...legendStyle(), data: kWork},
      grid: {left: 8, right: 24, top: isNarrow() ? 52 : 36, bottom: 84, containLabel: true},
      xAxis: styledAxis({type: "value", min: 0, max: whole, name: "since the first",
        interval: durationStep(end - begin),
        axisLabel: {formatter: showTick, showMinLabel: begin === 0, showMaxLabel: false}}, 26),
      yAxis: styledAxis({type: "category", inverse: true, data: lanes.map((lane) => lane.name), axisTick: {show: false},
        axisLabel: {interval: 0, fontSize: 11, width: isNarrow() ? 90 : 240, overflow: "truncate"}}),
      tooltip: tooltipStyle(({data}) => pieceLines(lanes, data)),
      dataZoom: [
        {type: "slider", bottom: 8, height: 22, startValue: begin, endValue: end, filterMode: "none", showDetail: false, brushSelect: false},
        {type: "inside", startValue: begin, endValue: end, filterMode: "none", zoomOnMouseWheel: "ctrl"},
      ],
      series: seriesOf(begin, end),
    }),
    attach: (chart) => chart.on("datazoom", () => {
      const {startValue, endValue} = chart.getOption().dataZoom[0];
      chart.setOption({series: seriesOf(startValue, endValue),
        xAxis: {interval: durationStep(endValue - startValue), axisLabel: {showMinLabel: startValue === 0}}});
    }),
    table: () => dataTable(title, [
      {heading: "lane", cell: ([lane]) => lane.name},
      {heading: "work", cell: ([, bar]) => bar.kind},
      {heading: "began after", number: true, cell: ([, bar]) => showLength(bar.from)},
      {heading: "took", number: true, cell: ([, bar]) => showLength(bar.to - bar.from)},
      {heading: "config", cell: ([, bar]) => configSpan(subjectOf(bar)[0])},
      {heading: "problem", cell: ([, bar]) => subjectOf(bar)[1]},
    ], lanes.flatMap((lane) => lane.bars.filter(inside).map((bar) => [lane, bar]))),
  });
}

/** The share of a stretch that each lane worked, by kind. */
function busyTable(lanes, begin, end) {
  const share = (seconds) => (seconds > 0 ? showShare(seconds / (end - begin)) : "-");
  const rows = lanes.map((lane) => ({lane, seconds: workIn(lane.bars, begin, end)}));
  const kinds = kWork.filter((kind) => rows.some(({seconds}) => seconds.has(kind)));
  return dataTable("How busy each was", [
    {heading: "lane", cell: ({lane}) => lane.name},
    {heading: "busy", number: true, cell: ({seconds}) => share([...seconds.values()].reduce((a, b) => a + b, 0))},
    ...kinds.map((kind) => ({heading: kind, number: true, cell: ({seconds}) => share(seconds.get(kind) || 0)})),
    {heading: "pieces of work", number: true,
      cell: ({lane}) => String(lane.bars.filter((bar) => bar.to >= begin && bar.from <= end).length)},
  ], rows);
}

/** A choice of the whole sweep or one problem's stretch, as the handles offer it to the mouse, for the keyboard. {node,
 *  begin, end}. */
function stretchChoice(state, lanes, whole) {
  const stretches = new Map();
  for (const lane of lanes) {
    for (const bar of lane.bars) {
      if (bar.trial === undefined) continue;
      const problem = trials.problem[bar.trial], known = stretches.get(problem);
      if (known === undefined) stretches.set(problem, [bar.from, bar.to]);
      else stretches.set(problem, [Math.min(known[0], bar.from), Math.max(known[1], bar.to)]);
    }
  }
  const chosen = [...stretches.keys()].find((problem) => shapeKey(problem) === state.stretch), asked = stretches.get(chosen);
  const offered = [...stretches].sort((a, b) => a[1][0] - b[1][0]).map(([problem]) => problem).slice(0, kMostProblems);
  if (asked !== undefined && !offered.includes(chosen)) offered.unshift(chosen);
  const options = [["", "the whole sweep"], ...offered.map((problem) => [shapeKey(problem), `${specOf(problem).op} ${problemText(problem)}`])];
  const room = asked === undefined ? 0 : (asked[1] - asked[0]) * 0.02;
  return {
    node: chooser("Stretch", "stretch", options, asked === undefined ? "" : state.stretch),
    begin: asked === undefined ? 0 : Math.max(0, asked[0] - room),
    end: asked === undefined ? whole : Math.min(whole, asked[1] + room),
  };
}
