// SPDX-License-Identifier: Apache-2.0
// The launch library's overhead of a launch, with a driver that does nothing: the difference to BareDriverCall.
#include <benchmark/benchmark.h>

#include <array>
#include <tilewright/launch.hpp>

#include "cache/driver/cuda.hpp"
#include "cache/driver/driver_table.hpp"
#include "cache/launch/plan_table.hpp"
#include "cache/launch/ready_plan.hpp"
#include "tests/launch/recording_driver/recording.hpp"
#include "tests/launch/sample_cache.hpp"

namespace tilewright {
namespace {

using testing::Recording;

// Set before the driver is loaded.
const bool has_two_devices = ::setenv("TILEWRIGHT_RECORDING_DEVICES", "2", 1) == 0;

/// An open cache with `scale`, its context current, and the recording driver in its fast mode.
struct Setup {
  Setup() : context(cuda::Driver::get(), 0), launcher(fill()), scale(launcher.op("scale[dtype=f16]")) {
    scale.preload({8, 64});
    recording.set_fast(1);
  }
  std::string fill() const {
    std::string path = (folder.path() / "cache.db").string();
    testing::SampleCache(path).add_scale();
    return path;
  }

  const Recording& recording = Recording::get();
  testing::TemporaryFolder folder;
  cuda::PrimaryContext context;
  Launcher launcher;
  Op scale;
};

const Setup& setup() {
  static const Setup kOnce;
  return kOnce;
}

void* const kAddress = reinterpret_cast<void*>(std::uintptr_t{0x7f0000000000});

void bare_driver_call(benchmark::State& state) {
  setup();
  const cuda::DriverTable& table = cuda::Driver::get().table();
  void* x = kAddress;
  std::int64_t dims[] = {8, 64};
  float factor = 1;
  const cuda::LaunchConfig config{8, 1, 1, 64, 1, 1, 16, nullptr, nullptr, 0};
  for (auto _ : state) {
    void* params[] = {&x, &x, &factor, &dims[0], &dims[1]};
    benchmark::DoNotOptimize(table.launch_kernel_ex(&config, nullptr, params, nullptr));
  }
}
BENCHMARK(bare_driver_call)->ThreadRange(1, 16);

/// A whole call with a driver that evicts the processor's caches, as a GPU's driver does.
template <void (*Call)(benchmark::State&)>
void behind_a_large_driver(benchmark::State& state) {
  setup().recording.set_fast(2);
  Call(state);
  setup().recording.set_fast(1);
}
BENCHMARK_TEMPLATE(behind_a_large_driver, bare_driver_call);

void whole_call_c(benchmark::State& state) {
  setup().context.make_current();
  tw_op* op = nullptr;
  if (tw_op_get(setup().launcher.get(), "scale[dtype=f16]", &op) != TW_OK) state.SkipWithError(tw_last_error());
  void* x = kAddress;
  float factor = 1;
  const std::int64_t dims[] = {8, 64};
  void* args[] = {&x, &x, &factor};
  for (auto _ : state) {
    if (tw_launch(op, nullptr, dims, 2, args, 3) != TW_OK) state.SkipWithError(tw_last_error());
  }
}
BENCHMARK(whole_call_c)->ThreadRange(1, 16);

/// In a context where the op was launched, after it was made ready in another one.
void whole_call_in_an_unusual_context(benchmark::State& state) {
  {
    const cuda::PrimaryContext other(cuda::Driver::get(), 1);
    setup().scale.preload({8, 64});
    whole_call_c(state);
  }
  setup().context.make_current();
}
BENCHMARK(whole_call_in_an_unusual_context);

void whole_call_cpp(benchmark::State& state) {
  setup().context.make_current();
  const Op& scale = setup().scale;
  for (auto _ : state) scale(nullptr, {8, 64}, kAddress, kAddress, 1.0);
}
BENCHMARK(whole_call_cpp)->ThreadRange(1, 16);

BENCHMARK_TEMPLATE(behind_a_large_driver, whole_call_c);
BENCHMARK_TEMPLATE(behind_a_large_driver, whole_call_cpp);

/// Looks up each of N shapes in turn.
void plan_lookup(benchmark::State& state) {
  launch::PlanTable table(2);
  std::vector<launch::PlanKey> keys(static_cast<std::size_t>(state.range(0)));
  for (std::size_t i = 0; i < keys.size(); ++i) {
    keys[i].context = 1;
    keys[i].alignment = 077;
    keys[i].dims = {static_cast<std::int64_t>(i + 1), 4096};
    table.put(keys[i], {std::shared_ptr<const launch::ReadyPlan>(),
                        reinterpret_cast<const launch::ReadyPlan*>(keys.data() + i)});
  }
  std::size_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(table.find(keys[next]));
    next = next + 1 == keys.size() ? 0 : next + 1;
  }
}
BENCHMARK(plan_lookup)->Arg(1)->Arg(100)->Arg(10'000);

/// Opening a cache and planning its first launch, as at an application's start.
void open_and_first_plan(benchmark::State& state) {
  setup().context.make_current();
  const std::string path = (setup().folder.path() / "cache.db").string();
  for (auto _ : state) {
    const Launcher launcher(path);
    launcher.op("scale[dtype=f16]").preload({8, 64});
  }
}
BENCHMARK(open_and_first_plan)->Unit(benchmark::kMicrosecond);

/// A cache with 10,000 winners.
const std::string& large_cache() {
  static const std::string kPath = [] {
    std::string path = (setup().folder.path() / "large.db").string();
    testing::SampleCache(path).add_many(10'000, 64 << 10);
    return path;
  }();
  return kPath;
}

void open_and_first_plan_of_10000(benchmark::State& state) {
  setup().context.make_current();
  const std::string& path = large_cache();
  for (auto _ : state) {
    const Launcher launcher(path);
    launcher.op("scale[dtype=f16]").preload({8 * 4321, 64});
  }
}
BENCHMARK(open_and_first_plan_of_10000)->Unit(benchmark::kMicrosecond);

/// The first plan of a shape between 10,000 tuned ones.
void first_plan_of_an_untuned_shape(benchmark::State& state) {
  setup().context.make_current();
  const Launcher launcher(large_cache());
  const Op scale = launcher.op("scale[dtype=f16]");
  std::int64_t rows = 8 * 5000 + 1;
  for (auto _ : state) {
    scale.preload({rows, 64});
    rows += rows % 8 == 7 ? 2 : 1;
  }
}
BENCHMARK(first_plan_of_an_untuned_shape)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace tilewright
