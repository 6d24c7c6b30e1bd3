// SPDX-License-Identifier: Apache-2.0
// kernels/device/ptx/tensor_copy.cuh and its like of more dims on a GPU: boxes inside a tensor and across its edges,
// swizzled as documented.
#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "tests/gpu/device_functions.hpp"

namespace tilewright::test {
namespace {

// A pitched matrix of words, covered by boxes that begin outside of it.
constexpr int kRows = 50;
constexpr int kColumns = 44;
constexpr int kPitch = 52;
constexpr int kBoxRows = 24;
constexpr int kFirstX = -8;
constexpr int kFirstY = -6;
constexpr int kBoxesDown = 3;

/// Where a unit of 16 bytes of a box's row is: units are exchanged within 8 rows of 128 bytes, of 64, or of 32.
unsigned place_of_unit(unsigned swizzle, unsigned row, unsigned unit) {
  return unit ^ (swizzle == 128 ? row % 8 : swizzle == 64 ? row / 2 % 4 : swizzle == 32 ? row / 4 % 2 : 0);
}

struct Box {
  unsigned columns;
  unsigned swizzle;

  [[nodiscard]] int across() const {
    return (kColumns - kFirstX + static_cast<int>(columns) - 1) / static_cast<int>(columns);
  }
  [[nodiscard]] unsigned blocks() const { return static_cast<unsigned>(across() * kBoxesDown); }
  [[nodiscard]] Launch launch() const {
    return {.blocks = blocks(), .threads = 64, .shared_bytes = kBoxRows * 128 + 16};
  }
  [[nodiscard]] MapOf map(MapOf::Tensor tensor) const {
    PlannedMap map;
    map.name = "matrix";
    map.type = DType::u32;
    map.dims = {kColumns, kRows};
    map.strides = {kPitch * sizeof(std::uint32_t)};
    map.box = {columns, kBoxRows};
    map.swizzle = swizzle;
    return {tensor, map};
  }
  /// The index in shared memory of a box's word.
  [[nodiscard]] std::size_t place(unsigned row, unsigned column) const {
    return row * columns + place_of_unit(swizzle, row, column / 4) * 4 + column % 4;
  }
  /// Source for the kernels: the block's box, and place().
  [[nodiscard]] std::string source() const {
    return "#include \"device/ptx/bulk_copy.cuh\"\n#include \"device/ptx/cache_policy.cuh\"\n"
           "#include \"device/ptx/cluster.cuh\"\n#include \"device/ptx/fence.cuh\"\n#include "
           "\"device/ptx/mbarrier.cuh\"\n"
           "#include \"device/ptx/mbarrier_relaxed.cuh\"\n#include \"device/ptx/tensor_copy.cuh\"\n"
           "#include \"device/shared.cuh\"\nconstexpr int kWidth = " +
           std::to_string(columns) + ", kSwizzle = " + std::to_string(swizzle) +
           ", kAcross = " + std::to_string(across()) + R"cu(;
struct Shared {
  alignas(1024) u32 box[24 * kWidth];
  u64 barrier;
};
__device__ int box_x() { return -8 + static_cast<int>(blockIdx.x) % kAcross * kWidth; }
__device__ int box_y() { return -6 + static_cast<int>(blockIdx.x) / kAcross * 24; }
__device__ int place(int row, int column) {
  const int exchange = kSwizzle == 128  ? row % 8
                       : kSwizzle == 64 ? row / 2 % 4
                       : kSwizzle == 32 ? row / 4 % 2
                                        : 0;
  return row * kWidth + (column / 4 ^ exchange) * 4 + column % 4;
}
)cu";
  }
};

/// Swizzled rows of 128, of 64 and of 32 bytes, and rows without swizzle.
constexpr Box kBoxes[] = {{32, 128}, {16, 64}, {8, 32}, {32, 0}, {20, 0}};

/// A tensor of words with gaps between its rows, and boxes that cover it and begin outside of it along each dim.
struct Tensor {
  std::size_t rank;
  std::array<unsigned, 5> dims;
  /// Of a step along each dim, in words.
  std::array<unsigned, 5> strides;
  std::array<unsigned, 5> box;
  unsigned swizzle;
  /// The device header, its type of corners, and how the block loads its box at `corner`.
  const char* header;
  const char* corner;
  const char* load;

