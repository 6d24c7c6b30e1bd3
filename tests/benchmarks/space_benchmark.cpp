// SPDX-License-Identifier: Apache-2.0
// Expanding the space of softmax for a problem: by `expand`, and config by config for comparison.
#include <benchmark/benchmark.h>

#include "cache/model/device_facts.hpp"
#include "tuner/definition/catalogue.hpp"
#include "tuner/definition/kernels_dir.hpp"
#include "tuner/definition/space.hpp"

namespace tilewright {
namespace {

constexpr const char* kShapes[] = {"{rows=32768,cols=256}", "{rows=4096,cols=8192}", "{rows=512,cols=262144}"};

DeviceFacts hopper() {
  DeviceFacts facts = emulator_facts();
  facts.compute_capability = 90;
  facts.sm_count = 132;
  return facts;
}

const OpDefinition& softmax() {
  static Catalogue catalogue({}, kernels_dir());
  return catalogue.find("softmax");
}

Problem problem_of(const benchmark::State& state) {
  return parse_problem(std::string("softmax[dtype=bf16]") + kShapes[state.range(0)], softmax().interface);
}

void count(benchmark::State& state, std::size_t total, std::size_t legal) {
  state.counters["total"] = static_cast<double>(total);
  state.counters["legal"] = static_cast<double>(legal);
}

void pruned(benchmark::State& state) {
  const Problem problem = problem_of(state);
  Expansion expansion;
  for (auto _ : state) expansion = expand(softmax(), problem, hopper());
  count(state, expansion.total, expansion.legal.size());
}
BENCHMARK(pruned)->DenseRange(0, 2)->Unit(benchmark::kMillisecond);

void config_by_config(benchmark::State& state) {
  const Problem problem = problem_of(state);
  const DeviceFacts device = hopper();
  std::size_t total = 0;
  std::size_t legal = 0;
  for (auto _ : state) {
    total = legal = 0;
    for (const Implementation& implementation : softmax().implementations) {
      Config config{implementation.recipe.name, {}};
      const auto visit = [&](const auto& self, std::size_t depth) -> void {
        if (depth == implementation.space.size()) {
          ++total;
          const auto plan = make_plan(softmax().interface, implementation.recipe, config, problem, device);
          if (std::holds_alternative<LaunchPlan>(plan)) ++legal;
          return;
        }
        config.values.emplace_back(implementation.space[depth].name, 0);
        for (const std::int64_t value : implementation.space[depth].values) {
          config.values.back().second = value;
          self(self, depth + 1);
        }
        config.values.pop_back();
      };
      visit(visit, 0);
    }
  }
  count(state, total, legal);
}
BENCHMARK(config_by_config)->DenseRange(0, 2)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tilewright
