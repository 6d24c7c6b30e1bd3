// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tuner/sweep/builder.hpp"
#include "tuner/sweep/stops.hpp"
#include "tuner/sweep/sweep.hpp"
#include "tuner/sweep/turn.hpp"

/// The devices of one fingerprint in a sweep, and what they share: the sweep's row, its settings, and the stops, which
/// are handed out as errands. Whatever is here is of whoever has the turn.
namespace tilewright {

/// What all devices of a sweep share. `stopped`: interrupted, or something is broken for all. It is asked from the
/// compile workers' threads too, and lives as long as the builder, so a journey stays where it was made.
struct Journey {
  Journey(const SweepRequest& request_of_all, Catalogue& catalogue_of_all, Store& store_of_all,
          SweepListener& listener_of_all, std::function<bool()> stopped_for_all)
      : request(request_of_all),
        catalogue(catalogue_of_all),
        store(store_of_all),
        listener(listener_of_all),
        stopped(std::move(stopped_for_all)),
        builder(store, *request.compiler, catalogue.builtin_dir(), request.jobs, stopped, &turn) {}

  const SweepRequest& request;
  Catalogue& catalogue;
  Store& store;
  SweepListener& listener;
  std::function<bool()> stopped;
  Turn turn;
  Builder builder;
  SweepSummary summary;
  /// When the first device was free to measure.
  std::optional<std::chrono::steady_clock::time_point> start;
};

/// The sweep's row, ended whatever happens: a sweep that threw ends as "partly".
class SweepRow {
 public:
  SweepRow(Store& store, const std::string& command, const std::string& fingerprint);
  SweepRow(const SweepRow&) = delete;
  SweepRow& operator=(const SweepRow&) = delete;
  ~SweepRow();
  [[nodiscard]] std::int64_t id() const noexcept { return id_; }
  void set_outcome(std::string outcome) { outcome_ = std::move(outcome); }

 private:
  Store& store_;
  std::int64_t id_;
  std::string outcome_ = "partly";
};

[[nodiscard]] inline bool is_tuned(const Stop& stop) noexcept { return stop.goal == Stop::Goal::winners; }

class Party {
 public:
  /// For devices like `device`. Stores it, and the definitions that it measures.
  Party(Journey& journey, const Workplace& device);

  /// Some stops that belong on one device: a problem and its ceiling, or the device's rate.
  struct Errand {
    std::size_t first = 0;
    std::size_t end = 0;
    /// Devices that were lost over it.
    int losses = 0;
  };
  /// The next one for the GPU of this UUID: rather one that was begun there once, or nowhere. Nothing when there is
  /// none, which may change as long as it is not over().
  [[nodiscard]] std::optional<Errand> take(const std::string& uuid);
  /// One of the next few to be begun beside `open` ones that the GPU is at already: the first whose first stop,
  /// prepared, `suits`. Nothing where the other devices may need what is left: this one may be the slowest.
  [[nodiscard]] std::optional<Errand> take_beside(const std::string& uuid, std::size_t open,
                                                  const std::function<bool(Stop&)>& suits);
  void done() noexcept { --under_way_; }
  /// From a GPU that was lost, at stop `at`. `guilty`: over it; false when it is not handed out again, since it was the
  /// second time.
  bool give_back(Errand errand, std::size_t at, bool guilty);
  /// A GPU that may come: what was begun there is left to it as long as there is other work.
  void expect(const std::string& uuid);
  /// A GPU that takes part from now on.
  void join(const std::string& uuid);
  /// One that was lost.
  void leave(const std::string& uuid);
  /// Nothing is left and nothing is under way.
  [[nodiscard]] bool over() const noexcept { return errands_.empty() && under_way_ == 0; }

  [[nodiscard]] Stop& stop(std::size_t index) { return stops_.at(index); }
  [[nodiscard]] const SweepSetting& setting_of(const Stop& stop) const noexcept {
    if (!is_tuned(stop)) return measuring_;
    return journey_.request.rechecks.empty() || stop.widened ? tuning_ : leading_;
  }
  /// Makes a stop's run; a ceiling that need not be measured is skipped.
  void prepare(Stop& stop);
  /// True when a ceiling must be measured: there is none, or what it is compared with is measured in this sweep.
  [[nodiscard]] bool needs_ceiling(const Stop& stop);
  /// Has compiled ahead, over the ends of problems, so that compiling never waits for measuring: first what is left of
  /// errands under way, each from a stop on, then what will be handed out next.
  void compile_ahead(const std::vector<std::pair<Errand, std::size_t>>& under_way);

  /// Counts a problem that is begun, and says when it must be done with looking: at its share of what is left of the
  /// budget, less what its final takes.
  [[nodiscard]] std::chrono::steady_clock::time_point begin(Stop& stop);
  [[nodiscard]] std::size_t problems() const noexcept { return problems_; }
  [[nodiscard]] std::size_t problems_left() const;
  [[nodiscard]] const std::string& fingerprint() const noexcept { return fingerprint_; }
  [[nodiscard]] std::int64_t sweep() const noexcept { return row_.id(); }
  void set_outcome(const std::string& outcome) { row_.set_outcome(outcome); }

 private:
  /// Stores what the row refers to.
  Store& introduce(const Workplace& device);
  void make_settings(const Workplace& device);
  void make_stops();
  /// Of units whose rate is not known.
  void add_rates(const SweepRequest& request);
  void put_definition(const OpDefinition& definition);
  /// An op that ceilings are measured with; null when there is none of that name.
  [[nodiscard]] const OpDefinition* find_measure(const char* name);
  /// It was begun by another device of these.
  [[nodiscard]] bool is_for_another(const Errand& errand, const std::string& uuid) const;
  std::optional<Errand> hand_out(const std::deque<Errand>::iterator& chosen);
  /// False when enough compiles are under way.
  [[nodiscard]] bool compile_stop(Stop& stop);

  Journey& journey_;
  std::string fingerprint_;
  std::vector<std::string> members_;
  std::size_t devices_ = 0;
  SweepRow row_;
  SweepSetting tuning_;
  /// Of rechecks, before they must be widened.
  SweepSetting leading_;
  std::map<std::string, std::set<std::string>> leaders_;
  SweepSetting measuring_;
  std::vector<Stop> stops_;
  std::deque<Errand> errands_;
  std::size_t under_way_ = 0;
  std::size_t problems_ = 0;
  std::size_t begun_ = 0;
};

}  // namespace tilewright
