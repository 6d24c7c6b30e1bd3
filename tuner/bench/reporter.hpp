// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <vector>

/// Corrects Google Benchmark's reporters for times measured elsewhere. The device's time replaces the processor's time
/// of this program, as in an export, so that compare.py compares like with like. The warning about Google Benchmark's
/// build is dropped. On the console, shares are percentages beside a run, instead of "5.25551m" for 0.5 %.
namespace tilewright {

class DeviceTimes : public benchmark::BenchmarkReporter {
 public:
  /// `reporter` must outlive this.
  explicit DeviceTimes(benchmark::BenchmarkReporter& reporter) : reporter_(reporter) {}

  bool ReportContext(const Context& context) override;
  void ReportRuns(const std::vector<Run>& runs) override;
  void Finalize() override;

  /// False if part of the report was lost, for example on a full disk. Call after Finalize().
  [[nodiscard]] bool written() const noexcept { return written_; }

 private:
  benchmark::BenchmarkReporter& reporter_;
  bool is_for_people_ = dynamic_cast<benchmark::ConsoleReporter*>(&reporter_) != nullptr;
  bool written_ = true;
};

/// The writer of the --benchmark_out file in this form: console, json or csv.
[[nodiscard]] std::unique_ptr<benchmark::BenchmarkReporter> file_reporter(const std::string& form);

}  // namespace tilewright
