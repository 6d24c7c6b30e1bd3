# SPDX-License-Identifier: Apache-2.0
"""A cell of attention from its inputs to its result: in one of two regimes, as gemm, and each arm's output compared
with float64."""
import torch

from . import attention_torch, gemm_measure
from .accuracy import Errors
from .attention_cells import sampled_tokens

# A result further off than this share of it, norm-wise, is another result.
SAME = 0.01


class AttentionMeasurer(gemm_measure.GemmMeasurer):
    def _check(self, cell, sets, launches, result):
        """An arm that computes something else is no arm."""
        outputs = {name: o for name, (o,) in self._outputs_by_arm(launches, result, sets).items()}
        errors = compare(cell, sets.inputs[0], outputs)
        for name in list(errors):
            error = errors[name]["o"]
            if name != "ours" and (error["wrong"] or not error["rms"] < SAME):
                result["skipped"][name] = f"its output is another one: {error}"[:500]
                del errors[name], launches[name]
        result["accuracy"] = errors


def compare(cell, inputs, outputs):
    """Errors by who made an output of these inputs, of some queries of every head."""
    tokens = torch.tensor(sampled_tokens(cell.s), device="cuda")
    errors = {who: Errors(cell.dtype) for who in outputs}
    for batch in range(cell.b):
        for head in range(cell.hq):
            reference = attention_torch.exact(cell, inputs, tokens, batch, head)
            for who, o in outputs.items():
                errors[who].add(o[batch, tokens, head], reference)
    return {who: {"o": error.result()} for who, error in errors.items()}
