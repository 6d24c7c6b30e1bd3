// SPDX-License-Identifier: Apache-2.0
// Whether the service does what it should.

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
    const [health, ready] = await Promise.all([state("healthz"), state("readyz")]);
    return {health, ready};
  },
  show(state, {health, ready}) {
    return [
      element("dl", {class: "facts"}, [
        fact("service", health.status === "ok" ? `runs, Tilewright ${health.version}` : health.status),
        fact("cache", ready.status === "ready" ? `can be read${ready.read_only ? "; this service writes nothing" : ""}` : ready.status),
        fact("events", live.reached ? "come in" : "the connection is lost, and tried again"),
        fact("data of this page", `${report.source || "none"}${report.made ? `, ${report.made}` : ""}`),
      ]),
      ...live.notes.map((note) => element("p", {class: "note"}, note)),
    ];
  },
  update: () => show(),
};
