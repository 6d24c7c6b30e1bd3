// SPDX-License-Identifier: Apache-2.0
#include "tuner/cli/bench_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "cache/base/error.hpp"
#include "tuner/cli/interrupt.hpp"
#include "tuner/compile/request.hpp"

namespace tilewright::cli {
namespace {

constexpr const char* kInterrupted = "interrupted";

/// So many rounds, whatever they are like: Google Benchmark decides when there are enough.
StopRule exactly(std::int64_t rounds) {
  // What it asks for at most, whatever its flags are.
  constexpr std::int64_t kMost = 100'000;
  const int count = static_cast<int>(std::clamp<std::int64_t>(rounds, 1, kMost));
  StopRule rule;
  rule.relative_interval = 0;
  rule.min_rounds = count;
  rule.max_rounds = count;
  rule.budget = std::chrono::hours(1);
  return rule;
}

}  // namespace

std::string BenchRun::prepare(const Timed& timed, Known& known) {
  known.ready = bench_.ready(*timed.definition, timed.problem, timed.candidate);
  if (!known.ready) return kInterrupted;
  if (!known.ready->build.ok) return "compile_failed: " + first_error(known.ready->build.log);
  known.build = build_of(known.ready->build);
  ConfigRunner* const runner = bench_.set_up(*timed.definition, timed.problem, timed.mode);
  if (runner == nullptr) return kInterrupted;
  const Verdict verdict = runner->verify(known.ready->view());
  if (interrupted()) return kInterrupted;
  return verdict.right ? "" : "wrong_result: " + verdict.reason;
}

Message BenchRun::time(const Timed& timed, Known& known, std::int64_t iterations) {
  ConfigRunner* const runner = bench_.set_up(*timed.definition, timed.problem, timed.mode);
  if (runner == nullptr) return {{"error", kInterrupted}};
  const std::int64_t rounds = known.launches > 0 ? (iterations + known.launches - 1) / known.launches : 1;
  Timing timing = runner->time(known.ready->view(), exactly(rounds));
  if (timing.rounds_ns.empty()) return {{"error", kInterrupted}};
  // The first round's, from then on: Google Benchmark wants as many iterations of each repetition.
  if (known.launches == 0) known.launches = timing.launches_per_round;
  return {{"rounds_ns", timing.rounds_ns},
          {"launches", known.launches},
          {"counters", benchmark_counters(timed.roofline, &known.build, timing)}};
}

Message BenchRun::answer(std::size_t index, std::int64_t iterations) {
  const Timed& timed = timed_.at(index);
  Known& known = known_.at(index);
  if (interrupted()) return {{"error", kInterrupted}};
  try {
    if (known.error.empty() && !known.ready) known.error = prepare(timed, known);
    if (known.error.empty()) return time(timed, known, iterations);
  } catch (const UsageError& error) {
    known.error = error.what();
  } catch (const DeviceError& error) {
    known.error = error.what();
  }
  return {{"error", known.error}};
}

std::map<std::string, std::string> BenchRun::failures() const {
  std::map<std::string, std::string> failures;
  for (std::size_t i = 0; i < timed_.size(); ++i) {
    if (!known_[i].error.empty()) failures.emplace(timed_[i].name, known_[i].error);
  }
  return failures;
}

}  // namespace tilewright::cli
