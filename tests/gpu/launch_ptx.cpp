// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/launch_ptx.hpp"

#include <cstring>
#include <string>

namespace tilewright::testing {

namespace {

// One block a row: y[row, i] = x[row, i] * factor.
constexpr const char* kScale = R"(
.visible .entry NAME(.param .u64 x, .param .u64 y, .param .f32 factor, .param .u64 rows, .param .u64 cols) {
  .reg .pred %p;
  .reg .f32 %f<3>;
  .reg .b32 %r<3>;
  .reg .b64 %rd<9>;
  ld.param.u64 %rd0, [x];
  ld.param.u64 %rd1, [y];
  ld.param.f32 %f0, [factor];
  ld.param.u64 %rd2, [cols];
  mov.u32 %r0, %ctaid.x;
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ntid.x;
  cvt.u64.u32 %rd3, %r0;
  cvt.u64.u32 %rd4, %r1;
  cvt.u64.u32 %rd5, %r2;
  mul.lo.u64 %rd3, %rd3, %rd2;
AGAIN:
  setp.ge.u64 %p, %rd4, %rd2;
  @%p bra DONE;
  add.u64 %rd6, %rd3, %rd4;
  shl.b64 %rd6, %rd6, 2;
  add.u64 %rd7, %rd0, %rd6;
  add.u64 %rd8, %rd1, %rd6;
  ld.global.f32 %f1, [%rd7];
  mul.f32 %f2, %f1, %f0;
  st.global.f32 [%rd8], %f2;
  add.u64 %rd4, %rd4, %rd5;
  bra AGAIN;
DONE:
  ret;
}
)";

constexpr const char* kReduce = R"(
.extern .shared .align 16 .b8 dynamic[];
.visible .entry partial_symbol(.param .align 64 .b8 map[128], .param .u64 partial, .param .u64 sums,
                               .param .u64 counter, .param .u64 k) {
  .reg .pred %p;
  .reg .f32 %f<2>;
  .reg .b32 %r<4>;
  .reg .b64 %rd;
  mov.u32 %r0, %ctaid.x;
  mov.u32 %r1, %tid.x;
  or.b32 %r2, %r0, %r1;
  setp.ne.u32 %p, %r2, 0;
  @%p bra DONE;
  mov.u32 %r3, %cluster_nctaid.x;
  cvt.rn.f32.u32 %f0, %r3;
  st.shared.f32 [dynamic+99996], %f0;
  ld.shared.f32 %f1, [dynamic+99996];
  ld.param.u64 %rd, [partial];
  st.global.f32 [%rd], %f1;
DONE:
  ret;
}
.visible .entry final_symbol(.param .u64 partial, .param .u64 y, .param .u64 m, .param .u64 chunks) {
  .reg .pred %p;
  .reg .f32 %f<2>;
  .reg .b32 %r<5>;
  .reg .b64 %rd<5>;
  griddepcontrol.wait;
  mov.u32 %r0, %ctaid.x;
  mov.u32 %r1, %ntid.x;
  mov.u32 %r2, %tid.x;
  mad.lo.u32 %r3, %r0, %r1, %r2;
  cvt.u64.u32 %rd0, %r3;
  ld.param.u64 %rd1, [m];
  setp.ge.u64 %p, %rd0, %rd1;
  @%p bra DONE;
  ld.param.u64 %rd2, [partial];
  ld.param.u64 %rd3, [y];
  ld.global.f32 %f0, [%rd2];
  ld.param.u64 %rd1, [chunks];
  cvt.rn.f32.u64 %f1, %rd1;
  add.f32 %f0, %f0, %f1;
  shl.b64 %rd0, %rd0, 2;
  add.u64 %rd4, %rd3, %rd0;
  st.global.f32 [%rd4], %f0;
DONE:
  ret;
}
)";

