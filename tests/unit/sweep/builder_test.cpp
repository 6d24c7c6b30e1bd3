// SPDX-License-Identifier: Apache-2.0
#include "tuner/sweep/builder.hpp"

#include <atomic>
#include <optional>
#include <thread>

#include "tests/unit/sweep/sweep_fixture.hpp"
#include "tuner/process/moment.hpp"
#include "tuner/sweep/sweep_lock.hpp"

namespace tilewright::testing {
namespace {

GeneratedSource source(const std::string& text) { return {text, "test.cu", {"twice_plain"}}; }

class BuilderTest : public SweepFixture {
 protected:
  Builder make(
      Store& store, std::function<bool()> interrupted = [] { return false; }) {
    return Builder(store, compiler, TILEWRIGHT_TEST_KERNELS, 2, std::move(interrupted));
  }
  FakeCompiler compiler;
};

TEST(BuildKey, depends_on_source_architecture_compiler_and_options) {
  const std::string key = build_key("source", "sm_90a", "NVRTC 13.0", {"-O3"});
  EXPECT_EQ(key, build_key("source", "sm_90a", "NVRTC 13.0", {"-O3"}));
  EXPECT_NE(key, build_key("other", "sm_90a", "NVRTC 13.0", {"-O3"}));
  EXPECT_NE(key, build_key("source", "sm_80", "NVRTC 13.0", {"-O3"}));
  EXPECT_NE(key, build_key("source", "sm_90a", "NVRTC 13.1", {"-O3"}));
  EXPECT_NE(key, build_key("source", "sm_90a", "NVRTC 13.0", {}));
  EXPECT_EQ(key.size(), 32U);
}

TEST(FirstError, is_the_compilers_first_line_that_says_so) {
  EXPECT_EQ(first_error("note: a\nx.cu(3): error: b\nerror: c\n"), "x.cu(3): error: b");
  EXPECT_EQ(first_error("killed\nby something"), "killed");
  EXPECT_EQ(first_error(""), "the compiler failed and said nothing");
}

TEST_F(BuilderTest, compiles_a_source_once_and_stores_it) {
  Store store = open();
  Builder builder = make(store);
  const std::string key = builder.request(source("a"), "cpu", "hash");
  EXPECT_EQ(builder.request(source("a"), "cpu", "hash"), key);
  const auto build = builder.wait(key);
  ASSERT_TRUE(build.has_value());
  EXPECT_TRUE(build->ok);
  EXPECT_EQ(builder.request(source("a"), "cpu", "hash"), key);
  EXPECT_EQ(compiler.compiles, 1);
  EXPECT_EQ(builder.compiled(), 1U);
  EXPECT_EQ(store.build(key)->kernels.at(0).entry, "twice_plain");
  EXPECT_EQ(store.binary(build->binary_hash).size(), 1U);
}

TEST_F(BuilderTest, compiles_code_of_the_host_anew_that_another_cache_brought) {
  Store store = open();
  const std::string planted = "planted";
  const auto build_of = [&](const char* text) {
    const Builder builder = make(store);
    Build build;
    build.key = builder.key_of(source(text), "cpu", "hash");
    build.ok = true;
    build.compiler = "fake 1.0";
    build.arch = "cpu";
    return build;
  };
  for (const bool host_code : {false, true}) {
    const char* const text = host_code ? "a" : "b";
    const Build brought = build_of(text);
    store.put_build(brought, std::as_bytes(std::span(planted)));
    compiler.host_code = host_code;
    Builder builder = make(store);
    EXPECT_EQ(builder.ready(brought.key), !host_code);
    const auto build = builder.wait(builder.request(source(text), "cpu", "hash"));
    ASSERT_TRUE(build.has_value());
    const auto bytes = store.binary(store.build(brought.key)->binary_hash);
    EXPECT_EQ(bytes.size(), host_code ? 1U : planted.size()) << "what was compiled here takes its place";
  }
  EXPECT_EQ(compiler.compiles, 1);
  Builder again = make(store);
  EXPECT_TRUE(again.ready(build_of("a").key)) << "and stays";
}

TEST_F(BuilderTest, tells_which_compiler_made_a_build_when_and_for_which_sweep) {
  Store store = open();
  store.put_device(emulator_facts());
  const std::int64_t sweep = store.begin_sweep("sweep", emulator_facts().fingerprint());
  Builder builder = make(store);
  const std::int64_t before = moment_us();
  const std::string key = builder.request(source("a"), "cpu", "hash", sweep);
  ASSERT_TRUE(builder.wait(key).has_value());
  const std::int64_t after = moment_us();
  const Build build = store.build(key).value();
  EXPECT_EQ(build.sweep, sweep);
  EXPECT_TRUE(build.worker == 0 || build.worker == 1);
  ASSERT_TRUE(build.began_us.has_value());
  EXPECT_GE(*build.began_us, before);
  EXPECT_LE(*build.began_us, after);
}

TEST_F(BuilderTest, tells_everyone_who_waits_that_the_compiler_is_broken) {
  Store store = open();
  compiler.broken = "there is no compiler";
  Builder builder = make(store);
  const std::string first = builder.request(source("a"), "cpu", "hash");
  const std::string second = builder.request(source("b"), "cpu", "hash");
  for (const std::string& key : {first, second, first}) {
    try {
      (void)builder.wait(key);
      ADD_FAILURE() << "nothing can be compiled";
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(), "there is no compiler");
    }
  }
  compiler.broken.clear();
  EXPECT_TRUE(builder.wait(builder.request(source("a"), "cpu", "hash"))->ok);
}

TEST_F(BuilderTest, takes_what_the_cache_has_failures_included) {
  Store store = open();
  std::string good, bad;
  {
    Builder builder = make(store);
    good = builder.request(source("a"), "cpu", "hash");
    bad = builder.request(source("static constexpr int fault = 1;"), "cpu", "hash");
    EXPECT_TRUE(builder.wait(good)->ok);
    EXPECT_FALSE(builder.wait(bad)->ok);
  }
  Builder builder = make(store);
  EXPECT_EQ(builder.request(source("a"), "cpu", "hash"), good);
  EXPECT_EQ(builder.request(source("static constexpr int fault = 1;"), "cpu", "hash"), bad);
  EXPECT_TRUE(builder.wait(good)->ok);
  EXPECT_NE(builder.wait(bad)->log.find("planted"), std::string::npos);
  EXPECT_EQ(compiler.compiles, 2);
  EXPECT_EQ(builder.compiled(), 0U);
}

TEST_F(BuilderTest, keeps_no_failure_that_came_with_an_interrupt) {
  Store store = open();
  bool stop = false;
  Builder builder = make(store, [&] { return stop; });
  const std::string key = builder.request(source("static constexpr int fault = 1;"), "cpu", "hash");
  stop = true;
  EXPECT_FALSE(builder.wait(key).has_value());
  EXPECT_FALSE(store.build(key).has_value());
}

TEST_F(BuilderTest, passes_on_what_a_broken_compiler_throws) {
  Store store = open();
  compiler.broken = "NVRTC lost its headers";
  Builder builder = make(store);
  const std::string key = builder.request(source("a"), "cpu", "hash");
  EXPECT_THROW((void)builder.wait(key), Error);
}

TEST_F(BuilderTest, does_not_wait_for_ever_for_what_nobody_requested) {
  Store store = open();
  Builder builder = make(store);
  EXPECT_THROW((void)builder.wait("00000000000000000000000000000000"), Error);
}

TEST_F(BuilderTest, compiles_nothing_while_any_final_is_held) {
  Store store = open();
  Builder builder = make(store);
  std::optional<Builder::CompilePause> one(std::in_place, builder);
  std::optional<Builder::CompilePause> other(std::in_place, builder);
  const std::string key = builder.request(source("a"), "cpu", "hash");
  one.reset();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(compiler.compiles, 0);
  EXPECT_FALSE(builder.ready(key));
  other.reset();
  EXPECT_TRUE(builder.wait(key)->ok);
}

TEST_F(BuilderTest, gives_the_compilers_their_share_where_finals_follow_each_other) {
  Store store = open();
  SweepLock lock;
  Builder builder(
      store, compiler, TILEWRIGHT_TEST_KERNELS, 2, [] { return false; }, &lock);
  // Devices hold finals in turn, always one of them, while a third waits for a binary.
  std::atomic<bool> compiled = false;
  const auto finals = [&] {
    const SweepLock::Held held(lock);
    while (!compiled) {
      const Builder::CompilePause pause(builder);
      const SweepLock::Released released(lock);
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
    }
  };
  const std::jthread first(finals);
  std::this_thread::sleep_for(std::chrono::milliseconds(15));
  const std::jthread second(finals);
  const SweepLock::Held held(lock);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(builder.wait(builder.request(source("a"), "cpu", "hash"))->ok);
  compiled = true;
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

}  // namespace
}  // namespace tilewright::testing
