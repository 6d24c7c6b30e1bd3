# SPDX-License-Identifier: Apache-2.0
"""A cell of an op that is a product and more: timed as gemm, and rows of each arm's outputs compared with float64."""
import itertools

import torch

from . import arms, fused_torch, gemm_measure, measure, timing
from .accuracy import Errors, Kept
from .gemm_cells import sampled_rows


class FusedMeasurer(gemm_measure.GemmMeasurer):
    def _peer(self, name, cell, sets, result):
        if name == "unfused":
            chain = fused_torch.Unfused(self.launcher, cell, sets)
            result["unfused"] = {"fits": chain.fits}
            return chain
        return super()._peer(name, cell, sets, result)

    def _add_ceiling(self, launches, cell, sets, result):
        """What an epilogue is held to is its product without it, and a norm's writing a copy of its matrix; few rows, a
        copy of as many bytes."""
        if cell.is_read:
            measure.Measurer._add_ceiling(self, launches, cell, sets, result)
        if cell.product:
            self._add(launches, result, "product", lambda: fused_torch.Product(self.launcher, cell, sets))
            result["product"] = launches["product"].served if "product" in launches else {}
        if cell.written:
            self._add(launches, result, "copy", lambda: self._copy(cell.written, result))

    def _copy(self, written, result):
        """Over so many matrices that each is out of L2 when its turn comes again: the cell's sets may be too few."""
        count = timing.sets_for(written, self.l2_bytes)
        self.copy = arms.Ceiling(self.launcher, written, count, self.tuned_copies(written))
        result["copy"] = {"tuned": self.copy.tuned, "scale": self.copy.scale, "served": self.copy.served}
        turns = itertools.cycle(range(count))
        return lambda _: self.copy.launches["ceiling"](next(turns))

    def _check(self, cell, sets, launches, result):
        """What others drop is not what we drop: they are held to their own."""
        outputs = self._outputs_by_arm(launches, result, sets)
        rows = torch.tensor(sampled_rows(cell.dims[0]), device="cuda")
        references = fused_torch.exact(cell, sets.inputs[0], rows)
        names = [argument.name for argument in cell.arguments() if argument.role == "out"]
        result["accuracy"] = {}
        for arm, tensors in outputs.items():
            if cell.op == "gemm_dropout" and arm != "ours":
                errors = {"c": Kept(cell.dtype)}
                errors["c"].add_own(tensors[0][rows], *fused_torch.undropped(cell, sets.inputs[0], rows))
            else:
                errors = {name: Errors(cell.dtype) for name in names}
                for name, tensor in zip(names, tensors):
                    errors[name].add(tensor[rows], references[name])
            result["accuracy"][arm] = {name: error.result() for name, error in errors.items()}
