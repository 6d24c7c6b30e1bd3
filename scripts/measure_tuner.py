#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the tuner itself: its speed, its repeatability and how it uses a GPU, by one command each.

    scripts/measure_tuner.py repeat     two cold sweeps of 30 problems; their winners timed again, side by side
    scripts/measure_tuner.py rate       configs a second with all binaries there, and how busy the GPU is meanwhile
    scripts/measure_tuner.py devices    all GPUs of the host against one, cold and with binaries there
    scripts/measure_tuner.py grid       20 shapes of softmax, cold
    scripts/measure_tuner.py all --out tuner.json

Each runs `tilewright`, prints a table at its end, and with --out writes all figures as JSON. Caches are new, in a
folder that is gone afterwards, unless --keep names one. --sweep says what is swept in place of the built-in problems:
the words behind `tilewright sweep`, as often as needed. The exit code is 0 where everything ran, whatever the figures
are; what is asked of them stands beside them. It needs Python alone, and a GPU, or --device cpu with something small.
"""
import argparse
import contextlib
import json
import os
import pathlib
import shlex
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from peers import probe

HERE = pathlib.Path(__file__).resolve().parent
SOFTMAX = "softmax --dtype bf16 --shapes 'rows={rows} cols={cols}'"
PROBLEMS = {
    "repeat": [SOFTMAX.format(rows="256,4096,32768", cols="256,1024,4096,16384"),
               "rmsnorm --dtype bf16 --shapes 'rows=512,8192 cols=768,2048,4096,8192,32768'",
               "gemm --dtype bf16 --shapes 'm=1,64,1024,4096 n=4096 k=4096,16384'"],
    "devices": [SOFTMAX.format(rows="256,1024,2048,4096,8192,32768", cols="256,512,1024,2048,4096,8192")],
    "grid": [SOFTMAX.format(rows="256,4096,8192,32768", cols="256,1024,4096,8192,16384")],
}
PROBLEMS["rate"] = PROBLEMS["grid"]
# What is asked of the figures.
WITHIN = 0.01
GRID_SECONDS = 60
RATE = 20
BUSY = 0.7
LINEAR = 0.85


class Failed(Exception):
    """A command did not do what it was asked for; the text says which, and what it said."""


class Program:
    """The `tilewright` that is measured, and how it is called."""

    def __init__(self, options):
        self.path, self.options = options.program, options

    def run(self, *words):
        command = [self.path, *words]
        print(f"measure_tuner: {shlex.join(map(str, command))}", file=sys.stderr, flush=True)
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            said = (done.stderr.strip() or done.stdout.strip())[-2000:]
            raise Failed(f"`{shlex.join(command)}` ended with {done.returncode}:\n{said}")
        return done.stdout

    def ops(self):
        return [word for folder in self.options.ops for word in ("--ops", folder)]

    def sweep(self, text, cache, *more):
        """One sweep; the summary and the winners of its JSON."""
        where = [] if any(word.startswith("--device") for word in more) else self.device()
        words = [*shlex.split(text), "--cache", str(cache), "--no-ceilings", "--quiet", "--format", "json", *self.ops(),
                 *where, *more]
        if self.options.strategy:
            words += ["--strategy", self.options.strategy]
        if self.options.budget_ms:
            words += ["--budget-ms", str(self.options.budget_ms)]
        found = json.loads(self.run("sweep", *words))
        return found["summary"], found["rows"]

    def sweeps(self, texts, cache, *more):
        """All of them, one after the other; the sums of their figures, and all winners with their op."""
        total, winners = {}, []
        for text in texts:
            summary, rows = self.sweep(text, cache, *more)
            for name, value in summary.items():
                if isinstance(value, (int, float)):
                    total[name] = total.get(name, 0) + value
            winners += [(shlex.split(text)[0], row) for row in rows]
        return total, winners

    def device(self):
        return ["--device", self.options.device] if self.options.device else []


class Utilisation:
    """The time with a kernel on the GPU, by NVML's share of it every 50 ms; where there is no NVML, None."""

    EVERY = 0.05

    def __init__(self, index):
        self.samples, self.index, self.end = [], index, threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)

    def watch(self):
        try:
            nvml = probe.Nvml(probe.visible_uuids()[self.index])
        except (OSError, AttributeError, IndexError):
            return
        due = time.monotonic()
        while not self.end.wait(max(0.0, due - time.monotonic())):
            due += self.EVERY
            busy = nvml.utilisation()
            if busy is not None:
                self.samples.append(busy)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.end.set()
        self.thread.join()

    def seconds(self):
        """How long a kernel ran."""
        return sum(self.samples) * self.EVERY if self.samples else None


