// SPDX-License-Identifier: Apache-2.0
// The tuner's own time for a config, besides compiling and measuring it: a plan, a bound, a source, a place in the
// search, rows in the cache for its binary and its trial. Tunes all candidates of a gemm problem; reports the time of
// one config considered and of one trial. Learning from neighbouring shapes counts towards the trials.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <filesystem>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cache/base/content_hash.hpp"
#include "cache/store/store.hpp"
#include "tuner/compile/source.hpp"
#include "tuner/definition/catalogue.hpp"
#include "tuner/definition/kernels_dir.hpp"
#include "tuner/definition/space.hpp"
#include "tuner/search/search.hpp"
#include "tuner/sweep/problem_run.hpp"

namespace tilewright {
namespace {

constexpr std::size_t kBinaryBytes = 24 * 1024;

DeviceFacts hopper() {
  DeviceFacts facts = emulator_facts();
  facts.name = "Fictional GPU";
  facts.compute_capability = 90;
  facts.sm_count = 132;
  facts.shared_per_block_optin = 227 * 1024;
  facts.shared_per_sm = 228 * 1024;
  facts.registers_per_sm = 65536;
  facts.max_threads_per_sm = 2048;
  facts.memory_bytes = std::int64_t{140} << 30;
  facts.memory_bus_bits = 6144;
  facts.l2_bytes = std::int64_t{50} << 20;
  return facts;
}

class Cache {
 public:
  Cache() : folder_(std::filesystem::temp_directory_path() / ("tilewright-bookkeeping-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~Cache() { std::filesystem::remove_all(folder_); }
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;
  [[nodiscard]] std::filesystem::path file() const { return folder_ / "cache.db"; }

 private:
  std::filesystem::path folder_;
};

/// A binary that compresses in part, as compilers' binaries do.
std::vector<std::byte> drawn_binary(std::size_t seed) {
  std::mt19937 bits(static_cast<unsigned>(seed));
  std::vector<std::byte> bytes(kBinaryBytes);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i % 2 == 0 ? bits() & 0xffU : 0U);
  return bytes;
}

/// Problems of gemm, each handled from its space to its winners as in a sweep.
class Problems {
 public:
  Problems() : catalogue_({}, kernels_dir()), definition_(catalogue_.find("gemm")), store_(folder_.file()) {
    store_.put_interface(definition_.interface);
    store_.put_device(device_);
    for (const Implementation& implementation : definition_.implementations) {
      store_.put_implementation(definition_.interface.hash(), {implementation.hash, implementation.recipe});
      hashes_.push_back(implementation.hash);
    }
  }

  /// Stores a time of each config of a problem.
  void remember(const std::string& shape) {
    const Problem problem = problem_of(shape);
    Store::Batch batch(store_);
    for (const Candidate& candidate : expand(definition_, problem, device_).legal) {
      const Trial trial = trial_of(candidate.config, {}, LookLength::whole);
      (void)store_.put_trial(key_of(problem), candidate.implementation->hash, trial);
    }
    batch.commit();
  }

