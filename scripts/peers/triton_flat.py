# SPDX-License-Identifier: Apache-2.0
"""Elementwise ops in Triton: a block of elements a program, over all elements or over those of one row."""
import triton
import triton.language as tl


@triton.jit
def act_of(x, ACT: tl.constexpr):
    if ACT == "relu":
        x = tl.where(x < 0.0, 0.0, x)
    elif ACT == "leaky_relu":
        x = tl.where(x < 0.0, 0.01 * x, x)
    elif ACT == "gelu":
        # x/2 · (1 + tanh u) = x · sigmoid(2u), u = √(2/π) · (x + 0.044715 x³)
        x = x * tl.sigmoid(1.5957691216057308 * (x + 0.044715 * x * x * x))
    elif ACT == "gelu_erf":
        x = 0.5 * x * (1.0 + tl.erf(x * 0.7071067811865476))
    elif ACT == "silu":
        x = x * tl.sigmoid(x)
    elif ACT == "tanh":
        x = 2.0 * tl.sigmoid(2.0 * x) - 1.0
    return x


@triton.jit
def unary_flat(x, y, n, ACT: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    value = tl.load(x + at, mask=inside).to(tl.float32)
    tl.store(y + at, act_of(value, ACT), mask=inside)


@triton.jit
def binary_flat(a, b, y, n, OP: tl.constexpr, ACT: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    left = tl.load(a + at, mask=inside).to(tl.float32)
    right = tl.load(b + at, mask=inside).to(tl.float32)
    if OP == "add":
        value = act_of(left + right, ACT)
    elif OP == "mul":
        value = act_of(left * right, ACT)
    else:
        value = left * tl.sigmoid(left) * right
    tl.store(y + at, value, mask=inside)


@triton.jit
def dropout_flat(x, y, n, p, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    value = tl.load(x + at, mask=inside).to(tl.float32)
    keep = tl.rand(seed, at) > p
    tl.store(y + at, tl.where(keep, value / (1 - p), 0.0), mask=inside)


@triton.jit
def bias_flat(x, bias, y, n, cols, scale, p, seed, ACT: tl.constexpr, DROP: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    value = tl.load(x + at, mask=inside).to(tl.float32) + tl.load(bias + at % cols, mask=inside).to(tl.float32)
    if DROP:
        value = act_of(value * scale, ACT)
        value = tl.where(tl.rand(seed, at) > p, value / (1 - p), 0.0)
    else:
        value = act_of(value, ACT)
    tl.store(y + at, value, mask=inside)


@triton.jit
def bias_rows(x, bias, y, cols, scale, p, seed, ACT: tl.constexpr, DROP: tl.constexpr, BLOCK: tl.constexpr):
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = column < cols
    at = tl.program_id(0) * cols + column
    value = tl.load(x + at, mask=inside).to(tl.float32) + tl.load(bias + column, mask=inside).to(tl.float32)
    if DROP:
        value = act_of(value * scale, ACT)
        value = tl.where(tl.rand(seed, at) > p, value / (1 - p), 0.0)
    else:
        value = act_of(value, ACT)
    tl.store(y + at, value, mask=inside)


@triton.jit
def swiglu_rows(gate, up, y, cols, pitch, BLOCK: tl.constexpr):
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = column < cols
    row = tl.program_id(0)
    left = tl.load(gate + row * pitch + column, mask=inside).to(tl.float32)
    right = tl.load(up + row * pitch + column, mask=inside).to(tl.float32)
    tl.store(y + row * cols + column, left * tl.sigmoid(left) * right, mask=inside)
