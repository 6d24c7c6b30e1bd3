// SPDX-License-Identifier: Apache-2.0
// The current work of the service: the problem being tuned, waiting campaigns and misses, sweeps and their results.

/** The state told by events. */
const live = {reached: false, job: null, problem: null, done: [], tuned: 0, notes: []};
const kMostDone = 50;

function takeEvent(event) {
  switch (event.event) {
    case "job_started":
      live.job = event;
      live.problem = null;
      break;
    case "problem_started":
      live.problem = {...event, tried: [], failed: 0, best: null};
      break;
    case "trial":
      if (live.problem?.problem !== event.problem) break;
      live.problem.tried.push(event);
      if (event.median_ns === undefined) ++live.problem.failed;
      if (event.best) live.problem.best = event;
      break;
    case "problem_done":
      live.done = [event, ...live.done].slice(0, kMostDone);
      ++live.tuned;
      break;
    case "job_done":
      if (event.state !== "done") live.done = [{...event, winner: null}, ...live.done].slice(0, kMostDone);
      live.job = live.problem = null;
      break;
    case "error":
    case "note":
      live.notes = [event.text, ...live.notes].slice(0, 5);
      break;
    case "reset":
      live.job = live.problem = null;
  }
  changed(["job_started", "job_done", "reset"].includes(event.event));
}

const liveView = {
  name: "live",
  title: "Live",
  needs: [],
  isOfCache: false,
  async load(state) {
    const [campaigns, misses, sweeps, campaign] = await Promise.all([
      askRows("v1/campaigns"), askRows("v1/misses"), askRows("v1/sweeps?top=20"),
      state.campaign ? askJson(`v1/campaigns/${encodeURIComponent(state.campaign)}`) : null,
    ]);
    return {campaigns, misses, sweeps, campaign};
  },
  show(state, {campaigns, misses, sweeps, campaign}) {
    return [
      element("h3", {}, "Being tuned"),
      element("div", {id: "job"}, jobNodes()),
      live.problem ? triedFigure() : null,
      element("h3", {}, "Campaigns"),
      campaigns.length > 0 ? dataTable("Campaigns, the latest first", kCampaignColumns, campaigns, true) : element("p", {}, "No campaign was submitted."),
      campaign ? campaignPart(campaign) : null,
      element("p", {}, misses.length > 0
        ? element("a", {href: addressOf({view: "misses"})}, `${plural(misses.length, "shape")} that applications missed ${misses.length === 1 ? "waits" : "wait"}.`)
        : "No shape that an application missed waits."),
      live.done.length > 0 ? dataTable("Tuned since this page was opened", kDoneColumns, live.done) : null,
      element("h3", {}, "Sweeps"),
      sweeps.length > 0 ? dataTable("The latest sweeps of this cache", kSweepColumns, sweeps, true) : element("p", {}, "No sweep is in this cache."),
    ];
  },
  /** Updates in place the parts that change with each event. */
  update() {
    document.getElementById("job")?.replaceChildren(...[jobNodes()].flat());
    for (const shown of shownCharts) if (shown.chart && shown.holder.id === "tried") shown.chart.setOption(shown.options());
  },
};

function jobNodes() {
  const notes = live.notes.map((note) => element("p", {class: "note"}, note));
  if (!live.job) return [element("p", {role: "status"}, "Nothing is being tuned."), ...notes];
  const {problem, job} = live;
  const tried = problem?.tried.length ?? 0;
  return [
    element("p", {role: "status"}, element("span", {class: "key"}, job.problem), ` on ${job.device === "cpu" ? "the emulator" : job.device}`,
      job.campaign ? [", of ", element("a", {href: addressOf({view: "live", campaign: job.campaign})}, `campaign ${job.campaign}`)] : ", which was missed"),
    problem ? element("p", {}, element("progress", {max: Math.max(problem.configs, 1), value: Math.min(tried + problem.known, problem.configs), "aria-label": "configs looked at"}),
      ` ${showNumber(tried)} of ${showNumber(problem.configs)} configs tried${problem.known > 0 ? `, ${showNumber(problem.known)} known before` : ""}${problem.failed > 0 ? `, ${problem.failed} failed` : ""}`) : null,
    problem?.best ? element("p", {}, "Fastest so far: ", configSpan(problem.best.config), ` in ${showTime(problem.best.median_ns)}`) : null,
    ...notes,
  ].filter(Boolean);
}

