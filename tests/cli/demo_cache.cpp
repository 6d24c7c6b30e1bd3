// SPDX-License-Identifier: Apache-2.0
#include "tests/cli/demo_cache.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>

#include <array>

#include "cache/base/version.hpp"
#include "cache/store/sqlite/database.hpp"
#include "cache/store/sqlite/migrations.hpp"
#include "tests/other_program.hpp"

namespace tilewright::testing {
namespace {

constexpr const char* kImplementation = "00000000000000000000000000000001";

Trial trial(const std::string& config, double median_ns) {
  Trial trial;
  trial.config = Config::parse(config);
  trial.timing = Timing{median_ns, median_ns * 0.99, median_ns * 1.01, median_ns * 0.98, {median_ns}, 10, 2, 100};
  trial.accuracy = Accuracy{1e-7, 1e-6, 1e-7};
  trial.readings.sm_clock_mhz = 1980;
  trial.gpu_uuid = "GPU-1111";
  trial.versions = {13000, "NVRTC 13.0", version()};
  trial.measured_at = 1'772'374'500;
  return trial;
}

}  // namespace

OpInterface demo_interface() {
  OpInterface interface;
  interface.op = "demo";
  interface.dims = {"rows", "cols"};
  interface.dtypes = {DType::f32, DType::bf16};
  interface.attributes = {{"act", {"none", "relu"}}};
  Argument argument;
  argument.name = "x";
  argument.role = ArgRole::inout;
  argument.shape = {Formula::parse("rows"), Formula::parse("cols")};
  interface.args = {argument};
  return interface;
}

DeviceFacts demo_device() {
  DeviceFacts device = emulator_facts();
  device.name = "Fictional H999";
  device.compute_capability = 90;
  device.sm_count = 132;
  device.memory_bytes = std::int64_t{140} << 30;
  device.memory_bus_bits = 6144;
  return device;
}

void fill_demo_cache(const std::string& path, std::size_t problems) {
  Store store{std::filesystem::path(path)};
  const OpInterface interface = demo_interface();
  const DeviceFacts device = demo_device();
  StoredImplementation implementation;
  implementation.hash = kImplementation;
  implementation.recipe.name = "plain";
  implementation.recipe.requires_arch = "sm_80";
  implementation.recipe.parameters = {"vec"};
  KernelRecipe& kernel = implementation.recipe.kernels.emplace_back();
  kernel.entry = "plain";
  kernel.grid = {Formula::parse("rows")};
  kernel.block = {Formula::parse("128")};
  store.put_interface(interface);
  store.put_implementation(interface.hash(), implementation);
  store.put_device(device);
  for (std::size_t row = 1; row <= problems; ++row) {
    const std::array<std::int64_t, 2> dims{static_cast<std::int64_t>(row), 64};
    const ProblemKey key{make_problem(parse_spec("demo", interface), interface, dims), interface.hash(),
                         device.fingerprint()};
    Winner best;
    best.trial = trial("plain{vec=4}", 1000.0 * static_cast<double>(row));
    best.trial.id = store.put_trial(key, kImplementation, best.trial);
    best.runner_up = Config::parse("plain{vec=2}");
    best.runner_up_ratio = 1.25;
    best.base_ns = 2000.0 * static_cast<double>(row);
    best.configs_considered = 3;
    best.configs_failed = 1;
    best.strategy = "exhaustive";
    Winner base = best;
    base.role = WinnerRole::base;
    store.put_winners(key, MeasureMode::cold, {best, base});
  }
}

void make_older_cache(const std::string& path, const std::string& older, std::size_t schema) {
  { const Database made(older, {}, Surroundings{migrations().first(schema), {}}); }
  OtherProgram database(older);
  database.exec("ATTACH '" + path + "' AS newer");
  std::vector<std::string> tables;
  SQLite::Statement every(database,
                          "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND "
                          "name IN (SELECT name FROM newer.sqlite_schema) AND name <> 'loss_models'");
  while (every.executeStep()) tables.push_back(every.getColumn(0));
  for (const std::string& table : tables) {
    std::vector<std::string> columns;
    SQLite::Statement each(database, "SELECT name FROM pragma_table_info(?)");
    each.bind(1, table);
    while (each.executeStep()) columns.push_back(each.getColumn(0));
    const std::string list = fmt::format("{}", fmt::join(columns, ", "));
    // Older schemas have no table of GPUs.
    std::ranges::replace(columns, table == "trials" ? "gpu_uuid" : "",
                         "(SELECT g.uuid FROM newer.gpus g WHERE g.id = gpu)");
    database.exec(
        fmt::format("INSERT INTO main.{} ({}) SELECT {} FROM newer.{}", table, list, fmt::join(columns, ", "), table));
  }
}

}  // namespace tilewright::testing
