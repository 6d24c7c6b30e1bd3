// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <list>

#include "tuner/sweep/party.hpp"

/// One device's way through a sweep: it takes errands of its party and carries them out, until none is left. One after
/// the other, but for looks: while the compilers make what the first one needs, those are made whose binaries are
/// there, of other problems too, so that measuring waits only when no binary is ready. Problems are finished in their
/// order.
namespace tilewright {

class Visitor {
 public:
  /// All must outlive it; `listener` is told of this device, which is the sweep's only one where it is `alone`.
  Visitor(Journey& journey, Party& party, Workplace& workplace, SweepListener& listener, bool alone)
      : journey_(journey),
        party_(party),
        plain_(workplace),
        workplace_(workplace, journey.turn),
        listener_(listener),
        alone_(alone) {}

  /// Whoever calls has the turn. Waits for the device's lock first. Throws DeviceLost when the device answers no more;
  /// then what it was at is its party's again.
  void work();

  [[nodiscard]] Workplace& workplace() noexcept { return plain_; }
  [[nodiscard]] Party& party() noexcept { return party_; }

 private:
  /// An errand under way: at which stop, and how far with that.
  struct Lane {
    Party::Errand errand;
    std::size_t at = 0;
    bool begun = false;
    /// Its search is over.
    bool looked = false;
  };

  void carry_out();
  /// One thing: a look, a problem finished, one begun, or a moment waited.
  void go_on();
  /// A look, or the stop's end where the lane is the `first`; false when there is neither without waiting.
  bool advance(Lane& lane, bool first);
  /// Begins another errand; false when none can be begun now.
  bool open_another();
  /// May be begun beside the others, and has something to measure at once.
  [[nodiscard]] bool suits(Stop& stop) const;
  /// While the first lane waits for idle compilers.
  bool meanwhile();
  void begin(Stop& stop);
  void measure(Stop& stop, const Look& look);
  void finish(Stop& stop);
  void finish_problem(Stop& stop);
  void finish_ceiling(Stop& stop);
  void finish_rate(Stop& stop);
  void end_stop(Lane& lane);
  /// Hands everything back.
  void lose();
  /// Frees the device's memory, whatever happened.
  void close();
  /// A problem that cannot be set up (too large for the memory, say) costs itself, not the sweep.
  void skip(const Stop& stop, const DeviceError& error);
  [[nodiscard]] bool stopped() const { return journey_.summary.interrupted || journey_.stopped(); }

  Journey& journey_;
  Party& party_;
  Workplace& plain_;
  AwayWorkplace workplace_;
  SweepListener& listener_;
  bool alone_;
  /// In the order in which they were taken. A list: one may be added while another is worked at.
  std::list<Lane> lanes_;
  /// What the device was asked for last is of this one.
  const Lane* in_hand_ = nullptr;
};

}  // namespace tilewright
