// SPDX-License-Identifier: Apache-2.0
// Why a winner is the winner: its time beside those of its rivals, and all recorded evidence.

const evidenceView = {
  name: "evidence",
  title: "Evidence",
  needs: ["op", "dtype"],
  blocks: ["evidence"],
  show(state) {
    const rows = winnersOf(state);
    const choices = problemChoices(state, rows.map((row) => row.problem));
    if (choices.problem === null) return [element("p", {}, "No winner fits these filters.")];
    const row = rows.find((one) => one.problem === choices.problem);
    return [
      choices.node,
      element("p", {}, element("span", {class: "key"}, shapeKey(row.problem)), " is served by ",
        configSpan(row.get("winner")), "."),
      rivalsFigure(row),
      element("h3", {}, "The winner"),
      ...factsOf(row, row.table.columns.filter((column) => column.heading !== "" && column.name !== "winner")),
      element("h3", {}, "How it was chosen, measured and built"),
      ...factsOf(row, row.table.evidence),
      element("p", {}, problemLink(row.problem, "strip", "All configs of this problem"),
        source.isLive ? [", ", problemLink(row.problem, "history", "its winners over time")] : null),
      element("h3", {}, "All winners"),
      evidenceTable(rows),
    ];
  },
};

/** Columns of people's tables that repeat another column. */
const kTwice = ["memory_gb_per_s", "compute_tflop_per_s"];

/** Leaves unknown values out; dozens of counts by reason unfold on demand. */
function factsOf(row, columns) {
  const known = columns.filter((column) => column.at(row.row) !== null && !kTwice.includes(column.name));
  const isLong = (column) => kByReason.includes(column.name) || column.show(row.row).length > 200;
  return [
    element("dl", {class: "facts"}, known.filter((column) => !isLong(column)).map((column) => fact(column.heading, column.show(row.row)))),
    known.filter(isLong).map((column) => reasonsOf(column.heading, column.show(row.row).split("\n"))),
  ].flat();
}

/** Columns with lines such as "12 too slow", shown behind a line with their number. */
const kByReason = ["pruned", "forbidden"];

function reasonsOf(heading, lines) {
  const rows = lines.map((line) => /^(?:(\d+) )?([^]*)$/.exec(line)).map(([, count, reason]) => ({count: Number(count || 0), reason}))
    .sort((a, b) => b.count - a.count);
  const sum = rows.reduce((total, {count}) => total + count, 0);
  return element("details", {}, element("summary", {}, `${heading}: ${sum > 0 ? `${showNumber(sum)}, ` : ""}${plural(rows.length, rows.some(({count}) => count > 0) ? "reason" : "line")}`),
    dataTable(heading, [
      {heading: "reason", cell: ({reason}) => element("span", {class: "reason"}, reason)},
      {heading: "configs", number: true, cell: ({count}) => (count > 0 ? showNumber(count) : "-")},
    ], rows, true));
}

/** The winner with its interval, the runner-up, the base and the ceiling. */
function rivalsOf(row) {
  const time = row.get("time_ns");
  const rivals = [{name: "winner", config: row.get("winner"), time, low: row.get("time_low_ns"), high: row.get("time_high_ns")}];
  if (row.get("runner_up_ratio") > 0) rivals.push({name: "runner-up", config: row.get("runner_up"), time: time * row.get("runner_up_ratio")});
  if (row.get("base_ns") > 0) rivals.push({name: "base", config: "", time: row.get("base_ns")});
  if (row.get("ceiling_ns") > 0) rivals.push({name: "ceiling", config: "", time: row.get("ceiling_ns")});
  return rivals;
}

function rivalsFigure(row) {
  const rivals = rivalsOf(row);
  const title = "The winner beside its rivals";
  return chartFigure({
    title,
    words: `Times: ${rivals.map((rival) => `${rival.name} ${showTime(rival.time)}`).join(", ")}. ` +
      "The ceiling is the fastest that the same bytes were moved.",
    height: 70 + 36 * rivals.length,
    options: () => ({
      grid: {left: 8, right: 70, top: 5, bottom: 30, containLabel: true},
      yAxis: styledAxis({type: "category", inverse: true, data: rivals.map((rival) => rival.name)}),
      xAxis: styledAxis({type: "value", min: 0, axisLabel: {formatter: (value) => (value === 0 ? "0" : withoutZeros(showTime(value)))}}),
      tooltip: tooltipStyle((item) => {
        const rival = rivals[item.dataIndex];
        return [rival.config, `time ${showTime(rival.time)}`, rival.low ? `95 % interval ${showTime(rival.low)} to ${showTime(rival.high)}` : ""];
      }),
      series: [{type: "bar", barMaxWidth: 20, label: {show: true, position: "right", color: styleColor("--text"),
        formatter: (item) => showTime(item.value)}, data: rivals.map((rival, i) => ({value: rival.time,
        itemStyle: {color: i === 0 ? styleColor("--series-1") : styleColor("--series-0")}}))}],
    }),
    table: () => dataTable(title, [
      {heading: "which", cell: (rival) => rival.name},
      {heading: "time", number: true, cell: (rival) => showTime(rival.time)},
      {heading: "at least", number: true, cell: (rival) => (rival.low ? showTime(rival.low) : "-")},
      {heading: "at most", number: true, cell: (rival) => (rival.high ? showTime(rival.high) : "-")},
      {heading: "config", cell: (rival) => configSpan(rival.config)},
    ], rivals),
  });
}

function evidenceTable(rows) {
  const number = (name, heading) => ({heading, number: true, cell: (row) => row.show(name)});
  return dataTable("Evidence of each winner", [
    {heading: "problem", cell: (row) => problemLink(row.problem, "evidence", problemText(row.problem))},
    number("time_ns", "time"), number("half_interval_share", "±"), number("rounds", "rounds"), number("runner_up_ratio", "runner-up, ratio"),
    {heading: "chosen by", cell: (row) => row.show("strategy")},
    number("configs_considered", "considered"), number("configs_failed", "failed"), number("largest_error", "largest error"),
    {heading: "match", cell: (row) => row.show("match")},
    {heading: "measured", cell: (row) => row.show("measured")},
  ], rows);
}
