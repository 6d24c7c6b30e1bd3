// SPDX-License-Identifier: Apache-2.0
//
// attention on Hopper's tensor cores under a mask: as wgmma.cu, but blocks take pieces as late as they can
// (wgmma_late_load.cuh).

#include "device/shared.cuh"
#include "wgmma.cu"
#include "wgmma_late_load.cuh"

namespace tilewright::attention {

// Pieces of one problem.
template <class Config>
struct LatePieces : DensePieces<Config> {
  using Storage = typename Geometry<Config>::Storage;

  __device__ __forceinline__ void load_queries_and_keys(Storage& storage, const TensorMap& map_q,
                                                        const TensorMap& map_k, int lane) const {
    if (lane == 0) load_queries_and_keys_late<Config>(storage, map_q, map_k, this->of_all, this->counters);
  }
};

}  // namespace tilewright::attention

// Strides of o are o_batch, o_token and o_head; those of q, k and v are in their maps. `counters` are two, and zero.
template <class Config>
__global__ void __launch_bounds__(tilewright::attention::Geometry<Config>::kThreads, 1)
    attention_wgmma_late(const __grid_constant__ tilewright::TensorMap map_q,
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
              LatePieces<Config>{{problem, out, Counters{counters}}},
              make_scale<Geometry<Config>::kSoftcap>(scale, softcap));
}
