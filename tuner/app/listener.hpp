// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "tuner/sweep/sweep.hpp"

/// Hears of long work while it runs (docs/progress.md), and cancels it. Called by any thread.
namespace tilewright::app {

class Listener : public SweepListener {
 public:
  /// A line for people; `note` is one of a sweep under way.
  virtual void tell(const std::string& line) = 0;
  /// The same, also where no progress is wanted.
  virtual void warn(const std::string& line) = 0;
  /// So many of the problems of a forecast are done; told often.
  virtual void planned(std::size_t done, std::size_t of) = 0;
  /// A sweep is over; others of the same request may follow. `cache` is where its trials are; empty: nowhere to stay.
  virtual void sweep_done(const SweepSummary& summary, const std::filesystem::path& cache) = 0;
  /// Asked often: the work ends where everything is stored.
  [[nodiscard]] virtual bool cancelled() const = 0;
};

}  // namespace tilewright::app
