// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <tilewright/launch.hpp>

#include "../application/reference.hpp"

/// Causal self-attention as a transformer has it, in bf16, by three launches:
///
///   qkv = x · w_qkvᵀ            one product; a token's row has its queries, keys and values beside each other
///   mixed = attention(q, k, v)  slices of qkv, which strides describe: nothing is copied
///   y = mixed · w_outᵀ
///
/// All memory is the caller's. One object may be used from several threads, each with memory of its own.
struct LayerSizes {
  std::int64_t batch = 2, tokens = 256, heads = 8, key_heads = 2, head_size = 64;

  [[nodiscard]] std::int64_t rows() const { return batch * tokens; }
  [[nodiscard]] std::int64_t model() const { return heads * head_size; }
  /// A token's queries, keys and values.
  [[nodiscard]] std::int64_t packed() const { return (heads + 2 * key_heads) * head_size; }
};

/// Device memory. Matrices are dense, the last extent fastest.
struct LayerMemory {
  bf16* x;      // [batch, tokens, model]
  bf16* w_qkv;  // [packed, model]
  bf16* w_out;  // [model, model]
  bf16* qkv;    // [batch, tokens, packed]
  bf16* mixed;  // [batch, tokens, model]
  bf16* y;      // [batch, tokens, model]
};

class AttentionLayer {
 public:
  explicit AttentionLayer(const tilewright::Launcher& launcher)
      : product_(launcher.op("gemm[dtype=bf16]")), attention_(launcher.op("attention[dtype=bf16,causal=yes]")) {}

  void forward(void* stream, const LayerSizes& sizes, const LayerMemory& memory) const {
    product_(stream, {sizes.rows(), sizes.packed(), sizes.model()}, memory.x, memory.w_qkv, memory.qkv);

    const std::int64_t head = sizes.head_size, token = sizes.packed(), batch = sizes.tokens * token;
    const bf16* const q = memory.qkv;
    const bf16* const k = q + sizes.heads * head;
    const bf16* const v = k + sizes.key_heads * head;
    const float scale = 1.0F / std::sqrt(static_cast<float>(head));
    attention_(stream, dims(sizes), q, k, v, memory.mixed, scale,  //
               batch, token, head,                                 // strides of q
               batch, token, head,                                 // of k
               batch, token, head,                                 // of v
               sizes.tokens * sizes.model(), sizes.model(), head);

    product_(stream, {sizes.rows(), sizes.model(), sizes.model()}, memory.mixed, memory.w_out, memory.y);
  }

  /// What computes the attention.
  [[nodiscard]] std::string served(const LayerSizes& sizes) const {
    const auto found = attention_.match(dims(sizes));
    return found.config + " (" + found.match + ")";
  }

 private:
  static tilewright::Shape dims(const LayerSizes& sizes) {
    return {sizes.batch, sizes.heads, sizes.key_heads, sizes.tokens, sizes.tokens, sizes.head_size, sizes.head_size};
  }

  tilewright::Op product_, attention_;
};
