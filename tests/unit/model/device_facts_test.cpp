// SPDX-License-Identifier: Apache-2.0
#include "cache/model/device_facts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cache/base/error.hpp"
#include "tests/unit/model/cache_helpers.hpp"

namespace tilewright::device_facts_test {
namespace {

using test::error_of;
using ::testing::HasSubstr;

DeviceFacts h200() {
  DeviceFacts facts;
  facts.name = "NVIDIA H200";
  facts.compute_capability = 90;
  facts.sm_count = 132;
  facts.memory_bytes = 150109880320;
  facts.memory_bus_bits = 6144;
  facts.l2_bytes = 62914560;
  facts.shared_per_block_optin = 232448;
  facts.shared_per_sm = 233472;
  facts.registers_per_sm = 65536;
  facts.max_threads_per_sm = 2048;
  return facts;
}

DeviceFacts with_capability(int capability) {
  DeviceFacts facts = h200();
  facts.compute_capability = capability;
  return facts;
}

TEST(DeviceFacts, fingerprint_names_what_makes_models_differ) {
  EXPECT_EQ(h200().fingerprint(), "NVIDIA H200 (sm_90, 132 SMs, 140 GiB, 6144-bit)");
  EXPECT_EQ(emulator_facts().fingerprint(), "cpu");
}

TEST(DeviceFacts, fingerprint_does_not_follow_small_changes_of_the_memory_that_a_driver_reports) {
  DeviceFacts other = h200();
  other.memory_bytes -= 64 << 20;
  EXPECT_EQ(other.fingerprint(), h200().fingerprint());
}

TEST(DeviceFacts, compiles_for_the_specific_target_where_there_is_one) {
  EXPECT_EQ(with_capability(80).arch(), "sm_80");
  EXPECT_EQ(with_capability(89).arch(), "sm_89");
  EXPECT_EQ(with_capability(90).arch(), "sm_90a");
  EXPECT_EQ(with_capability(120).arch(), "sm_120a");
  EXPECT_EQ(emulator_facts().arch(), "cpu");
}

TEST(DeviceFacts, supports_architectures_up_to_its_own_and_specific_ones_of_its_own_only) {
  EXPECT_TRUE(h200().supports("sm_80"));
  EXPECT_TRUE(h200().supports("sm_90"));
  EXPECT_TRUE(h200().supports("sm_90a"));
  EXPECT_TRUE(h200().supports(""));
  EXPECT_FALSE(h200().supports("sm_100"));
  EXPECT_FALSE(h200().supports("sm_100a"));
  EXPECT_FALSE(with_capability(80).supports("sm_90"));
  EXPECT_FALSE(with_capability(100).supports("sm_90a"));
  EXPECT_TRUE(with_capability(100).supports("sm_90"));
}

TEST(DeviceFacts, the_emulator_runs_all_but_specific_targets) {
  EXPECT_TRUE(emulator_facts().supports("sm_80"));
  EXPECT_TRUE(emulator_facts().supports("sm_100"));
  EXPECT_FALSE(emulator_facts().supports("sm_90a"));
}

TEST(DeviceFacts, an_architecture_is_a_number_and_its_suffix) {
  EXPECT_EQ(arch_from("sm_80"), (Arch{80, 0}));
  EXPECT_EQ(arch_from("sm_90a"), (Arch{90, 'a'}));
  EXPECT_EQ(arch_from("sm_100f"), (Arch{100, 'f'}));
  for (const char* text :
       {"", "cpu", "sm_", "sm_a", "sm_90b", "sm_90af", "sm_9", "sm_-90", "sm_ 90", "sm_99999999999"}) {
    EXPECT_EQ(arch_from(text), std::nullopt) << text;
  }
}

TEST(DeviceFacts, refuses_text_that_is_no_architecture) {
  for (const char* text :
       {"sm90", "90", "sm_", "sm_a", "sm_90b", "sm_9", "sm_90aa", "SM_90", "sm_-90", "sm_90 ", "sm_100f"}) {
    EXPECT_THAT(error_of<UsageError>([&] { (void)h200().supports(text); }),
                HasSubstr("is not an architecture; write sm_80, sm_90 or sm_90a"))
        << text;
  }
}

TEST(DeviceFacts, every_name_is_found_and_no_other) {
  for (const std::string& name : DeviceFacts::names()) EXPECT_TRUE(h200().find(name)) << name;
  EXPECT_EQ(h200().find("sm_count"), 132);
  EXPECT_EQ(h200().find("compute_capability"), 90);
  EXPECT_EQ(h200().find("memory_bytes"), 150109880320);
  EXPECT_EQ(h200().find("memory_bus_bits"), 6144);
  EXPECT_EQ(h200().find("l2_bytes"), 62914560);
  EXPECT_EQ(h200().find("shared_per_block_optin"), 232448);
  EXPECT_EQ(h200().find("shared_per_sm"), 233472);
  EXPECT_EQ(h200().find("registers_per_sm"), 65536);
  EXPECT_EQ(h200().find("max_threads_per_sm"), 2048);
  EXPECT_EQ(h200().find("max_threads_per_block"), 1024);
  EXPECT_EQ(h200().find("name"), std::nullopt);
  EXPECT_EQ(DeviceFacts::names().size(), 10U);
}

TEST(DeviceFacts, the_emulator_has_the_limits_of_sm_90) {
  const DeviceFacts facts = emulator_facts();
  EXPECT_TRUE(facts.is_cpu());
  EXPECT_FALSE(h200().is_cpu());
  for (const char* name :
       {"shared_per_block_optin", "shared_per_sm", "registers_per_sm", "max_threads_per_sm", "max_threads_per_block"}) {
    EXPECT_EQ(facts.find(name), h200().find(name)) << name;
  }
}

TEST(DeviceFacts, json_gives_back_every_fact) {
  DeviceFacts facts = h200();
  facts.max_threads_per_block = 512;
  const nlohmann::json json = nlohmann::json::parse(to_json(facts).dump());
  EXPECT_EQ(device_facts_from_json(json), facts);
  EXPECT_EQ(device_facts_from_json(to_json(emulator_facts())), emulator_facts());
}

TEST(DeviceFacts, json_without_a_fact_or_with_another_is_refused) {
  const nlohmann::json whole = to_json(h200());
  for (const auto& [field, value] : whole.items()) {
    nlohmann::json json = whole;
    json.erase(field);
    EXPECT_THAT(error_of<CacheError>([&] { (void)device_facts_from_json(json); }),
                HasSubstr("'" + field + "' is missing"));
    json[field] = nullptr;
    EXPECT_THAT(error_of<CacheError>([&] { (void)device_facts_from_json(json); }), HasSubstr("'" + field + "' is not"));
  }
  nlohmann::json more = to_json(h200());
  more["tensor_cores"] = 4;
  EXPECT_THAT(error_of<CacheError>([&] { (void)device_facts_from_json(more); }),
              HasSubstr("'tensor_cores' is not known"));
}

}  // namespace
}  // namespace tilewright::device_facts_test
