// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "tuner/sweep/sweep.hpp"

/// Receives the progress of long work (docs/progress.md), and can cancel it. Any thread may call it.
namespace tilewright::app {

class Listener : public SweepListener {
 public:
  /// A line for people; during a sweep, note() has them.
  virtual void tell(const std::string& line) = 0;
  /// A line that is shown even if no progress is wanted.
  virtual void warn(const std::string& line) = 0;
  /// `done` of `of` problems of a forecast are done. Called often.
  virtual void planned(std::size_t done, std::size_t of) = 0;
  /// A sweep is over; others of the same request may follow. `cache` has its trials; empty if they are not kept.
  virtual void sweep_done(const SweepSummary& summary, const std::filesystem::path& cache) = 0;
  /// Called often. If true, the work stops once everything is stored.
  [[nodiscard]] virtual bool cancelled() const = 0;
};

}  // namespace tilewright::app