  /// Of the first box.
  [[nodiscard]] static int first(std::size_t dim) { return dim == 0 ? -8 : -1; }
  [[nodiscard]] unsigned boxes(std::size_t dim) const {
    return (dims[dim] - static_cast<unsigned>(first(dim)) + box[dim] - 1) / box[dim];
  }
  [[nodiscard]] unsigned blocks() const {
    unsigned count = 1;
    for (std::size_t dim = 0; dim < rank; ++dim) count *= boxes(dim);
    return count;
  }
  [[nodiscard]] unsigned box_rows() const {
    unsigned count = 1;
    for (std::size_t dim = 1; dim < rank; ++dim) count *= box[dim];
    return count;
  }
  [[nodiscard]] std::size_t words() const {
    std::size_t count = 1;
    for (std::size_t dim = 0; dim < rank; ++dim) count += std::size_t{dims[dim] - 1} * strides[dim];
    return count;
  }
  [[nodiscard]] MapOf map() const {
    PlannedMap map;
    map.name = "tensor";
    map.type = DType::u32;
    for (std::size_t dim = 0; dim < rank; ++dim) {
      map.dims.push_back(dims[dim]);
      map.box.push_back(box[dim]);
      if (dim > 0) map.strides.push_back(strides[dim] * sizeof(std::uint32_t));
    }
    map.swizzle = swizzle;
    return {MapOf::Tensor::in, map};
  }
  /// What an index along each dim reads: 0 outside of the tensor.
  [[nodiscard]] std::uint32_t at(const Words& words, const std::array<int, 5>& index) const {
    std::size_t offset = 0;
    for (std::size_t dim = 0; dim < rank; ++dim) {
      if (index[dim] < 0 || index[dim] >= static_cast<int>(dims[dim])) return 0;
      offset += static_cast<std::size_t>(index[dim]) * strides[dim];
    }
    return words[offset];
  }
  [[nodiscard]] std::string source() const {
    std::string corner_of;
    for (std::size_t dim = 0; dim < rank; ++dim) {
      corner_of += (dim == 0 ? "" : ", ") + std::to_string(first(dim)) + " + take(block, " +
                   std::to_string(boxes(dim)) + ") * " + std::to_string(box[dim]);
    }
    return "#include \"device/ptx/cache_policy.cuh\"\n#include \"device/ptx/fence.cuh\"\n#include "
           "\"device/ptx/mbarrier.cuh\"\n#include \"device/ptx/tensor_copy.cuh\"\n#include \"device/ptx/" +
           std::string(header) +
           "\"\n#include \"device/shared.cuh\"\nconstexpr int kBoxWords = " + std::to_string(box_rows() * box[0]) +
           R"cu(;
struct Shared {
  alignas(1024) u32 box[kBoxWords];
  u64 barrier;
};
__device__ int take(u32& block, u32 boxes) {
  const u32 index = block % boxes;
  block /= boxes;
  return index;
}
template <class Config>
__global__ void kernel(const u32* in, u32* out, const __grid_constant__ TensorMap map) {
  Shared& shared = *shared_storage<Shared>();
  for (int i = threadIdx.x; i < kBoxWords; i += 64) shared.box[i] = 7;
  ptx::fence_shared_to_async();
  __syncthreads();
  if (threadIdx.x == 0) {
    u32 block = blockIdx.x;
    const ptx::)cu" +
           corner + " corner{" + corner_of + R"cu(};
    ptx::mbarrier_init(&shared.barrier, 1);
    ptx::fence_mbarrier_init();
    ptx::mbarrier_arrive_expect_tx(&shared.barrier, sizeof shared.box);
    )cu" + load +
           R"cu(
  }
  __syncthreads();
  ptx::mbarrier_wait(&shared.barrier, 0);
  for (int i = threadIdx.x; i < kBoxWords; i += 64) out[blockIdx.x * kBoxWords + i] = shared.box[i];
})cu";
  }
};

