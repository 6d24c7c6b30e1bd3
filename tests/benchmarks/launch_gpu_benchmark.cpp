// SPDX-License-Identifier: Apache-2.0
// Host time of a launch on a real GPU: through the launch library, and by its bare driver call. Launches come in bursts
// that fit into the driver's queue, so that none waits for the GPU. Also the time of an application's start.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <tilewright/launch.hpp>
#include <vector>

#include "cache/driver/cuda.hpp"
#include "cache/driver/driver_table.hpp"
#include "cache/driver/shared_library.hpp"
#include "cache/driver/stream.hpp"
#include "cache/driver/tensor_maps.hpp"
#include "tests/gpu/launch_ptx.hpp"
#include "tests/launch/sample_cache.hpp"

namespace tilewright {
namespace {

constexpr int kBurst = 200;

/// A cache with a kernel for tiny tensors, on the first GPU; `why` says what is missing.
struct Setup {
  Setup() {
    driver = cuda::Driver::find(&why);
    if (driver != nullptr && driver->device_count() == 0) why = "there is no GPU";
    if (!why.empty()) return;
    context = std::make_unique<cuda::PrimaryContext>(*driver, 0);
    const std::string path = (folder.path() / "cache.db").string();
    {
      testing::SampleCache cache(path);
      cache.add_op(testing::scale_interface(), testing::scale_plain(), testing::scale_kernels(), testing::scale_ptx());
      cache.add_winner(testing::scale_interface(), "scale[dtype=f32]{rows=1,cols=32}", "plain{num_warps=1}",
                       {.role = WinnerRole::best, .device = driver->facts(0)});
    }
    launcher = std::make_unique<Launcher>(path);
    memory = cuda::Buffer(*driver, 4096, "a benchmark");
    stream = std::make_unique<cuda::OwnedStream>(*driver);
  }

  std::string why;
  const cuda::Driver* driver = nullptr;
  testing::TemporaryFolder folder;
  std::unique_ptr<cuda::PrimaryContext> context;
  std::unique_ptr<Launcher> launcher;
  std::unique_ptr<cuda::OwnedStream> stream;
  cuda::Buffer memory;
};

Setup& setup() {
  static Setup& all = *new Setup;
  return all;
}

double ns_of_burst(const std::function<void()>& launch) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kBurst; ++i) launch();
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
  setup().stream->synchronize();
  return took.count() / kBurst;
}

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

/// Alternates bursts of both, since the time of a driver's launch drifts by far more than the difference. An iteration
/// times both; the medians of the bursts are the result.
void whole_call_beside_bare(benchmark::State& state) {
  if (!setup().why.empty()) return state.SkipWithError(setup().why.c_str());
  const cuda::Driver& driver = *setup().driver;
  const cuda::Module module(driver, testing::scale_ptx(), "a benchmark");
  const cuda::Function function = module.function("plain_symbol", 0, false);
  cuda::Address address = setup().memory.address();
  float factor = 1;
  std::int64_t dims[] = {1, 32};
  const cuda::LaunchConfig config{1, 1, 1, 32, 1, 1, 8, setup().stream->get(), nullptr, 0};
  bool failed = false;
  const auto bare = [&] {
    void* params[] = {&address, &address, &factor, &dims[0], &dims[1]};
    failed = driver.table().launch_kernel_ex(&config, function, params, nullptr) != 0 || failed;
  };

  const Op scale = setup().launcher->op("scale[dtype=f32]");
  auto* x = reinterpret_cast<float*>(address);
  cuda::Stream stream = setup().stream->get();
  const auto whole = [&] { scale(stream, {1, 32}, x, x, 1.0); };

  std::vector<double> bare_ns, whole_ns;
  for (auto _ : state) {
    // The order alternates, so that neither always follows the other.
    const bool bare_first = bare_ns.size() % 2 == 0;
    if (bare_first) bare_ns.push_back(ns_of_burst(bare));
    whole_ns.push_back(ns_of_burst(whole));
    if (!bare_first) bare_ns.push_back(ns_of_burst(bare));
  }
  if (failed) return state.SkipWithError("a launch failed");
  state.counters["bare_ns"] = median(bare_ns);
  state.counters["whole_ns"] = median(whole_ns);
  state.counters["whole_over_bare"] = median(whole_ns) / median(bare_ns);
}
BENCHMARK(whole_call_beside_bare)->Unit(benchmark::kMicrosecond)->MinTime(2);

