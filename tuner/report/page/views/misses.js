// SPDX-License-Identifier: Apache-2.0
// Untuned shapes that applications asked for, and that wait.

const missesView = {
  name: "misses",
  title: "Misses",
  needs: [],
  isOfCache: false,
  load: () => askRows("v1/misses"),
  show(state, misses) {
    if (misses.length === 0) return [element("p", {}, "No shape that an application missed waits.")];
    return [
      element("p", {}, `${plural(misses.length, "shape")} ${misses.length === 1 ? "waits" : "wait"}. Tuned first is what was asked for most often, times its bytes.`),
      dataTable("Misses, the most asked first", [
        {heading: "problem", cell: (row) => problemKeyLink(row.problem)},
        {heading: "asked", number: true, cell: (row) => showNumber(row.asked)},
        {heading: "last asked", cell: (row) => showSecond(row.last_at)},
        {heading: "device", cell: (row) => row.device},
      ], misses, true),
    ];
  },
};
