// SPDX-License-Identifier: Apache-2.0
#include "tuner/sweep/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>

#include "cache/version.hpp"
#include "tuner/sweep/builder.hpp"
#include "tuner/sweep/ceiling.hpp"
#include "tuner/sweep/failure.hpp"
#include "tuner/sweep/stops.hpp"
#include "tuner/sweep/trial_runner.hpp"

namespace tilewright {
namespace {

using Clock = std::chrono::steady_clock;

// A ceiling needs the best copy, not a ranking of all: short looks, and on the emulator, where each config costs a run
// of the host's compiler, few.
constexpr std::chrono::nanoseconds kCeilingBudget = std::chrono::milliseconds(20);
constexpr std::size_t kCeilingConfigsOnCpu = 4;
// How many builds are asked for ahead of the measuring, for each compile worker.
constexpr std::size_t kAheadPerWorker = 8;
// And of how many stops: ceilings are stops as well.
constexpr std::size_t kStopsAhead = 4;
// Of a problem's share of the budget, what its looks may take before the final.
constexpr double kShareOfLooks = 0.8;

/// The sweep's row, ended whatever happens: a sweep that threw ends as "partly".
class SweepRow {
 public:
  SweepRow(Store& store, const std::string& command, const std::string& fingerprint)
      : store_(store), id_(store.begin_sweep(command, fingerprint)) {}
  SweepRow(const SweepRow&) = delete;
  SweepRow& operator=(const SweepRow&) = delete;
  ~SweepRow() {
    try {
      store_.end_sweep(id_, outcome_);
    } catch (const Error&) {  // NOLINT: what broke the cache has been or will be told by the sweep itself
    }
  }
  [[nodiscard]] std::int64_t id() const noexcept { return id_; }
  void set_outcome(std::string outcome) { outcome_ = std::move(outcome); }

 private:
  Store& store_;
  std::int64_t id_;
  std::string outcome_ = "partly";
};

class Walk {
 public:
  Walk(const SweepRequest& request, Catalogue& catalogue, Workplace& workplace, Store& store, SweepListener& listener,
       const std::function<bool()>& interrupted)
      : request_(request),
        catalogue_(catalogue),
        workplace_(workplace),
        fingerprint_(workplace.facts().fingerprint()),
        store_(store),
        listener_(listener),
        interrupted_(interrupted ? interrupted : [] { return false; }),
        builder_(store, *request.compiler, workplace.facts().arch(), catalogue.builtin_dir(), request.jobs,
                 interrupted_) {}

  SweepSummary run() {
    start_ = Clock::now();
    put_definition(*request_.definition);
    store_.put_device(workplace_.facts());
    SweepRow row(store_, request_.command, fingerprint_);
    make_settings(row.id());
    make_stops();
    for (std::size_t i = 0; i < stops_.size() && !summary_.interrupted; ++i) visit(i);
    row.set_outcome(summary_.interrupted ? "interrupted" : summary_.without_winner > 0 ? "partly" : "done");
    summary_.compiled = builder_.compiled();
    summary_.compile_seconds = std::chrono::duration<double, std::milli>(builder_.compile_ms());
    summary_.wall_seconds = Clock::now() - start_;
    return summary_;
  }

 private:
  void put_definition(const OpDefinition& definition) {
    store_.put_interface(definition.interface);
    const std::string hash = definition.interface.hash();
    for (const Implementation& implementation : definition.implementations) {
      store_.put_implementation(hash, {implementation.hash, implementation.recipe});
    }
  }

  void make_settings(std::int64_t sweep) {
    tuning_.workplace = &workplace_;
    tuning_.store = &store_;
    tuning_.builder = &builder_;
    tuning_.trial.mode = request_.mode;
    tuning_.stop = request_.stop;
    tuning_.trial.versions = {workplace_.driver_version(), request_.compiler->version(), version()};
    tuning_.trial.sweep = sweep;
    tuning_.trial.interrupted = interrupted_;
    tuning_.max_configs = request_.max_configs;
    tuning_.strategy = request_.strategy;
    tuning_.seed = request_.seed;
    tuning_.max_trials = request_.max_trials;
    tuning_.prune = request_.prune;
    tuning_.again = request_.again;
    tuning_.retry = request_.retry;
    builder_.retry_failed(request_.retry.count(TrialStatus::compile_failed) != 0);
    tuning_.note = [this](const std::string& line) { listener_.note(line); };
    measuring_ = tuning_;
    measuring_.stop.budget = std::min(request_.stop.budget, kCeilingBudget);
    measuring_.max_configs = workplace_.facts().is_cpu() ? kCeilingConfigsOnCpu : 0;
    measuring_.strategy = request_.strategy == "exhaustive" ? "exhaustive" : "race";
    measuring_.max_trials = 0;
    measuring_.again = false;
  }

