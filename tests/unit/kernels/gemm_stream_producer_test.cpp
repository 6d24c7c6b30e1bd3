// SPDX-License-Identifier: Apache-2.0
// kernels/gemm/stream.cu: the stages that its producer fills in the ring of each block of a cluster. A replacement for
// tensor copies, which the emulator does not model, copies boxes of rows that hold their own position.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/unit/emulator/emulated.hpp"

namespace tilewright::test::gemm_stream_producer_test {
namespace {

struct Layout {
  int stages, stream, parts, cluster_m, cluster_n;
};

constexpr int kRowsOfTensor = 1024;

EmulatedKernel producer_kernel(const Layout& layout) {
  return EmulatedKernel("#include <cuda_bf16.h>\n#include \"device/config.cuh\"\n" +
                        fmt::format(R"cu(
struct Fixed {{
  using dtype = __nv_bfloat16;
  static constexpr int block_m = 128, block_n = 72, swap = 1, halves = 0, pingpong = 0, group = 1;
  static constexpr int stages = {}, stream = {}, parts = {}, cluster_m = {}, cluster_n = {};
  static constexpr Name bias{{"no"}}, act{{"none"}}, residual{{"no"}};
}};
constexpr int kRowsOfTensor = {};
)cu",
                                    layout.stages, layout.stream, layout.parts, layout.cluster_m, layout.cluster_n,
                                    kRowsOfTensor) +
                        R"cu(
#include "device/ptx/bulk_copy.cuh"
#include "device/ptx/cluster.cuh"
#include "device/ptx/fence.cuh"
#include "device/ptx/mbarrier_relaxed.cuh"
#include "device/ptx/tensor_copy.cuh"
#include "device/shared.cuh"
namespace tilewright::ptx {
// The map has the tensor, 64 of k behind the other, and the rows of a box.
inline const unsigned char* box_of(const TensorMap& map, i32 k, i32 row) {
  return reinterpret_cast<const unsigned char*>(map.opaque[0]) + (i64{k} / 64 * kRowsOfTensor + row) * 128;
}
inline void tensor_load(void* to, const TensorMap& map, i32 k, i32 row, u64* barrier) {
  bulk_load(to, box_of(map, k, row), static_cast<u32>(map.opaque[1]) * 128, barrier);
}
inline void tensor_load_multicast(void* to, const TensorMap& map, i32 k, i32 row, u64* barrier, u16 blocks) {
  for (u32 block = 0; block < 16; ++block) {
    if ((blocks >> block & 1) == 0) continue;
    bulk_copy_to_cluster(map_shared(static_cast<unsigned char*>(to), block), box_of(map, k, row),
                         static_cast<u32>(map.opaque[1]) * 128, map_shared(barrier, block));
  }
}
}  // namespace tilewright::ptx
#include "gemm/stream.cu"
template <class>
__global__ void kernel(const unsigned* rows, const unsigned* columns, unsigned* wrong, int m, int n, int k) {
  using namespace gemm;
  using G = StreamGeometry<Fixed>;
  auto& storage = *shared_storage<G::Storage>();
  const u32 rank = ptx::cluster_rank();
  const StreamSchedule<Fixed> schedule(n, m, k, rank);
  const TensorMap of_rows{{reinterpret_cast<unsigned long long>(rows), G::kPartRows}};
  const TensorMap of_columns{{reinterpret_cast<unsigned long long>(columns), G::kPartColumns}};
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < G::kStages; ++stage) {
      ptx::mbarrier_init(&storage.full[stage], 1);
      ptx::mbarrier_init(&storage.empty[stage], G::kUsersOfStage * G::kReach);
    }
    ptx::fence_mbarrier_init();
  }
  ptx::cluster_sync();
  if (threadIdx.x == 0) stream_produce<Fixed>(storage, of_rows, of_columns, schedule);
  if (threadIdx.x == 32) {
    Ring<G::kStages> ring;
    for (auto at = schedule; !at.done(); at.skip()) {
      const auto work = at.work();
      for (u32 block = 0; block < work.count; ++block, ring.advance()) {
        ptx::mbarrier_wait(&storage.full[ring.stage], ring.parity);
        const auto first_of = [](const unsigned char* row) { return *reinterpret_cast<const unsigned*>(row); };
        const i64 row = (work.first + block) * kRowsOfTensor;
        for (int i = 0; i < G::kRows; ++i) {
          *wrong += first_of(storage.rows[ring.stage] + i * G::kRowBytes) != row + work.row + i;
        }
        for (int i = 0; i < G::kColumns; ++i) {
          *wrong += first_of(storage.columns[ring.stage] + i * G::kRowBytes) != row + work.column + i;
        }
        wrong[1] += 1;
        for (u32 other = 0; other < G::kTilesOfCluster; ++other) {
          const bool shares_columns = other / G::kClusterRows == schedule.rank_columns;
          if (!shares_columns && other % G::kClusterRows != schedule.rank_rows) continue;
          const u32 of_cluster = schedule.rank_part * G::kTilesOfCluster + other;
          for (int user = 0; user < G::kUsersOfStage; ++user) {
            ptx::mbarrier_arrive_cluster_relaxed(ptx::map_shared(&storage.empty[ring.stage], of_cluster));
          }
        }
      }
    }
  }
  ptx::cluster_sync();
}
)cu");
}