def problem_words(op, row):
    """Names and values by which `tilewright` knows a problem of the sweep's JSON."""
    key = row["shape_key"]
    spec, dims = key.split("{", 1)
    attributes = spec[spec.index("[") + 1:-1] if "[" in spec else ""
    # Dense tensors are no attribute that can be asked for.
    named = [word for word in attributes.split(",") if word and not word.startswith("pitch=")]
    return [op, *named, *dims.rstrip("}").split(",")]


def side_by_side(program, cache, words, against, repetitions):
    """The median of what `against` takes over what the cache's winner takes, in a drawn order, by Google Benchmark."""
    report = json.loads(program.run(
        "bench", *words, "--against", against, "--cache", str(cache), "--benchmark_format=json",
        "--benchmark_filter=/(winner|against)/",
        f"--benchmark_repetitions={repetitions}", "--benchmark_enable_random_interleaving=true",
        "--benchmark_min_time=0.05", *program.ops(),
        *program.device()))
    times = {"winner": [], "against": []}
    for run in report["benchmarks"]:
        role = run["run_name"].split("/")
        found = [name for name in times if name in role]
        if run["run_type"] == "iteration" and found and not run.get("error_occurred"):
            times[found[0]].append(run["real_time"])
    if not all(times.values()):
        raise Failed(f"`tilewright bench` has not timed both configs of {' '.join(words)}")
    return statistics.median(times["against"]) / statistics.median(times["winner"])


def repeat(program, folder, options):
    sums, winners = [], []
    for name in ("first", "second"):
        total, rows = program.sweeps(options.sweep or PROBLEMS["repeat"], folder / f"{name}.db")
        sums.append(total)
        winners.append({row["shape_key"]: (op, row) for op, row in rows})
    problems = []
    for key in sorted(set(winners[0]) & set(winners[1])):
        (op, first), (_, second) = winners[0][key], winners[1][key]
        same = first["winner"] == second["winner"]
        ratio = 1.0 if same else side_by_side(program, folder / "first.db", problem_words(op, first), second["winner"],
                                              options.repetitions)
        problems.append({"problem": key, "first": first["winner"], "second": second["winner"], "same": same,
                         "second_over_first": ratio})
    near = sum(abs(each["second_over_first"] - 1) < WITHIN for each in problems)
    table = [("problems", len(problems), ""), ("the same winner", sum(each["same"] for each in problems), ""),
             ("within 1 %", near, "asked: all but one of 30")]
    table += [(each["problem"], f"{each['second_over_first']:.4f}", "second over first")
              for each in problems if not each["same"]]
    return {"problems": problems, "sweeps": sums}, table


def rate(program, folder, options):
    texts = options.sweep or PROBLEMS["rate"]
    cache = folder / "rate.db"
    cold, _ = program.sweeps(texts, cache)
    index = int(options.device.split(":")[1]) if options.device.startswith("cuda:") else 0
    # No kernel runs outside of the sweeps, so all of the time with one is theirs.
    with Utilisation(index) as watched:
        warm, _ = program.sweeps(texts, cache, "--again")
    seconds = warm["wall_ms"] / 1e3
    figures = {"cold": cold, "warm": warm, "per_second": warm["measured"] / seconds,
               "at_work": warm["measure_ms"] / warm["wall_ms"],
               "busy": watched.seconds() / seconds if options.device != "cpu" and watched.samples else None}
    busy = "-" if figures["busy"] is None else f"{figures['busy']:.0%}"
    return figures, [("configs measured", warm["measured"],
                      f"in {seconds:.1f} s, {warm['compiled']} binaries compiled"),
                     ("configs a second", f"{figures['per_second']:.1f}", f"asked: {RATE}"),
                     ("GPU busy", busy, f"of the sweep, asked: {BUSY:.0%}; by NVML"),
                     ("device at work", f"{figures['at_work']:.0%}", "of the sweep, by its own count")]


