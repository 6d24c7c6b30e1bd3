// SPDX-License-Identifier: Apache-2.0
// The time until a new process has the binary of its first launch: it opens the cache, chooses and plans a winner, and
// reads its binary. Uses the winners that all caches of TILEWRIGHT_BENCHMARK_CACHES=FILE:FILE share (default: the
// shipped winners), in a fixed random order. The files are in the page cache.
#include <benchmark/benchmark.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "cache/serve/choose.hpp"
#include "cache/store/store.hpp"

namespace tilewright {
namespace {

using Texts = std::vector<std::string>;
/// Milliseconds to open, to choose, to read the binary.
using Phases = std::array<double, 3>;

/// The text that `work` writes into a pipe in a new process, where SQLite and this library have kept nothing.
template <class Work>
std::string in_new_process(Work work) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) return {};
  const pid_t child = ::fork();
  if (child == 0) {
    std::string said;
    try {
      said = work();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "cold_read_benchmark: %s\n", error.what());
    }
    for (std::size_t at = 0; at < said.size();) {
      const ssize_t written = ::write(ends[1], said.data() + at, said.size() - at);
      if (written <= 0) break;
      at += static_cast<std::size_t>(written);
    }
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string said;
  std::array<char, 4096> part{};
  for (ssize_t read = 0; (read = ::read(ends[0], part.data(), part.size())) > 0;) {
    said.append(part.data(), static_cast<std::size_t>(read));
  }
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  return said;
}

Texts parted(const std::string& text, char by) {
  Texts parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, by);) parts.push_back(part);
  return parts;
}

const Texts& files() {
  static const Texts kFiles = [] {
    const char* const named = std::getenv("TILEWRIGHT_BENCHMARK_CACHES");
    return parted(named != nullptr ? named : TILEWRIGHT_SHIPPED_WINNERS, ':');
  }();
  return kFiles;
}

Texts keys_of(const std::string& file) {
  return parted(in_new_process([&] {
                  std::string lines;
                  for (const WinnerRow& row :
                       Store(file, {.access = StoreAccess::read})
                           .list_winners({.fingerprint = {}, .mode = MeasureMode::cold, .role = WinnerRole::best})) {
                    lines += row.problem.key() + '\n';
                  }
                  return lines;
                }),
                '\n');
}

const Texts& keys() {
  static const Texts kKeys = [] {
    Texts kept = keys_of(files().front());
    for (std::size_t i = 1; i < files().size(); ++i) {
      const Texts others = keys_of(files()[i]);
      const std::set<std::string> there(others.begin(), others.end());
      std::erase_if(kept, [&](const std::string& key) { return !there.contains(key); });
    }
    std::ranges::shuffle(kept, std::mt19937(3));
    return kept;
  }();
  return kKeys;
}

/// Opens, chooses and reads as a launcher does.
Phases read_first(const std::string& file, const std::string& key) {
  const auto now = [] { return std::chrono::steady_clock::now(); };
  const auto began = now();
  const Store store(file, {.access = StoreAccess::read});
  const auto opened = now();
  const OpInterface interface = store.interface_of(key.substr(0, key.find('['))).value();
  const Chosen chosen = choose(store, interface,
                               {.problem = parse_problem(key, interface),
                                .interface_hash = interface.hash(),
                                .device = store.devices().front()});
  const auto decided = now();
  const Build build = store.build(chosen.choice.value().row.winner.trial.build_key).value();
  benchmark::DoNotOptimize(store.binary(build.binary_hash));
  const std::chrono::duration<double, std::milli> open = opened - began, choice = decided - opened,
                                                  binary = now() - decided;
  return {open.count(), choice.count(), binary.count()};
}

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

void cold_read(benchmark::State& state, const std::string& file) {
  std::array<std::vector<double>, 4> times;
  std::size_t next = 0;
  if (!std::filesystem::exists(file)) {
    state.SkipWithError((file + " is not there: build the target shipped_winners").c_str());
  } else if (keys().empty()) {
    state.SkipWithError("no winner is in all of the caches");
  }
  for (auto _ : state) {
    const std::string said = in_new_process([&] {
      const Phases phases = read_first(file, keys()[next]);
      return std::string(reinterpret_cast<const char*>(phases.data()), sizeof phases);
    });
    next = next + 1 == keys().size() ? 0 : next + 1;
    Phases phases{};
    if (said.size() != sizeof phases) {
      state.SkipWithError("a process came to no end");
      break;
    }
    std::memcpy(phases.data(), said.data(), sizeof phases);
    const double sum = phases[0] + phases[1] + phases[2];
    for (std::size_t i = 0; i < phases.size(); ++i) times[i].push_back(phases[i]);
    times.back().push_back(sum);
    state.SetIterationTime(sum / 1e3);
  }
  if (times.back().empty()) return;
  constexpr std::array kNames{"open_ms", "choose_ms", "binary_ms", "median_ms"};
  for (std::size_t i = 0; i < times.size(); ++i) state.counters[kNames[i]] = median(times[i]);
}

const bool is_registered = [] {
  for (const std::string& file : files()) {
    benchmark::RegisterBenchmark(("cold_read/" + std::filesystem::path(file).filename().string()).c_str(), cold_read,
                                 file)
        ->UseManualTime()
        ->Unit(benchmark::kMillisecond);
  }
  return true;
}();

}  // namespace
}  // namespace tilewright
