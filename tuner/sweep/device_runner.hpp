// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <list>

#include "tuner/sweep/device_group.hpp"

/// One device in a sweep. Takes work items from its group and runs them until none is left. Finishes problems in order.
/// While the first waits for a compiler, it measures binaries of others, so the device waits only if no binary is
/// ready.
namespace tilewright {

class DeviceRunner {
 public:
  /// All must outlive it. `listener` hears of this device; `alone` means that the sweep has no other.
  DeviceRunner(SweepContext& context, DeviceGroup& group, TrialDevice& device, SweepListener& listener, bool alone)
      : context_(context),
        group_(group),
        plain_(device),
        device_(device, context.lock),
        listener_(listener),
        alone_(alone) {}

  /// Requires the sweep lock. First waits for the device's lock. Throws DeviceLost if the device stops answering, after
  /// returning its items to the group.
  void work();

  [[nodiscard]] TrialDevice& device() noexcept { return plain_; }
  [[nodiscard]] DeviceGroup& group() noexcept { return group_; }

 private:
  struct ActiveItem {
    DeviceGroup::WorkItem item;
    /// The current step, whether it has begun, and whether its search is over.
    std::size_t at = 0;
    bool begun = false;
    bool searched = false;
  };

  void run_items();
  /// Performs one action: measures, finishes or begins a problem, or waits a moment.
  void advance_any();
  /// Measures one config, or ends the step if the item is the `first`. False if neither is possible without waiting.
  bool advance(ActiveItem& active, bool first);
  /// Takes another item; false if none can begin now.
  bool open_another();
  /// Whether the step may run beside the items in flight and has a binary to measure.
  [[nodiscard]] bool suits(Step& step) const;
  /// Advances other items while the first waits for idle compilers. False if there was nothing to do.
  bool advance_others();
  void begin(Step& step);
  void measure(Step& step, const Look& look);
  void finish(Step& step);
  void finish_problem(Step& step);
  void finish_ceiling(Step& step);
  void finish_rate(Step& step);
  void end_step(ActiveItem& active);
  /// Returns all items to the group.
  void lose();
  /// Frees the device's memory in all cases.
  void close();
  /// Skips a problem that cannot be set up, such as one too large for the memory. The sweep continues.
  void skip(const Step& step, const DeviceError& error);
  [[nodiscard]] bool stopped() const { return context_.summary.interrupted || context_.stopped(); }

  SweepContext& context_;
  DeviceGroup& group_;
  TrialDevice& plain_;
  UnlockedTrialDevice device_;
  SweepListener& listener_;
  bool alone_;
  /// In the order taken. A list, because an item may be added while another is advanced.
  std::list<ActiveItem> active_;
  /// The item of the device's last call, which is at fault if the device is lost.
  const ActiveItem* current_ = nullptr;
};

}  // namespace tilewright
