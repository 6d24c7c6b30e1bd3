# SPDX-License-Identifier: Apache-2.0
"""A cell from its inputs to its result: all arms made and timed alternately, outputs compared with float64."""
import gc
import os
import sys
import time

import torch

from . import accuracy, arms, library, probe, registry, statistics, timing, torch_ops


def say(text):
    print(text, file=sys.stderr, flush=True)


class Measurer:
    """For one GPU; `launcher` is open over all its cells."""

    round_ms = 1.0  # unless the options say another

    def __init__(self, options, warm, launcher):
        self.options, self.warm, self.launcher = options, warm, launcher
        self.stream = torch.cuda.Stream()
        self.l2_bytes = torch.cuda.get_device_properties(0).L2_cache_size
        self.tuned = {}
        self.copy = None

    def tuned_copies(self, cell):
        key = cell.dtype, cell.reads
        if key not in self.tuned:
            cache = self.options.cache or library.default_cache()
            self.tuned[key] = library.tuned_copies(cache, *key)
        return self.tuned[key]

    def run(self, cell):
        began = time.monotonic()
        arms.configure(cell)
        generator = torch.Generator(device="cuda")
        generator.manual_seed(cell.seed)
        count = timing.sets_for(cell, self.l2_bytes)
        sets = arms.Sets(cell, count, generator)
        result = {"cell": cell.name, "op": cell.op, "attributes": dict(cell.attributes), "dtype": cell.dtype,
                  **cell.facts(),
                  "sets": count, "expected": registry.expected(cell, self.options.peers), "arms": {}, "skipped": {}}
        launches = self._launches(cell, sets, result)
        self._check(cell, sets, launches, result)
        self._time(launches, count, result)
        self._extremes(cell, sets, launches, result)
        result["seconds"] = round(time.monotonic() - began, 3)
        return result

    def _launches(self, cell, sets, result):
        """Launches by arm. Of the others one that fails is left out, with the reason; ours must be there."""
        launches = {}
        launches["tilewright"], result["served"] = arms.ours(self.launcher, cell, sets)
        launches["tilewright"](0)
        torch.cuda.synchronize()
        for name in result["expected"]:
            self._add(launches, result, name, lambda name=name: self._peer(name, cell, sets, result))
        self._add_ceiling(launches, cell, sets, result)
        return launches

    def _add(self, launches, result, name, make):
        """An arm, unless it fails."""
        try:
            launch = make()
            launch(0)
            torch.cuda.synchronize()
            launches[name] = launch
        except Exception as error:
            result["skipped"][name] = f"{type(error).__name__}: {error}"[:500]
            torch.cuda.synchronize()

    def _peer(self, name, cell, sets, result):
        if name == "compile":
            if not self.warm.compiled_is_ready(cell):
                raise TimeoutError("its first compile did not end in time")
            return arms.compiled(cell, sets)
        return self._triton(cell, sets, result) if name == "triton" else arms.MAKERS[name](cell, sets)

    def _add_ceiling(self, launches, cell, sets, result):
        def ceiling():
            self.copy = arms.Ceiling(self.launcher, cell, len(sets), self.tuned_copies(cell))
            result["ceiling"] = {"tuned": self.copy.tuned, "scale": self.copy.scale, "served": self.copy.served}
            return self.copy.launches["ceiling"]
        self._add(launches, result, "ceiling", ceiling)
        if "ceiling" in launches and "torch_copy" in self.copy.launches:
            self._add(launches, result, "torch_copy", lambda: self.copy.launches["torch_copy"])

    def _fastest(self, launches, sets):
        return timing.fastest(launches, sets, self.stream)

    def _alternate(self, graphs, _result):
        return timing.alternate(graphs, self.options.rounds, self.stream)

    def _triton(self, cell, sets, result):
        candidates = arms.triton_launches(cell, sets, lambda candidate: self.warm.is_ready(cell, candidate))
        if not candidates:
            raise RuntimeError("no candidate was compiled in time")
        best = self._fastest(candidates, len(sets))
        if best is None:
            raise RuntimeError("no candidate runs")
        result["triton_arm"] = {"config": best, "candidates": len(candidates)}
        return candidates[best]

    def _time(self, launches, sets, result):
        graphs = {}
        try:
            for name, launch in list(launches.items()):
                try:
                    graphs[name] = timing.prepare(launch, sets, self.stream, self.options.round_ms or self.round_ms)
                except Exception as error:
                    if name == "tilewright":
                        raise
                    result["skipped"][name] = f"in a graph: {type(error).__name__}: {error}"[:500]
            rounds = self._alternate(graphs, result)
        finally:
            counts = {name: graph.count for name, graph in graphs.items()}
            for graph in graphs.values():
                graph.free()
        for name in ("ceiling", "torch_copy", "copy"):  # all are of as many bytes
            if name in rounds:
                rounds[name] = [value * self.copy.scale for value in rounds[name]]
        for name, values in rounds.items():
            result["arms"][name] = {**statistics.beside(values, rounds["tilewright"]), "launches": counts[name]}

    def _outputs(self, launch, sets):
        """What an arm gives for the first set, whether it returns it or writes it where ours does."""
        for output in sets.outputs[0].values():
            output.view(torch.uint8).fill_(0xFF)  # NaN: what is not written shows
        returned = launch(0)
        torch.cuda.synchronize()
        if returned is not None:
            return list(torch_ops.outputs_of(returned))
        return [output.clone() for output in sets.outputs[0].values()]

    def _outputs_by_arm(self, launches, result, sets):
        names = {"tilewright": "ours", **{name: name for name in result["expected"]}}
        return {names[arm]: self._outputs(launch, sets) for arm, launch in launches.items() if arm in names}

    def _check(self, cell, sets, launches, result):
        outputs = self._outputs_by_arm(launches, result, sets)
        outputs.setdefault("eager", torch_ops.outputs_of(torch_ops.eager(cell)(*sets.tensors(0))))
        torch.cuda.synchronize()
        result["accuracy"] = accuracy.compare(cell, sets.inputs[0], outputs)

    def _extremes(self, cell, sets, launches, result):
        last = len(sets) - 1
        count = accuracy.plant_extremes(cell, sets.inputs[last])
        launches["tilewright"](last)
        ours = list(sets.outputs[last].values())
        theirs = torch_ops.outputs_of(torch_ops.eager(cell)(*sets.tensors(last)))
        torch.cuda.synchronize()
        result["extremes"] = accuracy.compare_extremes(cell, sets.inputs[last], ours, theirs, count)

    def release(self):
        """Between cells."""
        self.copy = None
        gc.collect()
        torch._dynamo.reset()
        torch.cuda.empty_cache()


def describe_gpu():
    """The facts of a result that are the machine's."""
    properties = torch.cuda.get_device_properties(0)
    import triton
    return {"gpu": properties.name, "gpu_uuid": f"GPU-{properties.uuid}", "sm_count": properties.multi_processor_count,
            "driver": probe.driver_version(), "cores": os.cpu_count(),
            "torch": torch.__version__, "cuda": torch.version.cuda, "triton": triton.__version__}
