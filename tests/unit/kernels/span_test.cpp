// SPDX-License-Identifier: Apache-2.0
// kernels/device/row/span.cuh and kernels/device/unaligned.cuh.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "tests/unit/emulator/emulated.hpp"

namespace tilewright::test::span_test {
namespace {

// Copies one row by y's vectors and by edges; counts each element's writes, and notes the extent of vector reads of x.
std::string copy_row(const char* type, int vec, int least_width) {
  return std::string("#include \"device/row/span.cuh\"\nusing T = ") + type +
         ";\nconstexpr int kVec = " + std::to_string(vec) + ", kLeastWidth = " + std::to_string(least_width) + R"cu(;
template <class Config>
__global__ void kernel(const T* x, T* y, int* written, long long cols, long long* reached) {
  using namespace tilewright;
  using Span = row::Span<kVec, true, i64, margin_of<kVec>(), kLeastWidth>;
  const Span span(y, cols);
  const row::RowReader<T, kVec, true> reader(x + span.column(0));
  for (i64 i = threadIdx.x; i < span.vectors(); i += blockDim.x) {
    store_vector(y + span.column(i), unpack(reader.take(reader.load(i * kVec))));
    for (int j = 0; j < kVec; ++j) ++written[span.column(i) + j];
  }
  for (int e = threadIdx.x; e < span.edges(); e += blockDim.x) {
    y[span.edge_column(e)] = x[span.edge_column(e)];
    ++written[span.edge_column(e)];
  }
  if (threadIdx.x == 0) {
    reached[0] = span.vectors() == 0 ? 0 : span.column(0) - margin_of<kVec>();
    reached[1] = span.vectors() == 0 ? 0 : span.column(span.vectors() - 1) + kVec + margin_of<kVec>();
    reached[2] = span.edges() - Span::kMaxEdges;
  }
})cu";
}

template <class T>
void expect_every_row_is_copied(const char* type, int vec, std::size_t least_width = 0) {
  const EmulatedKernel kernel(copy_row(type, vec, static_cast<int>(least_width)));
  for (std::size_t from = 0; from < static_cast<std::size_t>(vec); ++from) {
    for (std::size_t to = 0; to < static_cast<std::size_t>(vec); ++to) {
      for (const std::size_t cols : {1U, 3U, 8U, 17U, 20U, 26U, 64U}) {
        if (cols < least_width) continue;
        alignas(16) T x[96];
        alignas(16) T y[96];
        std::iota(std::begin(x), std::end(x), T{1});
        std::fill(std::begin(y), std::end(y), T{0});
        std::vector<int> written(cols);
        long long reached[3];
        ASSERT_EQ(
            kernel.run(extents(1, 32), &x[from], &y[to], written.data(), static_cast<long long>(cols), &reached[0])
                .text,
            "");
        for (std::size_t i = 0; i < std::size(y); ++i) {
          const bool inside = i >= to && i < to + cols;
          EXPECT_EQ(y[i], inside ? x[from + i - to] : T{0}) << "from " << from << " to " << to << " width " << cols;
        }
        EXPECT_EQ(written, std::vector<int>(cols, 1)) << "from " << from << " to " << to << " width " << cols;
        EXPECT_GE(reached[0], 0);
        EXPECT_LE(reached[1], static_cast<long long>(cols));
        EXPECT_LE(reached[2], 0);
      }
    }
  }
}

TEST(Span, covers_any_width_at_any_address_once_and_reads_nothing_outside_the_row) {
  expect_every_row_is_copied<std::uint16_t>("unsigned short", 8);
  expect_every_row_is_copied<std::uint16_t>("unsigned short", 4);
  expect_every_row_is_copied<std::uint32_t>("unsigned", 4);
  expect_every_row_is_copied<std::uint32_t>("unsigned", 2);
  expect_every_row_is_copied<std::uint16_t>("unsigned short", 1);
}

TEST(Span, of_a_row_that_is_known_to_be_wide_enough_covers_it_from_the_narrowest_on) {
  // Widths up to the longest edges: 2 · (8 − 1 + 3), and 2 · (4 − 1 + 1).
  expect_every_row_is_copied<std::uint16_t>("unsigned short", 8, 20);
  expect_every_row_is_copied<std::uint32_t>("unsigned", 4, 8);
}

TEST(Span, has_no_edges_where_rows_are_whole_vectors) {
  const EmulatedKernel kernel(R"cu(
#include "device/row/span.cuh"
template <class Config> __global__ void kernel(const float* x, long long* out) {
  const tilewright::row::Span<4, false, long long> span(x, 64);
  if (threadIdx.x != 0) return;
  out[0] = span.vectors();
  out[1] = span.edges();
  out[2] = span.column(5);
})cu");
  alignas(16) float x[64] = {};
  long long out[3] = {};
  ASSERT_EQ(kernel.run(extents(1, 32), &x[0], &out[0]).text, "");
  EXPECT_EQ(out[0], 16);
  EXPECT_EQ(out[1], 0);
  EXPECT_EQ(out[2], 20);
}

}  // namespace
}  // namespace tilewright::test::span_test
