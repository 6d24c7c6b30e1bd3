// SPDX-License-Identifier: Apache-2.0
// A sweep over time. Sweeps since schema 4 have the times of compilers and devices. Older ones have the end of each
// trial (to the second) and the lengths of compiles and timings.

const timelineView = {
  name: "timeline",
  title: "Timeline",
  needs: [],
  blocks: ["trials"],
  everyOp: true,
  show(state) {
    const sweeps = sweepsOf(state);
    if (sweeps.size === 0) {
      return [element("p", {class: "note"}, "No trial that fits these filters is of a sweep: an export of winners keeps no sweeps.")];
    }
    const last = Math.max(...sweeps.keys());
    const chosen = sweeps.has(Number(state.sweep)) ? Number(state.sweep) : last;
    const options = [...sweeps.keys()].reverse().map((place) =>
      [place, `${showMoment(report.sweeps[place].started)}: ${report.sweeps[place].command}`]);
    const sweepChooser = chooser("Sweep", "sweep", options, chosen);
    return [
      ...(hasLanes(chosen) ? lanesParts(state, chosen, sweepChooser, sweeps.get(chosen)) : [
        element("div", {class: "choices"}, sweepChooser),
        sweepFacts(chosen, sweeps.get(chosen)),
        element("p", {class: "note"}, "Of this sweep the cache has when each trial ended, how long its binary took to compile and how long it was " +
          "timed. It has no start of a compile, no length of a verification and no worker, so these are not drawn."),
      ]),
      progressFigure(chosen, sweeps.get(chosen)),
      problemBarsFigure(chosen, sweeps.get(chosen)),
    ];
  },
};

function lanesParts(state, place, sweepChooser, list) {
  const lanes = lanesOf(place), whole = workEnd(lanes);
  const stretch = stretchChoice(state, lanes, whole);
  return [
    element("div", {class: "choices"}, [sweepChooser, stretch.node]),
    sweepFacts(place, list),
    lanesFigure(lanes, stretch.begin, stretch.end, whole),
    busyTable(lanes, stretch.begin, stretch.end),
  ];
}

/** The trials of each sweep on the state's device, all looks. */
function sweepsOf(state) {
  const device = report.devices.findIndex((one) => one.fingerprint === state.device);
  const fits = report.specs.map((spec) => (!state.op || spec.op === state.op) && (!state.dtype || spec.dtype === state.dtype));
  const found = new Map();
  for (let i = 0; i < trials.count; ++i) {
    if (trials.sweep[i] === 0 || trials.device[i] !== device || !fits[problems.spec[trials.problem[i]]]) continue;
    const sweep = trials.sweep[i] - 1;
    if (!found.has(sweep)) found.set(sweep, []);
    found.get(sweep).push(i);
  }
  return new Map([...found].sort((a, b) => a[0] - b[0]));
}

const endedAt = (trial) => report.first_at + trials.measured[trial];
/** Rounds times launches times median: the length of its timing, in nanoseconds. */
const timingNs = (trial) => trials.rounds[trial] * trials.launches[trial] * trials.median_ns[trial];

function sweepFacts(place, list) {
  const sweep = report.sweeps[place];
  const built = new Set();
  let compileMs = 0, timedNs = 0;
  for (const trial of list) {
    timedNs += timingNs(trial);
    const build = trials.build[trial];
    if (build > 0 && !built.has(build)) compileMs += builds.milliseconds[build - 1];
    built.add(build);
  }
  const end = sweep.ended ?? endedAt(list[list.length - 1]);
  const wall = end - sweep.started;
  return element("dl", {class: "facts"}, [
    fact("command", element("span", {class: "key"}, sweep.command)),
    fact("took", `${showDuration(wall)}, from ${showMoment(sweep.started)}; ${sweep.outcome || "no end was recorded"}`),
    fact("trials", `${showNumber(list.length)}, of them ${list.filter(isFailure).length || "none"} failed`),
    fact("compiling", `${showDuration(compileMs / 1000)} over all workers, ${built.size} ${built.size === 1 ? "binary" : "binaries"}`),
    fact("timing", timedNs > 0 ? `${showDuration(timedNs / 1e9)} on the device${wall > 0 ? `, ${showShare(timedNs / 1e9 / wall)} of the sweep` : ""}` : "not recorded"),
  ]);
}

const kMostBins = 120;

