// SPDX-License-Identifier: Apache-2.0
// All configs of one problem by their time, with a strip for each implementation.

const stripView = {
  name: "strip",
  title: "Configs",
  needs: ["op", "dtype"],
  blocks: ["trials"],
  show(state) {
    const choices = problemChoices(state, problemsTried(state));
    if (choices.problem === null) return [element("p", {}, "No problem fits these filters.")];
    return [
      choices.node,
      element("p", {class: "key"}, shapeKey(choices.problem)),
      stripFigure(choices.problem, configsOf(choices.problem, state), winnerOf(choices.problem, state)),
      element("p", {}, problemLink(choices.problem, "evidence", "Evidence of its winner")),
    ];
  },
};

/** The problems with trials that fit the filters, ordered by size. */
function problemsTried(state) {
  const found = new Set();
  eachTrial(state, (trial) => found.add(trials.problem[trial]));
  return [...found].sort((a, b) => {
    const sizes = problems.dims[a].map((size, i) => size - problems.dims[b][i]);
    return problems.spec[a] - problems.spec[b] || sizes.find((difference) => difference !== 0) || 0;
  });
}

const kMostProblems = 1000;

/** A choice of one among many problems, with a search. */
function problemChoices(state, candidates) {
  const words = (state.find || "").toLowerCase().split(/\s+/).filter(Boolean);
  const found = candidates.filter((problem) => words.every((word) => problemText(problem).toLowerCase().includes(word)));
  const problem = found.find((one) => shapeKey(one) === state.problem) ?? found[0] ?? null;
  const offered = found.slice(0, kMostProblems);
  if (problem !== null && !offered.includes(problem)) offered.unshift(problem);
  const rest = found.length > kMostProblems ? `, the first ${kMostProblems} offered` : "";
  const search = element("input", {type: "search", name: "find", value: state.find || "", placeholder: candidates.length > 0 ? problemText(candidates[0]).split(" ")[0] : "",
    change: (event) => go({find: event.target.value})});
  const node = element("div", {class: "choices"}, [
    chooser(`Problem (${found.length} found${rest})`, "problem", offered.map((one) => [shapeKey(one), problemText(one)]),
      problem === null ? "" : shapeKey(problem)),
    element("label", {}, element("span", {}, "Find problems with"), search),
  ]);
  if (problem === null && candidates.length > 0) return {node, problem: candidates[0]};
  return {node, problem};
}

/** The configs tried on a problem: the newest trial of each, fastest first, failures last. */
function configsOf(problem, state) {
  const device = report.devices.findIndex((one) => one.fingerprint === state.device);
  const mode = report.modes.indexOf(state.mode);
  const found = [...trialsOf(problem)].filter((trial) => trials.counts[trial] && trials.device[trial] === device && trials.mode[trial] === mode);
  const time = (trial) => (trials.median_ns[trial] > 0 && isOk(trial) ? trials.median_ns[trial] : Infinity);
  return found.sort((a, b) => (time(a) === time(b) ? 0 : time(a) - time(b)));
}

const isTimed = (trial) => isOk(trial) && trials.median_ns[trial] > 0;
const configText = (trial) => configs[trials.config[trial]];

function stripFigure(problem, list, winner) {
  const timed = list.filter(isTimed);
  const pruned = list.filter(isPruned).length;
  const failed = list.length - timed.length - pruned;
  const best = winner ? winner.get("winner") : null;
  const kinds = distinctValues(timed, (trial) => configAt(trials.config[trial]).implementation).reverse();
  const title = "Configs by time";
  return chartFigure({
    title,
    words: `${plural(timed.length, "config")} timed${failed > 0 ? `, ${failed} failed` : ""}${pruned > 0 ? `, ${pruned} not tried, since they cannot win` : ""}, by implementation` +
      `${winner ? `; the winner, marked, takes ${winner.show("time_ns")}` : ""}. Point at one to read its config.`,
    height: 110 + 90 * Math.max(kinds.length, 1),
    options: () => ({
      grid: {left: 8, right: 24, top: 10, bottom: 40, containLabel: true},
      xAxis: styledAxis(timeAxis(timed.map((trial) => trials.median_ns[trial])), 26),
      yAxis: styledAxis({type: "category", data: kinds, axisTick: {show: false}}),
      tooltip: tooltipStyle(({data}) => trialLines(data.trial, winner)),
      series: [stripSeries("configs", timed.filter((trial) => configText(trial) !== best), kinds, 7, "circle", "--series-0"),
        stripSeries("winner", timed.filter((trial) => configText(trial) === best), kinds, 16, "diamond", "--mark")],
    }),
    table: () => dataTable(title, configColumns(winner), list),
  });
}

/** Spreads the points of one implementation over the strip's height, the same way each time. */
function stripSeries(name, list, kinds, size, symbol, color) {
  const spread = (trial) => (((trials.config[trial] * 0.618034) % 1) - 0.5) * 60;
  return {type: "scatter", name, symbol, symbolSize: size, itemStyle: {color: styleColor(color), opacity: name === "winner" ? 1 : 0.6},
    data: list.map((trial) => ({value: [trials.median_ns[trial], configAt(trials.config[trial]).implementation], trial,
      symbolOffset: [0, name === "winner" ? 0 : spread(trial)]}))};
}

/** The lines of a trial's tip. */
function trialLines(trial, winner) {
  const build = trials.build[trial] - 1;
  const half = (trials.high_ns[trial] - trials.low_ns[trial]) / 2 / trials.median_ns[trial];
  return [
    configText(trial),
    `time ${showTime(trials.median_ns[trial])} ± ${showShare(half)} (${report.looks[trials.look[trial]]} look)`,
    `of ceiling ${showCell(shareOf(trial, winner), "share")}`,
    build >= 0 && builds.registers[build] > 0 ? `${builds.registers[build]} registers, ${showBytes(builds.spill_bytes[build])} spilled` : "",
  ];
}

/** The ceiling belongs to the problem, so the winner's row has it. */
function shareOf(trial, winner) {
  const ceiling = winner ? winner.get("ceiling_ns") : null;
  return ceiling > 0 && isTimed(trial) ? ceiling / trials.median_ns[trial] : null;
}

function configColumns(winner) {
  const timed = (show) => (trial) => (isTimed(trial) ? show(trial) : "-");
  const best = winner ? winner.get("winner") : null;
  const built = (column, unit) => (trial) => {
    const build = trials.build[trial] - 1;
    return build >= 0 && builds.registers[build] > 0 ? showCell(builds[column][build], unit) : "-";
  };
  return [
    {heading: "config", cell: (trial) => configSpan(configText(trial), configText(trial) === best ? " (winner)" : "")},
    {heading: "time", number: true, cell: timed((trial) => showTime(trials.median_ns[trial]))},
    {heading: "at least", number: true, cell: timed((trial) => showTime(trials.low_ns[trial]))},
    {heading: "at most", number: true, cell: timed((trial) => showTime(trials.high_ns[trial]))},
    {heading: "of ceiling", number: true, cell: (trial) => showCell(shareOf(trial, winner), "share")},
    {heading: "registers", number: true, cell: built("registers", "none")},
    {heading: "spilled", number: true, cell: built("spill_bytes", "bytes")},
    {heading: "look", cell: (trial) => report.looks[trials.look[trial]]},
    {heading: "status", cell: (trial) => report.statuses[trials.status[trial]]},
    {heading: "reason", cell: (trial) => reasons[trials.reason[trial]]},
  ];
}
