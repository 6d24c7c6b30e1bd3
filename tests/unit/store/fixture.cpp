// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/store/fixture.hpp"
#include "tests/other_program.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <sstream>

namespace tilewright::store_tests {

namespace fs = std::filesystem;

std::map<std::string, std::string> TemporaryFolder::content() const {
  std::map<std::string, std::string> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(path())) {
    files[entry.path().string()] = entry.is_regular_file() ? read_file(entry.path()) : std::string();
  }
  return files;
}

void write_file(const fs::path& path, std::string_view text) { std::ofstream(path, std::ios::binary) << text; }

std::string read_file(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

OpInterface softmax_interface() {
  OpInterface interface;
  interface.op = "softmax";
  interface.dims = {"rows", "cols"};
  interface.dtypes = {DType::f32, DType::f16, DType::bf16};
  Argument x{"x", ArgRole::in, {}, {Formula::parse("rows"), Formula::parse("cols")}, 1, {}, {}, {}, {}};
  Argument y{"y", ArgRole::out, {}, {Formula::parse("rows"), Formula::parse("cols")}, 1, {"x"}, {}, {}, {}};
  interface.args = {x, y};
  return interface;
}

OpInterface gemm_interface() {
  OpInterface interface = softmax_interface();
  interface.op = "gemm";
  interface.dims = {"m", "n"};
  interface.attributes = {{"act", {"none", "gelu"}}};
  interface.args.resize(1);
  interface.args[0].shape = {Formula::parse("m"), Formula::parse("n")};
  return interface;
}

StoredImplementation onchip(const std::string& hash) {
  StoredImplementation implementation;
  implementation.hash = hash;
  implementation.recipe.name = "onchip";
  implementation.recipe.requires_arch = "sm_80";
  implementation.recipe.parameters = {"num_warps", "static_dims"};
  implementation.recipe.constraints = {Formula::parse("cols % 4 == 0")};
  KernelRecipe kernel;
  kernel.entry = "softmax_onchip";
  kernel.when = Formula::parse("1");
  kernel.params = {{KernelParam::Kind::ptr, "x"}, {KernelParam::Kind::ptr, "y"}};
  kernel.grid = {Formula::parse("rows")};
  kernel.block = {Formula::parse("num_warps * 32")};
  implementation.recipe.kernels = {kernel};
  return implementation;
}

DeviceFacts h200() {
  DeviceFacts facts;
  facts.name = "NVIDIA H200";
  facts.compute_capability = 90;
  facts.sm_count = 132;
  facts.memory_bytes = 150'000'000'000;
  facts.memory_bus_bits = 6144;
  facts.l2_bytes = 50 << 20;
  return facts;
}

DeviceFacts gh200_slice() {
  DeviceFacts facts = h200();
  facts.name = "NVIDIA GH200 slice";
  facts.sm_count = 60;
  return facts;
}

DeviceFacts a100() {
  DeviceFacts facts = h200();
  facts.name = "NVIDIA A100";
  facts.compute_capability = 80;
  facts.sm_count = 108;
  return facts;
}

Problem softmax_problem(std::int64_t rows, std::int64_t cols, DType dtype) {
  return {OpSpec{"softmax", dtype, {}}, {{"rows", rows}, {"cols", cols}}};
}

ProblemKey softmax_key(std::int64_t rows, std::int64_t cols, const DeviceFacts& device, DType dtype) {
  static const std::string kHash = softmax_interface().hash();
  return {softmax_problem(rows, cols, dtype), kHash, device.fingerprint()};
}

Config onchip_config(std::int64_t num_warps, std::int64_t static_dims) {
  return {"onchip", {{"num_warps", num_warps}, {"static_dims", static_dims}}};
}

Versions versions() { return {13000, "NVRTC 13.0", "0.1.0"}; }

Trial full_trial(const Config& config, double median_ns) {
  Trial trial;
  trial.config = config;
  trial.timing =
      Timing{median_ns, median_ns * 0.99, median_ns * 1.01, median_ns * 0.98, {median_ns, median_ns * 1.5}, 20, 3, 900};
  trial.accuracy = Accuracy{1e-3, 2e-3, 3e-4};
  trial.readings = {1980, 3201, 41, 350'000, 0x8000'0000'0000'0004u};
  trial.gpu_uuid = "GPU-1234";
  trial.versions = versions();
  trial.measured_at = 1'700'000'000;
  return trial;
}

Winner winner_of(std::int64_t trial, WinnerRole role) {
  Winner winner;
  winner.role = role;
  winner.trial.id = trial;
  winner.runner_up = onchip_config(32);
  winner.runner_up_ratio = 1.25;
  winner.base_ns = 4000;
  winner.configs_considered = 24;
  winner.configs_failed = 2;
  winner.strategy = "exhaustive";
  return winner;
}

Store prepared_store(const fs::path& path) {
  Store store(path);
  const OpInterface interface = softmax_interface();
  store.put_interface(interface);
  store.put_implementation(interface.hash(), onchip());
  for (const DeviceFacts& device : {h200(), gh200_slice(), a100(), emulator_facts()}) store.put_device(device);
  return store;
}

std::int64_t put_winner(Store& store, const ProblemKey& key, const Config& config, WinnerRole role, MeasureMode mode) {
  Trial trial = full_trial(config);
  trial.mode = mode;
  const std::int64_t id = store.put_trial(key, "impl-1", trial);
  store.put_winners(key, mode, {winner_of(id, role)});
  return id;
}

void make_export(const fs::path& path) {
  fs::path source = path;
  source += ".source";
  {
    Store store = prepared_store(source);
    put_winner(store, softmax_key(8, 100), onchip_config(4));
  }
  {
    OtherProgram database(source);
    database.exec("VACUUM INTO '" + path.string() + "'");
  }
  fs::remove(source);
}

void damage_rows(const fs::path& cache, const std::string& sql) {
  SQLite::Database other(cache.string(), SQLite::OPEN_READWRITE);
  for (const char* const function : {"row_hash", "is_intact"}) {
    sqlite3_create_function(
        other.getHandle(), function, -1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, nullptr,
        [](sqlite3_context* context, int, sqlite3_value**) { sqlite3_result_int(context, 1); }, nullptr, nullptr);
  }
  other.exec(sql);
}

std::string refusal(const std::function<void()>& work) {
  try {
    work();
  } catch (const CacheError& error) {
    return error.what();
  }
  ADD_FAILURE() << "no CacheError was thrown";
  return {};
}

int refusal_code(const std::function<void()>& work) {
  try {
    work();
  } catch (const CacheError& error) {
    return error.code();
  }
  ADD_FAILURE() << "no CacheError was thrown";
  return -1;
}

pid_t in_child(const std::function<int()>& work) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  int code = 99;
  try {
    code = work();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "child: %s\n", error.what());
  }
  ::_exit(code);
}

int wait_for(pid_t child) {
  int status = 0;
  if (::waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

int as_nobody(const std::function<int()>& work) {
  return wait_for(in_child([&] {
    constexpr uid_t kNobody = 65534;
    if (::geteuid() == 0 && (::setgid(kNobody) != 0 || ::setuid(kNobody) != 0)) return 98;
    return work();
  }));
}

}  // namespace tilewright::store_tests
