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

#include "tuner/sweep/steps.hpp"
#include "tuner/sweep/sweep_context.hpp"

/// The devices of one fingerprint in a sweep. They share a row of the cache, settings, and the steps, which are
/// distributed as work items. Guarded by the sweep lock.
namespace tilewright {

/// The sweep's row in the cache. The destructor ends it, as "partly" if the sweep threw.
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

[[nodiscard]] inline bool is_tuned(const Step& step) noexcept { return step.goal == Step::Goal::winners; }

class DeviceGroup {
 public:
  /// For devices like `device`. Stores the device and the definitions that it measures.
  DeviceGroup(SweepContext& context, const TrialDevice& device);

  /// Consecutive steps that must run on one device: a problem with its ceiling, or a rate.
  struct WorkItem {
    std::size_t first = 0;
    std::size_t end = 0;
    /// The number of devices lost while they ran it.
    int losses = 0;
  };
  /// Takes the next item for the GPU with this UUID, preferring one that no other GPU of the group began in an earlier
  /// sweep. Nullopt if the queue is empty; items may come back until over().
  [[nodiscard]] std::optional<WorkItem> take(const std::string& uuid);
  /// Takes an item to run beside the GPU's `open` items: the first near the head of the queue whose prepared first step
  /// `suits`. Nullopt while other devices may need the rest, because this device may be the slowest.
  [[nodiscard]] std::optional<WorkItem> take_beside(const std::string& uuid, std::size_t open,
                                                    const std::function<bool(Step&)>& suits);
  void done() noexcept { --in_flight_; }
  /// Returns the item of a lost GPU, which had reached step `at`. `at_fault` means that the GPU was lost over this
  /// item. Returns false if the item is dropped, because it lost a second device.
  bool give_back(WorkItem item, std::size_t at, bool at_fault);
  /// Announces a GPU that may join. Items that it began earlier are kept for it while there are others.
  void expect(const std::string& uuid);
  void join(const std::string& uuid);
  /// Removes a lost GPU.
  void leave(const std::string& uuid);
  /// Whether the queue is empty and nothing is in flight.
  [[nodiscard]] bool over() const noexcept { return queue_.empty() && in_flight_ == 0; }

  [[nodiscard]] Step& step(std::size_t index) { return steps_.at(index); }
  [[nodiscard]] const SweepSetting& setting_of(const Step& step) const noexcept {
    if (!is_tuned(step)) return measuring_;
    return context_.request.rechecks.empty() || step.widened ? tuning_ : leading_;
  }
  /// Makes a step's run. Skips ceilings that need not be measured.
  void prepare(Step& step);
  /// Whether the ceiling is unknown or its problem is measured in this sweep. Of problems with the same traffic, the
  /// first that needs it measures it.
  [[nodiscard]] bool needs_ceiling(const Step& step);
  /// Requests builds beyond the current problem, so that measuring does not wait for compiling: first for items in
  /// flight, each from its current step, then for the head of the queue.
  void compile_ahead(const std::vector<std::pair<WorkItem, std::size_t>>& in_flight);

  /// Counts a problem as begun. Returns when its search must end: its share of the remaining budget, without the
  /// final's time.
  [[nodiscard]] std::chrono::steady_clock::time_point begin(Step& step);
  [[nodiscard]] std::size_t problems() const noexcept { return problems_; }
  [[nodiscard]] std::size_t problems_left() const;
  [[nodiscard]] const std::string& fingerprint() const noexcept { return fingerprint_; }
  [[nodiscard]] std::int64_t sweep() const noexcept { return row_.id(); }
  void set_outcome(const std::string& outcome) { row_.set_outcome(outcome); }

 private:
  /// Stores the device and the definition that the row refers to.
  Store& store_subjects(const TrialDevice& device);
  void make_settings(const TrialDevice& device);
  void make_steps();
  /// Adds steps for units without a known rate.
  void add_rates(const SweepRequest& request);
  void put_definition(const OpDefinition& definition);
  /// The op for ceilings or rates with this name; null if there is none.
  [[nodiscard]] const OpDefinition* find_measure(const char* name);
  /// Whether another device of the group began the item.
  [[nodiscard]] bool is_for_another(const WorkItem& item, const std::string& uuid) const;
  std::optional<WorkItem> hand_out(const std::deque<WorkItem>::iterator& chosen);
  /// Returns false once enough compiles are requested.
  [[nodiscard]] bool compile_step(Step& step);

  SweepContext& context_;
  std::string fingerprint_;
  std::vector<std::string> members_;
  std::size_t devices_ = 0;
  SweepRow row_;
  SweepSetting tuning_;
  /// For rechecks before they are widened.
  SweepSetting leading_;
  std::map<std::string, std::set<std::string>> leaders_;
  SweepSetting measuring_;
  std::vector<Step> steps_;
  std::deque<WorkItem> queue_;
  /// The steps that measure ceilings in this sweep, by bytes and reads.
  std::map<std::pair<std::int64_t, int>, const Step*> ceilings_;
  std::size_t in_flight_ = 0;
  std::size_t problems_ = 0;
  std::size_t begun_ = 0;
};

}  // namespace tilewright