class TensorCopy : public DeviceFunctions {
 protected:
  /// The tensor with boxes of each swizzle's row of bytes, and of 80 bytes without swizzle, element by element.
  void expect_boxes(Tensor tensor) {
    const Words words = random_words(tensor.words());
    for (const auto& [columns, swizzle] : {std::pair{32U, 128U}, {16U, 64U}, {8U, 32U}, {20U, 0U}}) {
      tensor.box[0] = columns;
      tensor.swizzle = swizzle;
      const std::size_t box_words = std::size_t{tensor.box_rows()} * columns;
      run_on_gpu(tensor.source(),
                 {.blocks = tensor.blocks(),
                  .threads = 64,
                  .shared_bytes = static_cast<std::uint32_t>((box_words + 4) * sizeof(std::uint32_t))},
                 words, tensor.blocks() * box_words, {tensor.map()}, [&](const Words& out) {
                   for (unsigned block = 0; block < tensor.blocks(); ++block) {
                     const std::uint32_t* const box = out.data() + block * box_words;
                     ASSERT_EQ(misplaced(tensor, words, block, box), 0U)
                         << "words of box " << block << ", rank " << tensor.rank << ", swizzle " << tensor.swizzle;
                   }
                 });
    }
  }

 private:
  static std::size_t misplaced(const Tensor& tensor, const Words& words, unsigned block, const std::uint32_t* box) {
    std::size_t count = 0;
    for (unsigned row = 0; row < tensor.box_rows(); ++row) {
      for (unsigned column = 0; column < tensor.box[0]; ++column) {
        std::array<int, 5> index{};
        unsigned of_block = block, of_row = row;
        for (std::size_t dim = 0; dim < tensor.rank; ++dim) {
          const unsigned within = dim == 0 ? column : of_row % tensor.box[dim];
          if (dim > 0) of_row /= tensor.box[dim];
          index[dim] = Tensor::first(dim) + static_cast<int>(of_block % tensor.boxes(dim) * tensor.box[dim] + within);
          of_block /= tensor.boxes(dim);
        }
        const unsigned unit = place_of_unit(tensor.swizzle, row, column / 4);
        if (box[row * tensor.box[0] + unit * 4 + column % 4] != tensor.at(words, index)) ++count;
      }
    }
    return count;
  }
};

TEST_F(TensorCopy, loads_boxes_swizzled_and_with_zeros_outside_of_the_matrix) {
  const Words matrix = random_words(kRows * kPitch);
  for (const Box& box : kBoxes) {
    const std::size_t box_words = kBoxRows * box.columns;
    run_on_gpu(
        box.source() + R"cu(
template <class Config>
__global__ void kernel(const u32* in, u32* out, const __grid_constant__ TensorMap map) {
  Shared& shared = *shared_storage<Shared>();
  if (threadIdx.x == 0) {
    ptx::prefetch_map(map);
    ptx::mbarrier_init(&shared.barrier, 1);
    ptx::fence_mbarrier_init();
    ptx::mbarrier_arrive_expect_tx(&shared.barrier, sizeof shared.box);
    if (blockIdx.x % 2 == 0) {
      ptx::tensor_load(shared.box, map, box_x(), box_y(), &shared.barrier);
    } else {
      ptx::tensor_load_with_policy(shared.box, map, box_x(), box_y(), &shared.barrier, ptx::policy_evict_last());
    }
  }
  __syncthreads();
  ptx::mbarrier_wait(&shared.barrier, 0);
  for (int i = threadIdx.x; i < 24 * kWidth; i += 64) out[blockIdx.x * 24 * kWidth + i] = shared.box[i];
})cu",
        box.launch(), matrix, box.blocks() * box_words, {box.map(MapOf::Tensor::in)}, [&](const Words& out) {
          for (unsigned block = 0; block < box.blocks(); ++block) {
            for (unsigned row = 0; row < kBoxRows; ++row) {
              for (unsigned column = 0; column < box.columns; ++column) {
                const int x = kFirstX + static_cast<int>(block) % box.across() * static_cast<int>(box.columns) +
                              static_cast<int>(column);
                const int y = kFirstY + static_cast<int>(block) / box.across() * kBoxRows + static_cast<int>(row);
                const bool inside = x >= 0 && x < kColumns && y >= 0 && y < kRows;
                ASSERT_EQ(out[block * box_words + box.place(row, column)],
                          inside ? matrix[static_cast<std::size_t>(y * kPitch + x)] : 0)
                    << "x " << x << " y " << y << " of boxes " << box.columns << " wide, swizzle " << box.swizzle;
              }
            }
          }
        });
  }
}

