# SPDX-License-Identifier: Apache-2.0
"""What scripts share that time cells served from a cache, one after the other, on one stream: their options, the
commands that tune the cells, and a file of results."""
import argparse
import json
import os
import pathlib
import re
import time

from . import record


def drawn_lengths(count, most):
    """So many lengths from 1 to `most`, the same on every machine."""
    return [1 + n * 7919 * 31 % 65537 * most // 65537 for n in range(1, count + 1)]


def run(words, script, doc, cells, problems, measure, line_of, has_page=False, has_draws=False):
    """Measures those of `cells` (a dict by names) that --only names by `measure(cell, launcher, rounds, stream)`, which
    gives a dict; prints a line of each by `line_of`, and writes them all. `problems(cell)` are what a sweep takes.
    Where they have a page, --json writes what it is made from. Where errors are means over draws of the inputs,
    `measure` gets as `draws` how many. Returns an exit code."""
    name = pathlib.Path(script).stem.removeprefix("compare_")
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", help="the cache with the winners; default as for tilewright")
    parser.add_argument("--library", help="libtilewright.so; default: in ../lib, or in a build folder")
    parser.add_argument("--out", default=f"{name}.json", help="a JSON file of the results (default: %(default)s)")
    parser.add_argument("--only", default="", help="only cells whose name this expression matches somewhere")
    parser.add_argument("--rounds", type=int, default=15, help="rounds of each arm (default: 15)")
    if has_draws:
        parser.add_argument("--draws", type=int, default=1, metavar="N", help="errors are means over so many draws of "
                            "the inputs (default: 1)")
    parser.add_argument("--commit", help="to be written into the results; default: found")
    parser.add_argument("--list", action="store_true", help="print the names of the cells and end")
    parser.add_argument("--sweep", action="store_true", help="print the commands that tune the cells and end")
    if has_page:
        parser.add_argument("--json", metavar="FILE", help="write what scripts/benchmark report makes a page from, "
                            f"such as docs/benchmarks/{name}.json")
    options = parser.parse_args(words)
    more = {"draws": options.draws} if has_draws else {}
    if more and options.draws < 1:
        parser.error(f"--draws is at least 1, and not {options.draws}")
    chosen = {each: cell for each, cell in cells.items() if re.search(options.only, each)}
    if options.list or options.sweep:
        for each, cell in chosen.items():
            print("\n".join(f'tilewright sweep "{text}"' for text in problems(cell)) if options.sweep else each)
        return 0
    import torch

    from . import library
    from .measure import describe_gpu
    os.environ["TILEWRIGHT_LIBRARY"] = str(library.find_library(options.library))
    stream = torch.cuda.Stream()
    facts = {"commit": options.commit or record.find_commit(), "command": record.shown(script, words),
             **describe_gpu()}
    results = []
    with library.tilewright.Launcher(options.cache, misses="off") as opened:
        for each, cell in chosen.items():
            began = time.monotonic()
            try:
                result = measure(cell, opened, options.rounds, stream, **more)
            except Exception as error:  # the others are measured all the same
                print(f"{each}: {type(error).__name__}: {error}", flush=True)
                continue
            results.append({**facts, **result, "measured_at": int(time.time()),
                            "seconds": round(time.monotonic() - began, 3)})
            print(line_of(results[-1]), flush=True)
            torch.cuda.empty_cache()
    pathlib.Path(options.out).write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    if has_page and options.json and results:
        record.write(options.json, record.make(results))
    return 0 if len(results) == len(chosen) else 1