  /// Returns the numbers of configs tried and considered.
  std::pair<std::size_t, std::size_t> tune(const std::string& shape, const char* strategy,
                                           const std::vector<std::string>& neighbours) {
    const Problem problem = problem_of(shape);
    const std::vector<Candidate> legal = expand(definition_, problem, device_).legal;
    const Pruner pruner = make_pruner(definition_, problem, device_, MeasureMode::cold, legal);
    SearchSpace space;
    for (const Candidate& candidate : legal) space.candidates.push_back(candidate.config);
    space.base = definition_.base;
    space.problem = problem;
    for (const std::string& each : neighbours) {
      const Problem near = problem_of(each);
      space.known.push_back({near, store_.trials(key_of(near), hashes_, MeasureMode::cold), std::nullopt});
      space.known.back().winner = space.known.back().trials.front().config;
    }
    Search search(space, strategy, 0);
    std::size_t tried = 0;
    for (auto looks = search.ask(256); !looks.empty(); looks = search.ask(256)) {
      const std::size_t i = looks.front().candidate;
      benchmark::DoNotOptimize(pruner.before_compiling(i));
      const auto plan =
          make_plan(definition_.interface, legal[i].implementation->recipe, legal[i].config, problem, device_);
      const GeneratedSource source =
          generate_source(definition_, *legal[i].implementation, legal[i].config, problem, std::get<LaunchPlan>(plan));
      Build build = build_of(content_hash(std::string_view(source.text)));
      const std::vector<std::byte> binary = drawn_binary(i);
      build.binary_hash = content_hash(std::span<const std::byte>(binary));
      store_.put_build(build, binary);
      Trial trial = trial_of(legal[i].config, build, looks.front().length);
      trial.id = store_.put_trial(key_of(problem), legal[i].implementation->hash, trial);
      search.tell(i, trial);
      ++tried;
    }
    store_.put_winners(key_of(problem), MeasureMode::cold, search.winners());
    return {tried, legal.size()};
  }

 private:
  [[nodiscard]] Problem problem_of(const std::string& shape) const {
    return parse_problem("gemm[dtype=bf16]{" + shape + "}", definition_.interface);
  }
  [[nodiscard]] ProblemKey key_of(const Problem& problem) const {
    return {problem, definition_.interface.hash(), device_.fingerprint()};
  }
  static Build build_of(std::string key) {
    Build build;
    build.key = std::move(key);
    build.ok = true;
    build.compiler = "NVRTC 13.0";
    build.arch = "sm_90a";
    build.kernels = {{"kernel", "symbol", 128, 0, 0, 0, 0}};
    build.milliseconds = 500;
    build.began_us = 1;
    return build;
  }
  Trial trial_of(const Config& config, const Build& build, LookLength length) {
    Trial trial;
    trial.config = config;
    trial.look = length;
    trial.build_key = build.key;
    trial.gpu_uuid = "GPU-0";
    trial.timing = summarise(std::vector<double>(8, std::uniform_real_distribution<>(1000, 3000)(bits_)));
    trial.readings.sm_clock_mhz = 1980;
    trial.readings.temperature_c = 50;
    trial.phases = Phases{1, 0, 1000, 2000};
    return trial;
  }

  Cache folder_;
  Catalogue catalogue_;
  const OpDefinition& definition_;
  DeviceFacts device_ = hopper();
  Store store_;
  std::vector<std::string> hashes_;
  std::mt19937 bits_;
};

const std::vector<std::string> kNeighbours{"m=1024,n=2048,k=2048", "m=4096,n=2048,k=2048", "m=2048,n=1024,k=2048",
                                           "m=2048,n=4096,k=2048", "m=2048,n=2048,k=1024", "m=2048,n=2048,k=4096",
                                           "m=4096,n=4096,k=2048", "m=1024,n=1024,k=2048"};

void of_a_config(benchmark::State& state, const char* strategy, const std::vector<std::string>& neighbours) {
  Problems problems;
  for (const std::string& shape : neighbours) problems.remember(shape);
  std::size_t tried = 0;
  std::size_t considered = 0;
  for (auto _ : state) {
    const auto [of_them, of_all] = problems.tune("m=2048,n=2048,k=2048", strategy, neighbours);
    tried += of_them;
    considered += of_all;
  }
  const auto each = [](std::size_t count) {
    return benchmark::Counter(static_cast<double>(count), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  };
  state.counters["per_config"] = each(considered);
  state.counters["per_trial"] = each(tried);
}
BENCHMARK_CAPTURE(of_a_config, race, "race", {})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(of_a_config, race_among_neighbours, "race", kNeighbours)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(of_a_config, exhaustive, "exhaustive", {})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(of_a_config, model, "model", kNeighbours)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(of_a_config, local, "local", kNeighbours)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tilewright
