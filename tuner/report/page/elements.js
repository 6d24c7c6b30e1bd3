// SPDX-License-Identifier: Apache-2.0
// Elements of the page, made from text nodes alone: no text of a cache is read as HTML.

/** element("a", {href: "#"}, "text", child, …); leaves out a property that is null, undefined or false. */
function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === false || value === undefined) continue;
    if (typeof value === "function") made.addEventListener(name, value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return made;
}

/** A labelled choice. `options` are texts or [value, text]. */
function choice(label, name, options, value, onChange) {
  const select = element("select", {name, change: () => onChange(select.value)}, options.map((option) => {
    const [optionValue, text] = Array.isArray(option) ? option : [option, option];
    return element("option", {value: optionValue, selected: String(optionValue) === String(value)}, text);
  }));
  return element("label", {}, element("span", {}, label), select);
}

/** A choice that is kept in the address. */
const chooser = (label, name, options, value) => choice(label, name, options, value, (chosen) => go({[name]: chosen}));

const kRowsAtOnce = 100;

/** A table that shows its first rows, and more on demand: there may be thousands. `columns` are {heading, cell(row) →
 *  text or node, number}; `caption` names it. On a small screen a `stacked` table has a line for each cell, for rows of
 *  long texts. */
function dataTable(caption, columns, rows, stacked = false) {
  const body = element("tbody");
  const status = element("span", {class: "count"});
  const more = element("button", {type: "button", click: () => grow(kRowsAtOnce * 10)}, "Show more rows");
  const grow = (count) => {
    const end = Math.min(rows.length, body.rows.length + count);
    const fresh = document.createDocumentFragment();
    for (let i = body.rows.length; i < end; ++i) fresh.append(tableRow(columns, rows[i]));
    body.append(fresh);
    status.textContent = `${end} of ${rows.length} rows`;
    more.hidden = end === rows.length;
  };
  grow(kRowsAtOnce);
  const head = element("thead", {}, element("tr", {}, columns.map((column) =>
    element("th", {scope: "col", class: column.number ? "number" : null}, column.heading))));
  const table = element("table", {}, element("caption", {}, caption), head, body);
  const scroll = element("div", {class: "scroll", role: "region", "aria-label": caption, tabindex: "0"}, table);
  return element("div", {class: stacked ? "table stacked" : "table"}, scroll, rows.length > kRowsAtOnce ? element("p", {}, status, " ", more) : null);
}

function tableRow(columns, row) {
  return element("tr", {}, columns.map((column, i) =>
    element(i === 0 ? "th" : "td", {scope: i === 0 ? "row" : null, class: column.number ? "number" : null, "data-heading": column.heading},
      column.cell(row))));
}

/** A config, with line breaks after its commas; texts or nodes may follow it. */
const configSpan = (config, ...more) =>
  element("span", {class: "config"}, config.split(/(?<=,)/).map((word, i) => [i > 0 ? element("wbr") : null, word]), more);

/** A term and its value in a list of facts. */
const fact = (term, value) => [element("dt", {}, term), element("dd", {}, value)];

const problemLink = (problem, view, text) =>
  element("a", {href: addressOf({view, problem: shapeKey(problem), op: specOf(problem).op, dtype: specOf(problem).dtype})}, text);
