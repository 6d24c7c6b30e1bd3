// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/regret_measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "cache/base/error.hpp"
#include "cache/base/units.hpp"
#include "tuner/app/check_config.hpp"
#include "tuner/compile/request.hpp"
#include "tuner/sweep/failure.hpp"

namespace tilewright::app {
std::unique_ptr<RegretMeasure> RegretMeasure::open(const RegretRequest& request, Listener& listener, const Store& cache,
                                                   const OpInterface& interface) {
  std::unique_ptr<RegretMeasure> measure(new RegretMeasure(request, listener, cache, interface));
  return measure->session_ ? std::move(measure) : nullptr;
}

RegretMeasure::RegretMeasure(const RegretRequest& request, Listener& listener, const Store& cache,
                             const OpInterface& interface)
    : request_(request),
      listener_(listener),
      catalogue_(open_catalogue(request.place)),
      definition_(catalogue_.find(interface.op)),
      bounds_(read_bounds(request.measuring->within, definition_.interface)),
      rule_(request.measuring->tuning.search.stop) {
  if (definition_.interface.hash() != interface.hash()) {
    throw Error(
        fmt::format("{} has {} with other dims or arguments than {}; sweep it again, or name its definition with --ops",
                    cache.title(), interface.op, definition_.file.string()));
  }
  require_own_cache(cache.path());
  if (!request.measuring->into.empty()) require_own_cache(request.measuring->into);
  session_ = DeviceSession::open(request.measuring->tuning.work, listener, catalogue_, request.measuring->into);
  if (session_) session_->look_in(cache);
}

std::vector<Problem> RegretMeasure::draw(const OpSpec& spec, const std::vector<ShapeDims>& tuned,
                                         const std::vector<ShapeDims>& learned_from, std::size_t count) const {
  return draw_problems(definition_, spec, tuned, learned_from, count, request_.measuring->tuning.search.seed, bounds_);
}

void RegretMeasure::sweep(const std::vector<JudgedShapes>& parts) {
  const Tuning& tuning = request_.measuring->tuning;
  SweepRequest request = sweep_request(tuning);
  for (const JudgedShapes& part : parts) {
    request.problems.insert(request.problems.end(), part.untuned.begin(), part.untuned.end());
  }
  if (request.problems.empty()) return;
  check_sizes(definition_, request.problems);
  request.definition = &definition_;
  request.compiler = &session_->compiler();
  request.max_configs = tuning.max_configs.value_or(usual_max_configs(device().is_cpu()));
  request.ceilings = false;
  const SweepSummary summary =
      run_told(request, catalogue_, session_->devices(), session_->own_cache(), listener_, request_.measuring->into);
  notes_.insert(notes_.end(), summary.refusals.begin(), summary.refusals.end());
  if (summary.cut_short > 0) {
    notes_.push_back(fmt::format("A limit left configs of {} untried: the served config may be faster than the winner.",
                                 counted(summary.cut_short, "shape")));
  }
  if (summary.without_winner > 0) {
    notes_.push_back(fmt::format("Without a winner, and not judged: {}.", counted(summary.without_winner, "shape")));
  }
}

std::optional<Candidate> RegretMeasure::as_defined(const Config& config, const std::string& hash) const {
  try {
    Candidate candidate = resolve_config(definition_, config);
    if (candidate.implementation->hash == hash) return candidate;
  } catch (const UsageError&) {  // a parameter or value that is gone
  }
  return std::nullopt;
}

std::optional<std::pair<Candidate, Candidate>> RegretMeasure::rivals(const Regret& regret) {
  auto served = as_defined(*regret.served, regret.implementation_hash);
  auto winner = as_defined(regret.winner, regret.winner_hash);
  if (served && winner) return std::pair(*std::move(served), *std::move(winner));
  notes_.push_back(fmt::format("{} is untimed: the source of {} has changed since.", regret.problem.key(),
                               (served ? regret.winner : *regret.served).text()));
  return std::nullopt;
}

void RegretMeasure::compile(const std::vector<Regret*>& untimed) {
  const auto each = [&](const auto& work) {
    for (const Regret* regret : untimed) {
      for (const auto& [config, hash] :
           {std::pair(*regret->served, regret->implementation_hash), std::pair(regret->winner, regret->winner_hash)}) {
        const auto candidate = as_defined(config, hash);
        if (!candidate || listener_.cancelled()) continue;
        try {
          work(regret->problem, *candidate);
        } catch (const UsageError&) {  // illegal there: reported when it is tried
        }
      }
    }
  };
  each([&](const Problem& problem, const Candidate& config) { session_->request(definition_, problem, config); });
  each([&](const Problem& problem, const Candidate& config) {
    static_cast<void>(session_->ready(definition_, problem, config));
  });
}

void RegretMeasure::time(std::vector<Regret>& regrets, MeasureMode mode) {
  std::vector<Regret*> untimed;
  for (Regret& regret : regrets) {
    if (regret.served && !regret.served_ns) untimed.push_back(&regret);
  }
  if (untimed.empty() || listener_.cancelled()) return;
  listener_.tell(
      fmt::format("Timing the configs that would serve {}, beside the winners.", counted(untimed.size(), "shape")));
  compile(untimed);
  session_->lock();
  for (Regret* const regret : untimed) {
    if (listener_.cancelled()) return;
    if (const auto both = rivals(*regret)) time(*regret, both->first, both->second, mode);
  }
}

std::string RegretMeasure::try_out(const Problem& problem, const Candidate& candidate, ConfigRunner& runner,
                                   std::optional<DeviceSession::Ready>& ready) {
  try {
    ready = session_->ready(definition_, problem, candidate);
  } catch (const UsageError& error) {
    return fmt::format("exceeds_limits: {}", error.what());
  }
  if (!ready) return "";
  if (!ready->build.ok) return fmt::format("compile_failed: {}", first_error(ready->build.log));
  const std::string failure = failure_of(runner, ready->view());
  return listener_.cancelled() ? "" : failure;
}

void RegretMeasure::time(Regret& regret, const Candidate& served, const Candidate& winner, MeasureMode mode) {
  const auto leave = [&](const std::string& why) {
    notes_.push_back(fmt::format("{} is untimed: {}.", regret.problem.key(), why));
  };
  ConfigRunner* runner = nullptr;
  try {
    runner = session_->set_up(definition_, regret.problem, mode);
  } catch (const DeviceError& error) {
    return leave(error.what());
  }
  if (runner == nullptr) return;
  std::optional<DeviceSession::Ready> own;
  std::optional<DeviceSession::Ready> best;
  regret.failure = try_out(regret.problem, served, *runner, own);
  if (!regret.failure.empty() || listener_.cancelled()) return;
  const std::string lost = try_out(regret.problem, winner, *runner, best);
  if (listener_.cancelled()) return;
  if (!lost.empty()) return leave("its winner failed when it was tried again: " + lost);
  const CompiledConfig both[] = {own->view(), best->view()};
  const std::vector<Timing> timings = runner->time_together(both, rule_);
  if (listener_.cancelled()) return;
  if (timings[0].rounds_ns.empty() || timings[1].rounds_ns.empty()) {
    return leave(fmt::format("{} and its winner could not be timed in turns", regret.served->text()));
  }
  try {
    regret.failure = runner->check_again(both[0]);
  } catch (const DeviceError& error) {
    regret.failure = fmt::format("{}: {}", name(status_of(error)), error.what());
  }
  if (!regret.failure.empty() || listener_.cancelled()) return;
  regret.served_ns = timings[0].median_ns;
  regret.best_ns = timings[1].median_ns;
}

}  // namespace tilewright::app
