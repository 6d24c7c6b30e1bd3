// SPDX-License-Identifier: Apache-2.0
// Winners of a problem over versions, drivers and time, on all devices. Only a service has this view.

const historyView = {
  name: "history",
  title: "History",
  needs: ["op", "dtype"],
  blocks: [],
  async load(state) {
    const {problem} = historyChoices(state);
    if (problem === null) return [];
    const words = new URLSearchParams({op: shapeKey(problem), mode: state.mode});
    return askRows(`v1/history?${words}`);
  },
  show(state, rows) {
    const {problem, node} = historyChoices(state);
    if (problem === null) return [element("p", {}, "No winner fits these filters.")];
    return [
      node,
      element("p", {class: "key"}, shapeKey(problem)),
      historyFigure(rows),
      dataTable("Winners, the latest first", kHistoryColumns, rows, true),
    ];
  },
};

const historyChoices = (state) => problemChoices(state, winnersOf(state).map((row) => row.problem));

/** A line for each device, from winner to winner. */
function historyFigure(rows) {
  const devices = [...grouped(rows, (row) => row.device)];
  const slower = rows.filter((row) => row.verdict === "slower").length;
  return chartFigure({
    title: "Time of the winner over time",
    words: `${plural(rows.length, "winner")}; ${slower > 0 ? `${slower} slower than the one before, marked` : "none is slower than the one before"}. Point at one to read its config and versions.`,
    height: isNarrow() ? 300 : 360,
    options: () => ({
      legend: {...legendStyle(), show: devices.length > 1},
      grid: {left: 12, right: 24, top: devices.length > 1 ? 60 : 20, bottom: 30, containLabel: true},
      xAxis: styledAxis({type: "time", splitNumber: isNarrow() ? 3 : 8}),
      yAxis: styledAxis({...timeAxis(rows.map((row) => row.time_ns)), nameLocation: "end"}, 8),
      tooltip: tooltipStyle(({data}) => historyLines(rows[data.at])),
      series: devices.map(([device, list], i) => ({type: "line", step: "end", name: device, symbolSize: 9, symbol: kSymbols[i % kSymbols.length],
        data: [...list].reverse().map((row) => ({value: [row.measured_at * 1000, row.time_ns], at: rows.indexOf(row),
          itemStyle: row.verdict === "slower" ? {color: styleColor("--mark")} : {}}))})),
    }),
    table: () => dataTable("Time of the winner over time", kHistoryColumns, rows, true),
  });
}

const historyLines = (row) => [
  row.winner, `time ${showTime(row.time_ns)}, ${showTime(row.time_low_ns)} to ${showTime(row.time_high_ns)}`,
  row.verdict === "first" ? "the first" : `${row.verdict} (${showRatio(row.speedup)}): ${row.changed}`,
  `Tilewright ${row.tilewright}, ${row.compiler}${row.driver ? `, driver ${row.driver}` : ""}`, showMoment(row.measured_at),
];

const kHistoryColumns = [
  {heading: "measured", cell: (row) => element("span", {class: "moment"}, showMoment(row.measured_at))},
  {heading: "time", number: true, cell: (row) => showTime(row.time_ns)},
  {heading: "than before", cell: (row) => (row.speedup ? `${row.verdict}, ${showRatio(row.speedup)}` : row.verdict ?? "-")},
  {heading: "changed", cell: (row) => row.changed ?? "-"},
  {heading: "winner", cell: (row) => configSpan(row.winner, row.served ? " (served)" : "")},
  {heading: "versions", cell: (row) => [`Tilewright ${row.tilewright}`, row.compiler, row.driver && `driver ${row.driver}`].filter(Boolean).join(", ")},
  {heading: "device", cell: (row) => row.device},
];
