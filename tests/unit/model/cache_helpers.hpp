// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "cache/model/interface.hpp"
#include "cache/model/problem.hpp"
#include "cache/model/recipe.hpp"

/// Common parts of tests of the cache's core: two ops, a recipe for each, and the text of an error.
namespace tilewright::test {

inline Formula formula(const std::string& text) { return Formula::parse(text); }

inline std::vector<Formula> formulas(const std::vector<std::string>& texts) {
  std::vector<Formula> result;
  for (const std::string& text : texts) result.push_back(formula(text));
  return result;
}

inline OpInterface softmax() {
  OpInterface op;
  op.op = "softmax";
  op.dims = {"rows", "cols"};
  op.dtypes = {DType::f32, DType::f16, DType::bf16};
  Argument x;
  x.name = "x";
  x.shape = formulas({"rows", "cols"});
  Argument y = x;
  y.name = "y";
  y.role = ArgRole::out;
  y.alias = {"x"};
  op.args = {x, y};
  return op;
}

/// c = act(alpha * a @ b + bias): has attributes, a scalar, a conditional argument, and its own type and alignment.
inline OpInterface gemm() {
  OpInterface op;
  op.op = "gemm";
  op.dims = {"m", "n", "k"};
  op.dtypes = {DType::bf16, DType::f16};
  op.attributes = {{"layout", {"nt", "nn"}}, {"bias", {"no", "yes"}}, {"act", {"none", "relu", "gelu"}}};
  Argument a;
  a.name = "a";
  a.shape = formulas({"m", "k"});
  a.align = 8;
  Argument b = a;
  b.name = "b";
  b.shape = formulas({"select(layout == 'nt', n, k)", "select(layout == 'nt', k, n)"});
  Argument bias;
  bias.name = "bias";
  bias.type = DType::f32;
  bias.shape = formulas({"n"});
  bias.when = formula("bias == 'yes'");
  Argument alpha;
  alpha.name = "alpha";
  alpha.role = ArgRole::scalar;
  alpha.type = DType::f32;
  Argument c;
  c.name = "c";
  c.role = ArgRole::out;
  c.shape = formulas({"m", "n"});
  c.alias = {"a", "bias"};
  op.args = {a, b, bias, alpha, c};
  return op;
}

/// One kernel on rows, with vectors along them.
inline ImplementationRecipe softmax_onchip() {
  ImplementationRecipe recipe;
  recipe.name = "onchip";
  recipe.requires_arch = "sm_80";
  recipe.parameters = {"num_warps", "vec", "static_dims"};
  recipe.constraints = formulas({"cols % vec == 0", "ceil_div(cols, num_warps * 32 * vec) * vec <= 64"});
  recipe.specialize = {"cols"};
  recipe.align["x"] = formula("vec * sizeof(dtype)");
  KernelRecipe kernel;
  kernel.entry = "softmax_onchip";
  kernel.params = {{KernelParam::Kind::ptr, "x"},
                   {KernelParam::Kind::ptr, "y"},
                   {KernelParam::Kind::dim, "rows"},
                   {KernelParam::Kind::dim, "cols"}};
  kernel.grid = formulas({"rows"});
  kernel.block = formulas({"num_warps * 32"});
  recipe.kernels = {kernel};
  return recipe;
}

/// Tensor maps, a cluster, a workspace, and a second kernel if k is split.
inline ImplementationRecipe gemm_tma() {
  using Kind = KernelParam::Kind;
  ImplementationRecipe recipe;
  recipe.name = "tma";
  recipe.requires_arch = "sm_90a";
  recipe.parameters = {"block_m", "block_n", "block_k", "split_k", "cluster"};
  recipe.constraints = formulas({"k % (block_k * split_k) == 0"});
  TensorMapRecipe a;
  a.name = "a";
  a.arg = "a";
  a.dims = formulas({"k", "m"});
  a.box = formulas({"block_k", "block_m"});
  a.swizzle = formula("128");
  TensorMapRecipe bias_map;
  bias_map.name = "bias_map";
  bias_map.arg = "bias";
  bias_map.dims = formulas({"n"});
  bias_map.box = formulas({"block_n"});
  recipe.maps = {a, bias_map};
  recipe.workspaces = {{"partial", formula("split_k * m * n * 4"), WorkspaceRecipe::Zero::each}};
  recipe.align["b"] = formula("16");
  KernelRecipe main;
  main.entry = "gemm_tma";
  main.params = {{Kind::map, "a"},        {Kind::ptr, "b"}, {Kind::map, "bias_map"},      {Kind::ptr, "bias"},
                 {Kind::scalar, "alpha"}, {Kind::ptr, "c"}, {Kind::workspace, "partial"}, {Kind::dim, "k"}};
  main.grid = formulas({"round_up(ceil_div(m, block_m), cluster)", "ceil_div(n, block_n)", "split_k"});
  main.block = formulas({"128", "2"});
  main.shared_bytes = formula("(block_m + block_n) * block_k * sizeof(dtype)");
  main.cluster = formulas({"cluster", "1"});
  KernelRecipe reduce;
  reduce.entry = "gemm_reduce";
  reduce.when = formula("split_k > 1");
  reduce.params = {{Kind::workspace, "partial"}, {Kind::ptr, "c"}, {Kind::dim, "m"}, {Kind::dim, "n"}};
  reduce.grid = formulas({"min(ceil_div(m * n, 256), resident_blocks)"});
  reduce.block = formulas({"256"});
  reduce.pdl = true;
  recipe.kernels = {main, reduce};
  return recipe;
}

/// The text of the E that `action` throws.
template <class E, class Action>
std::string error_of(const Action& action) {
  try {
    action();
  } catch (const E& error) {
    return error.what();
  }
  throw std::logic_error("nothing was thrown");
}

}  // namespace tilewright::test
