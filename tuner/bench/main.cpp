// SPDX-License-Identifier: Apache-2.0
// Google Benchmark for `tilewright bench`, which starts this program and answers its requests. tilewright names and
// times the benchmarks; this program chooses how often, and reports. It cannot run alone.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <cctype>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "tuner/bench/reporter.hpp"
#include "tuner/process/channel.hpp"
#include "tuner/process/worker_process.hpp"

namespace tilewright {
namespace {

/// Google Benchmark explains wrong flags, and this ends the program with an error.
[[noreturn]] void refuse_flags() {
  benchmark::PrintDefaultHelp();
  std::exit(2);
}

/// The value of a Google Benchmark flag, or of its environment variable, as Google Benchmark reads them.
std::string flag(const std::vector<std::string>& words, const std::string& name) {
  const std::string start = "--" + name + "=";
  for (auto word = words.rbegin(); word != words.rend(); ++word) {
    if (word->starts_with(start)) return word->substr(start.size());
  }
  std::string variable = name;
  for (char& letter : variable) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  const char* value = std::getenv(variable.c_str());
  return value != nullptr ? value : "";
}

/// Requests as many rounds as make up the iterations, and reports their times. `launches` (per round) keeps its value
/// between calls.
void run(benchmark::State& state, const Channel& parent, std::size_t index, const std::string& label,
         benchmark::IterationCount& launches) {
  state.SetLabel(label);
  // A failed repetition must have as many iterations as the others, as Google Benchmark requires.
  const auto fail = [&](const std::string& reason) {
    while (launches > 0 && state.KeepRunningBatch(launches)) {
    }
    state.SkipWithError(reason.c_str());
  };
  Message answer;
  if (!parent.send({{"run", index}, {"iterations", state.max_iterations}}) ||
      parent.receive(answer) != Channel::Received::message) {
    fail("tilewright has ended");
    return;
  }
  if (answer.contains("error")) {
    fail(answer.at("error").get<std::string>());
    return;
  }
  const auto rounds_ns = answer.at("rounds_ns").get<std::vector<double>>();
  launches = answer.at("launches").get<benchmark::IterationCount>();
  std::size_t round = 0;
  while (state.KeepRunningBatch(launches)) {
    state.SetIterationTime(rounds_ns[round++ % rounds_ns.size()] * static_cast<double>(launches) * 1e-9);
  }
  for (const auto& counter : answer.at("counters").items())
    state.counters[counter.key()] = counter.value().get<double>();
}

int serve(const Channel& parent) {
  Message begin;
  if (parent.receive(begin) != Channel::Received::message) return 1;
  auto words = begin.at("arguments").get<std::vector<std::string>>();
  const bool to_file = !flag(words, "benchmark_out").empty();
  const auto in_file = file_reporter(flag(words, "benchmark_out_format"));
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  int count = static_cast<int>(arguments.size());
  benchmark::Initialize(&count, arguments.data(), refuse_flags);
  if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) return 2;
  for (const auto& line : begin.at("context").items()) {
    benchmark::AddCustomContext(line.key(), line.value().get<std::string>());
  }
  std::size_t index = 0;
  for (const Message& each : begin.at("benchmarks")) {
    const auto name = each.at("name").get<std::string>();
    const auto label = each.at("label").get<std::string>();
    benchmark::RegisterBenchmark(name.c_str(), [&parent, index, label, launches = benchmark::IterationCount{0}](
                                                   benchmark::State& state) mutable {
      run(state, parent, index, label, launches);
    })->UseManualTime();
    ++index;
  }
  DeviceTimes shown(*benchmark::CreateDefaultDisplayReporter());
  DeviceTimes kept(*in_file);
  // It has reported the cause: no name matches, or the expression is wrong.
  if (benchmark::RunSpecifiedBenchmarks(&shown, to_file ? &kept : nullptr) == 0) return 2;
  benchmark::Shutdown();
  std::string lost;
  if (!shown.written() || !std::cout.flush()) lost = "standard output";
  if (!kept.written()) lost = flag(words, "benchmark_out");
  (void)parent.send({{"done", true}, {"lost", lost}});
  return 0;
}

}  // namespace
}  // namespace tilewright

int main() {
  using namespace tilewright;
  if (::isatty(STDIN_FILENO) != 0) {
    std::fputs("tilewright-bench is started by `tilewright bench`\n", stderr);
    return 2;
  }
  try {
    end_with(STDIN_FILENO);
    return serve(Channel(STDIN_FILENO));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tilewright-bench: %s\n", error.what());
    return 1;
  }
}
