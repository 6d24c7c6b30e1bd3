// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/page_data.hpp"

#include <gtest/gtest.h>

#include "tests/unit/store/fixture.hpp"
#include "tuner/report/render.hpp"

namespace tilewright {
namespace {

using namespace store_tests;

/// A cache with two configs of one problem, and what a report of it is made from.
class PageData : public ::testing::Test {
 protected:
  PageData() : store(prepared_store(folder / "cache.db")) {
    const ProblemKey key = softmax_key(8, 100);
    store.put_trial(key, "impl-1", full_trial(onchip_config(8), 2000));
    put_winner(store, key, onchip_config(4));
  }

  PageInput input() {
    PageInput input;
    input.title = "All ops";
    input.source = "cache.db";
    input.history = store.history();
    PageOp op{softmax_interface(), {}};
    for (Store::WinnerRow& row : store.list_winners({.op = "softmax"})) {
      WinnerLine line;
      line.row = std::move(row);
      line.bytes = 3200;
      line.flops = 4000;
      line.ceiling = Ceiling{3200, 1, MeasureMode::cold, 800.0, {}, "", 0};
      op.winners.push_back(line);
    }
    input.ops.push_back(std::move(op));
    input.rates[h200().fingerprint()] = {{60e12, "", "", 0}, {800e12, "", "", 0, "tensor_bf16"}};
    input.ceilings[h200().fingerprint()] = {Ceiling{3200, 1, MeasureMode::cold, 800.0, {}, "", 0}};
    return input;
  }

  static PageJson column(const PageJson& columns, const std::string& name) {
    for (const PageJson& one : columns) {
      if (one["name"] == name) return one;
    }
    return nullptr;
  }

