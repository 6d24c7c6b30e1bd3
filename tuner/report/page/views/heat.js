// SPDX-License-Identifier: Apache-2.0
// Winners over their shapes: colour shows a figure or a parameter of each. The shapes of a grid are its cells: two dims
// are axes, the others choose a slice. Shapes that fill no grid are points over logarithmic axes.

const kHeatFigures = [
  ["share_of_ceiling", "share of ceiling"], ["time_ns", "time"], ["gb_per_s", "GB/s"], ["gflop_per_s", "FLOP/s"],
  ["speedup_over_base", "speed-up over base"], ["bound", "bound"], ["implementation", "implementation"],
];
const kOthers = "(others)";

const heatView = {
  name: "heat",
  title: "Heat map",
  needs: ["op", "dtype"],
  blocks: [],
  show(state) {
    const all = winnersOf(state);
    if (all.length === 0) return [element("p", {}, "No winner fits these filters.")];
    const spec = specOf(all[0].problem);
    const grid = heatAxes(spec, state), isGrid = fillGrid(all, spec, grid, state);
    const axes = isGrid ? grid : pointAxes(spec, state);
    const {rows, choices} = heatSlice(all, axes, state);
    const figure = heatFigureOf(all, state);
    return [
      element("div", {class: "choices"}, [
        chooser("Colour", "figure", figure.options, figure.name),
        spec.dims.length > 1 ? chooser("Across", "x", spec.dims, axes.x) : null,
        axes.yOptions.length > 1 ? chooser("Up", "y", axes.yOptions.map((y) => [y, y === kOthers ? "all others" : y]), axes.y) : null,
        ...choices,
      ]),
      isGrid ? heatFigure(rows, axes, figure) : pointsFigure(rows, axes, figure),
    ];
  },
};

/** Whether the shapes form a grid: they fill a good part of its cells, and the cells are wide enough to see. */
function fillGrid(all, spec, axes, state) {
  const {rows} = heatSlice(all, axes, state);
  const xs = new Set(rows.map((row) => sizeOf(row.problem, axes.x)));
  const ys = new Set(rows.map((row) => axes.onY.map((dim) => sizeOf(row.problem, dim)).join(" ")));
  // A slice that leaves most winners out shows only a corner.
  return rows.length >= 0.4 * xs.size * ys.size && xs.size <= kMostColumns && rows.length >= 0.1 * all.length;
}

const kMostColumns = 128;

/** Any dim against any other; points do not tell the remaining dims apart. */
function pointAxes(spec, state) {
  const x = spec.dims.includes(state.x) ? state.x : spec.dims[0];
  const yOptions = spec.dims.filter((dim) => dim !== x);
  const y = yOptions.includes(state.y) ? state.y : yOptions[0] || "";
  return {x, y, yOptions, sliced: Object.keys(spec.attributes)};
}

/** The dims on the axes; `y` may be all dims except `x` together. */
function heatAxes(spec, state) {
  const x = spec.dims.includes(state.x) ? state.x : spec.dims[0];
  const rest = spec.dims.filter((dim) => dim !== x);
  const yOptions = rest.length > 1 ? [kOthers, ...rest] : rest;
  const y = yOptions.includes(state.y) ? state.y : yOptions[0] || "";
  const onY = y === kOthers ? rest : rest.filter((dim) => dim === y);
  return {x, y, yOptions, onY, sliced: [...Object.keys(spec.attributes), ...rest.filter((dim) => !onY.includes(dim))]};
}

const sizeOf = (problem, dim) => problems.dims[problem][specOf(problem).dims.indexOf(dim)];

function kindOf(row, name) {
  const attributes = specOf(row.problem).attributes;
  return name in attributes ? attributes[name] : sizeOf(row.problem, name);
}

/** The winners of the chosen slice, and its choices; by default the values that most winners have. */
function heatSlice(all, axes, state) {
  let rows = all;
  const choices = [];
  for (const name of axes.sliced) {
    const groups = grouped(rows, (row) => String(kindOf(row, name)));
    const most = [...groups].sort((a, b) => b[1].length - a[1].length)[0][0];
    const value = groups.has(state[`at.${name}`]) ? state[`at.${name}`] : most;
    if (groups.size > 1) {
      const options = [...groups.keys()].sort((a, b) => ascending(Number(a) || a, Number(b) || b));
      choices.push(chooser(name, `at.${name}`, options.map((one) => [one, `${one} (${groups.get(one).length})`]), value));
    }
    rows = groups.get(value);
  }
  return {rows, choices};
}

