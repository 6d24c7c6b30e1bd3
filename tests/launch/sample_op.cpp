// SPDX-License-Identifier: Apache-2.0
#include "tests/launch/sample_op.hpp"

#include <cstring>
#include <string>

namespace tilewright::testing {

namespace {

Formula f(const char* text) { return Formula::parse(text); }

std::vector<KernelParam> params(const std::vector<std::pair<KernelParam::Kind, std::string>>& all) {
  std::vector<KernelParam> result;
  for (const auto& [kind, name] : all) result.push_back({kind, name});
  return result;
}

using enum KernelParam::Kind;

KernelRecipe scale_kernel(const char* entry) {
  KernelRecipe kernel;
  kernel.entry = entry;
  kernel.when = f("1");
  kernel.params = params({{ptr, "x"}, {ptr, "y"}, {scalar, "factor"}, {dim, "rows"}, {dim, "cols"}});
  kernel.grid = {f("rows")};
  kernel.block = {f("num_warps * 32")};
  kernel.shared_bytes = f("num_warps * 8");
  return kernel;
}

KernelFacts facts(const char* entry, const char* symbol) {
  KernelFacts result;
  result.entry = entry;
  result.symbol = symbol;
  return result;
}

ImplementationRecipe with_pitches(ImplementationRecipe recipe) {
  for (const char* name : {"x_pitch", "y_pitch"}) recipe.kernels[0].params.push_back({scalar, name});
  return recipe;
}

}  // namespace

OpInterface scale_interface() {
  OpInterface op;
  op.op = "scale";
  op.dims = {"rows", "cols"};
  op.dtypes = {DType::f32, DType::f16, DType::bf16};
  op.attributes = {{"round", {"no", "yes"}}};
  Argument x;
  x.name = "x";
  x.shape = {f("rows"), f("cols")};
  Argument y = x;
  y.name = "y";
  y.role = ArgRole::out;
  y.alias = {"x"};
  Argument factor;
  factor.name = "factor";
  factor.role = ArgRole::scalar;
  factor.type = DType::f32;
  op.args = {x, y, factor};
  return op;
}

ImplementationRecipe scale_wide() {
  ImplementationRecipe recipe;
  recipe.name = "wide";
  recipe.requires_arch = "sm_80";
  recipe.parameters = {"num_warps", "vec", "static_dims"};
  recipe.constraints = {f("cols % vec == 0")};
  recipe.specialize = {"cols"};
  recipe.align = {{"x", f("vec * sizeof(dtype)")}, {"y", f("vec * sizeof(dtype)")}};
  recipe.kernels = {scale_kernel("scale_wide")};
  return recipe;
}

ImplementationRecipe scale_plain() {
  ImplementationRecipe recipe;
  recipe.name = "plain";
  recipe.requires_arch = "sm_80";
  recipe.parameters = {"num_warps"};
  recipe.kernels = {scale_kernel("scale_plain")};
  return recipe;
}

std::vector<std::byte> scale_binary() { return recorded_binary("wide_symbol 8 8 4 8 8\nplain_symbol 8 8 4 8 8\n"); }

std::vector<KernelFacts> scale_kernels() {
  return {facts("scale_wide", "wide_symbol"), facts("scale_plain", "plain_symbol")};
}

OpInterface strided_interface() {
  OpInterface op = scale_interface();
  op.op = "strided";
  op.attributes = {{"pitch", {"dense", "strided"}}};
  op.args[0].pitch = "x_pitch";
  op.args[1].pitch = "y_pitch";
  for (const char* name : {"x_pitch", "y_pitch"}) {
    Argument pitch;
    pitch.name = name;
    pitch.role = ArgRole::scalar;
    pitch.type = DType::i64;
    pitch.when = f("pitch == 'strided'");
    op.args.push_back(pitch);
  }
  return op;
}

ImplementationRecipe strided_wide() { return with_pitches(scale_wide()); }
ImplementationRecipe strided_plain() { return with_pitches(scale_plain()); }

std::vector<std::byte> strided_binary() {
  return recorded_binary("wide_symbol 8 8 4 8 8 8 8\nplain_symbol 8 8 4 8 8 8 8\n");
}

OpInterface packed_interface() {
  OpInterface op;
  op.op = "packed";
  op.dims = {"b", "t", "h", "d"};
  op.dtypes = {DType::f16};
  Argument x;
  x.name = "x";
  x.shape = {f("b"), f("t"), f("h"), f("d")};
  x.strides = {"x_batch", "x_token", "x_head"};
  Argument y = x;
  y.name = "y";
  y.role = ArgRole::out;
  y.strides = {"y_batch", "y_token", "y_head"};
  y.alias = {"x"};
  op.args = {x, y};
  for (const Argument& tensor : {x, y}) {
    for (const std::string& name : tensor.strides) {
      Argument stride;
      stride.name = name;
      stride.role = ArgRole::scalar;
      stride.type = DType::i64;
      op.args.push_back(stride);
    }
  }
  return op;
}

namespace {

ImplementationRecipe packed(const char* name, const char* threads) {
  ImplementationRecipe recipe;
  recipe.name = name;
  recipe.requires_arch = "sm_80";
  KernelRecipe kernel;
  kernel.entry = std::string("packed_") + name;
  kernel.when = f("1");
  kernel.params = params({{ptr, "x"}, {ptr, "y"}});
  for (const Argument& arg : packed_interface().args) {
    if (arg.role == ArgRole::scalar) kernel.params.push_back({scalar, arg.name});
  }
  kernel.grid = {f("1")};
  kernel.block = {f(threads)};
  kernel.shared_bytes = f("0");
  recipe.kernels = {kernel};
  return recipe;
}

}  // namespace

ImplementationRecipe packed_wide() {
  ImplementationRecipe recipe = packed("wide", "64");
  recipe.align = {{"x", f("16")}, {"y", f("16")}};
  return recipe;
}
ImplementationRecipe packed_mapped() {
  ImplementationRecipe recipe = packed_wide();
  recipe.name = "mapped";
  recipe.requires_arch = "sm_90";
  recipe.align = {};
  recipe.maps = {{"m", "x", {f("d"), f("h"), f("t"), f("b")}, {f("8"), f("1"), f("3"), f("1")}, {}, f("32"), {}}};
  recipe.maps[0].stride_scalars = {"x_head", "x_token", "x_batch"};
  recipe.kernels[0].entry = "packed_mapped";
  recipe.kernels[0].params = params({{map, "m"}, {ptr, "y"}});
  recipe.kernels[0].block = {f("32")};
  return recipe;
}
ImplementationRecipe packed_plain() { return packed("plain", "256"); }

std::vector<std::byte> packed_binary() {
  return recorded_binary("wide_symbol 8 8 8 8 8 8 8 8\nplain_symbol 8 8 8 8 8 8 8 8\nmapped_symbol 128 8\n");
}

std::vector<KernelFacts> packed_kernels() {
  return {facts("packed_wide", "wide_symbol"), facts("packed_plain", "plain_symbol"),
          facts("packed_mapped", "mapped_symbol")};
}

OpInterface ragged_interface() {
  OpInterface op;
  op.op = "ragged";
  op.dims = {"tokens", "heads", "d"};
  op.bucketed = {"tokens"};
  op.dtypes = {DType::f16};
  Argument x;
  x.name = "x";
  x.shape = {f("tokens"), f("heads"), f("d")};
  x.strides = {"x_token", "x_head"};
  Argument y = x;
  y.name = "y";
  y.role = ArgRole::out;
  y.strides = {};
  op.args = {x, y};
  for (const std::string& name : x.strides) {
    Argument stride;
    stride.name = name;
    stride.role = ArgRole::scalar;
    stride.type = DType::i64;
    op.args.push_back(stride);
  }
  return op;
}

ImplementationRecipe ragged_rows() {
  ImplementationRecipe recipe;
  recipe.name = "rows";
  recipe.requires_arch = "sm_80";
  recipe.values = {{"half", f("ceil_div(tokens, 2)")}};
  recipe.workspaces = {{"sums", f("tokens * 4"), WorkspaceRecipe::Zero::never}};
  KernelRecipe kernel;
  kernel.entry = "ragged_rows";
  kernel.when = f("1");
  kernel.params = params({{ptr, "x"}, {ptr, "y"}, {dim, "tokens"}, {value, "half"}, {workspace, "sums"}});
  kernel.grid = {f("ceil_div(tokens, 4)")};
  kernel.block = {f("64")};
  kernel.shared_bytes = f("0");
  recipe.kernels = {kernel};
  return recipe;
}

std::vector<std::byte> ragged_binary() { return recorded_binary("rows_symbol 8 8 8 8 8\n"); }

std::vector<KernelFacts> ragged_kernels() { return {facts("ragged_rows", "rows_symbol")}; }

OpInterface many_interface() {
  OpInterface op;
  op.op = "many";
  op.dims = {"n"};
  op.dtypes = {DType::f16};
  op.domain = {f("n % 64 == 0")};
  for (int i = 0; i < kManyTensors; ++i) {
    Argument tensor;
    tensor.name = "t" + std::to_string(i);
    tensor.role = i + 1 == kManyTensors ? ArgRole::out : ArgRole::in;
    tensor.shape = {f("n")};
    op.args.push_back(tensor);
  }
  for (int i = 0; i < kManyScalars; ++i) {
    Argument scalar;
    scalar.name = "s" + std::to_string(i);
    scalar.role = ArgRole::scalar;
    scalar.type = DType::i64;
    op.args.push_back(scalar);
  }
  return op;
}

namespace {

ImplementationRecipe many(const char* name, const char* threads) {
  ImplementationRecipe recipe;
  recipe.name = name;
  recipe.requires_arch = "sm_80";
  KernelRecipe kernel;
  kernel.entry = std::string("many_") + name;
  kernel.when = f("1");
  for (int i = 0; i < kManyTensors; ++i) kernel.params.push_back({ptr, "t" + std::to_string(i)});
  for (int i = 0; i < kManyScalars; ++i) kernel.params.push_back({scalar, "s" + std::to_string(i)});
  kernel.params.push_back({dim, "n"});
  kernel.grid = {f("1")};
  kernel.block = {f(threads)};
  kernel.shared_bytes = f("0");
  recipe.kernels = {kernel};
  return recipe;
}

}  // namespace

ImplementationRecipe many_wide() {
  ImplementationRecipe recipe = many("wide", "64");
  recipe.align = {{"t2", f("16")}, {"t" + std::to_string(kManyTensors - 1), f("16")}};
  return recipe;
}
ImplementationRecipe many_plain() { return many("plain", "256"); }

std::vector<std::byte> many_binary() {
  std::string sizes;
  for (int i = 0; i <= kManyTensors + kManyScalars; ++i) sizes += " 8";
  return recorded_binary("wide_symbol" + sizes + "\nplain_symbol" + sizes + "\n");
}

std::vector<KernelFacts> many_kernels() {
  return {facts("many_wide", "wide_symbol"), facts("many_plain", "plain_symbol")};
}

OpInterface reduce_interface() {
  OpInterface op;
  op.op = "reduce";
  op.dims = {"m", "k"};
  op.dtypes = {DType::f16};
  Argument a;
  a.name = "a";
  a.shape = {f("m"), f("k")};
  a.align = 8;
  Argument y;
  y.name = "y";
  y.role = ArgRole::out;
  y.type = DType::f32;
  y.shape = {f("m")};
  op.args = {a, y};
  return op;
}

ImplementationRecipe reduce_split() {
  ImplementationRecipe recipe;
  recipe.name = "split";
  recipe.requires_arch = "sm_90";
  recipe.parameters = {"split", "block_m"};
  recipe.align = {{"a", f("16")}};
  recipe.maps = {{"a", "a", {f("k"), f("m")}, {f("64"), f("block_m")}, {}, f("128"), {}}};
  recipe.workspaces = {{"partial", f("split * m * 4"), WorkspaceRecipe::Zero::never},
                       {"sums", f("m * 4"), WorkspaceRecipe::Zero::each},
                       {"counter", f("max(256, m / 64)"), WorkspaceRecipe::Zero::once}};
  recipe.values = {{"chunks", f("ceil_div(k, 64)")}};
  KernelRecipe first;
  first.entry = "reduce_partial";
  first.when = f("1");
  first.params = params({{map, "a"}, {workspace, "partial"}, {workspace, "sums"}, {workspace, "counter"}, {dim, "k"}});
  first.grid = {f("round_up(min(ceil_div(m, block_m), resident_blocks), split)")};
  first.block = {f("128")};
  first.shared_bytes = f("100000");
  first.cluster = {f("split")};
  first.nonportable_cluster = true;
  KernelRecipe second;
  second.entry = "reduce_final";
  second.when = f("split > 1");
  second.params = params({{workspace, "partial"}, {ptr, "y"}, {dim, "m"}, {value, "chunks"}});
  second.grid = {f("max_active_clusters"), f("2")};
  second.block = {f("64"), f("2")};
  second.shared_bytes = f("0");
  second.pdl = true;
  recipe.kernels = {first, second};
  return recipe;
}

std::vector<std::byte> reduce_binary() { return recorded_binary("partial_symbol 128 8 8 8 8\nfinal_symbol 8 8 8 8\n"); }

std::vector<KernelFacts> reduce_kernels() {
  return {facts("reduce_partial", "partial_symbol"), facts("reduce_final", "final_symbol")};
}

std::vector<std::byte> recorded_binary(std::string_view lines) {
  std::string text = "tilewright-recording\n";
  text += lines;
  // The driver gets an address without a size: the text is null-terminated.
  std::vector<std::byte> bytes(text.size() + 1);
  std::memcpy(bytes.data(), text.c_str(), bytes.size());
  return bytes;
}

}  // namespace tilewright::testing