/// The library's query before each launch: the current context's id.
void context_id(benchmark::State& state) {
  if (!setup().why.empty()) return state.SkipWithError(setup().why.c_str());
  const cuda::DriverTable& table = setup().driver->table();
  unsigned long long id = 0;
  for (auto _ : state) benchmark::DoNotOptimize(table.ctx_get_id(nullptr, &id));
}
BENCHMARK(context_id);

/// An argument's tensor map for range(0) addresses in turn: as many as are kept, or so many that each misses.
void tensor_map(benchmark::State& state) {
  if (!setup().why.empty()) return state.SkipWithError(setup().why.c_str());
  PlannedMap planned;
  planned.type = DType::bf16;
  planned.dims = {4096, 4096};
  planned.strides = {8192};
  planned.box = {64, 128};
  planned.swizzle = 128;
  const auto maps = std::make_unique<cuda::TensorMaps>(*setup().driver, planned);
  const cuda::Address base = cuda::Address{1} << 32;
  cuda::TensorMap map;
  std::int64_t i = 0;
  for (auto _ : state) {
    if (maps->get(base + static_cast<cuda::Address>(i) * 4096, map) != 0) return state.SkipWithError("no map was made");
    if (++i == state.range(0)) i = 0;
  }
}
BENCHMARK(tensor_map)->Arg(1)->Arg(16)->Arg(100000);

/// A cubin of PTX, by the driver's linker; empty on failure.
std::vector<std::byte> cubin_of(const std::vector<std::byte>& ptx) {
  SharedLibrary library("libcuda.so.1");
  auto* const create = library.find<int(unsigned, int*, void**, void**)>("cuLinkCreate_v2");
  auto* const add =
      library.find<int(void*, int, void*, std::size_t, const char*, unsigned, int*, void**)>("cuLinkAddData_v2");
  auto* const complete = library.find<int(void*, void**, std::size_t*)>("cuLinkComplete");
  auto* const destroy = library.find<int(void*)>("cuLinkDestroy");
  if (!library.missing().empty()) return {};
  constexpr int kPtx = 1;
  void* link = nullptr;
  void* data = nullptr;
  std::size_t bytes = 0;
  std::vector<std::byte> copy = ptx, cubin;
  if (create(0, nullptr, nullptr, &link) != 0) return {};
  if (add(link, kPtx, copy.data(), copy.size(), "scale", 0, nullptr, nullptr) == 0 &&
      complete(link, &data, &bytes) == 0) {
    cubin.assign(static_cast<std::byte*>(data), static_cast<std::byte*>(data) + bytes);
  }
  destroy(link);
  return cubin;
}

/// Opening a cache of 10,000 winners and planning its first launch, with its binary loaded; without closing. A
/// process's first time is reported apart: then the file's pages and the driver's loader are as an application finds
/// them.
void open_and_first_plan_of_10000(benchmark::State& state) {
  if (!setup().why.empty()) return state.SkipWithError(setup().why.c_str());
  const std::vector<std::byte> cubin = cubin_of(testing::scale_ptx());
  if (cubin.empty()) return state.SkipWithError("the driver's linker made no cubin");
  const std::string path = (setup().folder.path() / "large.db").string();
  testing::SampleCache(path).add_many(10'000, 64 << 10, cubin, setup().driver->facts(0));
  std::vector<double> ms;
  for (auto _ : state) {
    const auto begin = std::chrono::steady_clock::now();
    const auto launcher = std::make_unique<Launcher>(path);
    launcher->op("scale[dtype=f16]").preload({8 * 4321, 64});
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    state.SetIterationTime(took.count());
    ms.push_back(took.count() * 1e3);
  }
  state.counters["first_ms"] = ms.front();
  state.counters["median_ms"] = median(ms);
}
BENCHMARK(open_and_first_plan_of_10000)->Unit(benchmark::kMicrosecond)->UseManualTime()->Iterations(50);

}  // namespace
}  // namespace tilewright
