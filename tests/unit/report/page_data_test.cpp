// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/page_data.hpp"

#include <gtest/gtest.h>

#include "tests/unit/report/opened_block.hpp"
#include "tests/unit/store/fixture.hpp"
#include "tuner/report/render.hpp"

namespace tilewright {
namespace {

using namespace store_tests;
using report_tests::OpenedBlock;
using Numbers = std::vector<double>;

/// A cache with two configs of one problem, and the data for its report.
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

  OpenedBlock block(const std::string& kind) { return OpenedBlock(make_page(input()).blocks.at("softmax." + kind)); }
  /// A column of the trials or the builds.
  Numbers numbers(const char* name, const char* of = "trials") {
    const OpenedBlock trials = block("trials");
    return trials.numbers(trials.json[of][name]);
  }

  TemporaryFolder folder;
  Store store;
};

TEST_F(PageData, has_the_columns_of_the_winners_table) {
  const PageInput given = input();
  const PageJson columns = block("winners").json["columns"];
  const auto row = PageJson::parse(render_json(winners_table("", given.ops[0].winners)))["rows"][0];
  for (const auto& [name, value] : row.items()) EXPECT_EQ(column(columns, name)["same"], value) << name;
  EXPECT_EQ(column(columns, "share_of_memory_ceiling")["same"], 0.8);
}

TEST_F(PageData, has_the_evidence_of_each_winner) {
  const PageJson evidence = block("evidence").json["columns"];
  EXPECT_EQ(column(evidence, "strategy")["same"], "exhaustive");
  EXPECT_EQ(column(evidence, "rounds")["same"], 2);
  EXPECT_EQ(column(evidence, "driver")["same"], "13.0");
  EXPECT_EQ(column(evidence, "registers")["same"], nullptr);
  EXPECT_EQ(column(evidence, "power_mw")["same"], 350'000);
}

TEST_F(PageData, names_problems_configs_and_devices_by_place) {
  const PageJson index = make_page(input()).index;
  EXPECT_EQ(index["ops"].dump(), R"(["softmax"])");
  EXPECT_EQ(index["specs"][0]["dims"].dump(), R"(["rows","cols"])");
  EXPECT_EQ(index["devices"][0]["flops_per_second"], (PageJson{{"fp32", 60e12}, {"tensor_bf16", 800e12}}));
  EXPECT_DOUBLE_EQ(index["devices"][0]["bytes_per_second"]["cold"], 4e9);
  const OpenedBlock winners = block("winners");
  EXPECT_EQ(winners.json["problems"]["dims"].dump(), "[[8,100]]");
  EXPECT_EQ(winners.numbers(winners.json["problem"]), (Numbers{0}));
  EXPECT_EQ(block("trials").json["configs"].size(), 2U);
  EXPECT_EQ(numbers("problem"), (Numbers{0, 0}));
  EXPECT_EQ(numbers("config"), (Numbers{0, 1}));
  EXPECT_EQ(numbers("median_ns"), (Numbers{2000, 1000}));
  EXPECT_EQ(numbers("build"), (Numbers{0, 0})) << "0 stands for none";
}

TEST_F(PageData, has_times_and_their_intervals_to_five_digits) {
  Trial trial = full_trial(onchip_config(16), 1'234'567.89);
  trial.timing->low_ns = 1'230'000;
  trial.timing->high_ns = 1'239'000;
  store.put_trial(softmax_key(8, 100), "impl-1", trial);
  const double median = numbers("median_ns")[2];
  EXPECT_NEAR(median / 1'234'567.89, 1, 2e-5);
  EXPECT_NEAR(median * (1 - numbers("below")[2] * 1e-5) / 1'230'000, 1, 3e-5);
  EXPECT_NEAR(median * (1 + numbers("above")[2] * 1e-5) / 1'239'000, 1, 3e-5);
}

TEST_F(PageData, counts_the_newest_trial_of_a_config_whatever_code_it_is_of) {
  EXPECT_EQ(numbers("counts"), (Numbers{1, 1}));
  store.put_implementation(softmax_interface().hash(), onchip("impl-2"));
  store.put_trial(softmax_key(8, 100), "impl-2", full_trial(onchip_config(8), 1500));
  EXPECT_EQ(numbers("counts"), (Numbers{0, 1, 1}));
  EXPECT_EQ(block("trials").json["configs"].size(), 2U);
}

TEST_F(PageData, counts_what_was_tried_though_newer_code_was_pruned) {
  store.put_implementation(softmax_interface().hash(), onchip("impl-2"));
  Trial pruned;
  pruned.config = onchip_config(8);
  pruned.status = TrialStatus::pruned;
  pruned.reason = "it cannot win";
  store.put_trial(softmax_key(8, 100), "impl-2", pruned);
  EXPECT_EQ(numbers("counts"), (Numbers{1, 1, 0}));
}

TEST_F(PageData, tells_how_much_was_tried_of_each_kind_of_problem) {
  Trial failed;
  failed.config = onchip_config(16);
  failed.status = TrialStatus::crashed;
  store.put_trial(softmax_key(9, 100), "impl-1", failed);
  const PageJson kinds = make_page(input()).index["kinds"];
  ASSERT_EQ(kinds.size(), 1U);
  EXPECT_EQ(kinds[0].dump(),
            R"({"spec":0,"device":0,"mode":0,"problems":2,"trials":3,"tried":3,"failed":1,"pruned":0})");
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
  const PageJson index = make_page(input()).index;
  ASSERT_EQ(index["sweeps"].size(), 2U);
  EXPECT_EQ(index["sweeps"][0]["first"], 0.0);
  EXPECT_DOUBLE_EQ(index["sweeps"][1]["first"], 1'763'000'000.00025);
  EXPECT_EQ(index["gpus"][1], "GPU-1234");
  EXPECT_EQ(numbers("began", "builds"), (Numbers{1}));
  EXPECT_EQ(numbers("worker", "builds"), (Numbers{3}));
  EXPECT_EQ(numbers("sweep", "builds"), (Numbers{2}));
  EXPECT_EQ(numbers("began"), (Numbers{0, 0, 0, 5001})) << "tenths of milliseconds, and 0 for unknown";
  EXPECT_EQ(numbers("verify_us"), (Numbers{0, 0, 0, 1'500}));
  EXPECT_EQ(numbers("measure_us"), (Numbers{0, 0, 0, 20'000}));
  EXPECT_EQ(numbers("gpu"), (Numbers{1, 1, 1, 1}));
}

TEST_F(PageData, leaves_out_problems_of_an_older_interface) {
  PageInput given = input();
  given.ops[0].interface.dims.push_back("more");
  given.ops[0].winners.clear();
  const Page page = make_page(given);
  const OpenedBlock trials(page.blocks.at("softmax.trials"));
  EXPECT_TRUE(trials.numbers(trials.json["trials"]["problem"]).empty());
  EXPECT_TRUE(page.index["specs"].empty());
}

}  // namespace
}  // namespace tilewright