def devices(program, folder, options):
    texts = options.sweep or PROBLEMS["devices"]
    one = options.device or "cuda:0"
    many = options.devices or ("cpu,cpu" if one == "cpu" else "all")
    made = {}
    for name, where in (("one", ["--device", one]), ("many", ["--devices", many])):
        cache = folder / f"{name}.db"
        made[name] = {"cold": program.sweeps(texts, cache, *where)[0],
                      "warm": program.sweeps(texts, cache, "--again", *where)[0]}
    count = options.count or (many.count(",") + 1 if "," in many else count_gpus())
    table, shares = [], {}
    for kind in ("cold", "warm"):
        alone, together = (made[name][kind]["wall_ms"] for name in ("one", "many"))
        shares[kind] = alone / together / count
        table.append((f"{kind}, {count} devices", f"{shares[kind]:.2f}",
                      f"of linear, asked: {LINEAR}; {alone / 1e3:.1f} s with {one}, "
                      f"{together / 1e3:.1f} s with {many}"))
    return {"devices": count, "of_linear": shares, **made}, table


def count_gpus():
    try:
        return len(probe.visible_uuids())
    except OSError as error:
        raise Failed(f"the GPUs cannot be counted ({error}): name how many take part by --count") from None


def grid(program, folder, options):
    total, winners = program.sweeps(options.sweep or PROBLEMS["grid"], folder / "grid.db")
    seconds = total["wall_ms"] / 1e3
    return {"sweep": total, "seconds": seconds, "problems": len(winners)}, [
        ("problems with a winner", len(winners), f"{total['measured']} configs, {total['compiled']} binaries compiled"),
        ("seconds", f"{seconds:.1f}", f"asked: {GRID_SECONDS}")]


EXPERIMENTS = {"repeat": repeat, "rate": rate, "devices": devices, "grid": grid}


def parse(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experiment", choices=[*EXPERIMENTS, "all"])
    parser.add_argument("--program", default=str(HERE.parent / "bin/tilewright"),
                        help="default: that of the bundle with this script")
    parser.add_argument("--device", default="", help="auto (default), cuda:N, or cpu")
    parser.add_argument("--devices", help="of the experiment devices: as of `tilewright sweep` (default: all)")
    parser.add_argument("--count", type=int, help="how many devices those are; default: as CUDA counts")
    parser.add_argument("--sweep", action="append", help="what is swept: 'softmax --dtype bf16 rows=256,512 cols=1024'")
    parser.add_argument("--strategy", help="as of `tilewright sweep`")
    parser.add_argument("--budget-ms", type=int, help="as of `tilewright sweep`")
    parser.add_argument("--repetitions", type=int, default=9, help="of each config that is timed again (default: 9)")
    parser.add_argument("--ops", action="append", default=[], help="a folder of your own ops")
    parser.add_argument("--keep", help="leave the caches in this folder, which must have none yet")
    parser.add_argument("--out", help="write all figures as JSON")
    options = parser.parse_args(words)
    if not os.access(options.program, os.X_OK):
        parser.error(f"there is no program {options.program}; name it by --program")
    if options.keep and any(pathlib.Path(options.keep).glob("*.db")):
        parser.error(f"{options.keep} has caches already: a sweep would not be cold")
    return options


def main(words):
    options = parse(words)
    program = Program(options)
    results = {"version": program.run("--version").strip(), "program": options.program, "words": list(words)}
    lines = []
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(options.keep or stack.enter_context(tempfile.TemporaryDirectory(prefix="measure-tuner-")))
        folder.mkdir(parents=True, exist_ok=True)
        for name in EXPERIMENTS if options.experiment == "all" else [options.experiment]:
            print(f"measure_tuner: {name}", file=sys.stderr, flush=True)
            try:
                results[name], table = EXPERIMENTS[name](program, folder, options)
            except Failed as error:
                print(f"measure_tuner: {error}", file=sys.stderr)
                return 1
            lines += [(name, *map(str, row)) for row in table]
    if options.out:
        pathlib.Path(options.out).write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    widths = [max(len(line[i]) for line in lines) for i in range(3)]
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths)) + "  " + line[3])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
