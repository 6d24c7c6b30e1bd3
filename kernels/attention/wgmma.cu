// SPDX-License-Identifier: Apache-2.0
//
// attention on Hopper's tensor cores: o = softmax(mask(scale · q kᵀ)) v, and lse. Two warps copy queries, keys and
// values into rings by tensor maps; each warpgroup of consumers has 64 rows, and in registers their scores, weights and
// results. A column of ones beside the values has the product add up the weights. Blocks stay and take piece after
// piece. docs/kernels/attention.md.
//
//   map_q  [d, hq, sq, b], boxes of 128 bytes × pack × block_m / pack × 1
//   map_k  [d, hkv, sk, b], map_v  [dv, hkv, sk, b], boxes of 128 bytes × 1 × block_n × 1; all swizzled by 128 bytes
//   o      at multiples of 8 bytes; lse f32 [b, hq, sq]

#include "device/shared.cuh"
#include "wgmma_consume.cuh"
#include "wgmma_load.cuh"

namespace tilewright::attention {

// Pieces of one problem.
template <class Config>
struct DensePieces {
  enum : bool { kEndsFirst = false };
  using Storage = typename Geometry<Config>::Storage;
  const Problem& of_all;
  const Output<typename Config::dtype>& to;
  Counters counters;

  __device__ __forceinline__ const Problem& problem(u32 /*piece*/) const { return of_all; }
  __device__ __forceinline__ const auto& output(u32 /*piece*/, i32 /*head*/) const { return to; }
  __device__ __forceinline__ void init() const {}
  __device__ __forceinline__ void load_queries_and_keys(Storage& storage, const TensorMap& map_q,
                                                        const TensorMap& map_k, int lane) const {
    if (lane == 0) attention::load_queries_and_keys<Config>(storage, map_q, map_k, of_all, counters);
  }
  __device__ __forceinline__ void load_values(Storage& storage, const TensorMap& map_v, int lane) const {
    if (lane == 0) attention::load_values<Config>(storage, map_v, of_all);
  }
};

}  // namespace tilewright::attention

// Strides of o are o_batch, o_token and o_head; those of q, k and v are in their maps. `counters` are two, and zero.
template <class Config>
__global__ void __launch_bounds__(tilewright::attention::Geometry<Config>::kThreads, 1)
    attention_wgmma(const __grid_constant__ tilewright::TensorMap map_q,
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
              DensePieces<Config>{problem, out, Counters{counters}},
              make_scale<Geometry<Config>::kSoftcap>(scale, softcap));
}
