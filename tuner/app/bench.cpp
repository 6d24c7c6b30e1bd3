// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "cache/base/error.hpp"
#include "cache/base/version.hpp"
#include "tuner/app/tuning.hpp"
#include "tuner/compile/request.hpp"
#include "tuner/export/google_benchmark.hpp"

namespace tilewright::app {
namespace {

constexpr const char* kInterrupted = "interrupted";

/// Exactly `rounds` rounds: Google Benchmark decides when there are enough.
StopRule exactly(std::int64_t rounds) {
  // A limit, whatever Google Benchmark's flags ask for.
  constexpr std::int64_t kMost = 100'000;
  const int count = static_cast<int>(std::clamp<std::int64_t>(rounds, 1, kMost));
  StopRule rule;
  rule.relative_interval = 0;
  rule.min_rounds = count;
  rule.max_rounds = count;
  rule.budget = std::chrono::hours(1);
  return rule;
}

Roofline roofline_here(const OpDefinition& definition, const Problem& problem, MeasureMode mode, const Store* cache,
                       const std::string& fingerprint) {
  if (cache != nullptr) {
    Ceilings ceilings(*cache);
    return roofline_of(ceilings, &definition, definition.interface.hash(), problem, fingerprint, mode);
  }
  return {.bytes = definition.bytes_of(problem), .flops = definition.flops_of(problem)};
}

/// The winner, the base and the configs of `against`, for each problem.
std::vector<Timed> benchmarks_of(const BenchRequest& request, const std::vector<ChosenProblem>& problems,
                                 const Store* cache, const std::string& fingerprint) {
  std::vector<Timed> all;
  for (const ChosenProblem& chosen : problems) {
    const OpDefinition& definition = *chosen.definition;
    check_sizes(definition, {chosen.problem});
    const Roofline roofline = roofline_here(definition, chosen.problem, request.mode, cache, fingerprint);
    const auto add = [&](const std::string& role, const Config& config) {
      all.push_back({benchmark_name(chosen.problem, request.mode, role), &definition, chosen.problem, request.mode,
                     resolve_config(definition, config), roofline});
    };
    if (chosen.winner) add(benchmark_role(WinnerRole::best), chosen.winner->winner.trial.config);
    add(benchmark_role(WinnerRole::base), definition.base);
    for (std::size_t i = 0; i < request.against.size(); ++i) {
      add(i == 0 ? "against" : fmt::format("against_{}", i + 1), Config::parse(request.against[i]));
    }
  }
  return all;
}

}  // namespace

BenchRun::BenchRun(const Place& place, Listener& listener)
    : listener_(listener), catalogue_(open_catalogue(place)), cache_(open_if_there(place)) {}

std::unique_ptr<BenchRun> BenchRun::open(const BenchRequest& request, Listener& listener) {
  std::unique_ptr<BenchRun> run(new BenchRun(request.place, listener));
  run->session_ = DeviceSession::open(request.work, listener, run->catalogue_);
  if (!run->session_) return nullptr;
  const Store* const cache = run->cache_ ? &*run->cache_ : nullptr;
  if (cache != nullptr) run->session_->look_in(*cache);
  const DeviceFacts& device = run->session_->device().facts();
  std::vector<std::string> notes;
  const std::vector<ChosenProblem> problems =
      choose_problems(request.problems, request.place, run->catalogue_, cache, device, request.mode, notes);
  for (const std::string& note : notes) listener.warn(note);
  run->timed_ = benchmarks_of(request, problems, cache, device.fingerprint());
  run->known_.resize(run->timed_.size());
  run->session_->lock();
  return run;
}

Message BenchRun::context() const {
  const DeviceProcess& device = session_->device();
  Message context{{"tilewright", std::string(version())},
                  {"device", device.facts().fingerprint()},
                  {"compiler", session_->compiler_version()}};
  if (!device.gpu_uuid().empty()) context["gpu_uuid"] = device.gpu_uuid();
  if (const std::string driver = driver_text(device.driver_version()); !driver.empty()) context["driver"] = driver;
  if (cache_) context["cache"] = cache_->path().string();
  return context;
}

std::string BenchRun::prepare(const Timed& timed, Known& known) {
  known.ready = session_->ready(*timed.definition, timed.problem, timed.candidate);
  if (!known.ready) return kInterrupted;
  if (!known.ready->build.ok) return "compile_failed: " + first_error(known.ready->build.log);
  known.build = build_of(known.ready->build);
  ConfigRunner* const runner = session_->set_up(*timed.definition, timed.problem, timed.mode);
  if (runner == nullptr) return kInterrupted;
  const Verdict verdict = runner->verify(known.ready->view());
  if (listener_.cancelled()) return kInterrupted;
  return verdict.right ? "" : "wrong_result: " + verdict.reason;
}

Message BenchRun::time(const Timed& timed, Known& known, std::int64_t iterations) {
  ConfigRunner* const runner = session_->set_up(*timed.definition, timed.problem, timed.mode);
  if (runner == nullptr) return {{"error", kInterrupted}};
  const std::int64_t rounds = known.launches > 0 ? (iterations + known.launches - 1) / known.launches : 1;
  Timing timing = runner->time(known.ready->view(), exactly(rounds));
  if (timing.rounds_ns.empty()) return {{"error", kInterrupted}};
  // The first round fixes this: Google Benchmark wants the same number of iterations in each repetition.
  if (known.launches == 0) known.launches = timing.launches_per_round;
  return {{"rounds_ns", timing.rounds_ns},
          {"launches", known.launches},
          {"counters", benchmark_counters(timed.roofline, &known.build, timing)}};
}

Message BenchRun::answer(std::size_t index, std::int64_t iterations) {
  const Timed& timed = timed_.at(index);
  Known& known = known_.at(index);
  if (listener_.cancelled()) return {{"error", kInterrupted}};
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

}  // namespace tilewright::app
