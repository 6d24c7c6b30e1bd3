// SPDX-License-Identifier: Apache-2.0
// Charts: Apache ECharts with the page's colours, described in words for people who cannot see them.

const kSymbols = ["circle", "rect", "triangle", "diamond", "pin", "arrow", "roundRect"];
let shownCharts = [];

const styleColor = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
/** Colours that the colour-blind can tell apart (Okabe and Ito), darker or lighter by the theme. */
const seriesColors = () => Array.from({length: 7}, (_, i) => styleColor(`--series-${i}`));
/** Colours from little to much. */
const rampColors = () => Array.from({length: 5}, (_, i) => styleColor(`--ramp-${i}`));

/** Black or white, whichever has more contrast with a colour. */
function readableOn(color) {
  const [red, green, blue] = echarts.color.parse(color);
  return 0.299 * red + 0.587 * green + 0.114 * blue > 140 ? "#000000" : "#ffffff";
}

/** `factors` times powers of ten between two numbers; powers alone if the range is wide. */
function roundSteps(least, most, factors = most > 500 * least ? [1] : [1, 2, 5]) {
  const steps = [];
  for (let power = Math.floor(Math.log10(least)); power <= Math.log10(most); ++power) {
    for (const factor of factors) {
      const step = factor * 10 ** power;
      if (step >= least && step <= most) steps.push(step);
    }
  }
  return steps;
}

/** A logarithmic axis over ratios, with a little room at both ends. */
function ratioAxis(least, most) {
  const min = least / 1.03, max = most * 1.03;
  const steps = max > 20 * min ? roundSteps(min, max) : roundSteps(min, max, [1, 1.2, 1.5, 2, 3, 5, 7]);
  return {type: "log", min, max, axisTick: {customValues: steps},
    axisLabel: {customValues: steps, formatter: (value) => withoutZeros(showRatio(value))}};
}

const kDurationSteps = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 18000, 36000];

/** The distance of the marks on an axis of so many seconds. */
const durationStep = (seconds) => kDurationSteps.find((step) => seconds <= step * (isNarrow() ? 4 : 9)) ?? seconds / 5;

/** An axis of times: logarithmic if they span much, else linear. */
function timeAxis(values) {
  const least = values.reduce((a, b) => Math.min(a, b), Infinity), most = values.reduce((a, b) => Math.max(a, b), 0);
  const label = {formatter: (value) => withoutZeros(showTime(value))};
  if (most > 4 * least) {
    const steps = roundSteps(least / 1.1, most * 1.1);
    return {type: "log", name: "time", min: least / 1.1, max: most * 1.1, axisTick: {customValues: steps},
      axisLabel: {...label, customValues: steps}};
  }
  const room = (most - least || most) * 0.04;
  return {type: "value", name: "time", min: Math.max(0, least - room), max: most + room,
    axisLabel: {...label, showMinLabel: false, showMaxLabel: false}};
}

function axisStyle() {
  const line = {lineStyle: {color: styleColor("--line")}};
  return {
    axisLine: line,
    axisTick: line,
    splitLine: {lineStyle: {color: styleColor("--grid")}},
    minorSplitLine: {lineStyle: {color: styleColor("--grid")}},
    axisLabel: {color: styleColor("--text"), fontSize: 12, hideOverlap: true},
    nameTextStyle: {color: styleColor("--text"), fontSize: 12},
    nameLocation: "middle",
  };
}

/** `axis` with the page's style. */
const styledAxis = (axis, nameGap) => ({...axisStyle(), nameGap, ...axis, axisLabel: {...axisStyle().axisLabel, ...axis.axisLabel}});

function tooltipStyle(lines) {
  return {
    trigger: "item",
    confine: true,
    backgroundColor: styleColor("--panel"),
    borderColor: styleColor("--line"),
    textStyle: {color: styleColor("--text"), fontSize: 12},
    extraCssText: "max-width: min(26rem, 85vw); white-space: pre-wrap; overflow-wrap: anywhere;",
    // As text, not as HTML: config texts come from a cache.
    formatter: (item) => lines(item).filter((line) => line).map(echarts.format.encodeHTML).join("\n"),
  };
}

/** A figure: the chart in `options` (ECharts' own), `words` that describe it, and the same as a table. `onClick(item)`
 *  makes its points links; `attach(chart)` is called when it is drawn. */
function chartFigure({title, words, height, options, table, onClick, attach}) {
  const holder = element("div", {class: "chart", role: "img", "aria-label": `${title}. ${words}`});
  holder.style.height = `${height}px`;
  const details = element("details", {}, element("summary", {}, `Table: ${title}`));
  let filled = false;
  const fillTable = () => {
    if (!filled) details.append(table());
    filled = true;
  };
  details.addEventListener("toggle", () => details.open && fillTable());
  const figure = element("figure", {}, element("figcaption", {}, element("strong", {}, title), ` ${words}`), holder, details);
  shownCharts.push({holder, options, onClick, attach, details, fillTable, chart: null});
  return figure;
}

/** Draws the figures of the view that is in the page. */
function drawCharts() {
  for (const shown of shownCharts) {
    shown.chart = echarts.init(shown.holder, null, {renderer: "canvas"});
    const base = {
      animation: false,
      textStyle: {fontFamily: getComputedStyle(document.body).fontFamily, color: styleColor("--text")},
      color: seriesColors(),
    };
    shown.chart.setOption({...base, ...shown.options()});
    if (shown.onClick) shown.chart.on("click", shown.onClick);
    if (shown.attach) shown.attach(shown.chart);
    shown.holder.chart = shown.chart;
  }
}

function forgetCharts() {
  for (const shown of shownCharts) if (shown.chart) shown.chart.dispose();
  shownCharts = [];
}

function redrawCharts() {
  for (const shown of shownCharts) if (shown.chart) shown.chart.dispose();
  drawCharts();
}

const resizeCharts = () => shownCharts.forEach((shown) => shown.chart && shown.chart.resize());

/** Small screens have no room for long names beside an axis. */
const isNarrow = () => document.documentElement.clientWidth < 600;

const legendStyle = () => ({type: isNarrow() ? "plain" : "scroll", top: 0, itemWidth: 14, itemHeight: 11, textStyle: {color: styleColor("--text")},
  pageTextStyle: {color: styleColor("--text")}, inactiveColor: styleColor("--faint")});
