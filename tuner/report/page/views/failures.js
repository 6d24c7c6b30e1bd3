// SPDX-License-Identifier: Apache-2.0
// Configs that failed, by kind, with reasons; and configs that were not tried, since they cannot win.

const failuresView = {
  name: "failures",
  title: "Failures",
  needs: [],
  blocks: ["trials"],
  show(state) {
    const failed = [], pruned = [];
    let tried = 0;
    eachTrial(state, (trial) => {
      if (isPruned(trial)) return pruned.push(trial);
      ++tried;
      if (isFailure(trial)) failed.push(trial);
    });
    return [
      ...(failed.length > 0
        ? [failuresFigure(failed, tried), element("h3", {}, "Reasons"), reasonsTable(failed)]
        : [element("p", {}, tried > 0 ? `None of the ${plural(tried, "config")} tried failed.` : "No trial fits these filters.")]),
      ...(pruned.length > 0 ? prunedParts(pruned) : []),
    ];
  },
};

/** Reasons contain figures: reasons that differ only in figures are one group. */
function prunedParts(pruned) {
  const wording = (trial) => reasons[trials.reason[trial]].replace(/\d[\d.]*/g, "…");
  const groups = [...grouped(pruned, (trial) => `${implementationOf(trial)} ${wording(trial)}`).values()].sort((a, b) => b.length - a.length);
  return [
    element("h3", {}, "Not tried"),
    element("p", {}, `${plural(pruned.length, "config")} cannot win, as a model or the compiler tells, and ${pruned.length === 1 ? "was" : "were"} not tried.`),
    dataTable("Configs that were not tried, the most frequent reason first", [
      {heading: "implementation", cell: (group) => implementationOf(group[0])},
      {heading: "configs", number: true, cell: (group) => String(group.length)},
      {heading: "such as", cell: (group) => reasons[trials.reason[group[0]]]},
      {heading: "config", cell: (group) => configSpan(configText(group[0]))},
      {heading: "on", cell: (group) => problemLink(trials.problem[group[0]], "strip", shapeKey(trials.problem[group[0]]))},
    ], groups, true),
  ];
}

const implementationOf = (trial) =>
  `${specOf(trials.problem[trial]).op} ${configAt(trials.config[trial]).implementation}`;

function failuresFigure(failed, tried) {
  const rows = distinctValues(failed, implementationOf).reverse();
  const kinds = distinctValues(failed, (trial) => trials.status[trial]);
  const counts = kinds.map(() => new Array(rows.length).fill(0));
  for (const trial of failed) ++counts[kinds.indexOf(trials.status[trial])][rows.indexOf(implementationOf(trial))];
  const title = "Failures by kind";
  return chartFigure({
    title,
    words: `${failed.length} of ${plural(tried, "config")} tried failed, by implementation.`,
    height: 110 + 30 * rows.length,
    options: () => ({
      legend: legendStyle(),
      grid: {left: 8, right: 24, top: 40, bottom: 40, containLabel: true},
      yAxis: styledAxis({type: "category", data: rows}),
      xAxis: styledAxis({type: "value", name: "configs", minInterval: 1}, 26),
      tooltip: tooltipStyle((item) => [item.name, `${item.seriesName}: ${item.value}`]),
      series: kinds.map((kind, k) => ({type: "bar", stack: "all", name: report.statuses[kind], data: counts[k], barMaxWidth: 22})),
    }),
    table: () => dataTable(title, [
      {heading: "implementation", cell: (i) => rows[i]},
      ...kinds.map((kind, k) => ({heading: report.statuses[kind], number: true, cell: (i) => String(counts[k][i])})),
    ], rows.map((_, i) => i)),
  });
}

function reasonsTable(failed) {
  const groups = [...grouped(failed, (trial) => `${trials.status[trial]} ${trials.reason[trial]}`).values()]
    .sort((a, b) => b.length - a.length);
  return dataTable("Reasons, the most frequent first", [
    {heading: "kind", cell: (group) => report.statuses[trials.status[group[0]]]},
    {heading: "configs", number: true, cell: (group) => String(group.length)},
    {heading: "reason", cell: (group) => reasons[trials.reason[group[0]]]},
    {heading: "such as", cell: (group) => configSpan(configText(group[0]))},
    {heading: "on", cell: (group) => problemLink(trials.problem[group[0]], "strip", shapeKey(trials.problem[group[0]]))},
  ], groups, true);
}
