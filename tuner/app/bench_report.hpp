// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "tuner/app/bench.hpp"

/// The dialogue with the reporter of benchmarks: Google Benchmark in a process of its own, with the caller's flags and
/// standard output.
namespace tilewright::app {

struct BenchReport {
  bool done = false;
  /// The place that the report could not be written to; empty if it was written.
  std::string lost;
  /// How the reporter's process ended.
  std::string end;
};

/// Starts the reporter with `flags`, an array of its arguments, and answers it until its process ends.
[[nodiscard]] BenchReport report_by(const std::filesystem::path& reporter, const Message& flags, BenchRun& run);

}  // namespace tilewright::app
