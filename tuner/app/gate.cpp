// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/gate.hpp"

#include <iterator>
#include <utility>

#include "tuner/app/compare.hpp"

namespace tilewright::app {

GateReport gate(const GateRequest& request) {
  GateReport report{request.a, request.b, request.rule, {}, {}};
  const std::vector<std::string> ops = request.ops.empty() ? compared_ops(request.place, request.a) : request.ops;
  for (const std::string& op : ops) {
    CompareRequest compare{request.place, op, request.a, request.b, request.device, request.mode, {}};
    compare.rounds = true;
    for (CompareLine& line : compared_lines(compare)) {
      if (line.a && line.b) {
        report.lines.push_back(std::move(line));
      } else if (line.a || line.b) {
        ++(line.a ? report.only_a : report.only_b);
      }
    }
  }
  std::vector<GatePair> pairs;
  for (const CompareLine& line : report.lines) {
    pairs.push_back({&line.a->trial, &line.b->trial, line.a->device == line.b->device});
  }
  report.judgements = judge_gate(pairs, request.rule);
  return report;
}

}  // namespace tilewright::app
