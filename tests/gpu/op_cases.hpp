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
