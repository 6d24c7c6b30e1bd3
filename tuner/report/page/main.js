// SPDX-License-Identifier: Apache-2.0
// The page: filters, links to the views, and the view that the address names.

/** The source of the index and the blocks. */
const source = document.getElementById("index") ? kFile : kService;
const kName = source.isLive ? "Tilewright" : "Tilewright report";
const kCacheViews = [summaryView, heatView, rooflineView, stripView, effectsView, timelineView, failuresView, evidenceView];
const kViews = source.isLive ? [liveView, ...kCacheViews, historyView, missesView, healthView] : kCacheViews;
const kFilterLabels = {op: "Op", dtype: "Type", device: "Device", mode: "Mode"};
/** Whether a view shows blocks of the cache; other views load their own data. */
const isOfCache = (view) => view.isOfCache !== false;

const viewOf = (name) => kViews.find((view) => view.name === name) || kViews[0];

function showFilters(view, state) {
  if (!isOfCache(view)) return document.getElementById("filters").replaceChildren();
  const values = filterValues(state);
  const labels = kFilters.map((name) => {
    const every = view.needs.includes(name) || name === "device" || name === "mode" ? [] : [["", "all"]];
    const options = [...every, ...values[name].map((value) => [value, value])];
    return chooser(kFilterLabels[name], name, options, state[name]);
  });
  document.getElementById("filters").replaceChildren(...labels);
}

function showLinks(view) {
  const links = kViews.map((one) =>
    element("li", {}, element("a", {href: addressOf({view: one.name}), "aria-current": one === view ? "page" : null}, one.title)));
  document.getElementById("views").replaceChildren(element("ul", {}, links));
}

/** The name of the focused control, which keeps the focus when its element is made anew. */
function focusedName() {
  const active = document.activeElement;
  return active && active.name ? active.name : null;
}

let showing = 0;
let shownView = null;

/** Shows the view that the address names, once its data are loaded. */
async function show() {
  const view = viewOf(readAddress().view), mine = ++showing;
  const main = document.getElementById("main");
  main.setAttribute("aria-busy", "true");
  let state, nodes;
  try {
    state = stateFor(view);
    const data = await dataOf(view, state);
    if (mine !== showing) return;
    state = stateFor(view);
    forgetCharts();
    nodes = isOfCache(view) && report.kinds.length === 0 ? emptyNodes() : view.show(state, data);
  } catch (error) {
    if (mine !== showing) return;
    forgetCharts();
    nodes = [element("p", {class: "note", role: "alert"}, error.message)];
    console.info(error);
  }
  const focused = focusedName();
  showFilters(view, state);
  showLinks(view);
  document.title = `${view.title} - ${kName}`;
  main.replaceChildren(element("h2", {}, view.title), ...nodes.flat().filter(Boolean));
  drawCharts();
  if (focused) document.querySelector(`[name="${focused}"]`)?.focus();
  shownView = view;
  main.removeAttribute("aria-busy");
  main.dataset.ready = view.name;
  main.dataset.address = location.hash;
}

/** Opens the blocks that a view of the cache needs; other views get their own data as the result. */
async function dataOf(view, state) {
  if (!isOfCache(view)) return view.load(state);
  const all = async () => openBlocks(state.op && !view.everyOp ? [state.op] : report.ops, view.blocks);
  try {
    await all();
  } catch (error) {
    if (error.status !== 404) throw error;
    await readAgain();  // the service has newer blocks
    state = stateFor(view);
    await all();
  }
  return view.load ? view.load(state) : null;
}

const emptyNodes = () => [...report.notes.map((note) => element("p", {class: "note"}, note)), element("p", {}, "There is no trial to show.")];

function chosenTheme() {
  try {
    return localStorage.getItem("tilewright-theme");
  } catch {
    return null;  // a browser may refuse it to files
  }
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  document.getElementById("theme").textContent = theme === "dark" ? "Light theme" : "Dark theme";
}

function toggleTheme() {
  const theme = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  try {
    localStorage.setItem("tilewright-theme", theme);
  } catch {
    // the choice then lasts as long as the page
  }
  setTheme(theme);
  redrawCharts();
}

/** The width that fits both A4 and Letter. */
const kPaperWidth = "180mm";

/** Paper is light, narrower than a screen, and has room for the tables. */
function preparePrint() {
  setTheme("light");
  for (const shown of shownCharts) shown.holder.style.width = kPaperWidth;
  for (const shown of shownCharts) {
    shown.fillTable();
    shown.details.open = true;
  }
  redrawCharts();
}

function showAbout() {
  document.getElementById("name").textContent = kName;
  const about = [`${[report.title, report.source].filter(Boolean).join(" of ")}, ${report.made}`];
  if (source.isLive) {
    about.push(live.tuned > 0 ? `; ${plural(live.tuned, "problem")} tuned since` : "", " ",
      element("button", {type: "button", name: "again", click: () => readAgain().then(show)}, "Read again"));
  }
  document.getElementById("about").replaceChildren(...about);
  document.getElementById("footer").textContent =
    `Made by Tilewright ${report.version}. Charts by Apache ECharts ${echarts.version}, Apache-2.0.`;
}

/** Reads the cache's index anew. */
async function readAgain() {
  try {
    begin(await source.index());
    live.tuned = 0;
  } catch (error) {
    if (!source.isLive) throw error;
    begin(emptyIndex(error.message));
  }
  showAbout();
}

let changes = 0;

/** Redraws after events, at most twice a second; with `wholly` the lists, too. */
function changed(wholly) {
  if (++changes > 1) return (changed.wholly ||= wholly);
  changed.wholly = wholly;
  setTimeout(() => {
    changes = 0;
    if (live.tuned > 0) showAbout();
    if (shownView === liveView && (changed.wholly || (live.problem && !document.getElementById("tried")))) show();
    else shownView?.update?.();
  }, 500);
}

async function start() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const theme = () => chosenTheme() || (dark.matches ? "dark" : "light");
  setTheme(theme());
  dark.addEventListener("change", () => {
    setTheme(theme());
    redrawCharts();
  });
  document.getElementById("theme").addEventListener("click", toggleTheme);
  document.getElementById("skip").addEventListener("click", (event) => {
    event.preventDefault();  // the address belongs to the view
    document.getElementById("main").focus();
  });
  window.addEventListener("hashchange", show);
  window.addEventListener("resize", resizeCharts);
  window.addEventListener("beforeprint", preparePrint);
  window.addEventListener("afterprint", () => {
    for (const shown of shownCharts) shown.holder.style.width = "";
    setTheme(theme());
    redrawCharts();
  });
  await readAgain();
  await show();
  if (!source.isLive) return;
  listen(takeEvent, (reached) => {
    live.reached = reached;
    changed(false);
  });
  setInterval(() => shownView === liveView && show(), 30000);
}

start();
