# SPDX-License-Identifier: Apache-2.0
"""Philox4x32-10 and the dropout mask made of it. Works on anything with 64-bit wrap-around integers: NumPy's int64
arrays and torch's int64 tensors, on any device."""

WORD = 0xFFFFFFFF


def _multiply(a, b):
    product = a * b
    return (product >> 32) & WORD, product & WORD


def philox4x32_10(counter, key):
    """Four words for a counter of four words and a key of two; each of the counter's may be an array."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(10):
        high0, low0 = _multiply(c0, 0xD2511F53)
        high1, low1 = _multiply(c2, 0xCD9E8D57)
        c0, c1, c2, c3 = high1 ^ c1 ^ k0, low1, high0 ^ c3 ^ k1, low0
        k0, k1 = (k0 + 0x9E3779B9) & WORD, (k1 + 0xBB67AE85) & WORD
    return c0, c1, c2, c3


def keep_mask(row, column, p, seed, offset, where):
    """Where dropout keeps an element. `row` and `column` are int64 arrays that broadcast to one shape; `p` is a
    float32's value; `where` is numpy or torch, for its function of that name."""
    zero = row * 0 + column * 0
    words = philox4x32_10(
        (zero + ((column // 4) & WORD), zero + (row & WORD), zero + (offset & WORD), zero + (offset >> 32)),
        (seed & WORD, seed >> 32))
    which = zero + column % 4
    word = words[3]
    for i in (2, 1, 0):
        word = where.where(which == i, words[i], word)
    # (word >> 8) · 2⁻²⁴ ≥ p, in whole numbers: exact.
    return (word >> 8) >= p * 2.0**24
