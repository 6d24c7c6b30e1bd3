// SPDX-License-Identifier: Apache-2.0
#include "tuner/bench/reporter.hpp"

#include <fmt/format.h>

#include <ostream>
#include <sstream>
#include <string>

namespace tilewright {
namespace {

void show_shares(benchmark::BenchmarkReporter::Run& run) {
  for (auto counter = run.counters.begin(); counter != run.counters.end();) {
    const auto& [name, value] = *counter;
    if (name.find("share") == std::string::npos) {
      ++counter;
      continue;
    }
    run.report_label += fmt::format("{}{}={:.3g}%", run.report_label.empty() ? "" : " ", name, 100 * value.value);
    counter = run.counters.erase(counter);
  }
}

}  // namespace

bool DeviceTimes::ReportContext(const Context& context) {
  std::ostringstream said;
  reporter_.SetOutputStream(&GetOutputStream());
  reporter_.SetErrorStream(&said);
  const bool go_on = reporter_.ReportContext(context);
  reporter_.SetErrorStream(&GetErrorStream());
  std::istringstream lines(said.str());
  for (std::string line; std::getline(lines, line);) {
    if (line.find("Library was built as DEBUG") == std::string::npos) GetErrorStream() << line << '\n';
  }
  GetErrorStream() << std::flush;
  return go_on;
}

void DeviceTimes::ReportRuns(const std::vector<Run>& runs) {
  std::vector<Run> told = runs;
  for (Run& run : told) {
    run.cpu_accumulated_time = run.real_accumulated_time;
    if (is_for_people_) show_shares(run);
  }
  reporter_.ReportRuns(told);
}

void DeviceTimes::Finalize() {
  reporter_.Finalize();
  written_ = GetOutputStream().flush().good();
}

std::unique_ptr<benchmark::BenchmarkReporter> file_reporter(const std::string& form) {
  if (form == "console") return std::make_unique<benchmark::ConsoleReporter>(benchmark::ConsoleReporter::OO_None);
  // CSVReporter is deprecated, but the flag still offers csv.
  BENCHMARK_DISABLE_DEPRECATED_WARNING
  if (form == "csv") return std::make_unique<benchmark::CSVReporter>();
  BENCHMARK_RESTORE_DEPRECATED_WARNING
  return std::make_unique<benchmark::JSONReporter>();
}

}  // namespace tilewright
