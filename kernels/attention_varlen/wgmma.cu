// SPDX-License-Identifier: Apache-2.0
//
// attention_varlen on Hopper's tensor cores: the kernel of attention/wgmma.cu, with pieces of many sequences. A first
// kernel orders the sequences, the longest first; the second takes piece after piece. docs/kernels/attention.md.
//
//   map_q  [d, hq, tokens_q], map_k  [d, hkv, tokens_k], map_v  [dv, hkv, tokens_k]: boxes of 128 bytes × 1 × rows,
//          swizzled by 128 bytes
//   plan   Planned [batch + 1]

#include "attention/wgmma_consume.cuh"
#include "device/ptx/grid_dependency.cuh"
#include "device/shared.cuh"
#include "wgmma_load.cuh"
#include "wgmma_plan.cuh"

namespace tilewright::attention {

// o and lse of all sequences. lse is [heads, tokens].
template <class T>
struct PackedOutput {
  T* o;
  float* lse;
  i64 token_stride, head_stride;  // of o
  i64 tokens;
  i32 columns;
};

// Pieces of many sequences.
template <class Config>
struct PackedPieces {
  enum : bool { kEndsFirst = false };
  using Storage = typename Geometry<Config>::Storage;
  using T = typename Config::dtype;
  Beside<Config>& beside;
  const PackedOutput<T>& to;
  const PackedCall& call;
  const Planned* plan;
  Counters counters;

  __device__ __forceinline__ const Problem& problem(u32 piece) const { return beside.at(piece).problem; }
  // The output of one sequence, with rows from 0: lse then steps by the sequence's queries from head to head.
  __device__ __forceinline__ Output<T> output(u32 piece, i32 head) const {
    const OfPiece& of = beside.at(piece);
    return {to.o + of.first_query * to.token_stride,
            to.lse + of.first_query + head * (to.tokens - of.problem.queries),
            0,
            to.token_stride,
            to.head_stride,
            to.columns};
  }
  __device__ __forceinline__ void init(Storage& /*storage*/) const { ptx::mbarrier_init(&beside.tail, 1); }
  __device__ __forceinline__ void load_queries_and_keys(Storage& storage, const TensorMap& map_q,
                                                        const TensorMap& map_k, int lane) const {
    ptx::grid_dependency_wait();
    attention::load_queries_and_keys<Config>(storage, map_q, map_k, call, plan, counters, lane);
  }
  __device__ __forceinline__ void load_values(Storage& storage, const TensorMap& map_v, int lane) const {
    attention::load_values<Config>(storage, map_v, call, lane);
  }
};

}  // namespace tilewright::attention

template <class Config>
__global__ void __launch_bounds__(tilewright::attention::kPlanThreads)
    attention_varlen_plan(const int* cu_q, const int* cu_k, int* plan, long long batch, long long hq, long long hkv,
                          long long keys_in_l2, long long two_waves) {
  using namespace tilewright;
  using namespace tilewright::attention;
  ptx::grid_launch_dependents();
  plan_sequences<Config>(cu_q, cu_k, reinterpret_cast<Planned*>(plan), static_cast<i32>(batch), static_cast<i32>(hq),
                         static_cast<i32>(hkv), static_cast<i32>(keys_in_l2), static_cast<i32>(two_waves));
}

// `counters` are two zeros.
template <class Config>
__global__ void __launch_bounds__(tilewright::attention::Geometry<Config>::kThreads, 1)
    attention_varlen_wgmma(const __grid_constant__ tilewright::TensorMap map_q,
                           const __grid_constant__ tilewright::TensorMap map_k,
                           const __grid_constant__ tilewright::TensorMap map_v, typename Config::dtype* o, float* lse,
                           float scale, int left, int right, float softcap, unsigned* counters, int* plan,
                           long long batch, long long hq, long long hkv, long long tokens_q, long long dv,
                           long long o_token, long long o_head) {
  using namespace tilewright;
  using namespace tilewright::attention;
  static_assert(Config::pack == 1, "a block has rows of one head");
  auto& storage = *shared_storage<typename Geometry<Config>::Storage>();
  const PackedCall call{static_cast<i32>(batch), static_cast<i32>(hq), static_cast<i32>(hkv), left, right};
  const PackedOutput<typename Config::dtype> out{o, lse, o_token, o_head, tokens_q, static_cast<i32>(dv)};
  run<Config>(storage, map_q, map_k, map_v,
              PackedPieces<Config>{Beside<Config>::of(storage), out, call, reinterpret_cast<const Planned*>(plan),
                                   Counters{counters}},
              make_scale<Geometry<Config>::kSoftcap>(scale, softcap));
}
