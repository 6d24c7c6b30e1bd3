// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "cache/bundle/bundle.hpp"
#include "cache/store/store.hpp"
#include "tests/cli/program.hpp"

namespace tilewright::testing {
namespace {

using Prepare = CliTest;

TEST_F(Prepare, compiles_spares_once_and_export_takes_them_along) {
  use_swept_cache();
  const nlohmann::json first = json_of({"prepare", "shift", "--configs", "2"});
  ASSERT_FALSE(first.at("rows").empty());
  std::int64_t added = 0;
  for (const nlohmann::json& row : first.at("rows")) {
    EXPECT_LE(row.at("added").get<std::int64_t>(), 2);
    EXPECT_EQ(row.at("failed"), 0);
    EXPECT_EQ(row.at("there"), 0);
    added += row.at("added").get<std::int64_t>();
  }
  ASSERT_GT(added, 0);
  std::int64_t there = 0;
  const nlohmann::json second = json_of({"prepare", "shift", "--configs", "2"});
  for (const nlohmann::json& row : second.at("rows")) {
    there += row.at("there").get<std::int64_t>();
  }
  EXPECT_EQ(there, added);

  const std::filesystem::path file = folder / "shift.bundle";
  ASSERT_EQ(run({"export", "--bundle", file.string(), "--cache", cache()}).code, 0);
  const Bundle bundle(file);
  const Store store(cache(), {.access = StoreAccess::read});
  std::int64_t shipped = 0;
  for (const WinnerRow& row : store.list_winners({.op = "shift", .role = WinnerRole::best})) {
    std::vector<std::int64_t> dims;
    for (const auto& dim : row.problem.dims) dims.push_back(dim.second);
    const ProblemKey key{row.problem, row.interface_hash, row.device.fingerprint()};
    for (const KnownShape& shape : bundle.known_shapes(key, row.mode, {dims})) {
      shipped += std::ranges::count_if(shape.configs, &KnownConfig::is_spare);
    }
  }
  EXPECT_EQ(shipped, added);
}

TEST_F(Prepare, spares_of_gemm_are_right_where_they_serve) {
  // Winners that need rows of 16 elements; what serves k=36 must be another one.
  const Outcome swept =
      run({"sweep", "gemm", "--shapes", "m=32 n=64 k=64,128", "--dtype", "bf16", "--device", "cpu", "--max-configs",
           "8", "--budget-ms", "10", "--no-ceilings", "--quiet", "--cache", cache()});
  ASSERT_EQ(swept.code, 0) << swept.err;
  ASSERT_EQ(run({"prepare", "gemm", "--configs", "4", "--cache", cache()}).code, 0);
  const std::string shipped = (folder / "shipped.db").string();
  ASSERT_EQ(run({"export", "-o", shipped, "--cache", cache()}).code, 0);

  const Store store(shipped, {.access = StoreAccess::read});
  std::set<std::string> spares;
  for (const WinnerRow& row : store.list_winners({.op = "gemm", .role = WinnerRole::best})) {
    const ProblemKey key{row.problem, row.interface_hash, row.device.fingerprint()};
    for (const KnownShape& shape : store.known_shapes(key, row.mode, store.tuned_shapes(key, row.mode))) {
      for (const KnownConfig& each : shape.configs) {
        if (each.is_spare) spares.insert(each.config.text());
      }
    }
  }
  EXPECT_EQ(spares.size(), 4U);
  const Outcome measured =
      run({"regret", "gemm", "m=40,7", "n=64", "k=36", "--measure", "--device", "cpu", "--each", "--max-configs", "2",
           "--budget-ms", "10", "--quiet", "--cache", shipped, "--format", "json"});
  EXPECT_EQ(measured.code, 0) << "wrong or illegal: " << measured.out << measured.err;
  const auto rows = nlohmann::json::parse(measured.out, nullptr, false)["rows"];
  ASSERT_EQ(rows.size(), 2U);
  for (const auto& row : rows) {
    EXPECT_EQ(row["fit"], "nearest");
    EXPECT_TRUE(spares.contains(row["served"].get<std::string>())) << row;
    EXPECT_GT(row["served_ns"].get<double>(), 0);
  }
}

TEST_F(Prepare, of_an_op_without_winners_is_an_error_that_says_what_helps) {
  use_swept_cache();
  const Outcome none = run_on_ops({"prepare", "picky"});
  EXPECT_EQ(none.code, 1);
  EXPECT_TRUE(contains(none.err, "tilewright sweep picky")) << none.err;
  const Outcome unknown = run_on_ops({"prepare", "shfit"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_TRUE(contains(unknown.err, "'shift'")) << unknown.err;
}

}  // namespace
}  // namespace tilewright::testing
