// SPDX-License-Identifier: Apache-2.0
//
// gemm, c = act(a · b + bias) + residual, for operands whose rows no tensor map describes: gemm_pad copies each such
// operand to a workspace, with rows at multiples of 128 bytes, and a kernel of wgmma.cu multiplies the copies. Its
// producers wait for gemm_pad before their first copy; the rest starts while gemm_pad ends. Both belong to one launch,
// and launches on a stream follow one another whole: the workspaces are not written while they are read.
//
//   a, b   any address if a row is no multiple of 16 bytes; otherwise, and for c, as in wgmma.cu

#include "device/ptx/grid_dependency.cuh"
#include "pad.cuh"
#include "wgmma.cu"

// The first blocks take tiles of a, the others tiles of b; an operand that needs no padding has none.
template <class Config>
__global__ void __launch_bounds__(tilewright::gemm::RowPadding<typename Config::dtype>::kThreads,
                                  tilewright::gemm::RowPadding<typename Config::dtype>::kBlocksPerSm)
    gemm_pad(const typename Config::dtype* a, const typename Config::dtype* b, typename Config::dtype* padded_a,
             typename Config::dtype* padded_b, long long m, long long n, long long k) {
  using namespace tilewright;
  using Padding = gemm::RowPadding<typename Config::dtype>;
  constexpr bool kTransposedA = Config::layout == "tn", kTransposedB = Config::layout != "nt";
  ptx::grid_launch_dependents();
  const Padding rows_a(kTransposedA ? k : m, kTransposedA ? m : k);
  const Padding rows_b(kTransposedB ? k : n, kTransposedB ? n : k);
  const u32 tiles_a = rows_a.tiles();
  const bool is_a = blockIdx.x < tiles_a;
  const Padding rows = is_a ? rows_a : rows_b;
  rows.copy(is_a ? a : b, is_a ? padded_a : padded_b, is_a ? blockIdx.x : blockIdx.x - tiles_a);
}
