// SPDX-License-Identifier: Apache-2.0
// What the tuner itself spends on a config, beside compiling and measuring it: a plan, a source, a place in the search, a row in
// the cache. All candidates of a gemm problem; the time is of one config.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "cache/content_hash.hpp"
#include "cache/store/store.hpp"
#include "tuner/compile/source.hpp"
#include "tuner/definition/catalogue.hpp"
#include "tuner/definition/space.hpp"
#include "tuner/kernels_dir.hpp"
#include "tuner/search/search.hpp"

namespace tilewright {
namespace {

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

void of_a_config(benchmark::State& state, const char* strategy) {
  Catalogue catalogue({}, kernels_dir());
  const OpDefinition& definition = catalogue.find("gemm");
  const DeviceFacts device = hopper();
  const Problem problem = parse_problem("gemm[dtype=bf16]{m=2048,n=2048,k=2048}", definition.interface);
  const Cache folder;
  Store store(folder.file());
  store.put_interface(definition.interface);
  store.put_device(device);
  const std::string hash = definition.interface.hash();
  for (const Implementation& implementation : definition.implementations) {
    store.put_implementation(hash, {implementation.hash, implementation.recipe});
  }
  const ProblemKey key{problem, hash, device.fingerprint()};
  std::size_t configs = 0;
  for (auto _ : state) {
    const std::vector<Candidate> legal = expand(definition, problem, device).legal;
    SearchSpace space;
    for (const Candidate& candidate : legal) space.candidates.push_back(candidate.config);
    space.base = definition.base;
    space.problem = problem;
    Search search(space, strategy, 0);
    for (auto looks = search.ask(256); !looks.empty(); looks = search.ask(256)) {
      const std::size_t i = looks.front().candidate;
      const auto plan =
          make_plan(definition.interface, legal[i].implementation->recipe, legal[i].config, problem, device);
      const GeneratedSource source =
          generate_source(definition, *legal[i].implementation, legal[i].config, problem, std::get<LaunchPlan>(plan));
      benchmark::DoNotOptimize(content_hash(std::string_view(source.text)));
      Trial trial;
      trial.config = legal[i].config;
      trial.look = looks.front().length;
      trial.timing = summarise(std::vector<double>(8, 1000.0 + static_cast<double>(i)));
      trial.id = store.put_trial(key, legal[i].implementation->hash, trial);
      search.tell(i, trial);
      ++configs;
    }
    benchmark::DoNotOptimize(search.winners());
  }
  state.counters["per_config"] =
      benchmark::Counter(static_cast<double>(configs), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK_CAPTURE(of_a_config, race, "race")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(of_a_config, exhaustive, "exhaustive")->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tilewright
