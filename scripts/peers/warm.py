# SPDX-License-Identifier: Apache-2.0
"""Slow first compiles of torch.compile and Triton, by several processes before anything is timed. What they compile
stays in the disk caches of both, which the measuring process shares; a stamp a compile says what is there. What did not
end in time is not compared, and the cell says so."""
import hashlib
import os
import pathlib
import subprocess
import sys
import time

from . import probe, registry
from .fused_cells import DIMS as FUSED
from .statistics import median


def share_disk_caches(folder):
    """Before torch is imported."""
    folder = pathlib.Path(folder).resolve()
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(folder / "inductor"))
    os.environ.setdefault("TRITON_CACHE_DIR", str(folder / "triton"))
    # One process a core already; and the same in all of them, since it may be part of the caches' keys.
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
    os.environ.setdefault("QUACK_CACHE_DIR", str(folder / "quack"))
    # Its kernels are kept; which config is fastest is found out by the measuring process.
    os.environ.setdefault("QUACK_FORCE_CACHE_UPDATE", "1")


def configure_torch():
    """After torch is imported, the same wherever something is compiled."""
    import torch._inductor.config as inductor
    # Not by its environment variable, which nothing overrides: products have it off.
    inductor.fx_graph_cache = True
    # Which config of a kernel is fastest is not kept: many processes on one GPU cannot tell. The measuring process
    # finds out by itself, alone.
    if hasattr(inductor, "autotune_local_cache"):
        inductor.autotune_local_cache = False


class Warm:
    """The stamps in a folder. Without a folder everything counts as ready, and is compiled when it is needed."""

    def __init__(self, folder=None):
        self.folder = pathlib.Path(folder) if folder else None

    def _stamp(self, cell, what):
        digest = hashlib.sha256(f"{cell.name} {what}".encode()).hexdigest()[:24]
        return self.folder / digest

    def mark(self, cell, what):
        self._stamp(cell, what).touch()

    def has(self, cell, what):
        return self.folder is None or self._stamp(cell, what).exists()

    def compiled_is_ready(self, cell):
        return self.has(cell, "torch.compile")

    def is_ready(self, cell, candidate):
        return self.has(cell, candidate.name)


def order(cells, peers, candidates_of):
    """(cell, Triton's candidates, other peers), one after the other. First what is no arm where it is not compiled
    by the end; then what the measuring process would compile by itself; last the candidates that take long."""
    expected = {cell: registry.expected(cell, peers) for cell in cells}
    candidates = {cell: candidates_of(cell) if "triton" in expected[cell] else [] for cell in cells}
    # QuACK's products are searched for, by a pool of processes of its own.
    rows = [cell for cell in cells if cell.op != "gemm" and cell.op not in FUSED]
    steps = [(cell, [each for each in candidates[cell] if not each.is_dear],
              [name for name in expected[cell] if name == "compile"]) for cell in cells]
    steps += [(cell, [], [name for name in expected[cell] if name in ("liger", "quack")]) for cell in rows]
    steps += [(cell, [each for each in candidates[cell] if each.is_dear], []) for cell in cells]
    return [step for step in steps if step[1] or step[2]]


def work(cells, warm, peers):
    """In a worker: compiles what its cells need for these peers, and marks what is done."""
    import torch

    from . import arms, triton_peer
    configure_torch()
    generator = torch.Generator(device="cuda")

    def attempt(cell, what, compile_it, mark_failure):
        if warm.has(cell, what):
            return
        try:
            compile_it()
        except Exception as error:
            print(f"{cell.name}: {what}: {error}", file=sys.stderr, flush=True)
            if not mark_failure:
                return
        warm.mark(cell, what)

    def compile_all(cell, candidates, named):
        arms.configure(cell)
        sets = arms.Sets(cell, 1, generator)
        for candidate in candidates:
            attempt(cell, candidate.name, lambda: candidate.compile(sets.inputs[0], sets.outputs[0]), False)
        if "compile" in named:
            # One that fails will fail when it is measured, too, and say why in the result.
            attempt(cell, "torch.compile", lambda: arms.compiled(cell, sets), True)
        for name in named:
            if name != "compile":
                attempt(cell, name, lambda name=name: arms.MAKERS[name](cell, sets)(0), False)

    for cell, candidates, named in order(cells, peers, triton_peer.candidates):
        compile_all(cell, candidates, named)
        torch.cuda.empty_cache()


def run(command, workers, seconds, log_folder, gpus=1):
    """Starts `workers` processes of `command` with `--warm-worker I/N` and waits for them, so long at most. Returns how
    many ended by themselves, and how long half of them took."""
    log_folder.mkdir(parents=True, exist_ok=True)
    processes, ended, seen = [], [], probe.gpus_of(gpus)
    began = time.monotonic()
    for i in range(workers):
        log = open(log_folder / f"worker-{i}.log", "w", encoding="utf-8")
        environment = dict(os.environ, CUDA_VISIBLE_DEVICES=seen[i % len(seen)]) if gpus > 1 else None
        processes.append(subprocess.Popen([*command, "--warm-worker", f"{i}/{workers}"], stdout=log, stderr=log,
                                          env=environment))
        log.close()
    waiting = list(processes)
    while waiting and time.monotonic() - began < seconds:
        time.sleep(0.2)
        for process in [each for each in waiting if each.poll() is not None]:
            ended.append(time.monotonic() - began)
            waiting.remove(process)
    for process in waiting:
        process.kill()
        process.wait()
    return len(ended), median(ended) if ended else seconds
