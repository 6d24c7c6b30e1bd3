// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "tuner/app/bench.hpp"

/// The dialogue with the program that reports benchmarks: Google Benchmark, in a process of its own, whose flags and
/// standard output are the caller's.
namespace tilewright::app {

struct BenchReport {
  bool done = false;
  /// Where the report could not be written to; empty: it could.
  std::string lost;
  /// How the reporter ended.
  std::string end;
};

/// Starts the reporter with `flags`, an array of its arguments, and answers it until it is done.
[[nodiscard]] BenchReport report_by(const std::filesystem::path& reporter, const Message& flags, BenchRun& run);

}  // namespace tilewright::app
