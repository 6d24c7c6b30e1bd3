// SPDX-License-Identifier: Apache-2.0
// kernels/gemm/pad.cuh and gemm_pad, which copies operands to rows that tensor maps can describe.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "tests/unit/emulator/emulated.hpp"
#include "tests/unit/kernels/gemm.hpp"

namespace tilewright::test::gemm_pad_test {
namespace {

std::size_t round_up(std::size_t value, std::size_t multiple) { return (value + multiple - 1) / multiple * multiple; }

/// gemm_pad for one dtype and layout.
EmulatedKernel pad_kernel(const char* type, const char* layout) {
  return EmulatedKernel(fmt::format(R"cu(
#include "gemm/wgmma_padded.cu"
struct Fixed {{
  using dtype = {0};
  static constexpr Name layout{{"{1}"}}, implementation{{"wgmma_padded"}};
}};
template <class>
__global__ void kernel(const {0}* a, const {0}* b, {0}* padded_a, {0}* padded_b, long long m, long long n, long long k) {{
  gemm_pad<Fixed>(a, b, padded_a, padded_b, m, n, k);
}}
)cu",
                                    type, layout));
}

/// A matrix of elements numbered from 1, with `skip` elements before it and none after it.
template <class T>
class Rows {
 public:
  static constexpr T kUntouched = static_cast<T>(0x7b7b);

  Rows(std::size_t rows, std::size_t columns, std::size_t skip)
      : rows_(rows), columns_(columns), skip_(skip), from_(skip + rows * columns), to_(rows * pitch(), kUntouched) {
    std::iota(from_.begin(), from_.end(), T{1});
  }
  [[nodiscard]] const T* from() const { return from_.data() + skip_; }
  [[nodiscard]] T* to() { return to_.data(); }
  [[nodiscard]] unsigned blocks() const {
    const std::size_t vectors = rows_ * round_up(columns_, kVec) / kVec;
    return columns_ % kVec == 0 ? 0 : static_cast<unsigned>((vectors + 511) / 512);
  }
  /// The first wrong element; empty if all are right.
  [[nodiscard]] std::string fault() const {
    const bool is_padded = columns_ % kVec != 0;
    for (std::size_t i = 0; i < to_.size(); ++i) {
      const std::size_t row = i / pitch(), column = i % pitch();
      T expected = kUntouched;
      if (is_padded && column < round_up(columns_, kVec)) {
        expected = column < columns_ ? from_[skip_ + row * columns_ + column] : T{0};
      }
      if (to_[i] != expected)
        return fmt::format("{} rows of {} from {}: row {}, {}", rows_, columns_, skip_, row, column);
    }
    return {};
  }

 private:
  static constexpr std::size_t kVec = 16 / sizeof(T);
  [[nodiscard]] std::size_t pitch() const { return round_up(columns_, 128 / sizeof(T)); }

  std::size_t rows_, columns_, skip_;
  std::vector<T> from_, to_;
};

template <class T>
void expect_padded(const EmulatedKernel& kernel, Rows<T> a, Rows<T> b, long long m, long long n, long long k) {
  const unsigned blocks = a.blocks() + b.blocks();
  if (blocks == 0) return;
  ASSERT_EQ(kernel.run(extents(blocks, 256), a.from(), b.from(), a.to(), b.to(), m, n, k).text, "");
  EXPECT_EQ(a.fault(), "") << "a";
  EXPECT_EQ(b.fault(), "") << "b";
}

template <class T>
void expect_every_row_length(const char* type) {
  const EmulatedKernel nt = pad_kernel(type, "nt");
  for (const std::size_t k : {1U, 2U, 3U, 4U, 5U, 6U, 7U, 9U, 15U, 60U, 61U, 62U, 63U, 65U, 66U, 67U, 129U}) {
    for (std::size_t skip = 0; skip < 8; ++skip) {
      for (const auto& [m, n] : {std::pair{1U, 1U}, {2U, 1U}, {1U, 5U}, {7U, 3U}}) {
        expect_padded<T>(nt, {m, k, skip}, {n, k, 7 - skip}, m, n, static_cast<long long>(k));
      }
    }
  }
}

// The kernel only moves bits, so integers of the same size represent the types.
TEST(GemmPad, copies_rows_of_every_length_from_every_address_and_fills_the_last_vector_with_zeros) {
  expect_every_row_length<std::uint16_t>("unsigned short");
  expect_every_row_length<std::uint32_t>("unsigned");
}

TEST(GemmPad, takes_tile_after_tile_of_a_and_then_of_b) {
  const EmulatedKernel nt = pad_kernel("unsigned short", "nt");
  expect_padded<std::uint16_t>(nt, {37, 1001, 3}, {70, 1001, 0}, 37, 70, 1001);
  expect_padded<std::uint16_t>(nt, {1024, 7, 0}, {1025, 7, 1}, 1024, 1025, 7);
  expect_padded<std::uint16_t>(nt, {1, 65531, 0}, {3, 65531, 5}, 1, 3, 65531);
}

TEST(GemmPad, leaves_out_an_operand_whose_rows_are_whole_vectors) {
  const EmulatedKernel nn = pad_kernel("unsigned short", "nn");
  expect_padded<std::uint16_t>(nn, {40, 99, 1}, {99, 64, 0}, 40, 64, 99);     // a alone
  expect_padded<std::uint16_t>(nn, {40, 104, 1}, {104, 61, 3}, 40, 61, 104);  // b alone
  expect_padded<std::uint16_t>(nn, {40, 99, 1}, {99, 61, 3}, 40, 61, 99);
  const EmulatedKernel tn = pad_kernel("unsigned short", "tn");
  expect_padded<std::uint16_t>(tn, {50, 33, 2}, {50, 72, 0}, 33, 72, 50);
  expect_padded<std::uint16_t>(tn, {50, 40, 2}, {50, 77, 0}, 40, 77, 50);
  expect_padded<std::uint16_t>(tn, {51, 33, 2}, {51, 77, 0}, 33, 77, 51);
}

}  // namespace
}  // namespace tilewright::test::gemm_pad_test
