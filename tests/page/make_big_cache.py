#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a big cache: `make_big_cache.py SMALL BIG [WINNERS TRIALS]`.

SMALL is a cache of this schema with softmax winners of a GPU (an import of tests/page/assets/h200_winners.db.zst). BIG
is its copy with WINNERS (10000) problems of softmax in bf16 over a grid of rows and cols, and TRIALS (200000) trials of
them: real configs, drawn times, one in forty failed, with rounds, a sweep that tells when it did what, and winners with
evidence. The same each time.
"""
import array
import math
import random
import shutil
import sys

import cache_rows

STARTED = 1_760_000_000
FAILURES = [("exceeds_limits", "loading failed: CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"),
            ("wrong_result", "y[17,3] is 0.25, and 0.75 is right"), ("timed_out", "showed no progress for 10 s")]


def columns(database, table):
    return [row[1] for row in database.execute(f"PRAGMA table_info({table})")]


def insert(database, table, rows):
    """Rows are dicts with the same keys."""
    names = list(rows[0])
    database.executemany(f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})",
                         [tuple(row[name] for name in names) for row in rows])


def grid(count):
    """Pairs of rows and cols, as square as may be."""
    side = math.ceil(math.sqrt(count))
    return [(64 * (1 + i // side), 128 * (1 + i % side)) for i in range(count)]


def fill(database, winners, trials):
    draw = random.Random(1)
    spec, = database.execute("SELECT min(id) FROM specs WHERE op = 'softmax' AND dtype = 'bf16'").fetchone()
    sample = dict(zip(columns(database, "trials"), database.execute(
        "SELECT t.* FROM trials t JOIN problems p ON p.id = t.problem WHERE p.spec = ? LIMIT 1", (spec,)).fetchone()))
    configs = database.execute(
        "SELECT c.id, max(t.build) FROM configs c JOIN trials t ON t.config = c.id JOIN problems p ON p.id = t.problem "
        "WHERE p.spec IN (SELECT id FROM specs WHERE op = 'softmax') GROUP BY c.id").fetchall()
    sweep = database.execute("INSERT INTO sweeps (command, device, started_at, ended_at, outcome) "
                             "VALUES (?, ?, ?, ?, 'done')",
                             ("tilewright sweep softmax", sample["device"], STARTED, STARTED + 7200)).lastrowid
    taken = {row[0] for row in database.execute("SELECT dims FROM problems WHERE spec = ?", (spec,))}
    shapes = [(rows, cols) for rows,
              cols in grid(winners + len(taken)) if f"rows={rows},cols={cols}" not in taken][:winners]
    problem = database.execute("SELECT max(id) FROM problems").fetchone()[0]
    trial = database.execute("SELECT max(id) FROM trials").fetchone()[0]
    began = STARTED * 1_000_000
    database.execute("UPDATE builds SET sweep = ?, worker = id % 15, began_us = ? + (id / 15) * 300000", (sweep, began))
    tables = {name: [] for name in ("problems", "trials", "rounds", "winners")}
    for place, (rows, cols) in enumerate(shapes):
        problem += 1
        tables["problems"].append({"id": problem, "spec": spec, "dims": f"rows={rows},cols={cols}"})
        floor = 2000 + rows * cols * 4 / 4000
        best = None
        count = trials * (place + 1) // winners - trials * place // winners
        for config, build in draw.sample(configs * (1 + count // len(configs)), count):
            trial += 1
            failed = draw.randrange(40) == 0 and best is not None
            median = None if failed else floor * (1 + draw.expovariate(3))
            status, reason = draw.choice(FAILURES) if failed else ("ok", "")
            began += 36_000 * 200_000 // trials
            tables["trials"].append({**sample, "id": trial, "problem": problem, "config": config, "build": build,
                                     "sweep": sweep,
                                     "status": status, "reason": reason,
                                     "measured_at": STARTED + 7200 * place // winners,
                                     "median_ns": median, "low_ns": median and median * 0.997,
                                     "high_ns": median and median * 1.003,
                                     "min_ns": median and median * 0.99, "look": "whole", "began_us": began,
                                     "set_up_us": 0,
                                     "verify_us": 900, "measure_us": 0 if failed else 12_000})
            if failed:
                continue
            tables["rounds"].append({"trial": trial, "nanoseconds": array.array("d", [median] * 9).tobytes()})
            if best is None or median < best[1]:
                best = (trial, median)
        for role in ("best", "base"):
            tables["winners"].append({"problem": problem, "device": sample["device"], "mode": sample["mode"],
                                      "role": role,
                                      "position": 0, "spec": spec, "trial": best[0], "runner_up": None,
                                      "runner_up_ratio": None,
                                      "base_ns": best[1] * 2, "configs_considered": count, "configs_failed": 0,
                                      "strategy": "race", "choice": "{}",
                                      "measured_at": STARTED + 7200 * place // winners})
    for table, rows in tables.items():
        insert(database, table, rows)


def main(small, big, winners=10_000, trials=200_000):
    shutil.copyfile(small, big)
    database = cache_rows.connect(big)
    fill(database, int(winners), int(trials))
    database.commit()
    database.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
