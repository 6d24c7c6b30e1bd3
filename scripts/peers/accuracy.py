# SPDX-License-Identifier: Apache-2.0
"""Errors against float64, computed on the GPU in slices: of random inputs, and of rows with extreme ones."""
import math

import torch

from . import torch_ops
from .cells import SCALARS
from .statistics import is_drawn

PRECISION = {"f32": 24, "f16": 11, "bf16": 8}
SMALLEST = {"f32": 2.0**-149, "f16": 2.0**-24, "bf16": 2.0**-133}
LARGEST = {"f32": torch.finfo(torch.float32).max, "f16": 65504.0, "bf16": torch.finfo(torch.bfloat16).max}
SLICE = 1 << 23  # elements of one float64 slice


def ulp(reference, dtype):
    """Of the type's numbers near the reference's."""
    _, exponent = torch.frexp(reference)
    step = torch.exp2((exponent - PRECISION[dtype]).double())
    return torch.where(reference == 0, 0.0, step).clamp(min=SMALLEST[dtype])


class Errors:
    """Of one output, slice by slice."""

    def __init__(self, dtype):
        self.dtype = dtype
        self.square_error = self.square_reference = 0.0
        self.largest = self.largest_ulp = self.ulp_there = 0.0
        self.wrong = 0  # NaN or infinite, and the reference is not

    def add(self, output, reference, counted=None):
        # What the type cannot hold is infinite, rightly.
        difference = (output.double() - reference).abs()
        difference = torch.where(output.double() == reference, 0.0, difference)
        beyond = reference.abs() > LARGEST[self.dtype]
        counts = ~beyond & reference.isfinite()
        if counted is not None:
            counts &= counted
        self.wrong += int((counts & ~difference.isfinite()).sum())
        difference = torch.where(counts & difference.isfinite(), difference, 0.0)
        self.square_error += difference.square().sum().item()
        self.square_reference += torch.where(counts, reference, 0.0).square().sum().item()
        if difference.numel() == 0:
            return
        steps = ulp(reference, self.dtype)
        worst = int(difference.argmax())
        if difference.flatten()[worst].item() > self.largest:
            self.largest = difference.flatten()[worst].item()
            self.ulp_there = steps.flatten()[worst].item()
        self.largest_ulp = max(self.largest_ulp, (difference / steps).max().item())

    def result(self):
        rms = math.sqrt(self.square_error / self.square_reference) if self.square_reference > 0 else 0.0
        return {"rms": rms, "largest": self.largest, "largest_ulp": self.largest_ulp, "ulp_there": self.ulp_there,
                "wrong": self.wrong}


class Kept(Errors):
    """Of an output from which an arm has dropped what it drew itself: of what it kept, and how much that is."""

    def __init__(self, dtype):
        super().__init__(dtype)
        self.told = self.kept = 0

    def add_own(self, output, value, base=None):
        """`value` is what is kept, in float64, and `base` what is added, dropped or not."""
        base = torch.zeros_like(output) if base is None else base
        kept = output != base
        # Where the value itself may leave nothing to be seen, nothing can be told.
        told = value.abs() >= (4 * ulp(base.double(), self.dtype)).clamp(min=2.0 ** -20)
        self.told += int(told.sum())
        self.kept += int((told & kept).sum())
        self.add(output, value + base.double(), counted=kept)

    def result(self):
        rate = 1.0 - SCALARS["p"]
        return {**super().result(), "keep_rate": self.kept / self.told if self.told else rate,
                "keeps_as_asked": is_drawn(self.kept, self.told, rate)}


