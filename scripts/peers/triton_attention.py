# SPDX-License-Identifier: Apache-2.0
"""Attention in Triton, in the manner of its tutorial: a block of queries of one head a program, over all keys that it
sees, with the blocks at the diagonal last; and the sizes of blocks that are tried."""
import triton
import triton.language as tl

LOG2E = 1.4426950408889634
# (block_m, block_n, stages, warps)
TILES = [(128, 64, 3, 8), (128, 128, 2, 8), (128, 64, 4, 8), (128, 32, 4, 8), (64, 64, 3, 4), (128, 64, 3, 4)]


@triton.jit
def _over_keys(sums, top, out, q, k_at, v_at, first, end, row, key_stride, scale, keys, D: tl.constexpr,
               DV: tl.constexpr, BLOCK_D: tl.constexpr, BLOCK_DV: tl.constexpr, BLOCK_N: tl.constexpr,
               MASKS: tl.constexpr, CAUSAL: tl.constexpr, value_stride):
    column = tl.arange(0, BLOCK_N)
    of_d = tl.arange(0, BLOCK_D)
    of_dv = tl.arange(0, BLOCK_DV)
    for start in tl.range(first, end, BLOCK_N):
        key = start + column
        if MASKS or BLOCK_D != D:
            k = tl.load(k_at + key[None, :] * key_stride + of_d[:, None],
                        mask=(key[None, :] < keys) & (of_d[:, None] < D), other=0.0)
        else:
            k = tl.load(k_at + key[None, :] * key_stride + of_d[:, None])
        scores = tl.dot(q, k) * scale
        if MASKS:
            seen = key[None, :] < keys
            if CAUSAL:
                seen = seen & (key[None, :] <= row[:, None])
            scores = tl.where(seen, scores, -1.0e30)
        new_top = tl.maximum(top, tl.max(scores, 1))
        weights = tl.exp2(scores - new_top[:, None])
        rescale = tl.exp2(top - new_top)
        sums = sums * rescale + tl.sum(weights, 1)
        out = out * rescale[:, None]
        if MASKS or BLOCK_DV != DV:
            v = tl.load(v_at + key[:, None] * value_stride + of_dv[None, :],
                        mask=(key[:, None] < keys) & (of_dv[None, :] < DV), other=0.0)
        else:
            v = tl.load(v_at + key[:, None] * value_stride + of_dv[None, :])
        out = tl.dot(weights.to(v.dtype), v, out)
        top = new_top
    return sums, top, out


@triton.jit
def attention(q, k, v, o, scale, queries, hq, hkv, D: tl.constexpr, DV: tl.constexpr, BLOCK_D: tl.constexpr,
              BLOCK_DV: tl.constexpr, CAUSAL: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    block = tl.program_id(0)
    if CAUSAL:
        block = tl.num_programs(0) - 1 - block
    head = tl.program_id(1) % hq
    batch = (tl.program_id(1) // hq).to(tl.int64)
    key_head = head // (hq // hkv)
    row = block * BLOCK_M + tl.arange(0, BLOCK_M)
    of_d = tl.arange(0, BLOCK_D)
    of_dv = tl.arange(0, BLOCK_DV)
    q_at = q + (batch * queries * hq + head) * D + row[:, None] * (hq * D) + of_d[None, :]
    loaded = tl.load(q_at, mask=(row[:, None] < queries) & (of_d[None, :] < D), other=0.0)
    k_at = k + (batch * queries * hkv + key_head) * D
    v_at = v + (batch * queries * hkv + key_head) * DV
    sums = tl.zeros((BLOCK_M,), dtype=tl.float32)
    top = tl.full((BLOCK_M,), -1.0e30, dtype=tl.float32)
    out = tl.zeros((BLOCK_M, BLOCK_DV), dtype=tl.float32)
    whole = queries // BLOCK_N * BLOCK_N
    end = queries
    if CAUSAL:
        whole = tl.minimum(block * BLOCK_M // BLOCK_N * BLOCK_N, whole)
        end = tl.minimum((block + 1) * BLOCK_M, queries)
    sums, top, out = _over_keys(sums, top, out, loaded, k_at, v_at, 0, whole, row, hkv * D, scale, queries, D, DV,
                                BLOCK_D, BLOCK_DV, BLOCK_N, False, CAUSAL, hkv * DV)
    sums, top, out = _over_keys(sums, top, out, loaded, k_at, v_at, whole, end, row, hkv * D, scale, queries, D, DV,
                                BLOCK_D, BLOCK_DV, BLOCK_N, True, CAUSAL, hkv * DV)
    out = out / sums[:, None]
    o_at = o + (batch * queries * hq + head) * DV + row[:, None] * (hq * DV) + of_dv[None, :]
    tl.store(o_at, out.to(o.dtype.element_ty), mask=(row[:, None] < queries) & (of_dv[None, :] < DV))
