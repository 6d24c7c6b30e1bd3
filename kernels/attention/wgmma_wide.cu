// SPDX-License-Identifier: Apache-2.0
//
// attention on Hopper's tensor cores for heads so wide that a block has room for the queries of one piece: as wgmma.cu,
// but that less of a piece waits for those of the next one (wgmma_wide_load.cuh, wgmma_consume.cuh).

#include "device/shared.cuh"
#include "wgmma.cu"
#include "wgmma_wide_load.cuh"

namespace tilewright::attention {

// Pieces of one problem.
template <class Config>
struct WidePieces : DensePieces<Config> {
  enum : bool { kEndsFirst = true };
  using Storage = typename Geometry<Config>::Storage;

  __device__ __forceinline__ void load_queries_and_keys(Storage& storage, const TensorMap& map_q,
                                                        const TensorMap& map_k, int lane) const {
    if (lane == 0) load_wide_queries_and_keys<Config>(storage, map_q, map_k, this->of_all, this->counters);
  }
};

}  // namespace tilewright::attention

// Strides of o are o_batch, o_token and o_head; those of q, k and v are in their maps. `counters` are two, and zero.
template <class Config>
__global__ void __launch_bounds__(tilewright::attention::Geometry<Config>::kThreads, 1)
    attention_wgmma_wide(const __grid_constant__ tilewright::TensorMap map_q,
                         const __grid_constant__ tilewright::TensorMap map_k,
                         const __grid_constant__ tilewright::TensorMap map_v, typename Config::dtype* o, float* lse,
                         float scale, int left, int right, float softcap, unsigned* counters, long long b, long long hq,
                         long long hkv, long long sq, long long sk, long long dv, long long sections, long long o_batch,
                         long long o_token, long long o_head) {
  using namespace tilewright;
  using namespace tilewright::attention;
  const auto problem = make_problem(b, hq, hkv, sq, sk, left, right, sections);
  const Output<typename Config::dtype> out{o, lse, o_batch, o_token, o_head, static_cast<i32>(dv)};
  run<Config>(*shared_storage<typename Geometry<Config>::Storage>(), map_q, map_k, map_v,
              WidePieces<Config>{{problem, out, Counters{counters}}},
              make_scale<Geometry<Config>::kSoftcap>(scale, softcap));
}