/** The figure shown as colour, {name, title, unit, of(row)}, and all figures to choose from. */
function heatFigureOf(all, state) {
  const parameters = new Set();
  for (const row of all) for (const name of row.config.parameters.keys()) parameters.add(name);
  const figures = kHeatFigures.filter(([name]) => name === "implementation" || all.some((row) => row.get(name) !== null));
  const options = [...figures, ...[...parameters].map((name) => [`parameter.${name}`, `parameter ${name}`])];
  const [name, title] = options.find(([one]) => one === state.figure) || options[0];
  const column = all[0].table.column(name);
  const of = (row) => {
    if (name === "implementation") return row.config.implementation;
    if (name.startsWith("parameter.")) return row.config.parameters.get(name.slice("parameter.".length)) ?? null;
    return name === "gflop_per_s" && row.get(name) !== null ? row.get(name) * 1e9 : row.get(name);
  };
  const unit = name === "gflop_per_s" ? "count" : column ? column.unit : "none";
  return {name, title, options, of, unit, byKind: unit === "none"};
}

function heatCells(rows, axes, figure) {
  const yText = (problem) => axes.onY.map((dim) => (axes.y === kOthers ? `${dim}=${sizeOf(problem, dim)}` : sizeOf(problem, dim))).join(" ") || "all";
  const order = (a, b) => {
    for (const dim of axes.onY) {
      const difference = sizeOf(a.problem, dim) - sizeOf(b.problem, dim);
      if (difference !== 0) return difference;
    }
    return 0;
  };
  const xs = distinctValues(rows, (row) => sizeOf(row.problem, axes.x));
  const ys = [...new Set([...rows].sort(order).map((row) => yText(row.problem)))];
  const xPlace = new Map(xs.map((x, i) => [x, i])), yPlace = new Map(ys.map((y, i) => [y, i]));
  const cells = rows.map((row) => ({
    row, x: xPlace.get(sizeOf(row.problem, axes.x)), y: yPlace.get(yText(row.problem)), value: figure.of(row),
  })).filter((cell) => cell.value !== null);
  return {xs, ys, cells};
}

function heatColors(figure, cells) {
  const style = {textStyle: {color: styleColor("--text")}, left: "center", bottom: 0, orient: "horizontal"};
  if (figure.byKind) {
    const kinds = [...new Set(cells.map((cell) => cell.value))].sort(ascending);
    const numbers = kinds.every((kind) => typeof kind === "number");
    const ramp = rampColors();
    const colors = numbers && kinds.length > 1
      ? kinds.map((_, i) => echarts.color.lerp(i / (kinds.length - 1), ramp)) : kinds.map((_, i) => seriesColors()[i % 7]);
    const visualMap = {...style, type: "piecewise", dimension: 2,
      pieces: kinds.map((kind, i) => ({value: i, label: String(kind), color: colors[i]})), itemSymbol: "rect"};
    const labelColor = (number) => readableOn(colors[number]);
    return {visualMap, numberOf: (value) => kinds.indexOf(value), labelColor};
  }
  const numbers = cells.map((cell) => cell.value);
  const log = figure.unit === "nanoseconds" || figure.unit === "rate" || figure.unit === "ratio" || figure.unit === "count";
  const numberOf = (value) => (log ? Math.log10(value) : value);
  const visualMap = {...style, type: "continuous", dimension: 2, calculable: true, itemHeight: isNarrow() ? 120 : 240,
    min: numberOf(Math.min(...numbers)), max: numberOf(Math.max(...numbers)),
    formatter: (value) => withoutZeros(showCell(log ? 10 ** value : value, figure.unit)), inRange: {color: rampColors()}};
  const span = visualMap.max - visualMap.min || 1;
  const labelColor = (number) => readableOn(echarts.color.lerp((number - visualMap.min) / span, rampColors()));
  return {visualMap, numberOf, labelColor};
}

function heatFigure(rows, axes, figure) {
  const {xs, ys, cells} = heatCells(rows, axes, figure);
  const labelled = cells.length <= 160 && xs.length <= (isNarrow() ? 5 : 14);
  const shownValue = (value) => showCell(value, figure.unit);
  const title = `${figure.title[0].toUpperCase()}${figure.title.slice(1)} of winners`;
  return chartFigure({
    title,
    words: `${plural(cells.length, "problem")} over ${axes.x} (across)${axes.onY.length > 0 ? ` and ${axes.onY.join(", ")} (up)` : ""}. ` +
      "A cell leads to all configs of its problem.",
    height: Math.min(900, 156 + Math.max(ys.length * (ys.length > 40 ? 11 : 26), 60)),
    options: () => {
      const {visualMap, numberOf, labelColor} = heatColors(figure, cells);
      return {
        grid: {left: 8, right: 16, top: 26, bottom: 85, containLabel: true},
        xAxis: styledAxis({type: "category", data: xs, name: axes.x, splitLine: {show: false}}, 24),
        yAxis: styledAxis({type: "category", data: ys, name: axes.y === kOthers ? "" : axes.y, splitLine: {show: false},
          nameLocation: "end", axisLabel: {fontSize: isNarrow() ? 10 : 12}}, 6),
        visualMap,
        tooltip: tooltipStyle(({data}) => winnerLines(cells[data.cell].row)),
        series: [{type: "heatmap", emphasis: {itemStyle: {borderColor: styleColor("--text"), borderWidth: 2}},
          itemStyle: {borderColor: styleColor("--page"), borderWidth: cells.length > 2000 ? 0 : 1},
          label: {show: labelled, fontSize: 11, formatter: ({data}) => shownValue(cells[data.cell].value)},
          data: cells.map((cell, i) => {
            const number = numberOf(cell.value);
            return {value: [cell.x, cell.y, number], cell: i, label: {color: labelColor(number)}};
          })}],
      };
    },
    onClick: ({data}) => go({view: "strip", problem: shapeKey(cells[data.cell].row.problem)}),
    table: () => winnersDataTable(title, cells.map((cell) => cell.row), figure),
  });
}