  TemporaryFolder folder;
  Store store;
};

TEST_F(PageData, has_the_columns_of_the_winners_table) {
  const PageInput given = input();
  const PageJson page = page_data(given);
  ASSERT_EQ(page["winners"].size(), 1U);
  const PageJson& columns = page["winners"][0]["columns"];
  const auto row = PageJson::parse(render_json(winners_table("", given.ops[0].winners)))["rows"][0];
  for (const auto& [name, value] : row.items()) EXPECT_EQ(column(columns, name)["same"], value) << name;
  EXPECT_EQ(column(columns, "share_of_memory_ceiling")["same"], 0.8);
}

TEST_F(PageData, has_the_evidence_of_each_winner) {
  const PageJson page = page_data(input());
  const PageJson& evidence = page["winners"][0]["evidence"];
  EXPECT_EQ(column(evidence, "strategy")["same"], "exhaustive");
  EXPECT_EQ(column(evidence, "rounds")["same"], 2);
  EXPECT_EQ(column(evidence, "driver")["same"], "13.0");
  EXPECT_EQ(column(evidence, "registers")["same"], nullptr);
  EXPECT_EQ(column(evidence, "power_mw")["same"], 350'000);
}

TEST_F(PageData, names_problems_configs_and_devices_by_place) {
  const PageJson page = page_data(input());
  EXPECT_EQ(page["trials"]["count"], 2);
  EXPECT_EQ(page["problems"]["dims"].dump(), "[[8,100]]");
  EXPECT_EQ(page["specs"][0]["dims"].dump(), R"(["rows","cols"])");
  EXPECT_EQ(page["configs"].size(), 2U);
  EXPECT_EQ(page["trials"]["problem"], packed(std::vector<std::uint32_t>{0, 0}));
  EXPECT_EQ(page["trials"]["config"], packed(std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(page["trials"]["median_ns"], packed(std::vector<float>{2000, 1000}));
  EXPECT_EQ(page["trials"]["build"], packed(std::vector<std::uint32_t>{0, 0})) << "0 stands for none";
  EXPECT_EQ(page["devices"][0]["flops_per_second"], (PageJson{{"fp32", 60e12}, {"tensor_bf16", 800e12}}));
  EXPECT_DOUBLE_EQ(page["devices"][0]["ceilings"][0]["bytes_per_second"], 4e9);
}

TEST_F(PageData, counts_the_newest_trial_of_a_config_whatever_code_it_is_of) {
  EXPECT_EQ(page_data(input())["trials"]["counts"], packed(std::vector<std::uint32_t>{1, 1}));
  store.put_implementation(softmax_interface().hash(), onchip("impl-2"));
  store.put_trial(softmax_key(8, 100), "impl-2", full_trial(onchip_config(8), 1500));
  const PageJson page = page_data(input());
  EXPECT_EQ(page["trials"]["counts"], packed(std::vector<std::uint32_t>{0, 1, 1}));
  EXPECT_EQ(page["configs"].size(), 2U);
}

TEST_F(PageData, counts_what_was_tried_though_newer_code_was_pruned) {
  store.put_implementation(softmax_interface().hash(), onchip("impl-2"));
  Trial pruned;
  pruned.config = onchip_config(8);
  pruned.status = TrialStatus::pruned;
  pruned.reason = "it cannot win";
  store.put_trial(softmax_key(8, 100), "impl-2", pruned);
  EXPECT_EQ(page_data(input())["trials"]["counts"], packed(std::vector<std::uint32_t>{1, 1, 0}));
}

TEST_F(PageData, has_no_timeline_where_nothing_is_known_of_when) {
  EXPECT_TRUE(page_data(input())["timeline"].is_null());
}

TEST_F(PageData, tells_when_compilers_and_devices_worked_since_the_first_of_their_sweep) {
  const std::int64_t other = store.begin_sweep("without moments", h200().fingerprint());
  const std::int64_t sweep = store.begin_sweep("tilewright sweep softmax", h200().fingerprint());
  store.put_build({"k1", false, "", {}, "", "NVRTC 13.0", "sm_90", 5, sweep, 3, 1'763'000'000'000'250}, {});
  Trial trial = full_trial(onchip_config(16), 1500);
  trial.sweep = other;
  store.put_trial(softmax_key(8, 100), "impl-1", trial);
  trial.sweep = sweep;
  trial.build_key = "k1";
  trial.phases = {1'763'000'000'500'250, 0, 1'500, 20'000};
  store.put_trial(softmax_key(8, 100), "impl-1", trial);
  const PageJson timeline = page_data(input())["timeline"];
  ASSERT_EQ(timeline["sweeps"].size(), 2U);
  EXPECT_EQ(timeline["sweeps"][0], 0.0);
  EXPECT_DOUBLE_EQ(timeline["sweeps"][1], 1'763'000'000.00025);
  using Numbers = std::vector<std::uint32_t>;
  EXPECT_EQ(timeline["builds"]["began"], packed(Numbers{1}));
  EXPECT_EQ(timeline["builds"]["worker"], packed(Numbers{3}));
  EXPECT_EQ(timeline["builds"]["sweep"], packed(Numbers{2}));
  EXPECT_EQ(timeline["trials"]["began"], packed(Numbers{0, 0, 0, 5001})) << "tenths of milliseconds, and 0 for unknown";
  EXPECT_EQ(timeline["trials"]["verify_us"], packed(Numbers{0, 0, 0, 1'500}));
  EXPECT_EQ(timeline["trials"]["measure_us"], packed(Numbers{0, 0, 0, 20'000}));
  EXPECT_EQ(timeline["gpus"][1], "GPU-1234");
  EXPECT_EQ(timeline["trials"]["gpu"], packed(Numbers{1, 1, 1, 1}));
}

TEST_F(PageData, leaves_out_problems_of_an_older_interface) {
  PageInput given = input();
  given.ops[0].interface.dims.push_back("more");
  given.ops[0].winners.clear();
  const PageJson page = page_data(given);
  EXPECT_EQ(page["trials"]["count"], 0);
  EXPECT_TRUE(page["specs"].empty());
}

}  // namespace
}  // namespace tilewright
