// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "tuner/definition/space.hpp"

/// The problems of GPU tests of whole ops, and which configs these take. tests/unit/kernels/gpu_cases_test.cpp holds
/// them to all implementations, without a GPU.
namespace tilewright::testing {

/// Ops that sum over rows. The sums of 20011 rows have two levels in a block; those of 16384 columns take a kernel of
/// their own.
inline constexpr const char* kSums[] = {"rmsnorm_bwd[dtype=bf16]{rows=4093,cols=1000}",
                                        "rmsnorm_bwd[dtype=bf16]{rows=4093,cols=1001}",
                                        "rmsnorm_bwd[dtype=bf16]{rows=20011,cols=256}",
                                        "rmsnorm_bwd[dtype=f32,add=yes]{rows=300,cols=16384}",
                                        "rmsnorm_bwd[dtype=bf16]{rows=64,cols=16411}",
                                        "layernorm_bwd[dtype=bf16,add=yes]{rows=513,cols=16384}",
                                        "layernorm_bwd[dtype=f32]{rows=2000,cols=61}",
                                        "layernorm_bwd[dtype=bf16]{rows=4093,cols=1001}",
                                        "layernorm_bwd[dtype=f32,add=yes]{rows=64,cols=16411}",
                                        "bias_act_dropout_bwd[dtype=bf16,act=gelu]{rows=4099,cols=1024}",
                                        "bias_act_dropout_bwd[dtype=f16,act=silu]{rows=300,cols=16384}",
                                        "bias_act_dropout_bwd[dtype=f32,act=none]{rows=4093,cols=1001}",
                                        "embedding_bwd[dtype=bf16]{tokens=9000,vocab=300,d=512}",
                                        "embedding_bwd[dtype=f32]{tokens=5001,vocab=5000,d=61}"};

/// Fused products: for each implementation of Hopper whole tiles and ragged ones. A last wave that is half empty, for
/// `tail`, is that of 132 multiprocessors.
inline constexpr const char* kFused[] = {
    "gemm_gated[dtype=bf16]{m=64,n=256,k=256}",
    "gemm_gated[dtype=bf16,weights=packed,act=gelu,bias=yes,store=yes]{m=333,n=1000,k=520}",
    "gemm_gated[dtype=f16,weights=interleaved,act=relu]{m=2560,n=2048,k=1152}",
    "gemm_gated[dtype=bf16,bias=yes,store=yes]{m=2550,n=2040,k=1096}",
    "gemm_dropout[dtype=bf16,residual=yes]{m=128,n=256,k=256}",
    "gemm_dropout[dtype=f16,bias=yes,act=gelu,residual=yes]{m=333,n=1000,k=520}",
    "gemm_add_rmsnorm[dtype=bf16]{m=128,n=256,k=256}",
    "gemm_add_rmsnorm[dtype=f16,bias=yes]{m=333,n=1000,k=520}",
    "gemm_add_layernorm[dtype=bf16,bias=yes]{m=128,n=256,k=256}",
    "gemm_add_layernorm[dtype=f16]{m=333,n=1000,k=520}",
    "mlp[dtype=bf16,gated=yes]{rows=64,d=256,hidden=512,d_out=256}",
    "mlp[dtype=f16,gated=yes,act=gelu,bias=yes]{rows=50,d=200,hidden=1000,d_out=136}",
    "mlp[dtype=bf16,gated=yes]{rows=2560,d=1152,hidden=2048,d_out=512}",
    "mlp[dtype=f16,gated=yes,bias=yes]{rows=2550,d=1096,hidden=2040,d_out=264}",
    "mlp[dtype=f16,act=relu,bias=yes]{rows=9001,d=200,hidden=520,d_out=136}"};

/// The op's name in a shape key.
inline std::string op_of(const std::string& key) { return key.substr(0, key.find('[')); }

/// The ops of `keys`, each once, in their order.
inline std::vector<std::string> ops_of(std::span<const char* const> keys) {
  std::vector<std::string> ops;
  for (const char* const key : keys) {
    if (ops.empty() || ops.back() != op_of(key)) ops.push_back(op_of(key));
  }
  return ops;
}

/// Those of `keys` that are the op's.
inline std::vector<std::string> keys_of(std::span<const char* const> keys, const std::string& op) {
  std::vector<std::string> found;
  for (const char* const key : keys) {
    if (op_of(key) == op) found.emplace_back(key);
  }
  return found;
}

/// Whether neither the emulator nor an earlier GPU runs the config.
inline bool is_for_hopper(const Candidate& candidate) {
  return candidate.implementation->recipe.requires_arch == "sm_90a";
}

/// At most `most` configs of each implementation, evenly spread over its legal ones.
inline std::vector<Candidate> spread(const std::vector<Candidate>& legal, std::size_t most) {
  std::map<std::string, std::vector<Candidate>> of;
  for (const Candidate& candidate : legal) of[candidate.config.implementation].push_back(candidate);
  std::vector<Candidate> chosen;
  for (const auto& [implementation, all] : of) {
    const std::size_t count = std::min(all.size(), most);
    for (std::size_t i = 0; i < count; ++i) chosen.push_back(all[(2 * i + 1) * all.size() / (2 * count)]);
  }
  return chosen;
}

}  // namespace tilewright::testing