  void make_stops() {
    const OpDefinition* copy = request_.ceilings ? find_measure(kCopyOp) : nullptr;
    if (request_.ceilings && copy == nullptr) {
      listener_.note("there is no op named copy: ceilings are those of the device's own copy alone");
    }
    // The emulator's rate says nothing of any processor, and a GPU's is measured once.
    const bool rate = request_.ceilings && !workplace_.facts().is_cpu() && !store_.compute_rate(fingerprint_);
    stops_ = plan_stops(request_, copy, rate ? find_measure(kFmaOp) : nullptr);
    problems_ = static_cast<std::size_t>(std::count_if(stops_.begin(), stops_.end(), is_tuned));
  }

  static bool is_tuned(const Stop& stop) noexcept { return stop.goal == Stop::Goal::winners; }

  /// An op that ceilings are measured with; null when there is none of that name.
  const OpDefinition* find_measure(const char* name) {
    const std::vector<std::string> names = catalogue_.names();
    if (std::find(names.begin(), names.end(), name) == names.end()) return nullptr;
    const OpDefinition& definition = catalogue_.find(name);
    put_definition(definition);
    return &definition;
  }

  /// True when a ceiling must be measured: there is none, or what it is compared with is measured in this sweep.
  [[nodiscard]] bool needs_ceiling(const Stop& stop) const {
    if (stops_[stop.of].unservable) return false;
    return stops_[stop.of].had_work || !store_.ceiling(fingerprint_, stop.bytes, stop.reads, request_.mode);
  }

  void prepare(Stop& stop) {
    if (stop.run || stop.skipped) return;
    if (stop.goal == Stop::Goal::ceiling && (stop.definition == nullptr || !needs_ceiling(stop))) {
      stop.skipped = stop.definition != nullptr;
      return;
    }
    stop.run = std::make_unique<ProblemRun>(is_tuned(stop) ? tuning_ : measuring_, *stop.definition, stop.problem);
    stop.had_work = stop.run->has_work();
    stop.unservable = is_tuned(stop) && stop.run->candidates() == 0;
  }

  /// Has compiled ahead, over the ends of problems, so that compiling never waits for measuring.
  void compile_ahead(std::size_t from) {
    const std::size_t ahead = kAheadPerWorker * static_cast<std::size_t>(builder_.workers());
    const std::size_t end = std::min(stops_.size(), from + kStopsAhead);
    for (std::size_t i = from; i < end && !interrupted_(); ++i) {
      prepare(stops_[i]);
      if (stops_[i].run && !stops_[i].run->compile_ahead(ahead)) return;
    }
  }

  /// When the problem that begins now must be done with looking: at its share of what is left of the budget, less what its
  /// final takes.
  [[nodiscard]] Clock::time_point deadline() const {
    if (request_.budget.count() == 0) return Clock::time_point::max();
    const auto now = Clock::now();
    const auto left = std::max(start_ + request_.budget - now, Clock::duration::zero());
    const auto share = std::chrono::duration<double, std::nano>(left) / static_cast<double>(problems_ - ordinal_);
    return now + std::chrono::duration_cast<Clock::duration>(kShareOfLooks * share);
  }

  void visit(std::size_t index) {
    Stop& stop = stops_[index];
    prepare(stop);
    if (stop.run) stop.run->begin(is_tuned(stop) ? deadline() : Clock::time_point::max());
    if (is_tuned(stop) && stop.run) {
      listener_.problem_started(stop.problem, ordinal_++, problems_, stop.run->candidates(), stop.run->known_before());
      summary_.reused += stop.run->known_before();
    }
    try {
      if (stop.run) measure_all(index);
      if (!summary_.interrupted) finish(stop);
    } catch (const DeviceLost&) {
      throw;
    } catch (const DeviceError& error) {
      skip(index, error);
    }
    stop.run.reset();
    if (interrupted_()) summary_.interrupted = true;
  }

  void measure_all(std::size_t index) {
    Stop& stop = stops_[index];
    for (compile_ahead(index); !interrupted_(); compile_ahead(index)) {
      const auto look = stop.run->next();
      if (!look) return;
      const std::size_t tried = stop.run->tried();
      const auto start = Clock::now();
      const auto trial = stop.run->measure(*look);
      summary_.measure_seconds += Clock::now() - start;
      if (!trial) break;
      // Longer looks at the same config are not told of.
      if (!is_tuned(stop) || stop.run->tried() == tried) continue;
      ++(trial->sweep == tuning_.trial.sweep ? summary_.measured : summary_.reused);
      if (trial->sweep == tuning_.trial.sweep && trial->status != TrialStatus::ok) ++summary_.failed;
      listener_.trial_done(stop.problem, *trial, stop.run->is_best_so_far(*trial));
    }
    summary_.interrupted = true;
  }

