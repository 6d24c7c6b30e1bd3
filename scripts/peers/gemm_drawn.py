# SPDX-License-Identifier: Apache-2.0
"""Shapes of `gemm` off the beaten track, drawn by a seed: extents that large tiles do not divide. n and k are multiples
of 8 but for the cubes by 500s."""
import random

COUNT = 60
CUBES = [(side, side, side) for side in range(1500, 5001, 500)]


def _drawn(generator, first, last, step=8, not_of=0):
    """A multiple of `step` from `first` to `last`; none of `not_of`. By random() alone: it is alike in every Python."""
    values = [value for value in range(-(-first // step) * step, last + 1, step) if not not_of or value % not_of]
    return values[int(generator.random() * len(values))]


def _ragged(generator):
    return tuple(_drawn(generator, 1500, 5000, not_of=64) for _ in range(3))


def _few_rows(generator):
    return _drawn(generator, 150, 500, 1), _drawn(generator, 1024, 8192), _drawn(generator, 8000, 16384)


def _tall(generator):
    return _drawn(generator, 15000, 17000), _drawn(generator, 1000, 3000), _drawn(generator, 1000, 3000)


def _near_128(generator):
    return _drawn(generator, 100, 160, 1), _drawn(generator, 2048, 12288), _drawn(generator, 2048, 12288)


KINDS = {"cube": None, "ragged": _ragged, "few-rows": _few_rows, "tall": _tall, "near-128": _near_128}


def draw(seed):
    """(kind, (m, n, k)), COUNT of them, no two alike: the cubes, and the other kinds in turns."""
    generator = random.Random(seed)
    shapes = {shape: "cube" for shape in CUBES}
    kinds = [name for name, make in KINDS.items() if make]
    while len(shapes) < COUNT:
        kind = kinds[len(shapes) % len(kinds)]
        shapes.setdefault(KINDS[kind](generator), kind)
    return [(kind, shape) for shape, kind in shapes.items()]
