# SPDX-License-Identifier: Apache-2.0
"""Errors of matrix products against float64: of rows that are spread over c, all their columns."""
import torch

from . import gemm_torch
from .accuracy import Errors
from .gemm_cells import sampled_rows

COLUMNS = 8192  # of one float64 product
SLICE = 1 << 26  # elements that are compared with eager's at once
# Elements that are not sampled may be further off than those that are, but not by so many times.
FAR = 4


def compare(cell, inputs, results):
    """Errors by who made a result of these inputs: `ours`, `eager` and others. Of all of c, how many elements of ours
    are no finite numbers or far from eager's."""
    ours, eager = results["ours"], results["eager"]
    rows = torch.tensor(sampled_rows(cell.m), device=ours.device)
    errors = {who: Errors(cell.dtype) for who in results}
    for first in range(0, cell.n, COLUMNS):
        last = min(first + COLUMNS, cell.n)
        reference = gemm_torch.exact(cell, inputs, rows, first, last)
        for who, c in results.items():
            errors[who].add(c[rows, first:last], reference)
    room = FAR * (errors["ours"].largest + errors["eager"].largest)
    return {**{who: {"c": error.result()} for who, error in errors.items()}, "rows": len(rows),
            "far": far_elements(ours, eager, room)}


def far_elements(ours, theirs, room):
    step = max(1, SLICE // ours.shape[1])
    far = 0
    for first in range(0, ours.shape[0], step):
        difference = (ours[first:first + step].float() - theirs[first:first + step].float()).abs()
        far += int((~(difference <= room)).sum())  # NaN, too
    return far