  void finish(Stop& stop) {
    switch (stop.goal) {
      case Stop::Goal::winners:
        return finish_problem(stop);
      case Stop::Goal::ceiling:
        return finish_ceiling(stop);
      case Stop::Goal::rate:
        return finish_rate(stop);
    }
  }

  void finish_problem(Stop& stop) {
    const auto winners = stop.run->finish();
    if (!winners) {
      summary_.interrupted = true;
      return;
    }
    ++summary_.problems;
    if (winners->empty()) ++summary_.without_winner;
    if (stop.run->candidates() == 0) {
      summary_.refusals.push_back(refusals(*stop.definition, stop.problem, workplace_.facts()));
    }
    listener_.problem_done(stop.problem, *winners);
  }

  void finish_ceiling(Stop& stop) {
    if (stop.skipped || (stop.definition == nullptr && !needs_ceiling(stop))) return;
    Ceiling ceiling;
    ceiling.bytes = stop.bytes;
    ceiling.reads = stop.reads;
    ceiling.mode = request_.mode;
    ceiling.gpu_uuid = workplace_.gpu_uuid();
    if (stop.run) {
      const auto winners = stop.run->finish();
      if (winners && !winners->empty()) {
        if (const auto timing = stop.run->time_again(winners->front())) ceiling.copy_op_ns = timing->median_ns;
      }
      stop.run->release();
    }
    if (stop.reads == 1) {
      ceiling.memcpy_ns = workplace_.memcpy_ns(ceiling.bytes, request_.mode, measuring_.stop, interrupted_);
    }
    if (interrupted_() || ceiling.best_ns() <= 0) return;
    store_.put_ceiling(fingerprint_, ceiling);
    ++summary_.ceilings;
  }

  void finish_rate(Stop& stop) {
    const auto winners = stop.run->finish();
    if (!winners || winners->empty() || interrupted_()) return;
    const Trial& best = winners->front().trial;
    if (!best.timing || best.timing->median_ns <= 0) return;
    ComputeRate rate;
    rate.flops_per_second = static_cast<double>(stop.definition->flops_of(stop.problem)) / best.timing->median_ns * 1e9;
    rate.config = best.config.text();
    rate.gpu_uuid = workplace_.gpu_uuid();
    store_.put_compute_rate(fingerprint_, rate);
  }

  /// A problem that cannot be set up (too large for the memory, say) costs itself, not the sweep.
  void skip(std::size_t index, const DeviceError& error) {
    if (!workplace_.answers()) {
      throw DeviceLost(
          fmt::format("{} answers no more: {}\nWhat was measured is stored: run the same command once more, "
                      "and it goes on from there",
                      workplace_.name(), error.what()));
    }
    const Stop& stop = stops_[index];
    const std::string what = stop.goal == Stop::Goal::ceiling ? "the copy ceiling" : stop.problem.key();
    listener_.note(fmt::format("{} is left out: {}", what, error.what()));
    if (is_tuned(stop)) ++summary_.without_winner;
  }

  const SweepRequest& request_;
  Catalogue& catalogue_;
  Workplace& workplace_;
  std::string fingerprint_;
  Store& store_;
  SweepListener& listener_;
  std::function<bool()> interrupted_;
  SweepSetting tuning_;
  SweepSetting measuring_;
  SweepSummary summary_;
  std::vector<Stop> stops_;
  Clock::time_point start_;
  std::size_t ordinal_ = 0;
  std::size_t problems_ = 0;
  Builder builder_;
};

}  // namespace

SweepSummary run_sweep(const SweepRequest& request, Catalogue& catalogue, Workplace& workplace, Store& store,
                       SweepListener& listener, const std::function<bool()>& interrupted) {
  if (request.compiler == nullptr) throw std::invalid_argument("run_sweep: there is no compiler");
  return Walk(request, catalogue, workplace, store, listener, interrupted).run();
}

SweepSummary run_sweep(SweepRequest request, Catalogue& catalogue, Device& device, Store& store,
                       SweepListener& listener, const std::function<bool()>& interrupted) {
  if (request.compiler == nullptr) request.compiler = &device.compiler();
  LocalWorkplace workplace(device);
  return run_sweep(request, catalogue, workplace, store, listener, interrupted);
}

}  // namespace tilewright
