// SPDX-License-Identifier: Apache-2.0
//
// attention on Hopper's tensor cores for heads so wide that a block has room for the queries of one piece: as wgmma.cu,
// but each warpgroup has barriers of queries of its own. While one waits for the next queries, and stores, the tensor
// cores are the other's. Tiles lie so that keys of 192 columns have blocks of 128 beside a column of ones
// (wgmma_apart_place.cuh).
//
//   map_q  boxes of 128 bytes × pack × 64 / pack × 1, the rows of a warpgroup; all else as in wgmma.cu

#include "device/shared.cuh"
#include "wgmma.cu"
#include "wgmma_apart_load.cuh"
#include "wgmma_apart_multiply.cuh"

namespace tilewright::attention {

// Pieces of one problem.
template <class Config>
struct ApartPieces : DensePieces<Config> {
  enum : bool { kEndsFirst = true };
  using G = Geometry<Config>;
  using Storage = typename G::Storage;
  Storage& barriers;

  __device__ __forceinline__ void init() const {
    constexpr int kWarps = G::kWarpgroup / kWarpSize;
    for (int warpgroup = 0; warpgroup < G::kConsumers; ++warpgroup) {
      ptx::mbarrier_init(&barriers.full_own_q[warpgroup], 1);
      // The first warpgroup's: and the warp that copies values.
      ptx::mbarrier_init(&barriers.empty_own_q[warpgroup], warpgroup == 0 ? kWarps + 1 : kWarps);
    }
  }
  __device__ __forceinline__ void load_queries_and_keys(Storage& storage, const TensorMap& map_q,
                                                        const TensorMap& map_k, int lane) const {
    if (lane == 0) load_own_queries_and_keys<Config>(storage, map_q, map_k, this->of_all, this->counters);
  }
  __device__ __forceinline__ void load_values(Storage& storage, const TensorMap& map_v, int lane) const {
    if (lane == 0) load_values_apart<Config>(storage, map_v, this->of_all);
  }
};

}  // namespace tilewright::attention

// Strides of o are o_batch, o_token and o_head; those of q, k and v are in their maps. `counters` are two, and zero.
template <class Config>
__global__ void __launch_bounds__(tilewright::attention::Geometry<Config>::kThreads, 1)
    attention_wgmma_apart(const __grid_constant__ tilewright::TensorMap map_q,
                          const __grid_constant__ tilewright::TensorMap map_k,
                          const __grid_constant__ tilewright::TensorMap map_v, typename Config::dtype* o, float* lse,
                          float scale, int left, int right, float softcap, unsigned* counters, long long b,
                          long long hq, long long hkv, long long sq, long long sk, long long dv, long long sections,
                          long long o_batch, long long o_token, long long o_head) {
  using namespace tilewright;
  using namespace tilewright::attention;
  using Own = Apart<Config>;
  const auto problem = make_problem(b, hq, hkv, sq, sk, left, right, sections);
  const Output<typename Config::dtype> out{o, lse, o_batch, o_token, o_head, static_cast<i32>(dv)};
  auto& storage = *shared_storage<typename Geometry<Own>::Storage>();
  run<Own>(storage, map_q, map_k, map_v, ApartPieces<Own>{{problem, out, Counters{counters}}, storage},
           make_scale<Geometry<Own>::kSoftcap>(scale, softcap));
}
