// SPDX-License-Identifier: Apache-2.0
#include "cache/launch/jit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <future>
#include <optional>
#include <string>

#include "cache/base/error.hpp"

namespace tilewright::launch {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class JitTest : public ::testing::Test {
 protected:
  JitTest() { ::setenv("TILEWRIGHT_LIBJIT", TILEWRIGHT_FAKE_JIT, 1); }
  ~JitTest() override { ::unsetenv("TILEWRIGHT_LIBJIT"); }

  static Jit::Job job(const std::string& config) {
    return {"scale[dtype=f32]{rows=1,cols=32}", config, "an interface", "an implementation", "{}"};
  }
  struct Answer {
    std::optional<std::string> binary;
    std::string why;
  };
  static Answer compile(Jit& jit, const std::string& config) {
    std::promise<Answer> answer;
    const bool taken = jit.submit(job(config), [&](Jit::Compiled* compiled, const std::string& why) {
      answer.set_value({compiled == nullptr
                            ? std::nullopt
                            : std::optional(std::string(reinterpret_cast<const char*>(compiled->binary.data()),
                                                        compiled->binary.size())),
                        why});
    });
    EXPECT_TRUE(taken);
    return answer.get_future().get();
  }
};

TEST_F(JitTest, gives_the_library_what_it_needs_and_hands_over_its_binary) {
  Jit jit("/my/ops:/other");
  const Answer answer = compile(jit, "plain{num_warps=1}");
  EXPECT_EQ(
      answer.binary,
      "scale[dtype=f32]{rows=1,cols=32}\nplain{num_warps=1}\nan interface\nan implementation\n{}\n/my/ops:/other\n");
  EXPECT_THAT(answer.why, IsEmpty());
}

TEST_F(JitTest, says_why_there_is_no_binary_and_goes_on) {
  Jit jit("");
  const Answer wrong = compile(jit, "wrong{}");
  EXPECT_EQ(wrong.binary, std::nullopt);
  EXPECT_EQ(wrong.why, "error: as it was planted");
  const Answer odd = compile(jit, "odd{}");
  EXPECT_EQ(odd.binary, std::nullopt);
  EXPECT_THAT(odd.why, HasSubstr("kernels"));
  EXPECT_NE(compile(jit, "plain{}").binary, std::nullopt);
}

TEST_F(JitTest, reports_a_binary_that_memory_cannot_hold_and_goes_on) {
  Jit jit("");
  const Answer huge = compile(jit, "huge{}");
  EXPECT_EQ(huge.binary, std::nullopt);
  EXPECT_EQ(huge.why, "out of memory");
  EXPECT_NE(compile(jit, "plain{}").binary, std::nullopt);
}

TEST_F(JitTest, takes_a_bounded_number_of_jobs_in_their_order) {
  Jit jit("");
  std::promise<void> go;
  std::shared_future<void> gone = go.get_future().share();
  std::promise<void> begun;
  std::vector<int> order;
  ASSERT_TRUE(jit.submit(job("first{}"), [&](Jit::Compiled*, const std::string&) {
    begun.set_value();
    gone.wait();
  }));
  begun.get_future().wait();
  int taken = 0;
  while (jit.submit(job("next{}"), [&, taken](Jit::Compiled*, const std::string&) { order.push_back(taken); })) {
    ASSERT_LT(++taken, 100'000) << "the queue has no bound";
  }
  EXPECT_GT(taken, 100);
  go.set_value();
  jit.drain();
  ASSERT_EQ(order.size(), static_cast<std::size_t>(taken));
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST_F(JitTest, ends_without_what_has_not_begun) {
  std::promise<void> begun;
  bool second = false;
  {
    Jit jit("");
    ASSERT_TRUE(jit.submit(job("first{}"), [&](Jit::Compiled*, const std::string&) {
      begun.set_value();
      // An ending compiler takes no more jobs.
      while (jit.submit(job("next{}"), [](Jit::Compiled*, const std::string&) {})) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    }));
    ASSERT_TRUE(jit.submit(job("second{}"), [&](Jit::Compiled*, const std::string&) { second = true; }));
    begun.get_future().wait();
  }
  EXPECT_FALSE(second);
}

TEST_F(JitTest, needs_a_library_of_its_own_version) {
  const auto error_with = [](const char* file) -> std::string {
    ::setenv("TILEWRIGHT_LIBJIT", file, 1);
    try {
      const Jit jit("");
    } catch (const UsageError& error) {
      return error.what();
    }
    return "none";
  };
  EXPECT_THAT(error_with("/nowhere/libtilewright-jit.so"), HasSubstr("/nowhere/libtilewright-jit.so"));
  EXPECT_THAT(error_with("/nowhere/libtilewright-jit.so"), HasSubstr("open the launcher without `jit`"));
  EXPECT_THAT(error_with(TILEWRIGHT_OTHER_JIT), HasSubstr("is of version 99.0.0"));
  EXPECT_THAT(error_with("libm.so.6"), HasSubstr("is another library"));
}

}  // namespace
}  // namespace tilewright::launch
