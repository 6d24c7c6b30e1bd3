// SPDX-License-Identifier: Apache-2.0
// The content of the cache and the quality of its winners, op by op.

const summaryView = {
  name: "summary",
  title: "Summary",
  needs: [],
  blocks: [],
  show(state) {
    const rows = winnersOf(state);
    const lines = summaryLines(rows);
    return [
      ...report.notes.map((note) => element("p", {class: "note"}, note)),
      summaryCards(state, rows),
      lines.length > 0 ? dataTable("Winners by op and type", kSummaryColumns, lines) : element("p", {}, "No winner fits these filters."),
      shareFigure(rows),
      speedupFigure(rows),
    ];
  },
};

function summaryCards(state, rows) {
  const all = triedKinds("all"), shown = all.filter((kind) => kFilters.every((name) => !state[name] || kind[name] === state[name]));
  const sum = (kinds, name) => kinds.reduce((total, kind) => total + kind[name], 0);
  const pruned = sum(shown, "pruned");
  const card = (number, text) => element("div", {}, element("dt", {}, text), element("dd", {}, showNumber(number)));
  return element("dl", {class: "cards"}, [
    card(sum(shown, "problems"), "problems"), card(rows.length, "winners"), card(sum(shown, "tried"), "configs tried"),
    card(sum(shown, "failed"), "of them failed"), ...(pruned > 0 ? [card(pruned, "not tried: cannot win")] : []), card(sum(all, "trials"), "trials in all"),
  ]);
}

function summaryLines(rows) {
  return [...grouped(rows, (row) => `${row.op} ${row.get("dtype")}`).values()].map((group) => {
    const known = (name) => group.map((row) => row.get(name)).filter((value) => value !== null && value > 0);
    const bounds = grouped(group, (row) => row.get("bound") || "not known");
    const shares = known("share_of_ceiling"), speedups = known("speedup_over_base");
    return {
      op: group[0].op,
      dtype: group[0].get("dtype"),
      count: group.length,
      share: shares.length > 0 ? fiveNumbers(shares)[2] : null,
      speedup: speedups.length > 0 ? geometricMean(speedups) : null,
      bounds: [...bounds].map(([bound, list]) => `${bound} ${list.length}`).join(", "),
    };
  });
}

const kSummaryColumns = [
  {heading: "op", cell: (line) => element("a", {href: addressOf({view: "heat", op: line.op, dtype: line.dtype})}, line.op)},
  {heading: "type", cell: (line) => line.dtype},
  {heading: "problems", number: true, cell: (line) => String(line.count)},
  {heading: "of ceiling, median", number: true, cell: (line) => showCell(line.share, "share")},
  {heading: "vs base, mean", number: true, cell: (line) => showCell(line.speedup, "ratio")},
  {heading: "bound by", cell: (line) => line.bounds},
];

function shareFigure(rows) {
  return spreadFigure(rows, "share_of_ceiling", "Share of ceiling by op",
    "Of the fastest that the same bytes were moved: least, quartiles and most over the op's problems.", "share", "value");
}

function speedupFigure(rows) {
  return spreadFigure(rows, "speedup_over_base", "Speed-up over base by op",
    "Over the one config that the op falls back to: least, quartiles and most over the op's problems.", "ratio", "log");
}

/** A box for each op; null if no row has the figure. */
function spreadFigure(rows, name, title, words, unit, scale) {
  const known = rows.filter((row) => row.get(name) > 0);
  if (known.length === 0) return null;
  const groups = [...grouped(known, (row) => row.op)].sort((a, b) => ascending(b[0], a[0]));
  const lines = groups.map(([op, list]) => ({op, count: list.length, five: fiveNumbers(list.map((row) => row.get(name)))}));
  const least = Math.min(...lines.map((line) => line.five[0])), most = Math.max(...lines.map((line) => line.five[4]));
  const missing = [...grouped(rows, (row) => row.op).keys()].filter((op) => !groups.some(([known]) => known === op));
  return chartFigure({
    title,
    words: words + (missing.length > 0 ? ` Not known of ${missing.join(", ")}.` : ""),
    height: 70 + 30 * lines.length,
    options: () => ({
      grid: {left: 8, right: 24, top: 10, bottom: 30, containLabel: true},
      yAxis: styledAxis({type: "category", data: lines.map((line) => line.op)}),
      xAxis: styledAxis(scale === "log" ? ratioAxis(least, most)
        : {type: scale, scale: true, splitNumber: isNarrow() ? 3 : 5, axisLabel: {formatter: (value) => withoutZeros(showCell(value, unit))}}),
      tooltip: tooltipStyle((item) => [lines[item.dataIndex].op, ...spreadLines(lines[item.dataIndex], unit)]),
      series: [{type: "boxplot", data: lines.map((line) => line.five), boxWidth: [8, 18],
        itemStyle: {color: styleColor("--panel"), borderColor: styleColor("--series-0"), borderWidth: 1.5}}],
    }),
    table: () => dataTable(title, [
      {heading: "op", cell: (line) => line.op},
      {heading: "problems", number: true, cell: (line) => String(line.count)},
      ...["least", "first quartile", "median", "third quartile", "most"].map((heading, i) =>
        ({heading, number: true, cell: (line) => showCell(line.five[i], unit)})),
    ], lines),
  });
}

const spreadLines = (line, unit) => [
  plural(line.count, "problem"),
  `median ${showCell(line.five[2], unit)}`,
  `half of them ${showCell(line.five[1], unit)} to ${showCell(line.five[3], unit)}`,
  `all of them ${showCell(line.five[0], unit)} to ${showCell(line.five[4], unit)}`,
];
