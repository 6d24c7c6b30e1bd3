// SPDX-License-Identifier: Apache-2.0
#pragma once

// Gated products of few rows by skinny.cuh.

#include "gated.cuh"
#include "skinny.cuh"

namespace tilewright::gemm {

// SkinnyCopies of both weights.
template <class Config>
class GatedSkinnyCopies {
  using G = SkinnyGeometry<Config>;
  using T = typename G::T;

 public:
  __device__ __forceinline__ GatedSkinnyCopies(const T* a, const GatedWeights<T>& weights, i64 m, i64 n, i64 k,
                                               u32 pieces, int thread)
      : a_{a, m, k},
        b_(weights),
        n_(n),
        blocks_k_(static_cast<u32>(ceil_div(k, i64{G::kBlockK}))),
        pieces_(pieces),
        next_(blockIdx.x),
        left_(0),
        thread_(thread),
        activations_(a_, 0, 0, thread),
        weights_(b_, n, k, 0, 0, thread) {}

  __device__ __forceinline__ void load(typename G::Stage& stage) {
    if (left_ == 0 && next_ < pieces_) {
      const SkinnyPiece<Config> piece(next_, blocks_k_);
      activations_ = Activations(a_, 0, piece.blocks.first, thread_);
      weights_ = Weights(b_, n_, a_.k, i64{piece.tile} * G::kBlockN, piece.blocks.first, thread_);
      left_ = piece.blocks.count;
      next_ += gridDim.x;
    }
    if (left_ != 0) {
      weights_.load(stage.weights);
      activations_.load(stage.activations);
      --left_;
    }
    ptx::cp_async_commit();
  }

 private:
  using Activations = MmaCopy<typename G::Activations, typename G::OperandA, Config::vec, G::kThreads>;
  using Weights = GatedCopy<typename G::Weights, Config::vec, G::kThreads>;

  typename G::OperandA a_;
  GatedWeights<T> b_;
  i64 n_;
  u32 blocks_k_, pieces_;
  u32 next_, left_;  // the next piece, and the blocks of k left of this one
  int thread_;
  Activations activations_;
  Weights weights_;
};

template <class Config>
__device__ __forceinline__ void gated_skinny(const typename Config::dtype* a,
                                             const GatedWeights<typename Config::dtype>& weights,
                                             const GatedResults<Config>& results, float* partials, u32* counters, i64 m,
                                             i64 n, i64 k) {
  using C = Gating<Config>;
  using G = SkinnyGeometry<C>;
  const u32 pieces = static_cast<u32>(ceil_div(2 * n, i64{G::kBlockN})) * G::kSplits;
  GatedSkinnyCopies<C> copies(a, weights, m, n, k, pieces, static_cast<int>(threadIdx.x));
  skinny_block<C>(copies, Output<C>(results), partials, counters, 2 * n, k);
}

}  // namespace tilewright::gemm
