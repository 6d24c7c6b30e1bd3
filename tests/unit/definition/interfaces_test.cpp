// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tuner/definition/catalogue.hpp"

namespace tilewright {
namespace {

/// Applications are built against these hashes, and caches refer to them: a new key of definitions must not change the
/// hash of an op that does not use it.
const std::map<std::string, std::string> kHashes{
    {"activation", "73b010137bab35aa4efb5787d2dfa469"},
    {"add", "ff8e8d8823b7a8cbec2f81d729e747e3"},
    {"add_layernorm", "bd420ee8f541db62f7c77cd57ae02cb9"},
    {"add_rmsnorm", "3609ce48bf10c47a7df811f880440510"},
    {"add_rmsnorm_silu", "f7506151739d5f47227de1377bb14dfe"},
    {"bias_act", "0f6872cf9772a6b1fce9d241c7bedf65"},
    {"bias_act_dropout", "093a06848b6779ad15ef6af1998c6761"},
    {"copy", "9d3384e0f5ebd3827f9c79b0d5d10710"},
    {"dropout", "8a898672129ee92545576143b5723cb0"},
    {"fma", "3441a3c44ad73eeff5c1ded5c8feb86f"},
    {"gemm", "1a32127008fdf548f8f997cc7ad5cd24"},
    {"layernorm", "ff5edc8f86cef445eaf4b4b90871e598"},
    {"mma", "6bbb72030938fa790d180fe1641b784a"},
    {"mul", "213ea33a79a0638f68f089ee94ea3657"},
    {"rmsnorm", "4ba75301190ea6bcbe6f39a13d44b673"},
    {"softmax", "9cf60012e62f805880f33838ce5f5277"},
    {"swiglu", "248f69c0a85aa6bab9ca72908917b1d0"},
};

TEST(Interfaces, of_built_in_ops_have_the_hashes_that_applications_know) {
  Catalogue catalogue({}, TILEWRIGHT_SOURCE_DIR "/kernels");
  for (const auto& [op, hash] : kHashes) EXPECT_EQ(catalogue.find(op).interface.hash(), hash) << op;
}

}  // namespace
}  // namespace tilewright
