# SPDX-License-Identifier: Apache-2.0
"""A cell of attention, or of attention_bwd, from its inputs to its result: in one of two regimes, as gemm, and each
arm's outputs compared with float64."""
import torch

from . import attention_bwd_torch, attention_torch, gemm_measure, statistics, torch_ops
from .accuracy import Errors
from .attention_bwd_cells import sampled_heads
from .attention_cells import sampled_tokens
from .verdicts import SAME


class AttentionMeasurer(gemm_measure.GemmMeasurer):
    same = SAME

    def _compare(self, cell, inputs, outputs):
        return compare(cell, inputs, outputs)

    def _check(self, cell, sets, launches, result):
        """An arm that computes something else is no arm."""
        errors = self._compare(cell, sets.inputs[0], self._outputs_by_arm(launches, result, sets))
        for name, by_output in list(errors.items()):
            others = {output: error for output, error in by_output.items()
                      if error["wrong"] or not error["rms"] < self.same}
            if name != "ours" and others:
                result["skipped"][name] = f"its output is another one: {others}"[:500]
                del errors[name], launches[name]
        if self.options.draws > 1:
            errors = statistics.over_draws([errors, *(self._errors_of_draw(cell, sets, launches, result, draw)
                                                      for draw in range(1, self.options.draws))])
        result["accuracy"] = errors

    def _errors_of_draw(self, cell, sets, launches, result, draw):
        """The first set's inputs are others from here on."""
        generator = torch.Generator(device="cuda")
        generator.manual_seed(cell.seed + draw)
        for name, tensor in torch_ops.make_inputs(cell, generator).items():
            sets.inputs[0][name].copy_(tensor)
        return self._compare(cell, sets.inputs[0], self._outputs_by_arm(launches, result, sets))


class AttentionBwdMeasurer(AttentionMeasurer):
    same = 0.03  # Weights and their gradients are rounded to the type before they are summed.

    def _launches(self, cell, sets, result):
        for inputs in sets.inputs:
            attention_bwd_torch.fill(cell, inputs)
        return super()._launches(cell, sets, result)

    def _compare(self, cell, inputs, outputs):
        return compare_gradients(cell, inputs, outputs)


def _results(errors):
    return {who: {output: error.result() for output, error in by_output.items()} for who, by_output in errors.items()}


def compare(cell, inputs, outputs):
    """Errors by who made an output of these inputs, of some queries of every head."""
    tokens = torch.tensor(sampled_tokens(cell.s), device="cuda")
    errors = {who: {"o": Errors(cell.dtype)} for who in outputs}
    for batch in range(cell.b):
        for head in range(cell.hq):
            reference = attention_torch.exact(cell, inputs, tokens, batch, head)
            for who, (o,) in outputs.items():
                errors[who]["o"].add(o[batch, tokens, head], reference)
    return _results(errors)


def compare_gradients(cell, inputs, outputs):
    """As above, of all queries and keys of some heads."""
    names = ("dq", "dk", "dv")
    errors = {who: {name: Errors(cell.dtype) for name in names} for who in outputs}
    for batch, head in sampled_heads(cell):
        references = attention_bwd_torch.exact(cell, inputs, batch, head)
        for who, gradients in outputs.items():
            for name, gradient in zip(names, gradients):
                errors[who][name].add(gradient[batch, :, head], references[name])
    return _results(errors)
