// SPDX-License-Identifier: Apache-2.0
// kernels/device/divide.cuh.
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

#include "cache/model/formula/formula.hpp"
#include "tests/unit/emulator/emulated.hpp"

namespace tilewright::test::divide_test {
namespace {

constexpr std::uint32_t kMost = 0x7fffffff;

/// The inverse as definitions compute it.
std::uint64_t inverse_of(std::uint32_t divisor) {
  struct Divisor : Scope {
    std::int64_t value = 0;
    [[nodiscard]] std::optional<Value> find(std::string_view) const override { return value; }
    [[nodiscard]] std::vector<std::string> names() const override { return {"divisor"}; }
  } scope;
  scope.value = divisor;
  static const Formula formula =
      Formula::parse("4294967296 * log2(pow2_ceil(divisor)) + ceil_div(2147483648 * pow2_ceil(divisor), divisor)");
  return static_cast<std::uint64_t>(formula.integer(scope));
}

TEST(DivideByInverse, is_exact_around_every_multiple_and_at_both_ends) {
  std::mt19937 engine(7);
  const auto below = [&](std::uint32_t limit) { return static_cast<std::uint32_t>(engine() % limit); };
  std::vector<std::uint32_t> divisors{1,         2,    3, 5, 7, 641, 65535, 65536, 65537, 1U << 30, (1U << 30) + 1,
                                      kMost - 1, kMost};
  for (int bits = 2; bits < 31; ++bits) {
    const std::uint32_t power = 1U << bits;
    divisors.insert(divisors.end(), {power - 1, power, power + 1, power + below(power)});
  }
  std::vector<std::uint32_t> numbers;
  std::vector<std::uint64_t> inverses;
  std::vector<std::uint32_t> expected;
  const auto add = [&](std::uint32_t i, std::uint32_t divisor) {
    if (i > kMost) return;
    numbers.push_back(i);
    inverses.push_back(inverse_of(divisor));
    expected.push_back(i / divisor);
  };
  for (const std::uint32_t divisor : divisors) {
    add(0, divisor);
    add(kMost, divisor);
    const std::uint32_t most = kMost / divisor;
    for (const std::uint32_t multiple : {1U, (most + 1) / 2, most, below(most) + 1, below(most) + 1}) {
      add(multiple * divisor - 1, divisor);
      add(multiple * divisor, divisor);
      add(multiple * divisor + divisor - 1, divisor);
    }
  }
  const EmulatedKernel kernel(R"cu(
#include "device/divide.cuh"
template <class Config> __global__ void kernel(const unsigned* i, const unsigned long long* inverse, unsigned* quotient,
                                               int count) {
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at < count) quotient[at] = tilewright::divide_by_inverse(i[at], inverse[at]);
})cu");
  std::vector<std::uint32_t> quotients(numbers.size());
  int count = static_cast<int>(numbers.size());
  ASSERT_EQ(
      kernel.run(extents((count + 255) / 256, 256), numbers.data(), inverses.data(), quotients.data(), count).text, "");
  EXPECT_EQ(quotients, expected);
}

}  // namespace
}  // namespace tilewright::test::divide_test
