// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <list>

#include "tuner/sweep/device_group.hpp"

/// One device in a sweep. It takes work items from its group and runs them until none is left. Problems are finished in
/// their order; while the first waits for a compiler, binaries of the others are measured, so that the device waits
/// only when no binary is ready.
namespace tilewright {

class DeviceRunner {
 public:
  /// All must outlive it. `listener` hears of this device, which is the sweep's only one where it is `alone`.
  DeviceRunner(SweepContext& context, DeviceGroup& group, TrialDevice& device, SweepListener& listener, bool alone)
      : context_(context),
        group_(group),
        plain_(device),
        device_(device, context.lock),
        listener_(listener),
        alone_(alone) {}

  /// Needs the sweep lock. Waits for the device's lock first. Throws DeviceLost when the device no longer answers; its
  /// items are then given back to the group.
  void work();

  [[nodiscard]] TrialDevice& device() noexcept { return plain_; }
  [[nodiscard]] DeviceGroup& group() noexcept { return group_; }

 private:
  /// A work item in flight.
  struct ActiveItem {
    DeviceGroup::WorkItem item;
    /// The current step, whether it has begun, and whether its search is over.
    std::size_t at = 0;
    bool begun = false;
    bool searched = false;
  };

  void run_items();
  /// Does one thing: measures, finishes or begins a problem, or waits a moment.
  void advance_any();
  /// Measures one config, or ends the step where the item is the `first`. False when neither is possible without
  /// waiting.
  bool advance(ActiveItem& active, bool first);
  /// Takes another item; false when none can be begun now.
  bool open_another();
  /// The step may run beside the items in flight, and has a binary to measure.
  [[nodiscard]] bool suits(Step& step) const;
  /// Advances other items while the first waits for idle compilers. False when there was nothing to do.
  bool advance_others();
  void begin(Step& step);
  void measure(Step& step, const Look& look);
  void finish(Step& step);
  void finish_problem(Step& step);
  void finish_ceiling(Step& step);
  void finish_rate(Step& step);
  void end_step(ActiveItem& active);
  /// Gives all items back.
  void lose();
  /// Frees the device's memory, whatever happened.
  void close();
  /// Drops a problem that cannot be set up, such as one too large for the memory. The sweep goes on.
  void skip(const Step& step, const DeviceError& error);
  [[nodiscard]] bool stopped() const { return context_.summary.interrupted || context_.stopped(); }

  SweepContext& context_;
  DeviceGroup& group_;
  TrialDevice& plain_;
  UnlockedTrialDevice device_;
  SweepListener& listener_;
  bool alone_;
  /// In the order in which they were taken. A list, since one may be added while another is advanced.
  std::list<ActiveItem> active_;
  /// The item of the device's last call: at fault when the device is lost.
  const ActiveItem* current_ = nullptr;
};

}  // namespace tilewright