TEST_F(TensorCopy, stores_boxes_and_nothing_outside_of_the_matrix) {
  for (const Box& box : kBoxes) {
    run_on_gpu(box.source() + R"cu(
template <class Config>
__global__ void kernel(const u32* in, u32* out, const __grid_constant__ TensorMap map) {
  Shared& shared = *shared_storage<Shared>();
  // A store begins inside of the matrix; one that begins before it is an illegal instruction.
  const int x = box_x() + 8, y = box_y() + 6;
  for (int i = threadIdx.x; i < 24 * kWidth; i += 64) {
    const int row = i / kWidth, column = i % kWidth;
    shared.box[place(row, column)] = 1000 * (y + row + 100) + x + column;
  }
  ptx::fence_shared_to_async();
  __syncthreads();
  if (threadIdx.x == 0 && x < 44 && y < 50) {
    ptx::tensor_store(map, x, y, shared.box);
    ptx::bulk_commit();
    ptx::bulk_wait<0>();
  }
})cu",
               box.launch(), {}, kRows * kPitch, {box.map(MapOf::Tensor::out)}, [&](const Words& out) {
                 Words expected(kRows * kPitch);
                 for (std::uint32_t y = 0; y < kRows; ++y) {
                   for (std::uint32_t x = 0; x < kColumns; ++x) expected[y * kPitch + x] = 1000 * (y + 100) + x;
                 }
                 EXPECT_EQ(out, expected) << "boxes " << box.columns << " wide, swizzle " << box.swizzle;
               });
  }
}

constexpr const char* kLoad = "ptx::tensor_load(shared.box, map, corner, &shared.barrier);";
constexpr const char* kLoadWithPolicy =
    "ptx::tensor_load_with_policy(shared.box, map, corner, &shared.barrier, ptx::policy_evict_last());";
// Of the box, and of one beyond the tensor.
constexpr const char* kLoadPrefetched = R"cu(ptx::tensor_prefetch(map, corner);
    ptx::tensor_prefetch(map, {corner.x, corner.y + 100, corner.z, corner.w});
    ptx::tensor_load(shared.box, map, corner, &shared.barrier);)cu";

// No stride is a product of extents. A step along the third of four and of five dims is shorter than along the second.
constexpr Tensor kOfThree{.rank = 3,
                          .dims = {44, 13, 5},
                          .strides = {1, 52, 700},
                          .box = {0, 6, 4},
                          .swizzle = 0,
                          .header = "tensor_copy3.cuh",
                          .corner = "BoxCorner3",
                          .load = kLoad};
constexpr Tensor kOfFour{.rank = 4,
                         .dims = {44, 7, 5, 3},
                         .strides = {1, 260, 48, 1900},
                         .box = {0, 3, 4, 2},
                         .swizzle = 0,
                         .header = "tensor_copy4.cuh",
                         .corner = "BoxCorner",
                         .load = kLoad};
constexpr Tensor kOfFive{.rank = 5,
                         .dims = {44, 5, 3, 4, 3},
                         .strides = {1, 148, 48, 780, 3164},
                         .box = {0, 3, 2, 2, 2},
                         .swizzle = 0,
                         .header = "tensor_copy5.cuh",
                         .corner = "BoxCorner5",
                         .load = kLoad};

TEST_F(TensorCopy, loads_boxes_of_three_dims) { expect_boxes(kOfThree); }
TEST_F(TensorCopy, loads_boxes_of_four_dims) {
  expect_boxes(kOfFour);
  Tensor with_policy = kOfFour;
  with_policy.load = kLoadWithPolicy;
  expect_boxes(with_policy);
}
TEST_F(TensorCopy, loads_boxes_of_five_dims) { expect_boxes(kOfFive); }
TEST_F(TensorCopy, loads_the_same_after_a_prefetch) {
  Tensor prefetched = kOfFour;
  prefetched.header = "tensor_prefetch.cuh";
  prefetched.load = kLoadPrefetched;
  expect_boxes(prefetched);
}

