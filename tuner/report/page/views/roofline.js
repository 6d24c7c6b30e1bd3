// SPDX-License-Identifier: Apache-2.0
// Winners under the measured ceilings: operations per byte across, operations per second up.

/** Solid for memory, dashed for fp32, dotted for tensor cores. */
const kLines = {
  memory: {type: "solid", icon: "path://M0,4 L30,4 L30,8 L0,8 Z"},
  fp32: {type: "dashed", icon: "path://M0,4 L12,4 L12,8 L0,8 Z M18,4 L30,4 L30,8 L18,8 Z"},
  tensor: {type: "dotted", icon: "path://M0,4 L4,4 L4,8 L0,8 Z M9,4 L13,4 L13,8 L9,8 Z M18,4 L22,4 L22,8 L18,8 Z M27,4 L31,4 L31,8 L27,8 Z"},
};
const kFp32 = "fp32";
const kBounds = ["memory", "compute", "launch", "not known"];

const rooflineView = {
  name: "roofline",
  title: "Roofline",
  needs: [],
  blocks: [],
  show(state) {
    const rows = winnersOf(state).filter((row) => row.get("flop_per_byte") > 0 && row.get("gflop_per_s") > 0);
    const left = winnersOf(state).length - rows.length;
    const roofs = roofsOf(state, rows);
    return [
      roofs.memory === null ? element("p", {class: "note"}, "This cache has no measured ceiling for this device and mode, so no roof is drawn: sweep without --no-ceilings to measure it.") : null,
      rows.length > 0 ? rooflineFigure(rows, roofs) : element("p", {}, "No winner that fits these filters has known operations and bytes."),
      left > 0 ? element("p", {}, `${plural(left, "winner")} without known operations and bytes, or with none, ${left === 1 ? "is" : "are"} not in the plot.`) : null,
    ];
  },
};

/** The fastest measured ceiling of the state's device, and the rates of the units of the rows' ceilings, slowest first:
 *  bytes and operations per nanosecond. Memory is null, and rates are absent, if not measured. */
function roofsOf(state, rows) {
  const device = report.devices.find((one) => one.fingerprint === state.device);
  const units = new Set(rows.map((row) => row.get("ceiling_unit") || kFp32));
  return {
    memory: device.bytes_per_second[state.mode] / 1e9 || null,
    compute: [...units].filter((unit) => device.flops_per_second[unit])
      .map((unit) => ({unit, rate: device.flops_per_second[unit] / 1e9})).sort((a, b) => a.rate - b.rate),
  };
}

/** The intensity at which the roofs of memory and of a rate meet. */
const ridgeOf = (roofs, rate) => rate / roofs.memory;

function unitText(unit) {
  return unit === kFp32 ? "fp32 multiply-adds" : `${unit.replace(/^tensor_/, "")} on tensor cores`;
}

/** The roofs as lines from the least to the greatest intensity. */
function roofLines(roofs, least, most) {
  const lines = [];
  if (roofs.memory) {
    const ridge = roofs.compute.length > 0 ? ridgeOf(roofs, roofs.compute.at(-1).rate) : most;
    const end = Math.max(least, Math.min(ridge, most));
    lines.push({name: `memory: ${significant(roofs.memory, 4)} GB/s, the fastest ceiling`, ...kLines.memory, points: [[least, least * roofs.memory], [end, end * roofs.memory]]});
  }
  for (const {unit, rate} of roofs.compute) {
    const begin = Math.min(most, Math.max(least, roofs.memory ? ridgeOf(roofs, rate) : least));
    lines.push({name: `compute: ${showCount(rate * 1e9)}FLOP/s, ${unitText(unit)}`, ...(unit === kFp32 ? kLines.fp32 : kLines.tensor), points: [[begin, rate], [most, rate]]});
  }
  return lines;
}

function rooflineFigure(rows, roofs) {
  const intensities = rows.map((row) => row.get("flop_per_byte"));
  const ridges = roofs.memory && roofs.compute.length > 0 ? roofs.compute.map(({rate}) => ridgeOf(roofs, rate)) : [1];
  const least = Math.min(...intensities, ridges[0] / 4) / 1.5, most = Math.max(...intensities, ridges.at(-1) * 4) * 1.5;
  const onlyFp32 = roofs.compute.every(({unit}) => unit === kFp32);
  const lines = roofLines(roofs, least, most);
  const byBound = grouped(rows, (row) => row.get("bound") || "not known");
  const groups = kBounds.filter((bound) => byBound.has(bound)).map((bound) => [bound, byBound.get(bound)]);
  // The library copies its data, so a point holds its row's place, not the row.
  const places = new Map(rows.map((row, i) => [row, i]));
  const title = "Winners under the measured roofs";
  return chartFigure({
    title,
    words: `${plural(rows.length, "winner")} by what bounds it: ${groups.map(([bound, list]) => `${bound} ${list.length}`).join(", ")}. ` +
      "Each winner's own ceiling is of its own size and ratio of reading to writing" +
      (onlyFp32 ? "; tensor cores may exceed the compute roof." : ", and of what its operations run on."),
    height: isNarrow() ? 420 : 520,
    options: () => ({
      legend: {...legendStyle(), type: isNarrow() ? "plain" : "scroll", data: [
        ...lines.map((line) => ({name: line.name, icon: line.icon})),
        ...groups.map(([bound, list]) => ({name: `${bound} (${list.length})`})),
      ]},
      grid: {left: 12, right: 20, top: isNarrow() ? 110 : 52, bottom: 40, containLabel: true},
      xAxis: styledAxis({type: "log", name: "flop/byte", min: least, max: most, axisLabel: {formatter: (value) => withoutZeros(significant(value, 2)), showMinLabel: false, showMaxLabel: false}}, 26),
      yAxis: styledAxis({type: "log", name: "FLOP/s", nameLocation: "end", axisLabel: {formatter: (value) => withoutZeros(showCount(Number((value * 1e9).toPrecision(3))))}}, 14),
      tooltip: tooltipStyle((item) => {
        const row = rows[item.data.at];
        if (!row) return [item.seriesName];
        return [`${row.op} ${row.get("dtype")}`, ...winnerLines(row), `${showCount(row.get("gflop_per_s") * 1e9)}FLOP/s`];
      }),
      series: [
        ...lines.map((line) => ({type: "line", name: line.name, data: line.points, symbol: "none", color: styleColor("--text"),
          lineStyle: {width: 2, type: line.type}})),
        ...groups.map(([bound, list]) => {
          const kind = kBounds.indexOf(bound);
          return {type: "scatter", name: `${bound} (${list.length})`, symbol: kSymbols[kind], symbolSize: 9, color: seriesColors()[kind],
            itemStyle: {opacity: list.length > 1000 ? 0.5 : 0.8},
            data: list.map((row) => ({value: [row.get("flop_per_byte"), row.get("gflop_per_s")], at: places.get(row)}))};
        }),
      ],
    }),
    onClick: ({data}) => {
      const row = rows[data.at];
      if (row) go({view: "strip", op: row.op, dtype: row.get("dtype"), problem: shapeKey(row.problem)});
    },
    table: () => winnersDataTable(title, rows, {name: "gflop_per_s", title: "GFLOP/s", unit: "rate", of: (row) => row.get("gflop_per_s")}),
  });
}
