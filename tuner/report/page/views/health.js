// SPDX-License-Identifier: Apache-2.0
// The state of the service.

const healthView = {
  name: "health",
  title: "Health",
  needs: [],
  isOfCache: false,
  async load() {
    const state = async (path) => {
      try {
        return await askJson(path);
      } catch (error) {
        return {status: error.message};
      }
    };
    const [health, ready, text] = await Promise.all([state("healthz"), state("readyz"), ask("metrics").then((answer) => answer.text()).catch(() => "")]);
    return {health, ready, metrics: readMetrics(text)};
  },
  show(state, {health, ready, metrics}) {
    const of = (name) => metrics.filter((one) => one.name === `tilewright_${name}`);
    const waiting = new Map(of("queue").map((one) => [one.labels.state, one.value]));
    const began = of("start_time_seconds")[0]?.value, seconds = Date.now() / 1000 - began;
    return [
      element("dl", {class: "facts"}, [
        fact("service", health.status === "ok" ? `runs, Tilewright ${health.version}` : health.status),
        fact("cache", ready.status === "ready" ? `can be read${ready.read_only ? "; this service writes nothing" : ""}` : ready.status),
        fact("events", live.reached ? "come in" : "the connection is lost, and tried again"),
        began ? fact("began", `${showMoment(began)}, ${showDuration(seconds)} ago`) : [],
        fact("queue", `${showNumber(waiting.get("running") ?? 0)} running, ${showNumber(waiting.get("queued") ?? 0)} waiting, ${plural(waiting.get("missed") ?? 0, "miss")}`.replace(/misss$/, "misses")),
        fact("tried since", plural(of("trials_total").reduce((sum, one) => sum + one.value, 0), "config")),
        of("device_busy_seconds_total").map((one) => fact(one.labels.device === "cpu" ? "emulator" : one.labels.device, `at work ${showShare(one.value / seconds)} of the time`)),
        of("snapshot_age_seconds").map((one) => fact(`snapshot on ${one.labels.channel}`, `signed ${showDuration(one.value)} ago`)),
        of("cache_bytes").map((one) => fact("cache's file", showBytes(one.value))),
        fact("data of this page", `${report.source || "none"}${report.made ? `, ${report.made}` : ""}`),
      ]),
      ...live.notes.map((note) => element("p", {class: "note"}, note)),
      metrics.length > 0 ? requestsTable(metrics) : null,
    ];
  },
  update: () => show(),
};

/** Parses Prometheus' text into [{name, labels: {}, value}]. */
function readMetrics(text) {
  return text.split("\n").filter((line) => line && !line.startsWith("#")).map((line) => {
    const [, name, labels, value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line);
    return {name, value: Number(value), labels: Object.fromEntries([...(labels ?? "").matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, key, word]) => [key, word]))};
  });
}

/** For each path: the requests, the refused ones, and the time within which most were answered. */
function requestsTable(metrics) {
  const of = (name, route) => metrics.filter((one) => one.name === `tilewright_${name}` && one.labels.route === route);
  const routes = [...new Set(metrics.filter((one) => one.name === "tilewright_requests_total").map((one) => one.labels.route))];
  const rows = routes.map((route) => {
    const requests = of("requests_total", route), count = of("request_seconds_count", route)[0]?.value ?? 0;
    const bound = of("request_seconds_bucket", route).find((one) => one.value >= 0.99 * count);
    const sum = (list) => list.reduce((total, one) => total + one.value, 0);
    return {route, count: sum(requests), refused: sum(requests.filter((one) => one.labels.status >= "400")),
      failed: sum(requests.filter((one) => one.labels.status >= "500")), mean: count > 0 ? of("request_seconds_sum", route)[0].value / count : 0,
      bound: bound?.labels.le};
  }).sort((a, b) => b.count - a.count);
  return dataTable("Requests since the service began", [
    {heading: "path", cell: (row) => (row.route === "none" ? "others" : row.route)},
    {heading: "requests", number: true, cell: (row) => showNumber(row.count)},
    {heading: "4xx and 5xx", number: true, cell: (row) => showNumber(row.refused)},
    {heading: "5xx", number: true, cell: (row) => showNumber(row.failed)},
    {heading: "mean", number: true, cell: (row) => showTime(row.mean * 1e9)},
    {heading: "99 % within", number: true, cell: (row) => (row.bound === undefined || row.bound === "+Inf" ? "-" : withoutZeros(showTime(Number(row.bound) * 1e9)))},
  ], rows, true);
}
