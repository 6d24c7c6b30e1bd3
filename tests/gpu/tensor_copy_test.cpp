// SPDX-License-Identifier: Apache-2.0
// kernels/device/ptx/tensor_copy.cuh on a GPU: boxes inside a matrix and across its edges, swizzled as documented.
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
  /// The index in shared memory of a box's word: 16-byte units are exchanged within 8 rows of 128 bytes, or of 64.
  [[nodiscard]] std::size_t place(unsigned row, unsigned column) const {
    const unsigned exchange = swizzle == 128 ? row % 8 : swizzle == 64 ? row / 2 % 4 : 0;
    return row * columns + ((column / 4) ^ exchange) * 4 + column % 4;
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
  const int exchange = kSwizzle == 128 ? row % 8 : kSwizzle == 64 ? row / 2 % 4 : 0;
  return row * kWidth + (column / 4 ^ exchange) * 4 + column % 4;
}
)cu";
  }
};

/// Swizzled rows of 128 and of 64 bytes, and rows without swizzle.
constexpr Box kBoxes[] = {{32, 128}, {16, 64}, {32, 0}, {20, 0}};

class TensorCopy : public DeviceFunctions {};

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
