# SPDX-License-Identifier: Apache-2.0
"""A cell of gemm from its inputs to its result: as of other ops, but in one of two regimes, gemm without a ceiling."""
import torch

from . import gemm_accuracy, gemm_torch, measure, probe, regimes


class GemmMeasurer(measure.Measurer):
    round_ms = 2.0

    def __init__(self, options, warm, launcher):
        super().__init__(options, warm, launcher)
        self.nvml = probe.open_nvml(measure.describe_gpu()["gpu_uuid"])

    def _launches(self, cell, sets, result):
        result["regime"] = self.options.regime
        return super()._launches(cell, sets, result)

    def _add_ceiling(self, launches, cell, sets, result):
        """What bounds a product is no copy."""

    def _fastest(self, launches, sets):
        """Candidates are told apart in bursts, whichever the regime: as our own configs were."""
        return measure.timing.fastest(launches, sets, self.stream, regimes.burst)

    def _alternate(self, graphs, result):
        readings = probe.Probe(self.nvml)
        rounds = regimes.BY_NAME[self.options.regime](graphs, self.options.rounds, self.stream, readings)
        result["device"] = readings.result()
        return rounds

    def _check(self, cell, sets, launches, result):
        outputs = {name: c for name, (c,) in self._outputs_by_arm(launches, result, sets).items()}
        outputs.setdefault("eager", gemm_torch.eager(cell)(*sets.tensors(0)))
        torch.cuda.synchronize()
        result["accuracy"] = gemm_accuracy.compare(cell, sets.inputs[0], outputs)

    def _extremes(self, cell, sets, launches, result):
        """NaN and infinity are what the tests of the op are for."""
