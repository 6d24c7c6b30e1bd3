// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "tuner/sweep/party.hpp"

/// One device's way through a sweep: it takes errands of its party and carries them out, until none is left.
namespace tilewright {

class Visitor {
 public:
  /// All must outlive it; `listener` is told of this device, of which there are `workplaces`.
  Visitor(Journey& journey, Party& party, Workplace& workplace, SweepListener& listener, std::size_t workplaces)
      : journey_(journey),
        party_(party),
        plain_(workplace),
        workplace_(workplace, journey.turn),
        listener_(listener),
        workplaces_(workplaces) {}

  /// Whoever calls has the turn. Waits for the device's lock first. Throws DeviceLost when the device answers no more; then what
  /// it was at is its party's again.
  void work();

  [[nodiscard]] Workplace& workplace() noexcept { return plain_; }
  [[nodiscard]] Party& party() noexcept { return party_; }

 private:
  void carry_out(const Party::Errand& errand);
  void visit(const Party::Errand& errand, std::size_t index);
  void begin(Stop& stop);
  void measure_all(const Party::Errand& errand, std::size_t index);
  void finish(Stop& stop);
  void finish_problem(Stop& stop);
  void finish_ceiling(Stop& stop);
  void finish_rate(Stop& stop);
  /// A problem that cannot be set up (too large for the memory, say) costs itself, not the sweep.
  void skip(const Stop& stop, const DeviceError& error);
  [[nodiscard]] bool stopped() const { return journey_.summary.interrupted || journey_.stopped(); }

  Journey& journey_;
  Party& party_;
  Workplace& plain_;
  AwayWorkplace workplace_;
  SweepListener& listener_;
  std::size_t workplaces_;
};

}  // namespace tilewright