/// Each row begins with its position: k / 64 times the tensor's rows, plus the row.
void expect_filled(const Layout& layout, int m, int n, int k, unsigned clusters) {
  const int blocks_k = (k + 63) / 64;
  std::vector<unsigned> tensor(static_cast<std::size_t>(blocks_k * kRowsOfTensor) * 32);
  for (std::size_t i = 0; i < tensor.size() / 32; ++i) tensor[i * 32] = static_cast<unsigned>(i);
  const unsigned of_cluster = static_cast<unsigned>(layout.cluster_m * layout.cluster_n * layout.parts);
  EmulatedLaunch launch =
      extents(clusters * of_cluster, 64, static_cast<std::size_t>(layout.stages) * 200 * 128 + 32768);
  launch.cluster = {of_cluster, 1, 1};
  std::vector<unsigned> told(2);
  ASSERT_EQ(producer_kernel(layout).run(launch, tensor.data(), tensor.data(), told.data(), m, n, k).text, "");
  EXPECT_EQ(told[0], 0U);
  const int tiles = (n + 128 * layout.cluster_m - 1) / (128 * layout.cluster_m) *
                    ((m + 72 * layout.cluster_n - 1) / (72 * layout.cluster_n));
  EXPECT_EQ(told[1], static_cast<unsigned>(tiles * layout.cluster_m * layout.cluster_n * blocks_k));
}

// Rings shorter and longer than the first piece, several tiles, and parts of tiles.
TEST(GemmStreamProducer, fills_stages_in_order_in_every_block_of_a_cluster) {
  for (const int stages : {2, 3, 7}) {
    expect_filled({.stages = stages, .stream = 0, .parts = 1, .cluster_m = 1, .cluster_n = 1}, 140, 500, 64 * 5, 3);
    expect_filled({.stages = stages, .stream = 1, .parts = 1, .cluster_m = 1, .cluster_n = 2}, 140, 500, 64 * 7, 3);
    expect_filled({.stages = stages, .stream = 0, .parts = 1, .cluster_m = 4, .cluster_n = 1}, 70, 600, 64 * 5, 2);
    expect_filled({.stages = stages, .stream = 0, .parts = 1, .cluster_m = 8, .cluster_n = 1}, 70, 900, 64 * 3, 1);
    expect_filled({.stages = stages, .stream = 0, .parts = 3, .cluster_m = 1, .cluster_n = 1}, 70, 200, 64 * 16, 2);
    expect_filled({.stages = stages, .stream = 0, .parts = 2, .cluster_m = 2, .cluster_n = 1}, 70, 500, 64 * 9, 2);
  }
}

}  // namespace
}  // namespace tilewright::test::gemm_stream_producer_test
