// SPDX-License-Identifier: Apache-2.0
#include "tuner/export/t4.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/unit/export/export_fixture.hpp"

namespace tilewright {
namespace {

using namespace store_tests;
using Json = nlohmann::json;

class T4 : public export_tests::ExportTest {
 protected:
  [[nodiscard]] Json document() {
    std::string text;
    counts = write_t4(records(), [&](std::string_view more) { text += more; });
    return Json::parse(text);
  }
  [[nodiscard]] static Json measurement(const Json& result, const std::string& name) {
    for (const Json& each : result["measurements"]) {
      if (each["name"] == name) return each;
    }
    return {};
  }
  T4Counts counts;
};

TEST_F(T4, has_the_config_its_rounds_in_milliseconds_and_what_it_was_of) {
  put(softmax_key(8, 100), full_trial(onchip_config(4), 1500));
  const Json all = document();
  EXPECT_EQ(all["schema_version"], "1.0.0");
  ASSERT_EQ(all["results"].size(), 1U);
  const Json& result = all["results"][0];
  EXPECT_EQ(result["configuration"]["implementation"], "onchip");
  EXPECT_EQ(result["configuration"]["num_warps"], 4);
  EXPECT_EQ(result["invalidity"], "correct");
  EXPECT_EQ(result["correctness"], 1);
  EXPECT_EQ(result["times"]["runtimes"], Json({0.0015, 0.00225}));
  EXPECT_EQ(result["timestamp"], "2023-11-14 22:13:20+00:00");
  EXPECT_EQ(result["objectives"], Json({"time"}));
  EXPECT_EQ(measurement(result, "time"), Json({{"name", "time"}, {"value", 0.0015}, {"unit", "ms"}}));
  EXPECT_EQ(measurement(result, "problem")["value"], softmax_problem(8, 100).key());
  EXPECT_EQ(measurement(result, "device")["value"], h200().fingerprint());
  EXPECT_EQ(all["metadata"]["environment"]["device_query"][h200().fingerprint()]["name"], h200().name);
}

TEST_F(T4, has_bound_and_share_of_ceiling_among_the_measurements) {
  put_roofline();
  Trial trial = full_trial(onchip_config(4), 1000);
  trial.timing->floor_ns = 100;
  put(softmax_key(8, 100), trial);
  const Json result = document()["results"][0];
  EXPECT_EQ(measurement(result, "GFLOP/s")["value"], 6400.0);
  EXPECT_EQ(measurement(result, "flop/byte")["value"], 1000.0);
  EXPECT_EQ(measurement(result, "bound")["value"], "compute");
  EXPECT_EQ(measurement(result, "share_of_ceiling")["value"], 0.8);
}

TEST_F(T4, has_a_word_for_every_failure) {
  put_fates();
  const Json all = document();
  std::map<std::string, std::string> words;
  for (const Json& result : all["results"]) {
    words[measurement(result, "status")["value"]] = result["invalidity"];
    EXPECT_EQ(result["correctness"], result["invalidity"] == "correct" ? 1 : 0);
  }
  EXPECT_EQ(words, (std::map<std::string, std::string>{{"ok", "correct"},
                                                       {"compile_failed", "compile"},
                                                       {"exceeds_limits", "constraints"},
                                                       {"wrong_result", "correctness"},
                                                       {"timed_out", "timeout"},
                                                       {"crashed", "runtime"}}));
}

TEST_F(T4, leaves_out_what_was_never_tried_and_counts_it) {
  put_fates();
  EXPECT_EQ(document()["results"].size(), std::size(export_tests::kFates) - 1);
  EXPECT_EQ(counts.results, std::size(export_tests::kFates) - 1);
  EXPECT_EQ(counts.pruned, 1U);
  EXPECT_EQ(t4_invalidity(TrialStatus::pruned), nullptr);
}

TEST_F(T4, leaves_out_measurements_that_are_no_numbers) {
  Trial trial = full_trial(onchip_config(4));
  trial.accuracy = Accuracy{std::numeric_limits<double>::infinity(), 0, 0.5};
  put(softmax_key(8, 100), trial);
  const Json result = document()["results"][0];
  EXPECT_TRUE(measurement(result, "max_absolute_error").is_null());
  EXPECT_EQ(measurement(result, "norm_relative_error")["value"], 0.5);
}

TEST_F(T4, of_nothing_is_a_document_all_the_same) { EXPECT_TRUE(document()["results"].empty()); }

}  // namespace
}  // namespace tilewright
