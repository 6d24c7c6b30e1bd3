// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

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
