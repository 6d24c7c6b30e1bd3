// SPDX-License-Identifier: Apache-2.0
// The effect of each parameter: for each value, how much slower its configs are than the problem's fastest config.

const effectsView = {
  name: "effects",
  title: "Effects",
  needs: ["op"],
  blocks: ["trials"],
  show(state) {
    const {best, byImplementation} = timesByImplementation(state);
    if (byImplementation.size === 0) return [element("p", {}, "No timed config fits these filters.")];
    const names = [...byImplementation.keys()].sort((a, b) => byImplementation.get(b).length - byImplementation.get(a).length);
    const implementation = names.includes(state.implementation) ? state.implementation : names[0];
    const lines = effectLines(byImplementation.get(implementation), best);
    return [
      element("div", {class: "choices"}, chooser("Implementation", "implementation",
        names.map((name) => [name, `${name} (${plural(byImplementation.get(name).length, "trial")})`]), implementation)),
      lines.length > 0 ? effectsFigure(implementation, lines) : element("p", {}, "No parameter of this implementation was tried with two values."),
    ];
  },
};

/** The timed trials of each implementation, and the fastest time of each problem. */
function timesByImplementation(state) {
  const best = new Map(), byImplementation = new Map();
  eachTrial(state, (trial) => {
    if (!isTimed(trial)) return;
    const problem = trials.problem[trial];
    best.set(problem, Math.min(best.get(problem) ?? Infinity, trials.median_ns[trial]));
    const {implementation} = configAt(trials.config[trial]);
    if (!byImplementation.has(implementation)) byImplementation.set(implementation, []);
    byImplementation.get(implementation).push(trial);
  });
  return {best, byImplementation};
}

/** A line for each value of a parameter with several values: {parameter, value, count, problems, five, cost}. */
function effectLines(list, best) {
  const values = new Map();
  for (const trial of list) {
    const ratio = trials.median_ns[trial] / best.get(trials.problem[trial]);
    for (const [parameter, value] of configAt(trials.config[trial]).parameters) {
      if (!values.has(parameter)) values.set(parameter, new Map());
      const byValue = values.get(parameter);
      if (!byValue.has(value)) byValue.set(value, {ratios: [], least: new Map()});
      const entry = byValue.get(value);
      entry.ratios.push(ratio);
      entry.least.set(trials.problem[trial], Math.min(entry.least.get(trials.problem[trial]) ?? Infinity, ratio));
    }
  }
  const lines = [];
  for (const [parameter, byValue] of values) {
    if (byValue.size < 2) continue;
    for (const [value, {ratios, least}] of [...byValue].sort((a, b) => a[0] - b[0])) {
      lines.push({parameter, value, count: ratios.length, problems: least.size, five: fiveNumbers(ratios),
        cost: geometricMean([...least.values()])});
    }
  }
  return lines;
}

function effectsFigure(implementation, lines) {
  const names = lines.map((line) => `${line.parameter}=${line.value}`).reverse();
  const shown = [...lines].reverse();
  /** Whether the line is the first of its parameter: a rule separates parameters. */
  const isFirst = (i) => i > 0 && shown[i].parameter !== shown[i - 1].parameter;
  const title = `Effect of each parameter of ${implementation}`;
  return chartFigure({
    title,
    words: "Time over that of the problem's fastest config, for all configs with a value: least, quartiles and most. The diamond is " +
      "the mean over problems of the best config with that value: what it costs to fix it.",
    height: 90 + 19 * lines.length,
    options: () => ({
      grid: {left: 8, right: 24, top: 28, bottom: 40, containLabel: true},
      legend: {...legendStyle(), data: ["best with the value"]},
      yAxis: styledAxis({type: "category", data: names, axisLabel: {interval: 0, hideOverlap: false, fontSize: 11},
        axisTick: {...axisStyle().axisTick, interval: isFirst}, splitLine: {...axisStyle().splitLine, show: true, interval: isFirst}}),
      xAxis: styledAxis({...ratioAxis(1, Math.max(...lines.map((line) => line.five[4]))), name: "time over the fastest"}, 26),
      tooltip: tooltipStyle((item) => effectTip(shown[item.dataIndex])),
      series: [
        {type: "boxplot", name: "all with the value", data: shown.map((line) => line.five), boxWidth: [5, 10],
          itemStyle: {color: styleColor("--panel"), borderColor: styleColor("--series-0")}},
        {type: "scatter", name: "best with the value", symbol: "diamond", symbolSize: 10, itemStyle: {color: styleColor("--series-1")},
          data: shown.map((line, i) => [line.cost, i])},
      ],
    }),
    table: () => dataTable(title, [
      {heading: "value", cell: (line) => `${line.parameter}=${line.value}`},
      {heading: "configs timed", number: true, cell: (line) => String(line.count)},
      {heading: "problems", number: true, cell: (line) => String(line.problems)},
      {heading: "best with it, mean", number: true, cell: (line) => line.cost.toFixed(3)},
      ...["least", "first quartile", "median", "third quartile", "most"].map((heading, i) =>
        ({heading, number: true, cell: (line) => showRatio(line.five[i])})),
    ], lines),
  });
}

const effectTip = (line) => [
  `${line.parameter}=${line.value}`,
  `${plural(line.count, "trial")} on ${plural(line.problems, "problem")}`,
  `best with it, mean: ${line.cost.toFixed(3)}x the fastest`,
  `all with it, median: ${showRatio(line.five[2])}, half of them ${showRatio(line.five[1])} to ${showRatio(line.five[3])}`,
];
