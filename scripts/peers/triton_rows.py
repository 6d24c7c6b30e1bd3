# SPDX-License-Identifier: Apache-2.0
"""Row ops in Triton: one program a row with the row in one block, as Triton's tutorials write them, and for wide rows
programs that loop over blocks, as its layer norm tutorial does."""
import triton
import triton.language as tl


@triton.jit
def softmax_block(x, y, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < cols
    value = tl.load(x + row * cols + at, mask=inside, other=-float("inf")).to(tl.float32)
    value = tl.exp(value - tl.max(value, axis=0))
    tl.store(y + row * cols + at, value / tl.sum(value, axis=0), mask=inside)


@triton.jit
def softmax_loop(x, y, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    most = tl.full([BLOCK], -float("inf"), dtype=tl.float32)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, cols, BLOCK):
        inside = start + at < cols
        value = tl.load(x + row * cols + start + at, mask=inside, other=-float("inf")).to(tl.float32)
        larger = tl.maximum(most, value)
        # Lanes that have seen nothing finite yet stay at 0 and not at exp(-inf + inf).
        base = tl.where(larger == -float("inf"), 0.0, larger)
        total = total * tl.exp(most - base) + tl.exp(value - base)
        most = larger
    row_most = tl.max(most, axis=0)
    row_total = tl.sum(total * tl.exp(most - row_most), axis=0)
    for start in range(0, cols, BLOCK):
        inside = start + at < cols
        value = tl.load(x + row * cols + start + at, mask=inside, other=-float("inf")).to(tl.float32)
        tl.store(y + row * cols + start + at, tl.exp(value - row_most) / row_total, mask=inside)


@triton.jit
def norm_block(x, residual, weight, bias, total, y, cols, eps, ADD: tl.constexpr, STORE: tl.constexpr,
               LAYER: tl.constexpr, SILU: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < cols
    value = tl.load(x + row * cols + at, mask=inside, other=0.0).to(tl.float32)
    if ADD:
        value += tl.load(residual + row * cols + at, mask=inside, other=0.0).to(tl.float32)
    if STORE:
        tl.store(total + row * cols + at, value, mask=inside)
    if LAYER:
        mean = tl.sum(value, axis=0) / cols
        value = tl.where(inside, value - mean, 0.0)
    scale = 1.0 / tl.sqrt(tl.sum(value * value, axis=0) / cols + eps)
    result = value * scale * tl.load(weight + at, mask=inside, other=0.0).to(tl.float32)
    if LAYER:
        result += tl.load(bias + at, mask=inside, other=0.0).to(tl.float32)
    if SILU:
        result = result * tl.sigmoid(result)
    tl.store(y + row * cols + at, result, mask=inside)


@triton.jit
def norm_loop(x, residual, weight, bias, total, y, cols, eps, ADD: tl.constexpr, STORE: tl.constexpr,
              LAYER: tl.constexpr, SILU: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    mean = 0.0
    if LAYER:
        sums = tl.zeros([BLOCK], dtype=tl.float32)
        for start in range(0, cols, BLOCK):
            inside = start + at < cols
            value = tl.load(x + row * cols + start + at, mask=inside, other=0.0).to(tl.float32)
            if ADD:
                value += tl.load(residual + row * cols + start + at, mask=inside, other=0.0).to(tl.float32)
            sums += value
        mean = tl.sum(sums, axis=0) / cols
    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, cols, BLOCK):
        inside = start + at < cols
        value = tl.load(x + row * cols + start + at, mask=inside, other=0.0).to(tl.float32)
        if ADD:
            value += tl.load(residual + row * cols + start + at, mask=inside, other=0.0).to(tl.float32)
        value = tl.where(inside, value - mean, 0.0)
        squares += value * value
    scale = 1.0 / tl.sqrt(tl.sum(squares, axis=0) / cols + eps)
    for start in range(0, cols, BLOCK):
        inside = start + at < cols
        value = tl.load(x + row * cols + start + at, mask=inside, other=0.0).to(tl.float32)
        if ADD:
            value += tl.load(residual + row * cols + start + at, mask=inside, other=0.0).to(tl.float32)
        if STORE:
            tl.store(total + row * cols + start + at, value, mask=inside)
        result = (value - mean) * scale * tl.load(weight + start + at, mask=inside, other=0.0).to(tl.float32)
        if LAYER:
            result += tl.load(bias + start + at, mask=inside, other=0.0).to(tl.float32)
        if SILU:
            result = result * tl.sigmoid(result)
        tl.store(y + row * cols + start + at, result, mask=inside)