def slices(cell):
    """(first, behind the last) rows, or elements of flat ops."""
    total, width = (cell.dims[0], 1) if len(cell.dims) == 1 else cell.dims
    step = max(1, SLICE // width)
    return [(first, min(first + step, total)) for first in range(0, total, step)]


def _sliced(cell, inputs, first, last):
    kinds = {argument.name: argument.kind for argument in cell.arguments()}
    return [tensor if kinds[name] == "vector" else tensor[first:last] for name, tensor in inputs.items()]


def compare(cell, inputs, outputs):
    """Errors of each arm's outputs (lists, by arm, `ours` among them), by output. Dropout draws other masks in every
    peer: ours is held to its definition, a peer to its own zeros, of which there are as many as is asked for."""
    names = [argument.name for argument in cell.arguments() if argument.role == "out"]
    drops = cell.op in ("dropout", "bias_act_dropout")
    errors = {who: {name: Kept(cell.dtype) if drops and who != "ours" else Errors(cell.dtype) for name in names}
              for who in outputs}
    kept = wrong_mask = 0
    for first, last in slices(cell):
        parts = _sliced(cell, inputs, first, last)
        undropped = torch_ops.exact(cell, parts)
        for position, name in enumerate(names):
            reference = undropped[position]
            if not drops:
                for arm in outputs:
                    errors[arm][name].add(outputs[arm][position][first:last], reference)
                continue
            our_part = outputs["ours"][position][first:last]
            mask = torch_ops.expected_mask(cell, first, our_part.shape)
            kept += int(mask.sum())
            # Where the value itself may come out as 0, as an fp32 gelu does in its tail, nothing can be told.
            told = reference.abs() >= max(SMALLEST[cell.dtype], 2.0 ** -20)
            wrong_mask += int((told & ((our_part != 0) != mask)).sum())
            errors["ours"][name].add(our_part, torch.where(mask, reference, 0.0))
            for arm in outputs:
                if arm != "ours":
                    errors[arm][name].add_own(outputs[arm][position][first:last], reference)
    result = {who: {name: error.result() for name, error in by_name.items()} for who, by_name in errors.items()}
    if drops:
        result["keep_rate"] = kept / math.prod(cell.dims)
        result["wrong_mask"] = wrong_mask
    return result


def plant_extremes(cell, inputs):
    """Puts extreme values into the first rows (elements, of flat ops) of the tensors, in place; returns how many."""
    count = 0
    for name, tensor in inputs.items():
        if name in ("weight", "bias"):
            continue
        rows = tensor if tensor.dim() == 2 else tensor[:4096 * (tensor.numel() // 4096)].view(-1, 4096)
        large = 0.5 * LARGEST[cell.dtype] if cell.op == "softmax" else 1e4
        denormal = SMALLEST[cell.dtype]
        planted = 0

        def plant(fill):
            nonlocal planted
            if planted < rows.shape[0]:
                fill(rows[planted])
                planted += 1

        plant(lambda row: row.fill_(1.5))  # all equal
        plant(lambda row: row.fill_(0.0))
        plant(lambda row: row.mul_(denormal * 8))
        plant(lambda row: row.copy_(torch.where(row > 0, large, -large)))
        if cell.op == "softmax":
            plant(lambda row: row[1:].fill_(-math.inf))
            plant(lambda row: row[:-1].fill_(-math.inf))
            plant(lambda row: row[::2].fill_(-math.inf))
        count = max(count, planted if tensor.dim() == 2 else planted * 4096)
    return count


def compare_extremes(cell, inputs, ours, theirs, count):
    """How many elements of the planted rows are wrong in ours that eager has right: more than 4 ulp and four times
    eager's own error from the truth, NaN and infinity included. Dropout draws other masks in torch, so that eager is
    held to what it would have kept."""
    drops = cell.op in ("dropout", "bias_act_dropout")
    parts = _sliced(cell, inputs, 0, count)
    if drops:
        theirs = torch_ops.outputs_of(torch_ops.eager(cell, drops=False)(*parts))
    worse = 0
    for position, reference in enumerate(torch_ops.exact(cell, parts)):
        our_part, their_part = ours[position][:count].double(), theirs[position][:count].double()
        scale = torch.where(reference.isfinite(), reference, 0.0).abs()
        level = torch.maximum(scale, scale.mean(-1, keepdim=True) if reference.dim() == 2 else scale)
        room = 4 * ulp(level, cell.dtype)
        rounded = reference.to(torch_ops.DTYPES[cell.dtype]).double()

        def misses(part):
            same = (part == rounded) | (part.isnan() & reference.isnan())
            return torch.where(same, 0.0, (part - reference).abs().nan_to_num(math.inf, math.inf, math.inf))

        wrong = misses(our_part) > room + 4 * misses(their_part)
        if drops:
            mask = torch_ops.expected_mask(cell, 0, our_part.shape)
            wrong = torch.where(mask, wrong, our_part != 0)
        worse += int(wrong.sum())
    return {"elements": int(sum(part[:count].numel() for part in ours)), "worse_than_eager": worse}
