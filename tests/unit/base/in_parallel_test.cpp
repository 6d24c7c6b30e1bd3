// SPDX-License-Identifier: Apache-2.0
#include "cache/base/in_parallel.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

namespace tilewright::in_parallel_test {
namespace {

TEST(InParallel, calls_once_for_each_number) {
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{1000}}) {
    std::vector<int> calls(count);
    in_parallel(count, [&](std::size_t i) { ++calls[i]; });
    EXPECT_EQ(calls, std::vector<int>(count, 1));
  }
}

TEST(InParallel, throws_what_a_call_has_thrown_and_begins_no_other) {
  constexpr std::size_t kCount = 1'000'000;
  std::atomic<std::size_t> calls = 0;
  const auto work = [&](std::size_t i) {
    ++calls;
    if (i == 7) throw std::out_of_range("7");
  };
  EXPECT_THROW(in_parallel(kCount, work), std::out_of_range);
  EXPECT_GE(calls, 8U);
  EXPECT_LT(calls, kCount);
}

}  // namespace
}  // namespace tilewright::in_parallel_test
