// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <vector>

/// Google Benchmark's reporters, told what is true of times that were measured elsewhere. The processor's time is that
/// of the program which only reports: in its place stands the device's, as in an export, so that compare.py sets like
/// against like. And how Google Benchmark was built, which it warns of, plays no part in them. People read shares as
/// percents, beside a run: its console has "5.25551m" for 0.5 %.
namespace tilewright {

class DeviceTimes : public benchmark::BenchmarkReporter {
 public:
  /// `reporter` must outlive this.
  explicit DeviceTimes(benchmark::BenchmarkReporter& reporter) : reporter_(reporter) {}

  bool ReportContext(const Context& context) override;
  void ReportRuns(const std::vector<Run>& runs) override;
  void Finalize() override;

  /// False where the report, or a part of it, got lost: its disk is full, say. After Finalize().
  [[nodiscard]] bool written() const noexcept { return written_; }

 private:
  benchmark::BenchmarkReporter& reporter_;
  bool is_for_people_ = dynamic_cast<benchmark::ConsoleReporter*>(&reporter_) != nullptr;
  bool written_ = true;
};

/// The writer of the file of --benchmark_out in this form: console, json or csv.
[[nodiscard]] std::unique_ptr<benchmark::BenchmarkReporter> file_reporter(const std::string& form);

}  // namespace tilewright
