// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/gate_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "cache/base/units.hpp"
#include "tuner/report/sources.hpp"

namespace tilewright {
namespace {

struct GateRow {
  const CompareLine* times;
  const GateJudgement* judgement;
  const TimedAgain* again;
};

std::vector<GateRow> sorted_lines(const GateReport& report) {
  std::vector<GateRow> lines;
  for (std::size_t i = 0; i < report.lines.size(); ++i) {
    lines.push_back({&report.lines[i], &report.judgements[i], report.again.empty() ? nullptr : &report.again[i]});
  }
  const auto place = [](const GateRow& line) {
    const int verdict = line.judgement->verdict == GateVerdict::failed      ? 0
                        : line.judgement->verdict == GateVerdict::undecided ? 1
                                                                            : 2;
    return std::pair(verdict, -line.judgement->slower);
  };
  std::stable_sort(lines.begin(), lines.end(),
                   [&](const GateRow& left, const GateRow& right) { return place(left) < place(right); });
  return lines;
}

std::string rule_text(const GateRule& rule) { return fmt::format("slower > {:g} %", rule.slower * 100); }

Cell again_cell(const TimedAgain* again) {
  if (again == nullptr || again->outcome == TimedAgain::Outcome::not_asked) return {};
  return again->why.empty() ? "in turns" : again->why;
}

/// Notes how many are undecided, by reason: a narrow table has no column of reasons.
void note_undecided(const GateReport& report, Table& table) {
  std::map<std::string, std::size_t> undecided;
  for (const GateJudgement& judgement : report.judgements) {
    if (judgement.verdict == GateVerdict::undecided) ++undecided[judgement.why];
  }
  for (const auto& [why, count] : undecided) {
    table.notes.push_back(fmt::format("Undecided: {}: {}.", counted(count, "problem"), why));
  }
}

/// Notes how many were timed again, and how many were not, by reason.
void note_again(const GateReport& report, Table& table) {
  std::size_t timed = 0;
  std::map<std::string, std::size_t> left;
  for (const TimedAgain& again : report.again) {
    if (again.outcome == TimedAgain::Outcome::timed) ++timed;
    if (again.outcome == TimedAgain::Outcome::left) ++left[again.why];
  }
  if (timed > 0) {
    table.notes.push_back(
        fmt::format("Timed again, A and B in turns, and judged by that: {}.", counted(timed, "problem")));
  }
  for (const auto& [why, count] : left) {
    table.notes.push_back(
        fmt::format("Not timed again, and judged as before: {}: {}.", counted(count, "problem"), why));
  }
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (static_cast<unsigned char>(c) >= 0x20) {
      out += c;
    }
  }
  return out;
}

std::string sentence(const CompareLine& line, const GateJudgement& judgement) {
  const std::string by = show_cell(std::abs(judgement.slower), Unit::share);
  return fmt::format("B takes {} where A takes {}{}", show_cell(line.b->trial.timing->median_ns, Unit::nanoseconds),
                     show_cell(line.a->trial.timing->median_ns, Unit::nanoseconds),
                     judgement.slower > 0   ? fmt::format(": {} slower", by)
                     : judgement.slower < 0 ? fmt::format(": {} faster", by)
                                            : "");
}

}  // namespace

std::size_t GateReport::count(GateVerdict verdict) const {
  return static_cast<std::size_t>(std::count_if(judgements.begin(), judgements.end(),
                                                [&](const GateJudgement& each) { return each.verdict == verdict; }));
}

Table gate_table(const GateReport& report) {
  Table table;
  table.title = fmt::format("Gate: A is {}, B is {}, fails if {}", report.a, report.b, rule_text(report.rule));
  const std::vector<Source<GateRow>> sources{
      {column("verdict", "verdict"),
       [](const GateRow& line) { return Cell(std::string(name(line.judgement->verdict))); }},
      {column("shape_key", "problem"), [](const GateRow& line) { return Cell(line.times->problem.key()); }},
      {column("a_time_ns", "A", Unit::nanoseconds),
       [](const GateRow& line) { return Cell(line.times->a->trial.timing->median_ns); }},
      {column("b_time_ns", "B", Unit::nanoseconds),
       [](const GateRow& line) { return Cell(line.times->b->trial.timing->median_ns); }},
      {column("slower", "slower", Unit::share), [](const GateRow& line) { return Cell(line.judgement->slower); }},
      {spare_column("p", "p"), [](const GateRow& line) { return cell_of(line.judgement->p); }},
      {spare_column("why", "why"),
       [](const GateRow& line) { return line.judgement->why.empty() ? Cell() : Cell(line.judgement->why); }},
      {spare_column("again", "timed again"), [](const GateRow& line) { return again_cell(line.again); }},
      {data_column("a_config"), [](const GateRow& line) { return Cell(line.times->a->trial.config.text()); }},
      {data_column("b_config"), [](const GateRow& line) { return Cell(line.times->b->trial.config.text()); }},
      {data_column("a_device"), [](const GateRow& line) { return Cell(line.times->a->device); }},
      {data_column("b_device"), [](const GateRow& line) { return Cell(line.times->b->device); }},
  };
  fill(table, sources, sorted_lines(report));
  const std::size_t failed = report.count(GateVerdict::failed);
  const std::size_t undecided = report.count(GateVerdict::undecided);
  table.summary = {{"failed", Cell(static_cast<std::int64_t>(failed))},
                   {"undecided", Cell(static_cast<std::int64_t>(undecided))},
                   {"passed", Cell(static_cast<std::int64_t>(report.count(GateVerdict::passed)))}};
  if (report.lines.empty()) {
    table.notes.push_back("No problem has a time on both sides: nothing is decided.");
  } else {
    table.notes.push_back(fmt::format("{}: {} failed, {} undecided, {} passed.",
                                      counted(report.lines.size(), "problem"), failed, undecided,
                                      report.count(GateVerdict::passed)));
    table.notes.push_back(fmt::format(
        "p: the chance that noise alone makes B so slow, for all problems together; one fails where it is slower by "
        "more than the rule allows and p is at most {:g}.",
        kGateErrors));
  }
  note_undecided(report, table);
  note_again(report, table);
  if (report.only_a > 0) table.notes.push_back(fmt::format("{} only A has.", counted(report.only_a, "problem")));
  if (report.only_b > 0) table.notes.push_back(fmt::format("{} only B has.", counted(report.only_b, "problem")));
  return table;
}

std::string gate_junit(const GateReport& report) {
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  text += fmt::format(R"(<testsuite name="tilewright gate" tests="{}" failures="{}" skipped="{}" errors="0">)",
                      report.lines.size(), report.count(GateVerdict::failed), report.count(GateVerdict::undecided));
  text += '\n';
  for (const GateRow& line : sorted_lines(report)) {
    const std::string says = escaped(sentence(*line.times, *line.judgement));
    text += fmt::format(R"(  <testcase classname="{}" name="{}")", escaped(line.times->problem.spec.op),
                        escaped(line.times->problem.key()));
    if (line.judgement->verdict == GateVerdict::failed) {
      text += fmt::format("><failure message=\"{}\"/></testcase>\n", says);
    } else if (line.judgement->verdict == GateVerdict::undecided) {
      text += fmt::format("><skipped message=\"{}; {}\"/></testcase>\n", escaped(line.judgement->why), says);
    } else {
      text += "/>\n";
    }
  }
  return text + "</testsuite>\n";
}

}  // namespace tilewright