/** A logarithmic axis over sizes, which are mostly near powers of two. */
function sizeAxis(name, sizes, most) {
  const low = Math.floor(Math.log2(Math.min(...sizes))), high = Math.ceil(Math.log2(Math.max(...sizes)));
  const step = Math.max(1, Math.ceil((high - low) / most)), steps = [];
  for (let power = Math.ceil(low / step) * step; power <= high; power += step) steps.push(2 ** power);
  return {type: "log", logBase: 2, name, min: 2 ** (low - 0.3), max: 2 ** (high + 0.3), minorSplitLine: {show: false},
    axisTick: {customValues: steps}, axisLabel: {customValues: steps, formatter: showSize}};
}

/** 65536 becomes "64Ki": the sizes of an axis are powers of two. */
const showSize = (size) => (size < 16384 ? String(size) : withoutZeros(showBytes(size)).replace(/ (\w*)B$/, "$1"));

/** For an op with one dim, the figure itself is up. */
function pointsFigure(rows, axes, figure) {
  const points = rows.map((row) => ({row, x: sizeOf(row.problem, axes.x), y: axes.y ? sizeOf(row.problem, axes.y) : row.get("share_of_ceiling"),
    value: figure.of(row)})).filter((point) => point.value !== null && point.y !== null);
  if (points.length === 0) return element("p", {}, "No winner that fits these filters has this figure.");
  const up = axes.y || "share of ceiling";
  const title = `${figure.title[0].toUpperCase()}${figure.title.slice(1)} of winners`;
  return chartFigure({
    title,
    words: `${plural(points.length, "problem")} over ${axes.x} (across) and ${up} (up). A point leads to all configs of its problem.`,
    height: isNarrow() ? 440 : 540,
    options: () => {
      const {visualMap, numberOf} = heatColors(figure, points);
      return {
        grid: {left: 8, right: 16, top: 30, bottom: 85, containLabel: true},
        xAxis: styledAxis(sizeAxis(axes.x, points.map((point) => point.x), isNarrow() ? 6 : 14), 24),
        yAxis: styledAxis(axes.y ? {...sizeAxis(axes.y, points.map((point) => point.y), 10), nameLocation: "end"}
          : {type: "value", scale: true, name: up, nameLocation: "end", axisLabel: {formatter: (value) => withoutZeros(showShare(value))}}, 10),
        visualMap,
        tooltip: tooltipStyle(({data}) => winnerLines(points[data.cell].row)),
        series: [{type: "scatter", symbolSize: points.length > 2000 ? 6 : points.length > 400 ? 8 : 11,
          itemStyle: {opacity: 0.9, borderColor: styleColor("--line"), borderWidth: 0.5},
          data: points.map((point, i) => ({value: [point.x, point.y, numberOf(point.value)], cell: i}))}],
      };
    },
    onClick: ({data}) => go({view: "strip", problem: shapeKey(points[data.cell].row.problem)}),
    table: () => winnersDataTable(title, points.map((point) => point.row), figure),
  });
}

/** The lines of a winner's tip. */
const winnerLines = (row) => [
  problemText(row.problem), row.get("winner"),
  `time ${row.show("time_ns")} ± ${row.show("half_interval_share")}`,
  `of ceiling ${row.show("share_of_ceiling")}, vs base ${row.show("speedup_over_base")}`,
  `bound ${row.show("bound")}, ${row.show("gb_per_s")} GB/s, ${row.show("flop_per_byte")} flop/byte`,
];

function winnersDataTable(title, rows, figure) {
  const extra = figure && !["time_ns", "share_of_ceiling", "gb_per_s", "speedup_over_base", "bound", "flop_per_byte"].includes(figure.name)
    ? [{heading: figure.title, number: true, cell: (row) => showCell(figure.of(row), figure.unit)}] : [];
  const number = (name, heading) => ({heading, number: true, cell: (row) => row.show(name)});
  return dataTable(title, [
    {heading: "problem", cell: (row) => problemLink(row.problem, "strip", `${row.op} ${row.get("dtype")} ${problemText(row.problem)}`)},
    ...extra,
    number("time_ns", "time"), number("half_interval_share", "±"), number("gb_per_s", "GB/s"),
    number("share_of_ceiling", "of ceiling"), number("flop_per_byte", "flop/byte"),
    {heading: "bound", cell: (row) => row.show("bound")}, number("speedup_over_base", "vs base"),
    {heading: "winner", cell: (row) => configSpan(row.get("winner"))},
  ], rows);
}
