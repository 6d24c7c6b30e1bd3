// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/gate_again.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "cache/base/error.hpp"
#include "cache/base/units.hpp"
#include "tuner/app/check_config.hpp"
#include "tuner/app/compare.hpp"
#include "tuner/app/device_session.hpp"

namespace tilewright::app {
namespace {

/// The code and the config that a side timed. Both get the side's name, since both sides may have an implementation of
/// one name.
struct Binary {
  Implementation implementation;
  Config config;
  Build build;
  std::vector<std::byte> bytes;
  [[nodiscard]] CompiledConfig view() const { return {&implementation, config, &build, bytes}; }
};

Binary binary_of(const Store& store, const SideBest& best, const std::string& name) {
  auto stored = store.implementation_by_hash(best.implementation_hash);
  auto build = store.build(best.trial.build_key);
  if (!stored || !build || !build->ok) {
    throw CacheError(fmt::format("{}'s cache has no binary of {}; sweep it anew", name, best.trial.config.text()));
  }
  Binary binary;
  binary.implementation.recipe = std::move(stored->recipe);
  binary.implementation.recipe.name = name;
  binary.config = best.trial.config;
  binary.config.implementation = name;
  binary.bytes = store.binary(build->binary_hash);
  binary.build = *std::move(build);
  return binary;
}

class Again {
 public:
  Again(const Place& place, const std::string& a, const std::string& b, MeasureMode mode, const Work& work,
        Listener& listener)
      : catalogue_(open_catalogue(place)),
        a_(open_side(place, a)),
        b_(open_side(place, b)),
        mode_(mode),
        listener_(listener),
        session_(DeviceSession::open(work, listener, catalogue_)) {
    if (session_) session_->lock();
  }

  [[nodiscard]] TimedAgain time(CompareLine& line) {
    try {
      if (listener_.cancelled() || !session_) throw Error("interrupted");
      time_in_turns(line);
      return {TimedAgain::Outcome::timed};
    } catch (const Error& error) {
      const std::string why = error.what();
      return {TimedAgain::Outcome::left, why.substr(0, why.find('\n'))};
    }
  }

 private:
  /// The op's definition here, with the implementations of the two sides.
  const OpDefinition& definition_of(const CompareLine& line, const Binary& a, const Binary& b) {
    const OpDefinition& known = catalogue_.find(line.problem.spec.op);
    const std::string hash = known.interface.hash();
    if (hash != line.a->interface_hash || hash != line.b->interface_hash) {
      throw Error(fmt::format("{} has other dims or arguments in {} now", known.interface.op, known.file.string()));
    }
    OpDefinition& both = definitions_.emplace_back(known);
    both.implementations = {a.implementation, b.implementation};
    return both;
  }

  void require_here(const CompareLine& line) const {
    const std::string here = session_->device().facts().fingerprint();
    for (const SideBest* side : {&*line.a, &*line.b}) {
      if (side->device != here) throw Error(fmt::format("timed on {}, and this machine has {}", side->device, here));
    }
    if (line.a->trial.versions.driver != line.b->trial.versions.driver) {
      throw Error("timed under two drivers, and this machine has one");
    }
  }

  void time_in_turns(CompareLine& line) {
    require_here(line);
    const Binary a = binary_of(a_, *line.a, "A");
    const Binary b = binary_of(b_, *line.b, "B");
    ConfigRunner* const runner = session_->set_up(definition_of(line, a, b), line.problem, mode_);
    for (const Binary* side : {&a, &b}) {
      const std::string failure = runner == nullptr ? "" : failure_of(*runner, side->view());
      if (listener_.cancelled()) throw Error("interrupted");
      if (!failure.empty()) throw Error(fmt::format("{} fails now: {}", side->config.implementation, failure));
    }
    const CompiledConfig both[] = {a.view(), b.view()};
    std::vector<Timing> timings = runner->time_together(both, StopRule());
    if (listener_.cancelled()) throw Error("interrupted");
    if (timings[0].rounds_ns.empty() || timings[1].rounds_ns.empty())
      throw Error("the two could not be timed in turns");
    take(line.a->trial, std::move(timings[0]));
    take(line.b->trial, std::move(timings[1]));
  }

  void take(Trial& trial, Timing timing) const {
    trial.look = LookLength::final;
    trial.gpu_uuid = session_->device().gpu_uuid();
    trial.readings = timing.readings;
    trial.reason = timing.disturbed;
    trial.timing = std::move(timing);
  }

  Catalogue catalogue_;
  Store a_;
  Store b_;
  MeasureMode mode_;
  Listener& listener_;
  /// The session's runner refers to these.
  std::deque<OpDefinition> definitions_;
  std::unique_ptr<DeviceSession> session_;
};

}  // namespace

void time_again(GateReport& report, const Place& place, const std::string& a, const std::string& b, MeasureMode mode,
                Listener& listener) {
  std::vector<std::size_t> suspects;
  for (std::size_t i = 0; i < report.lines.size(); ++i) {
    if (is_suspect(report.judgements[i], report.rule)) suspects.push_back(i);
  }
  report.again.resize(report.lines.size());
  if (suspects.empty()) return;
  const std::string emulator = emulator_facts().fingerprint();
  const bool of_emulator = std::ranges::all_of(suspects, [&](std::size_t i) {
    return report.lines[i].a->device == emulator && report.lines[i].b->device == emulator;
  });
  Work work;
  if (of_emulator) work.devices = {"cpu"};
  Again again(place, a, b, mode, work, listener);
  listener.tell(fmt::format("Timing {} again, A and B in turns.", counted(suspects.size(), "suspect")));
  for (const std::size_t i : suspects) report.again[i] = again.time(report.lines[i]);
}

}  // namespace tilewright::app
