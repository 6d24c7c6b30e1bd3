#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compare_served.py BEFORE AFTER [--problems N] [--seed N]: whether two programs, or one program with two caches, serve
the same: config, match and origin as `tilewright query` tells them, for N problems of the first cache, half of them
tuned and half drawn between the tuned ones. BEFORE and AFTER are PROGRAM:CACHE. Prints what differs and how the
problems were served; exits with 1 where anything differs or is not answered. That a problem is outside its op's domain
is an answer."""
import argparse
import collections
import concurrent.futures
import json
import math
import os
import pathlib
import random
import sqlite3
import subprocess
import sys

SERVED = ("winner", "match_fit", "match_freshness", "match_device", "measured_shape_key")
ERROR = "error"
KERNELS = pathlib.Path(__file__).resolve().parent.parent / "kernels"


def tuned_problems(cache):
    """The texts of specs, each with the dims of its problems."""
    with sqlite3.connect(f"file:{cache}?mode=ro&immutable=1", uri=True) as connection:
        rows = connection.execute("SELECT s.text, p.dims FROM problems p JOIN specs s ON s.id = p.spec ORDER BY 1, 2")
        problems = collections.defaultdict(list)
        for spec, dims in rows:
            pairs = (pair.split("=") for pair in dims.replace(",", " ").split())
            problems[spec].append({name: int(value) for name, value in pairs})
    return problems


def key_of(spec, dims):
    return spec + "{" + ",".join(f"{name}={value}" for name, value in dims.items()) + "}"


def drawn(shapes, bits):
    """A shape within the bounds of some; three of five dims are multiples of 8, as those of networks are."""
    dims = {}
    for name in shapes[0]:
        lengths = [shape[name] for shape in shapes]
        length = round(2 ** bits.uniform(math.log2(min(lengths)), math.log2(max(lengths))))
        dims[name] = max(1, length // 8 * 8) if bits.random() < 0.6 else length
    return dims


def problems_of(cache, count, seed):
    bits = random.Random(seed)
    tuned = tuned_problems(cache)
    keys = [key_of(spec, dims) for spec, shapes in tuned.items() for dims in shapes]
    chosen = bits.sample(keys, min(len(keys), count // 2))
    specs = sorted(tuned)
    while len(chosen) < count:
        spec = bits.choice(specs)
        chosen.append(key_of(spec, drawn(tuned[spec], bits)))
    return chosen


def answer(side, key):
    program, cache = side.rsplit(":", 1)
    environment = {"TILEWRIGHT_KERNELS_DIR": str(KERNELS)} | os.environ
    command = [program, "query", key, "--cache", cache, "--format", "json"]
    run = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    try:
        row = json.loads(run.stdout)["rows"][0]
    except (ValueError, KeyError, IndexError):
        outside = " is outside the domain of " in run.stderr
        row = {"match_fit": "outside the domain"} if outside else {ERROR: run.stderr.strip()}
    return {name: row.get(name) for name in (*SERVED, ERROR)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--problems", type=int, default=500)
    parser.add_argument("--seed", type=int, default=7)
    asked = parser.parse_args()
    keys = problems_of(asked.before.rsplit(":", 1)[1], asked.problems, asked.seed)
    fits, differing, failed = collections.Counter(), 0, 0
    with concurrent.futures.ThreadPoolExecutor() as pool:
        answers = pool.map(lambda key: (key, answer(asked.before, key), answer(asked.after, key)), keys)
        for key, before, after in answers:
            errors = [side[ERROR] for side in (before, after) if side[ERROR] is not None]
            fits["no answer" if errors else before["match_fit"]] += 1
            failed += bool(errors)
            for error in dict.fromkeys(errors):
                print(f"{key}: {error}")
            if before == after or errors:
                continue
            differing += 1
            print(key)
            for name in SERVED:
                if before[name] != after[name]:
                    print(f"  {name}: {before[name]} -> {after[name]}")
    print(f"{len(keys)} problems, {differing} served otherwise; " + ", ".join(f"{n} {fit}" for fit, n in fits.items()))
    return 1 if differing or failed else 0


if __name__ == "__main__":
    sys.exit(main())
