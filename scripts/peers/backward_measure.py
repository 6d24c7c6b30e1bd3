# SPDX-License-Identifier: Apache-2.0
"""A cell of the way back: as of other row ops, but outputs that are sums over all rows are compared whole, and an arm
may leave an output out."""
import torch

from . import backward, measure
from .accuracy import Errors

TYPES = {torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16"}


class BackwardMeasurer(measure.Measurer):
    def _outputs(self, launch, sets):
        if isinstance(launch, backward.Overwriting):
            launch.renew(0)
        return super()._outputs(launch, sets)

    def _check(self, cell, sets, launches, result):
        outputs = self._outputs_by_arm(launches, result, sets)
        if "eager" not in outputs:
            outputs["eager"] = list(measure.torch_ops.outputs_of(backward.eager(cell, sets)(0)))
        torch.cuda.synchronize()
        names = [argument.name for argument in cell.arguments() if argument.role == "out"]
        errors = {}
        for first, last, references in backward.exact(cell, sets.inputs[0]):
            for arm, results in outputs.items():
                for name, output in zip(names, results):
                    if output is None or name not in references:
                        continue
                    part = output if first is None else output[first:last]
                    errors.setdefault(arm, {}).setdefault(name, Errors(TYPES[output.dtype])).add(part, references[name])
        result["accuracy"] = {arm: {name: error.result() for name, error in by_name.items()}
                              for arm, by_name in errors.items()}

    def _extremes(self, cell, sets, launches, result):
        """NaN and infinity are what the tests of the ops are for."""
