// SPDX-License-Identifier: Apache-2.0
// The winners' tables, column by column, and their rows that fit the filters.

class Column {
  constructor(json, block) {
    this.name = json.name;
    this.heading = json.heading;
    this.unit = json.unit;
    if ("same" in json) this.at = () => json.same;
    else if ("values" in json) this.at = (row) => json.values[row];
    else if ("texts" in json) {
      const index = block.column(json.index);
      this.at = (row) => json.texts[index[row]];
    } else {
      const numbers = block.column(json.numbers);
      this.at = (row) => (Number.isNaN(numbers[row]) ? null : numbers[row]);
    }
  }
  show(row) {
    return showCell(this.at(row), this.unit);
  }
}

class WinnerTable {
  /** `firstProblem` is the place of the op's first problem. */
  constructor(op, firstProblem, block) {
    this.op = op;
    this.firstProblem = firstProblem;
    this.count = block.json.count;
    this.problems = Array.from(block.column(block.json.problem), (place) => firstProblem + place);
    this.byName = new Map();
    this.columns = this.add(block);
    this.evidence = [];
  }
  addEvidence(block) {
    this.evidence = this.add(block);
  }
  add(block) {
    const columns = block.json.columns.map((column) => new Column(column, block));
    for (const column of columns) this.byName.set(column.name, column);
    return columns;
  }
  column(name) {
    return this.byName.get(name);
  }
}

/** One winner: a row of its op's table. */
class WinnerRow {
  constructor(table, row) {
    this.table = table;
    this.row = row;
  }
  get problem() {
    return this.table.problems[this.row];
  }
  get op() {
    return this.table.op;
  }
  get(name) {
    const column = this.table.column(name);
    return column ? column.at(this.row) : null;
  }
  show(name) {
    const column = this.table.column(name);
    return column ? column.show(this.row) : "-";
  }
  get config() {
    return parseConfig(this.get("winner"));
  }
}

/** The winners that fit the filters of `state`; an empty filter fits all. */
function winnersOf(state) {
  const rows = [];
  for (const table of winnerTables.values()) {
    if (state.op && table.op !== state.op) continue;
    const device = table.column("device"), mode = table.column("mode"), dtype = table.column("dtype");
    for (let row = 0; row < table.count; ++row) {
      if (device.at(row) !== state.device || mode.at(row) !== state.mode) continue;
      if (state.dtype && dtype.at(row) !== state.dtype) continue;
      rows.push(new WinnerRow(table, row));
    }
  }
  return rows;
}

/** The winner of a problem on the state's device in its mode; undefined if there is none. */
function winnerOf(problem, state) {
  const spec = specOf(problem);
  return winnersOf({...state, op: spec.op, dtype: spec.dtype}).find((row) => row.problem === problem);
}

/** Calls `visit(trial)` for the newest trials of configs that fit the filters. */
function eachTrial(state, visit) {
  const device = report.devices.findIndex((one) => one.fingerprint === state.device);
  const mode = report.modes.indexOf(state.mode);
  const fits = report.specs.map((spec) => (!state.op || spec.op === state.op) && (!state.dtype || spec.dtype === state.dtype));
  for (let i = 0; i < trials.count; ++i) {
    if (trials.counts[i] && trials.device[i] === device && trials.mode[i] === mode && fits[problems.spec[trials.problem[i]]]) {
      visit(i);
    }
  }
}