TEST_F(TensorCopy, multicasts_reach_both_blocks_of_a_cluster_and_count_on_their_mbarriers) {
  // A ring of one stage: each block loads half of a box for both, once both have read the previous box.
  constexpr Box kHalf{32, 128};
  constexpr unsigned kTurns = 4;
  constexpr std::size_t kBoxWords = 16 * 32;
  const Words matrix = random_words(kRows * kPitch);
  MapOf map = kHalf.map(MapOf::Tensor::in);
  map.map.box = {32, 8};
  run_on_gpu(kHalf.source() + R"cu(
struct Stage {
  alignas(1024) u32 box[2][8 * 32];
  u64 full, empty;
};
template <class Config>
__global__ void kernel(const u32* in, u32* out, const __grid_constant__ TensorMap map) {
  Stage& stage = *shared_storage<Stage>();
  const u32 rank = ptx::cluster_rank();
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&stage.full, 1);
    ptx::mbarrier_init(&stage.empty, 2);
    ptx::fence_mbarrier_init();
  }
  ptx::cluster_sync();
  for (u32 turn = 0; turn < 4; ++turn) {
    if (threadIdx.x == 0) {
      ptx::mbarrier_wait(&stage.empty, (turn & 1) ^ 1);
      ptx::mbarrier_arrive_expect_tx(&stage.full, sizeof stage.box);
      ptx::tensor_load_multicast(stage.box[rank], map, 0, (2 * turn + rank) * 8, &stage.full, 3);
    }
    ptx::mbarrier_wait(&stage.full, turn & 1);
    for (int i = threadIdx.x; i < 512; i += 64) out[(turn * 2 + rank) * 512 + i] = stage.box[i / 256][i % 256];
    __syncthreads();
    if (threadIdx.x < 2) ptx::mbarrier_arrive_cluster_relaxed(ptx::map_shared(&stage.empty, threadIdx.x));
  }
  // Then to the second block alone.
  if (rank == 0 && threadIdx.x == 0) {
    ptx::mbarrier_wait(&stage.empty, 1);
    ptx::tensor_load_multicast(stage.box[1], map, 0, 0, &stage.full, 2);
  }
  if (rank == 1) {
    if (threadIdx.x == 0) ptx::mbarrier_arrive_expect_tx(&stage.full, sizeof stage.box[1]);
    ptx::mbarrier_wait(&stage.full, 0);
    for (int i = threadIdx.x; i < 256; i += 64) out[4096 + i] = stage.box[1][i];
  }
  ptx::cluster_sync();
  if (rank == 0) {
    for (int i = threadIdx.x; i < 256; i += 64) out[4352 + i] = stage.box[1][i];
  }
})cu",
             {.blocks = 2, .threads = 64, .cluster = 2, .shared_bytes = 4096}, matrix, 2 * kTurns * kBoxWords + 512,
             {map}, [&](const Words& out) {
               const auto expect_rows = [&](std::size_t at, std::size_t first, std::size_t count) {
                 for (std::size_t row = 0; row < count; ++row) {
                   for (unsigned column = 0; column < 32; ++column) {
                     const std::size_t y = first + row;
                     ASSERT_EQ(out[at + kHalf.place(static_cast<unsigned>(row), column)],
                               y < kRows ? matrix[y * kPitch + column] : 0)
                         << "row " << y << " at " << at;
                   }
                 }
               };
               for (std::size_t turn = 0; turn < kTurns; ++turn) {
                 expect_rows(2 * turn * kBoxWords, turn * 16, 16);
                 expect_rows((2 * turn + 1) * kBoxWords, turn * 16, 16);
               }
               expect_rows(2 * kTurns * kBoxWords, 0, 8);
               expect_rows(2 * kTurns * kBoxWords + 256, (kTurns - 1) * 16 + 8, 8);
             });
}

}  // namespace
}  // namespace tilewright::test