/** The number of trials that ended in each stretch of the sweep, by status. */
function progressFigure(place, list) {
  const begin = Math.min(report.sweeps[place].started, endedAt(list[0]));
  const end = Math.max(endedAt(list[list.length - 1]), begin + 1);
  const width = Math.max(1, Math.ceil((end - begin + 1) / kMostBins));
  const count = Math.floor((end - begin) / width) + 1;
  const kinds = distinctValues(list, (trial) => trials.status[trial]);
  const bins = kinds.map(() => new Array(count).fill(0));
  for (const trial of list) ++bins[kinds.indexOf(trials.status[trial])][Math.floor((endedAt(trial) - begin) / width)];
  const labels = Array.from({length: count}, (_, i) => showDuration(i * width));
  const title = "Trials over the sweep";
  return chartFigure({
    title,
    words: `How many trials ended in each ${width === 1 ? "second" : `${width} seconds`} since the sweep began, by status.`,
    height: 260,
    options: () => ({
      legend: legendStyle(),
      grid: {left: 12, right: 16, top: 40, bottom: 40, containLabel: true},
      xAxis: styledAxis({type: "category", data: labels, name: "since the sweep began"}, 26),
      yAxis: styledAxis({type: "value", name: "trials", nameLocation: "end"}, 8),
      tooltip: tooltipStyle((item) => [`${item.seriesName}: ${item.value}`, `from ${item.name}`]),
      series: kinds.map((kind, k) => ({type: "bar", stack: "all", name: report.statuses[kind], data: bins[k], barCategoryGap: "5%"})),
    }),
    table: () => dataTable(title, [
      {heading: "since the sweep began", cell: (i) => labels[i]},
      ...kinds.map((kind, k) => ({heading: report.statuses[kind], number: true, cell: (i) => String(bins[k][i])})),
    ], labels.map((_, i) => i)),
  });
}

/** Bars from the first to the last trial of each problem. */
function problemBarsFigure(place, list) {
  const begin = report.sweeps[place].started;
  const bars = [...grouped(list, (trial) => trials.problem[trial])].map(([problem, group]) => {
    const ends = group.map((trial) => endedAt(trial) - begin);
    return {problem, count: group.length, from: ends.reduce((a, b) => Math.min(a, b)), to: ends.reduce((a, b) => Math.max(a, b)),
      timedNs: group.reduce((sum, trial) => sum + timingNs(trial), 0)};
  });
  const shown = bars.slice(0, 60);
  const end = Math.max(1, ...bars.map((bar) => bar.to)) * 1.01;
  const title = "Problems over the sweep";
  const name = (bar) => `${specOf(bar.problem).op} ${problemText(bar.problem)}`;
  return chartFigure({
    title,
    words: `From the end of each problem's first trial to that of its last${bars.length > shown.length ? `; the first ${shown.length} of ${bars.length} problems drawn` : ""}.`,
    height: 80 + 20 * shown.length,
    options: () => ({
      grid: {left: 8, right: 24, top: 10, bottom: 40, containLabel: true},
      xAxis: styledAxis({type: "value", min: 0, max: end, interval: durationStep(end), name: "since the sweep began",
        axisLabel: {formatter: showTick, showMaxLabel: false}}, 26),
      yAxis: styledAxis({type: "category", inverse: true, data: shown.map(name),
        axisLabel: {interval: 0, fontSize: 10, width: isNarrow() ? 110 : 320, overflow: "truncate"}}),
      tooltip: tooltipStyle((item) => [name(shown[item.dataIndex]), plural(shown[item.dataIndex].count, "trial"),
        `${showDuration(shown[item.dataIndex].from)} to ${showDuration(shown[item.dataIndex].to)}`]),
      series: [
        {type: "bar", stack: "all", silent: true, itemStyle: {color: "transparent"}, data: shown.map((bar) => bar.from)},
        {type: "bar", stack: "all", name: "trials", barMinWidth: 3, barMinHeight: 3, data: shown.map((bar) => Math.max(bar.to - bar.from, 0.2))},
      ],
    }),
    onClick: (item) => go({view: "strip", problem: shapeKey(shown[item.dataIndex].problem), op: specOf(shown[item.dataIndex].problem).op,
      dtype: specOf(shown[item.dataIndex].problem).dtype}),
    table: () => dataTable(title, [
      {heading: "problem", cell: (bar) => problemLink(bar.problem, "strip", name(bar))},
      {heading: "trials", number: true, cell: (bar) => String(bar.count)},
      {heading: "first ended after", number: true, cell: (bar) => showDuration(bar.from)},
      {heading: "last ended after", number: true, cell: (bar) => showDuration(bar.to)},
      {heading: "timing", number: true, cell: (bar) => (bar.timedNs > 0 ? showDuration(bar.timedNs / 1e9) : "-")},
    ], bars),
  });
}
