// SPDX-License-Identifier: Apache-2.0
#include "tuner/compile/compile_pool.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <set>

#include "cache/base/error.hpp"

namespace tilewright {
namespace {

using std::chrono::milliseconds;

// The binary of a source is its name. "wait" blocks until released, "slow" takes a while, "throw" throws.
class FakeCompiler : public Compiler {
 public:
  CompileResult compile(const CompileRequest& request) override {
    ++started;
    if (request.source == "throw") throw Error("the compiler is broken");
    if (request.source == "slow") std::this_thread::sleep_for(milliseconds(50));
    if (request.source == "wait") {
      std::unique_lock lock(mutex_);
      released_.wait(lock, [this] { return open_; });
    }
    CompileResult result;
    result.ok = true;
    result.log = request.name;
    return result;
  }
  std::string version() const override { return "fake 1"; }
  void release() {
    {
      const std::lock_guard lock(mutex_);
      open_ = true;
    }
    released_.notify_all();
  }
  std::atomic<int> started = 0;

 private:
  std::mutex mutex_;
  std::condition_variable released_;
  bool open_ = false;
};

CompileRequest request(const std::string& name, const std::string& source = "quick") {
  CompileRequest made;
  made.name = name;
  made.source = source;
  return made;
}

TEST(CompilePool, hands_out_every_job_once_and_then_nothing) {
  FakeCompiler compiler;
  CompilePool pool(compiler, 3);
  EXPECT_EQ(pool.workers(), 3);
  std::set<std::string> expected;
  for (int i = 0; i < 50; ++i) {
    const std::string key = "k" + std::to_string(i);
    EXPECT_TRUE(pool.submit(key, request(key)));
    expected.insert(key);
  }
  std::set<std::string> seen;
  while (auto finished = pool.next()) {
    EXPECT_EQ(finished->result.log, finished->key);
    EXPECT_TRUE(seen.insert(finished->key).second);
  }
  EXPECT_EQ(seen, expected);
  EXPECT_EQ(pool.unfinished(), 0u);
}

TEST(CompilePool, one_worker_keeps_the_order_of_submission) {
  FakeCompiler compiler;
  CompilePool pool(compiler, 1);
  for (const char* key : {"c", "a", "b"}) pool.submit(key, request(key));
  std::string order;
  while (auto finished = pool.next()) order += finished->key;
  EXPECT_EQ(order, "cab");
}

TEST(CompilePool, a_quick_job_overtakes_a_slow_one) {
  FakeCompiler compiler;
  CompilePool pool(compiler, 2);
  pool.submit("slow", request("slow", "wait"));
  pool.submit("quick", request("quick"));
  EXPECT_EQ(pool.next()->key, "quick");
  compiler.release();
  EXPECT_EQ(pool.next()->key, "slow");
}

TEST(CompilePool, compiles_a_key_once_until_it_is_taken) {
  FakeCompiler compiler;
  CompilePool pool(compiler, 2);
  EXPECT_TRUE(pool.submit("same", request("first", "wait")));
  EXPECT_FALSE(pool.submit("same", request("second")));
  compiler.release();
  EXPECT_EQ(pool.take("same")->result.log, "first");
  EXPECT_EQ(compiler.started, 1);
  EXPECT_FALSE(pool.next().has_value());
  EXPECT_TRUE(pool.submit("same", request("third")));
  EXPECT_EQ(pool.take("same")->result.log, "third");
}

TEST(CompilePool, takes_a_job_by_its_key_out_of_turn) {
  FakeCompiler compiler;
  CompilePool pool(compiler, 1);
  for (const char* key : {"a", "b", "c"}) pool.submit(key, request(key));
  EXPECT_EQ(pool.take("b")->key, "b");
  EXPECT_FALSE(pool.take("b").has_value());
  EXPECT_FALSE(pool.take("unknown").has_value());
  EXPECT_EQ(pool.next()->key, "a");
  EXPECT_EQ(pool.next()->key, "c");
}

TEST(CompilePool, gives_up_waiting_when_the_patience_ends) {
  FakeCompiler compiler;
  CompilePool pool(compiler, 1);
  pool.submit("slow", request("slow", "wait"));
  EXPECT_FALSE(pool.next(milliseconds(5)).has_value());
  EXPECT_EQ(pool.unfinished(), 1u);
  compiler.release();
  EXPECT_TRUE(pool.next().has_value());
}

TEST(CompilePool, what_the_compiler_throws_is_carried_to_the_taker) {
  FakeCompiler compiler;
  CompilePool pool(compiler, 1);
  pool.submit("bad", request("bad", "throw"));
  const auto finished = pool.next();
  ASSERT_TRUE(finished.has_value());
  EXPECT_FALSE(finished->result.ok);
  EXPECT_THROW(std::rethrow_exception(finished->error), Error);
}

TEST(CompilePool, what_making_the_request_throws_is_carried_too) {
  FakeCompiler compiler;
  CompilePool pool(compiler, 1);
  pool.submit("bad", []() -> CompileRequest { throw UsageError("no such file"); });
  EXPECT_THROW(std::rethrow_exception(pool.next()->error), UsageError);
  EXPECT_EQ(compiler.started, 0);
}

TEST(CompilePool, compiles_next_what_is_in_a_hurry) {
  FakeCompiler compiler;
  CompilePool pool(compiler, 1);
  pool.submit("running", request("running", "wait"));
  while (compiler.started == 0) std::this_thread::yield();
  for (const char* key : {"a", "b", "c"}) pool.submit(key, request(key));
  pool.hurry("c");
  pool.hurry("running");
  pool.hurry("unknown");
  compiler.release();
  std::vector<std::string> order;
  while (const auto finished = pool.next()) order.push_back(finished->key);
  EXPECT_EQ(order, (std::vector<std::string>{"running", "c", "a", "b"}));
}

TEST(CompilePool, cancelling_drops_what_waits_and_finishes_what_runs) {
  FakeCompiler compiler;
  CompilePool pool(compiler, 1);
  pool.submit("running", request("running", "wait"));
  while (compiler.started == 0) std::this_thread::yield();
  for (const char* key : {"a", "b", "c"}) pool.submit(key, request(key));
  EXPECT_EQ(pool.cancel(), 3u);
  compiler.release();
  EXPECT_EQ(pool.next()->key, "running");
  EXPECT_FALSE(pool.next().has_value());
  EXPECT_EQ(compiler.started, 1);
}

TEST(CompilePool, cancelling_wakes_whoever_waits_for_a_dropped_job) {
  FakeCompiler compiler;
  CompilePool pool(compiler, 1);
  pool.submit("running", request("running", "wait"));
  while (compiler.started == 0) std::this_thread::yield();
  pool.submit("dropped", request("dropped"));
  std::thread canceller([&] { pool.cancel(); });
  EXPECT_FALSE(pool.take("dropped").has_value());
  canceller.join();
  compiler.release();
}

TEST(CompilePool, destruction_drops_what_waits) {
  FakeCompiler compiler;
  std::thread releaser;
  {
    CompilePool pool(compiler, 1);
    pool.submit("running", request("running", "wait"));
    while (compiler.started == 0) std::this_thread::yield();
    for (int i = 0; i < 40; ++i) pool.submit(std::to_string(i), request("late", "slow"));
    releaser = std::thread([&] {
      std::this_thread::sleep_for(milliseconds(20));
      compiler.release();
    });
  }
  releaser.join();
  EXPECT_LT(compiler.started, 41);
}

TEST(CompilePool, starts_nothing_while_paused_and_waits_for_what_runs) {
  FakeCompiler compiler;
  CompilePool pool(compiler, 1);
  pool.submit("running", request("running", "wait"));
  while (compiler.started == 0) std::this_thread::yield();
  EXPECT_FALSE(pool.pause(milliseconds(20))) << "a job still runs";
  pool.submit("later", request("later"));
  compiler.release();
  EXPECT_TRUE(pool.pause(milliseconds(10'000)));
  EXPECT_EQ(pool.next()->key, "running");
  EXPECT_FALSE(pool.next(milliseconds(50)).has_value());
  EXPECT_EQ(compiler.started, 1);
  pool.resume();
  EXPECT_EQ(pool.next()->key, "later");
}

}  // namespace
}  // namespace tilewright