const timedSoFar = () => (live.problem?.tried ?? []).map((trial, i) => ({...trial, i})).filter((trial) => trial.median_ns > 0);

function triedFigure() {
  const title = "Configs in the order in which they were tried";
  const figure = chartFigure({
    title,
    words: `Times of ${live.problem.problem} so far; marked are those that were the fastest when they were tried.`,
    height: 260,
    options: () => ({
      grid: {left: 12, right: 24, top: 20, bottom: 40, containLabel: true},
      xAxis: styledAxis({type: "value", name: "trial", minInterval: 1}, 26),
      yAxis: styledAxis({...timeAxis(timedSoFar().map((trial) => trial.median_ns)), nameLocation: "end"}, 8),
      tooltip: tooltipStyle(({data}) => [data.config, `time ${showTime(data.value[1])}`]),
      series: [{type: "scatter", symbolSize: 8, data: timedSoFar().map((trial) => ({value: [trial.i + 1, trial.median_ns], config: trial.config,
        itemStyle: {color: styleColor(trial.best ? "--mark" : "--series-0")}}))}],
    }),
    table: () => dataTable(title, [
      {heading: "config", cell: (trial) => configSpan(trial.config)},
      {heading: "time", number: true, cell: (trial) => showTime(trial.median_ns)},
    ], timedSoFar()),
  });
  figure.querySelector(".chart").id = "tried";
  return figure;
}

/** "2026-03-01T14:05:11Z" becomes "2026-03-01 14:05:11 UTC", on one line. */
const showSecond = (moment) => element("span", {class: "moment"}, moment.replace("T", " ").replace("Z", " UTC"));
const showState = (row) => `${row.state}${row.reason ? `: ${row.reason}` : ""}`;

const kCampaignColumns = [
  {heading: "campaign", cell: (row) => element("a", {href: addressOf({view: "live", campaign: row.id})}, `${row.id} ${row.name}`)},
  {heading: "state", cell: showState},
  {heading: "problems", number: true, cell: (row) => showNumber(row.problems)},
  {heading: "done", number: true, cell: (row) => showNumber(row.done)},
  {heading: "failed", number: true, cell: (row) => showNumber(row.failed)},
  {heading: "submitted", cell: (row) => [showSecond(row.submitted_at), row.submitted_by ? ` by ${row.submitted_by}` : ""]},
];

const campaignPart = (campaign) => dataTable(`Problems of campaign ${campaign.summary.id}, ${campaign.title}`, [
  {heading: "problem", cell: (row) => problemKeyLink(row.problem)},
  {heading: "device", cell: (row) => row.device},
  {heading: "state", cell: showState},
  {heading: "tries", number: true, cell: (row) => String(row.attempts)},
], campaign.rows, true);

/** A link to the configs of a problem by its shape key, whether or not the page has the problem yet. */
function problemKeyLink(key) {
  const [, op, inside] = /^([^[{]*)(?:\[([^\]]*)\])?/.exec(key);
  const dtype = /(?:^|,)dtype=([^,]*)/.exec(inside ?? "")?.[1];
  return element("a", {class: "key", href: addressOf({view: "strip", op, dtype, problem: key})}, key);
}

const kDoneColumns = [
  {heading: "problem", cell: (row) => problemKeyLink(row.problem)},
  {heading: "winner", cell: (row) => (row.winner ? configSpan(row.winner) : `none${row.reason ? `: ${row.reason}` : ""}`)},
  {heading: "time", number: true, cell: (row) => (row.median_ns ? showTime(row.median_ns) : "-")},
];

const kSweepColumns = [
  {heading: "sweep", cell: (row) => element("span", {class: "key"}, row.command)},
  {heading: "began", cell: (row) => showSecond(row.started_at)},
  {heading: "outcome", cell: (row) => row.outcome || (row.ended_at ? "ended" : "under way, or killed")},
  {heading: "trials", number: true, cell: (row) => showNumber(row.trials ?? 0)},
];
