// SPDX-License-Identifier: Apache-2.0
// The page: filters, links to the views, and the view that the address names.

const kViews = [summaryView, heatView, rooflineView, stripView, effectsView, timelineView, failuresView, evidenceView];
const kName = source.isLive ? "Tilewright" : "Tilewright report";
const kFilterLabels = {op: "Op", dtype: "Type", device: "Device", mode: "Mode"};

const viewOf = (name) => kViews.find((view) => view.name === name) || kViews[0];

function showFilters(view, state) {
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

/** What was chosen last keeps the focus though its element is made anew. */
function focusedName() {
  const active = document.activeElement;
  return active && active.name ? active.name : null;
}

let showing = 0;

/** Shows what the address names, once its blocks are open. */
async function show() {
  const view = viewOf(readAddress().view), state = stateFor(view), mine = ++showing;
  const main = document.getElementById("main");
  main.setAttribute("aria-busy", "true");
  await openBlocks(state.op && !view.everyOp ? [state.op] : report.ops, view.blocks);
  if (mine !== showing) return;
  const focused = focusedName();
  forgetCharts();
  showFilters(view, state);
  showLinks(view);
  document.title = `${view.title} - ${kName}`;
  main.replaceChildren(element("h2", {}, view.title), ...view.show(state).filter(Boolean));
  drawCharts();
  if (focused) document.querySelector(`[name="${focused}"]`)?.focus();
  main.removeAttribute("aria-busy");
  main.dataset.ready = view.name;
  main.dataset.address = location.hash;
}

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
    // it lasts as long as the page, then
  }
  setTheme(theme);
  redrawCharts();
}

/** What A4 and Letter have room for. */
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
  document.getElementById("about").textContent = `${report.title} of ${report.source}, ${report.made}`;
  document.getElementById("footer").textContent =
    `Made by Tilewright ${report.version}. Charts by Apache ECharts ${echarts.version}, Apache-2.0.`;
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
    event.preventDefault();  // the address is the view's
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
  begin(await source.index());
  showAbout();
  await show();
}

start();
