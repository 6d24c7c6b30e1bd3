// SPDX-License-Identifier: Apache-2.0
#include "cache/store/store.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <set>
#include <type_traits>

#include "cache/base/content_hash.hpp"
#include "tests/unit/store/fixture.hpp"

namespace tilewright::store_test {
namespace {

using namespace store_tests;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Sets environment variables for one test.
class Environment {
 public:
  explicit Environment(const std::map<std::string, const char*>& values) {
    for (const auto& [variable, value] : values) {
      const char* before = ::getenv(variable.c_str());
      before_[variable] = before == nullptr ? std::optional<std::string>() : before;
      set(variable, value);
    }
  }
  ~Environment() {
    for (const auto& [variable, value] : before_) set(variable, value ? value->c_str() : nullptr);
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  static void set(const std::string& variable, const char* value) {
    if (value == nullptr) {
      ::unsetenv(variable.c_str());
    } else {
      ::setenv(variable.c_str(), value, 1);
    }
  }
  std::map<std::string, std::optional<std::string>> before_;
};

TEST(Store, the_default_path_follows_the_environment) {
  {
    const Environment all({{"TILEWRIGHT_CACHE", "here.db"}, {"XDG_CACHE_HOME", "/xdg"}, {"HOME", "/home/me"}});
    EXPECT_EQ(default_cache_path(), "here.db");
  }
  {
    const Environment xdg({{"TILEWRIGHT_CACHE", ""}, {"XDG_CACHE_HOME", "/xdg"}, {"HOME", "/home/me"}});
    EXPECT_EQ(default_cache_path(), "/xdg/tilewright/cache.db");
  }
  {
    const Environment relative({{"TILEWRIGHT_CACHE", nullptr}, {"XDG_CACHE_HOME", "xdg"}, {"HOME", "/home/me"}});
    EXPECT_EQ(default_cache_path(), "/home/me/.cache/tilewright/cache.db");
  }
  const Environment none({{"TILEWRIGHT_CACHE", nullptr}, {"XDG_CACHE_HOME", nullptr}, {"HOME", nullptr}});
  EXPECT_THAT(refusal([] { (void)default_cache_path(); }), HasSubstr("TILEWRIGHT_CACHE=FILE"));
}

TEST(Store, moves_and_does_not_copy) {
  static_assert(std::is_nothrow_move_constructible_v<Store> && !std::is_copy_constructible_v<Store>);
  const TemporaryFolder folder;
  Store first = prepared_store(folder / "a.db");
  Store second = std::move(first);
  EXPECT_EQ(second.path(), folder / "a.db");
  EXPECT_EQ(second.ops().size(), 1u);
}

TEST(Store, interfaces_come_back_by_op_and_by_hash) {
  const TemporaryFolder folder;
  Store store = prepared_store(folder / "c.db");
  store.put_interface(gemm_interface());
  EXPECT_THAT(store.ops(), ElementsAre("gemm", "softmax"));
  EXPECT_EQ(store.interface_of("gemm"), gemm_interface());
  EXPECT_EQ(store.interface_by_hash(softmax_interface().hash()), softmax_interface());
  EXPECT_EQ(store.interface_of("conv"), std::nullopt);
  EXPECT_EQ(store.interface_by_hash("00"), std::nullopt);
}

TEST(Store, the_interface_put_last_is_the_newest_of_its_op_even_when_it_comes_back) {
  const TemporaryFolder folder;
  Store store = prepared_store(folder / "c.db");
  OpInterface changed = softmax_interface();
  std::swap(changed.args[0], changed.args[1]);
  store.put_interface(changed);
  EXPECT_EQ(store.interface_of("softmax"), changed);
  store.put_interface(changed);
  EXPECT_EQ(store.counts().interfaces, 2);
  store.put_interface(softmax_interface());
  EXPECT_EQ(store.interface_of("softmax"), softmax_interface());
  EXPECT_EQ(store.counts().interfaces, 2);
}

TEST(Store, putting_what_is_there_changes_nothing) {
  const TemporaryFolder folder;
  Store store = prepared_store(folder / "c.db");
  const Store::Counts before = store.counts();
  store.put_interface(softmax_interface());
  store.put_implementation(softmax_interface().hash(), onchip());
  store.put_device(h200());
  const Store::Counts after = store.counts();
  EXPECT_EQ(after.interfaces, before.interfaces);
  EXPECT_EQ(after.implementations, before.implementations);
  EXPECT_EQ(after.devices, before.devices);
}

TEST(Store, an_implementation_comes_back_by_its_hash_and_may_serve_two_interfaces) {
  const TemporaryFolder folder;
  Store store = prepared_store(folder / "c.db");
  const auto found = store.implementation_by_hash("impl-1");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->hash, "impl-1");
  EXPECT_EQ(found->recipe.name, "onchip");
  ASSERT_EQ(found->recipe.constraints.size(), 1u);
  EXPECT_EQ(found->recipe.constraints[0].text(), "cols % 4 == 0");
  EXPECT_FALSE(store.implementation_by_hash("impl-2").has_value());
  OpInterface other = softmax_interface();
  std::swap(other.args[0], other.args[1]);
  store.put_interface(other);
  store.put_implementation(other.hash(), onchip());
  EXPECT_EQ(store.counts().implementations, 2);
}

TEST(Store, an_implementation_whose_recipe_was_edited_under_the_same_hash_has_the_newest) {
  const TemporaryFolder folder;
  Store store = prepared_store(folder / "c.db");
  StoredImplementation edited = onchip();
  edited.recipe.covers.emplace("cols", Formula::parse("128"));
  store.put_implementation(softmax_interface().hash(), edited);
  EXPECT_EQ(store.implementation_by_hash("impl-1")->recipe, edited.recipe);
  store.add_implementation(softmax_interface().hash(), onchip());
  EXPECT_EQ(store.implementation_by_hash("impl-1")->recipe, edited.recipe) << "an import may bring an older one";
  EXPECT_EQ(store.counts().implementations, 1);
}

TEST(Store, an_implementation_of_an_unknown_interface_is_refused_with_what_comes_first) {
  const TemporaryFolder folder;
  Store store = prepared_store(folder / "c.db");
  EXPECT_THAT(refusal([&] { store.put_implementation("beef", onchip("impl-2")); }),
              AllOf(HasSubstr("holds no interface 'beef'"), HasSubstr("Store::put_interface comes first")));
  EXPECT_FALSE(store.implementation_by_hash("impl-2").has_value());
}

TEST(Store, devices_come_back_whole_in_the_order_they_came) {
  const TemporaryFolder folder;
  const Store store = prepared_store(folder / "c.db");
  EXPECT_THAT(store.devices(), ElementsAre(h200(), gh200_slice(), a100(), emulator_facts()));
}

Build ok_build(const std::string& key) {
  return {key, true, "", {{"softmax_onchip", "_Z1s", 40, 0, 0, 0, 128}}, "ptxas info", "NVRTC 13.0", "sm_90a", 36.5};
}

TEST(Store, a_build_comes_back_whole_with_its_binary) {
  const TemporaryFolder folder;
  Store store = prepared_store(folder / "c.db");
  const std::vector<std::byte> binary(5000, std::byte{0x42});
  store.put_build(ok_build("k1"), binary);
  const auto found = store.build("k1");
  ASSERT_TRUE(found.has_value());
  EXPECT_TRUE(found->ok);
  EXPECT_EQ(found->binary_hash, content_hash(binary));
  EXPECT_EQ(found->kernels, ok_build("k1").kernels);
  EXPECT_EQ(found->log, "ptxas info");
  EXPECT_EQ(found->compiler, "NVRTC 13.0");
  EXPECT_EQ(found->arch, "sm_90a");
  EXPECT_EQ(found->milliseconds, 36.5);
  EXPECT_EQ(store.binary(found->binary_hash), binary);
  EXPECT_LT(store.counts().binary_bytes, 1000);
  EXPECT_FALSE(store.build("k2").has_value());
}

TEST(Store, equal_binaries_of_two_builds_are_kept_once) {
  const TemporaryFolder folder;
  Store store = prepared_store(folder / "c.db");
  const std::vector<std::byte> binary(5000, std::byte{0x42});
  store.put_build(ok_build("k1"), binary);
  store.put_build(ok_build("k2"), binary);
  EXPECT_EQ(store.counts().builds, 2);
  EXPECT_EQ(store.counts().binaries, 1);
}

TEST(Store, a_failed_build_is_kept_with_its_log_and_may_do_better_later) {
  const TemporaryFolder folder;
  Store store = prepared_store(folder / "c.db");
  const Build failed{"k1", false, "", {}, "error: no such thing\n", "NVRTC 13.0", "sm_90a", 12};
  store.put_build(failed, {});
  EXPECT_FALSE(store.build("k1")->ok);
  EXPECT_EQ(store.build("k1")->binary_hash, "");
  EXPECT_EQ(store.build("k1")->log, "error: no such thing\n");
  const std::vector<std::byte> binary(50, std::byte{1});
  store.put_build(ok_build("k1"), binary);
  EXPECT_TRUE(store.build("k1")->ok);
  // Builds that trials refer to do not change.
  store.put_build(failed, {});
  EXPECT_TRUE(store.build("k1")->ok);
  EXPECT_EQ(store.binary(store.build("k1")->binary_hash), binary);
}

TEST(Store, a_build_and_a_binary_that_do_not_belong_together_are_refused) {
  const TemporaryFolder folder;
  Store store = prepared_store(folder / "c.db");
  const std::vector<std::byte> binary(50, std::byte{1});
  Build wrong_hash = ok_build("k1");
  wrong_hash.binary_hash = "0123";
  Build failed = ok_build("k1");
  failed.ok = false;
  EXPECT_THROW(store.put_build(wrong_hash, binary), CacheError);
  EXPECT_THROW(store.put_build(ok_build("k1"), {}), CacheError);
  EXPECT_THROW(store.put_build(failed, binary), CacheError);
  EXPECT_EQ(store.counts().builds, 0);
  EXPECT_EQ(store.counts().binaries, 0);
}

TEST(Store, a_binary_that_is_not_there_is_said_with_what_to_do) {
  const TemporaryFolder folder;
  const Store store = prepared_store(folder / "c.db");
  EXPECT_THAT(refusal([&] { (void)store.binary("feed"); }),
              AllOf(HasSubstr("holds no binary feed"), HasSubstr("tilewright sweep")));
}

TEST(Store, writing_through_a_reader_is_refused) {
  const TemporaryFolder folder;
  { Store store = prepared_store(folder / "c.db"); }
  Store reader(folder / "c.db", {StoreAccess::read});
  EXPECT_THAT(refusal([&] { reader.put_device(h200()); }), HasSubstr("was opened for reading only"));
}

TEST(Store, what_was_read_before_is_read_anew_once_another_has_written) {
  const TemporaryFolder folder;
  Store writer = prepared_store(folder / "c.db");
  const Store reader(folder / "c.db", {StoreAccess::read});
  EXPECT_EQ(reader.interface_of("gemm"), std::nullopt);
  EXPECT_EQ(reader.interface_by_hash(gemm_interface().hash()), std::nullopt);
  EXPECT_FALSE(reader.implementation_by_hash("impl-2"));
  EXPECT_EQ(reader.implementation_by_hash("impl-1").value().recipe, onchip().recipe);
  const std::size_t devices = reader.devices().size();
  writer.put_interface(gemm_interface());
  StoredImplementation edited = onchip();
  edited.recipe.requires_arch = "sm_90a";
  writer.put_implementation(softmax_interface().hash(), edited);
  writer.put_implementation(softmax_interface().hash(), onchip("impl-2"));
  DeviceFacts other = h200();
  other.sm_count = 1;
  writer.put_device(other);
  EXPECT_EQ(reader.interface_of("gemm"), gemm_interface());
  EXPECT_EQ(reader.interface_by_hash(gemm_interface().hash()), gemm_interface());
  EXPECT_TRUE(reader.implementation_by_hash("impl-2"));
  EXPECT_EQ(reader.implementation_by_hash("impl-1").value().recipe, edited.recipe);
  EXPECT_EQ(reader.devices().size(), devices + 1);
}

TEST(Store, the_data_version_changes_when_another_commits_and_only_then) {
  const TemporaryFolder folder;
  Store writer = prepared_store(folder / "c.db");
  const Store reader(folder / "c.db", {StoreAccess::read});
  const std::int64_t first = reader.data_version();
  EXPECT_EQ(reader.data_version(), first);
  (void)writer.counts();
  EXPECT_EQ(reader.data_version(), first);
  (void)writer.begin_sweep("sweep softmax", h200().fingerprint());
  EXPECT_NE(reader.data_version(), first);
}

TEST(Store, its_winners_state_changes_with_winners_and_not_with_the_trials_of_a_running_sweep) {
  const TemporaryFolder folder;
  Store writer = prepared_store(folder / "c.db");
  const Store reader(folder / "c.db", {StoreAccess::read});
  const std::int64_t sweep = writer.begin_sweep("sweep softmax", h200().fingerprint());
  const auto put_trial = [&](std::int64_t num_warps, std::int64_t of_sweep) {
    Trial trial = full_trial(onchip_config(num_warps));
    trial.build_key.clear();
    trial.sweep = of_sweep;
    return writer.put_trial(softmax_key(8, 64), onchip().hash, trial);
  };
  std::set<std::uint64_t> states{reader.winners_state()};
  const std::int64_t one = put_trial(1, sweep);
  const std::int64_t two = put_trial(2, sweep);
  EXPECT_TRUE(reader.changed());
  EXPECT_FALSE(states.insert(reader.winners_state()).second) << "trials alone";
  const auto is_new = [&] { return states.insert(reader.winners_state()).second; };
  const auto choose = [&](const std::vector<Winner>& winners) {
    writer.put_winners(softmax_key(8, 64), MeasureMode::cold, winners);
  };
  choose({winner_of(one)});
  EXPECT_TRUE(is_new());
  choose({winner_of(two)});
  EXPECT_TRUE(is_new());
  choose({winner_of(one), winner_of(two)});
  EXPECT_TRUE(is_new());
  choose({winner_of(two), winner_of(one)});
  EXPECT_TRUE(is_new()) << "another order";
  choose({winner_of(two), winner_of(one, WinnerRole::dynamic)});
  EXPECT_TRUE(is_new()) << "another role";
  writer.end_sweep(sweep, "done");
  EXPECT_TRUE(is_new()) << "its times count for shapes around";
  put_trial(4, 0);
  EXPECT_TRUE(is_new()) << "of no sweep: an import, say";
}

TEST(Store, sweeps_are_kept_with_command_device_and_outcome) {
  const TemporaryFolder folder;
  Store store = prepared_store(folder / "c.db");
  const std::int64_t first = store.begin_sweep("sweep softmax --device cpu", "cpu");
  const std::int64_t second = store.begin_sweep("sweep softmax", h200().fingerprint());
  EXPECT_GT(second, first);
  store.end_sweep(first, "done");
  EXPECT_EQ(store.counts().sweeps, 2);
  EXPECT_THROW(store.end_sweep(first, "finished"), CacheError);  // not a value of the schema
  EXPECT_THAT(refusal([&] { store.end_sweep(99, "done"); }), HasSubstr("holds no sweep '99'"));
  EXPECT_THAT(refusal([&] { (void)store.begin_sweep("x", "GTX fictional"); }), HasSubstr("put_device"));
  SQLite::Database raw(store.path().string());
  EXPECT_EQ(raw.execAndGet("SELECT outcome FROM sweeps WHERE id = 1 AND ended_at >= started_at").getString(), "done");
  EXPECT_EQ(raw.execAndGet("SELECT count(*) FROM sweeps WHERE outcome IS NULL AND ended_at IS NULL").getInt(), 1);
}

}  // namespace
}  // namespace tilewright::store_test