constexpr const char* kDouble = R"(
.visible .entry double_first(.param .u64 x, .param .u64 doubled, .param .u64 each, .param .u64 once, .param .u64 n) {
  .reg .pred %p;
  .reg .f32 %f<2>;
  .reg .b32 %r<5>;
  .reg .b64 %rd<8>;
  mov.u32 %r0, %ctaid.x;
  mov.u32 %r1, %ntid.x;
  mov.u32 %r2, %tid.x;
  mad.lo.u32 %r3, %r0, %r1, %r2;
  cvt.u64.u32 %rd0, %r3;
  ld.param.u64 %rd1, [n];
  setp.ge.u64 %p, %rd0, %rd1;
  @%p bra DONE;
  ld.param.u64 %rd2, [x];
  ld.param.u64 %rd3, [doubled];
  ld.param.u64 %rd4, [each];
  ld.param.u64 %rd5, [once];
  shl.b64 %rd0, %rd0, 2;
  add.u64 %rd6, %rd2, %rd0;
  add.u64 %rd7, %rd3, %rd0;
  ld.global.f32 %f0, [%rd6];
  add.f32 %f1, %f0, %f0;
  st.global.f32 [%rd7], %f1;
  red.global.add.u32 [%rd4], 1;
  red.global.add.u32 [%rd5], 1;
DONE:
  ret;
}
.visible .entry double_second(.param .u64 doubled, .param .u64 y, .param .u64 each, .param .u64 once, .param .u64 n) {
  .reg .pred %p;
  .reg .f32 %f<4>;
  .reg .b32 %r<6>;
  .reg .b64 %rd<10>;
  ld.param.u64 %rd0, [doubled];
  ld.param.u64 %rd1, [y];
  ld.param.u64 %rd2, [each];
  ld.param.u64 %rd3, [once];
  ld.param.u64 %rd4, [n];
  ld.global.u32 %r0, [%rd2];
  ld.global.u32 %r1, [%rd3];
  cvt.u32.u64 %r2, %rd4;
  sub.u32 %r0, %r0, %r2;
  sub.u32 %r1, %r1, %r2;
  cvt.rn.f32.s32 %f0, %r0;
  cvt.rn.f32.s32 %f1, %r1;
  add.f32 %f0, %f0, %f1;
  mov.u32 %r3, %tid.x;
  mov.u32 %r4, %ntid.x;
  cvt.u64.u32 %rd5, %r3;
  cvt.u64.u32 %rd6, %r4;
AGAIN:
  setp.ge.u64 %p, %rd5, %rd4;
  @%p bra DONE;
  shl.b64 %rd7, %rd5, 2;
  add.u64 %rd8, %rd0, %rd7;
  add.u64 %rd9, %rd1, %rd7;
  ld.global.f32 %f2, [%rd8];
  add.f32 %f3, %f2, %f0;
  st.global.f32 [%rd9], %f3;
  add.u64 %rd5, %rd5, %rd6;
  bra AGAIN;
DONE:
  bar.sync 0;
  setp.ne.u32 %p, %r3, 0;
  @%p bra END;
  mov.u32 %r5, 0;
  st.global.u32 [%rd3], %r5;
END:
  ret;
}
)";

std::vector<std::byte> ptx(const char* target, const std::string& kernels) {
  const std::string text = std::string(".version 7.8\n.target ") + target + "\n.address_size 64\n" + kernels;
  std::vector<std::byte> bytes(text.size() + 1);
  std::memcpy(bytes.data(), text.c_str(), bytes.size());
  return bytes;
}

std::string named(std::string kernel, const std::string& name) { return kernel.replace(kernel.find("NAME"), 4, name); }

Formula f(const char* text) { return Formula::parse(text); }

KernelRecipe kernel_of(const char* entry, std::vector<KernelParam> params, const char* grid, const char* block) {
  KernelRecipe kernel;
  kernel.entry = entry;
  kernel.when = f("1");
  kernel.params = std::move(params);
  kernel.grid = {f(grid)};
  kernel.block = {f(block)};
  return kernel;
}

}  // namespace

std::vector<std::byte> scale_ptx() {
  return ptx("sm_80", named(kScale, "wide_symbol") + named(kScale, "plain_symbol"));
}

std::vector<std::byte> reduce_ptx() { return ptx("sm_90", kReduce); }

std::vector<std::byte> double_ptx() { return ptx("sm_80", kDouble); }

OpInterface double_interface() {
  OpInterface op;
  op.op = "double";
  op.dims = {"n"};
  op.dtypes = {DType::f32};
  Argument x;
  x.name = "x";
  x.shape = {f("n")};
  Argument y = x;
  y.name = "y";
  y.role = ArgRole::out;
  op.args = {x, y};
  return op;
}

ImplementationRecipe double_recipe() {
  using enum KernelParam::Kind;
  ImplementationRecipe recipe;
  recipe.name = "two";
  recipe.requires_arch = "sm_80";
  recipe.workspaces = {{"doubled", f("n * 4"), WorkspaceRecipe::Zero::never},
                       {"each", f("4"), WorkspaceRecipe::Zero::each},
                       {"once", f("4"), WorkspaceRecipe::Zero::once}};
  recipe.kernels = {
      kernel_of("double_first",
                {{ptr, "x"}, {workspace, "doubled"}, {workspace, "each"}, {workspace, "once"}, {dim, "n"}},
                "ceil_div(n, 256)", "256"),
      kernel_of("double_second",
                {{workspace, "doubled"}, {ptr, "y"}, {workspace, "each"}, {workspace, "once"}, {dim, "n"}}, "1",
                "1024")};
  return recipe;
}

std::vector<KernelFacts> double_kernels() {
  KernelFacts first;
  first.entry = first.symbol = "double_first";
  KernelFacts second;
  second.entry = second.symbol = "double_second";
  return {first, second};
}

}  // namespace tilewright::testing
