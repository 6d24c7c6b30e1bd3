# SPDX-License-Identifier: Apache-2.0
"""Matrix product in Triton, as its tutorial writes it: a tile of c a program, in groups of tile rows so that operands
stay in L2, and the epilogue on the sums; with the sizes of tiles that are tried."""
import triton
import triton.language as tl

from .gemm_cells import FEW_ROWS
from .triton_flat import act_of

GROUP_M = 8
# (block_m, block_n, block_k of 16-bit types, stages, warps)
TILES = [(128, 256, 64, 3, 8), (256, 128, 64, 3, 8), (128, 256, 64, 4, 8), (256, 128, 64, 4, 8), (128, 128, 128, 3, 8),
         (128, 128, 64, 3, 8), (128, 128, 64, 4, 4), (128, 128, 32, 4, 4), (64, 256, 64, 4, 4), (128, 64, 64, 4, 4),
         (64, 128, 64, 4, 4), (64, 64, 64, 5, 4)]
# (block_n, block_k, stages, warps) where all rows fit into one tile.
FLAT_TILES = [(32, 128, 4, 4), (32, 128, 6, 4), (32, 256, 3, 4), (64, 64, 5, 4), (64, 128, 4, 4), (64, 128, 5, 8),
              (64, 256, 3, 4), (128, 64, 4, 4), (128, 128, 3, 4), (128, 128, 4, 8), (256, 64, 4, 4), (256, 64, 4, 8)]


def tiles_of(m, dtype):
    """As in TILES, for m rows of a type: tiles of as many bytes."""
    tiles = TILES
    if m <= FEW_ROWS:
        block_m = max(16, triton.next_power_of_2(m))
        tiles = [(block_m, *tile) for tile in FLAT_TILES]
    shrink = 2 if dtype == "f32" else 1
    return [(block_m, block_n, block_k // shrink, stages, warps) for block_m, block_n, block_k, stages, warps in tiles]


def strides_of(cell):
    """(of a along m, along k, of b along k, along n), in elements."""
    of_a = (1, cell.m) if cell["layout"] == "tn" else (cell.k, 1)
    return (*of_a, 1, cell.k) if cell["layout"] == "nt" else (*of_a, cell.n, 1)


@triton.jit
def tile_of(m, n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, GROUP_M: tl.constexpr):
    """Rows and columns of this program."""
    program = tl.program_id(0)
    tiles_m = tl.cdiv(m, BLOCK_M)
    tiles_n = tl.cdiv(n, BLOCK_N)
    in_group = GROUP_M * tiles_n
    first_m = program // in_group * GROUP_M
    rows_of_group = min(tiles_m - first_m, GROUP_M)
    tile_m = first_m + (program % in_group) % rows_of_group
    tile_n = (program % in_group) // rows_of_group
    return tile_m * BLOCK_M + tl.arange(0, BLOCK_M), tile_n * BLOCK_N + tl.arange(0, BLOCK_N)


@triton.jit
def matmul(a, b, bias, residual, c, m, n, k, stride_am, stride_ak, stride_bk, stride_bn, p, seed, BIAS: tl.constexpr,
           ACT: tl.constexpr, DROP: tl.constexpr, RESIDUAL: tl.constexpr, PRECISION: tl.constexpr,
           BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr):
    row, column = tile_of(m, n, BLOCK_M, BLOCK_N, GROUP_M)
    at_k = tl.arange(0, BLOCK_K)
    a_at = a + (row % m)[:, None] * stride_am + at_k[None, :] * stride_ak
    b_at = b + at_k[:, None] * stride_bk + (column % n)[None, :] * stride_bn
    sums = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for step in range(0, tl.cdiv(k, BLOCK_K)):
        left = tl.load(a_at, mask=at_k[None, :] < k - step * BLOCK_K, other=0.0)
        right = tl.load(b_at, mask=at_k[:, None] < k - step * BLOCK_K, other=0.0)
        sums = tl.dot(left, right, sums, input_precision=PRECISION)
        a_at += BLOCK_K * stride_ak
        b_at += BLOCK_K * stride_bk
    if BIAS:
        sums += tl.load(bias + column, mask=column < n, other=0.0).to(tl.float32)[None, :]
    sums = act_of(sums, ACT)
    at = row[:, None] * n + column[None, :]
    inside = (row[:, None] < m) & (column[None, :] < n)
    if DROP:
        sums = tl.where(tl.rand(seed, at) > p, sums / (1 - p), 0.0)
    if RESIDUAL:
        sums += tl.load(residual + at, mask=inside, other=0.0).to(tl.float32)
    tl.store(c + at, sums.to(c.dtype.element_ty), mask=inside)


@triton.jit
def gated(a, gate, up, y, m, n, k, ACT: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
          BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr):
    """Both products of a tile of y; weights as a Linear layer has them."""
    row, column = tile_of(m, n, BLOCK_M, BLOCK_N, GROUP_M)
    at_k = tl.arange(0, BLOCK_K)
    a_at = a + (row % m)[:, None] * k + at_k[None, :]
    b_at = at_k[:, None] + (column % n)[None, :] * k
    gates = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    ups = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for step in range(0, tl.cdiv(k, BLOCK_K)):
        inside = at_k < k - step * BLOCK_K
        left = tl.load(a_at, mask=inside[None, :], other=0.0)
        gates = tl.dot(left, tl.load(gate + b_at, mask=inside[:, None], other=0.0), gates)
        ups = tl.dot(left, tl.load(up + b_at, mask=inside[:, None], other=0.0), ups)
        a_at += BLOCK_K
        b_at += BLOCK_K
    inside = (row[:, None] < m) & (column[None, :] < n)
    tl.store(y + row[:, None] * n + column[None, :], (act_of(gates, ACT) * ups).to(y.dtype.element_ty), mask=inside)
