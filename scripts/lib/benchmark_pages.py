# SPDX-License-Identifier: Apache-2.0
"""The pages of docs/benchmarks and the README's table, out of the JSON files that scripts/benchmark has written.
Nothing on them is typed: the same files give the same text."""
import json
import pathlib
import re
import shlex
import sys
import textwrap

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from peers.statistics import geometric_mean, losses_in_short, median  # noqa: E402

TITLES = {"rows": "Row and elementwise ops beside their peers",
          "ceilings": "Row and elementwise ops beside their ceiling",
          "gemm": "Matrix products beside their peers",
          "drawn": "Matrix products of drawn shapes beside their peers",
          "attention": "Attention beside its peers", "attention_bwd": "Gradients of attention beside their peers",
          "deterministic": "What the same bits on every launch cost",
          "decode": "Attention of the last token beside its peers",
          "varlen": "Attention of packed sequences beside equally long ones",
          "gradients": "Row gradients beside their peers", "fused": "Fused products beside their peers",
          "tuner": "How long tuning takes", "launch": "What a launch costs the host",
          "untuned": "What untuned shapes lose", "service": "How fast the service answers"}
# What a part without figures would measure, in the index.
WITHOUT = {"drawn": "gemm at shapes that no large tile divides", "deterministic": "its price in `attention_bwd`"}
FACTS = ["commit", "device", "driver", "date", "cores", "brief", "seconds", "commands", "figures"]
PEERS = {"eager": "eager", "compile": "torch.compile", "cublaslt": "cuBLASLt", "triton": "Triton", "quack": "QuACK",
         "liger": "Liger", "unfused": "unfused", "cudnn": "cuDNN", "flash2": "FA2", "flash4": "FA4",
         "flashinfer": "FlashInfer"}
LONG = {"flash2": "FlashAttention 2", "flash4": "FlashAttention 4",
        "flashinfer": "the fastest of its kernels (tensor cores, CUDA cores, XQA)"}
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")  # of a terminal
BEGIN, END = "<!-- scripts/benchmark report makes what follows -->", "<!-- until here -->"
HEAD_MEANS = {"rows": "row ops", "gemm": "products", "attention": "attention", "attention_bwd": "its gradients",
              "decode": "decoding", "gradients": "row gradients", "fused": "fused"}
LARGE_BYTES = 128 << 20
MOST_OF_CEILING = 1.02  # more is a mistake of the ceiling
HEAD_SHAPES = {"rows": {"8192x4096"}, "gemm": {"4096x4096x4096", "16x4096x4096"}}
# The README has one variant of each row op, and none of bias_act_dropout.
LEFT_OUT_OF_HEAD = re.compile(r"add_rmsnorm\[store=no|swiglu\[layout=split|bias_act_dropout|bias_act\[act=(?!gelu[],])")


def load(folder):
    """The results by part, in the order of the pages."""
    results = {}
    for part in TITLES:
        path = pathlib.Path(folder) / f"{part}.json"
        if not path.exists():
            continue
        result = json.loads(path.read_text(encoding="utf-8"))
        missing = [name for name in FACTS if name not in result]
        if missing or result.get("part") != part:
            raise ValueError(f"{path} is no result of scripts/benchmark {part}: it lacks "
                             f"{', '.join(missing) or 'its part'}; measure it again")
        results[part] = result
    return results


def text_of(parts):
    """Blocks of Markdown, those of words broken into lines."""
    def wrapped(block):
        if block.startswith(("#", "|", "    ", "```", "<!--")):
            return block
        return "\n".join(textwrap.fill(line, 120, subsequent_indent="  " if line.startswith("- ") else "",
                                       break_long_words=False, break_on_hyphens=False) for line in block.split("\n"))
    return "\n\n".join(map(wrapped, parts))


def table(headings, rows):
    lines = ["| " + " | ".join(headings) + " |", "|" + " --- |" * len(headings)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows])


def micros(ns):
    """Without the unit, which headings have; of what is not there a dash."""
    return "-" if ns is None else f"{ns / 1e3:.0f}" if ns >= 1e6 else f"{ns / 1e3:{'.3g' if ns < 1e5 else '.1f'}}"


def percent(share):
    """Without the sign, which headings have."""
    return "-" if share is None else f"{100 * share:.1f}"


def share_of(cell, floor_ns):
    """Of the ceiling; None where there is no ceiling, or a launch bounds the time: it is under twice an empty one's."""
    return None if cell["ns"] < 2 * (floor_ns or 0) else cell.get("share_of_ceiling")


def shown_share(cell, floor_ns):
    """In brackets where the ceiling is mistaken."""
    share = share_of(cell, floor_ns)
    return f"({percent(share)})" if share and share > MOST_OF_CEILING else percent(share)


def about_shares(figures, more=""):
    """Sentences on shares that are none, where there are such; `more` is said of those in brackets."""
    floor = figures.get("floor_ns") or 0
    said = ""
    if any(shown_share(cell, floor).startswith("(") for cell in figures["cells"]):
        said += (f" A share in brackets is above {100 * MOST_OF_CEILING:.0f} %, "
                 f"[a mistake of the ceiling](../measuring.md#the-ceiling){more}.")
    if any(cell["ns"] < 2 * floor for cell in figures["cells"]):
        said += f" A time under twice that of an empty launch, {micros(floor)} µs, has no share."
    return said


def judged(cells):
    """Cells with a verdict: every peer that should be there is right."""
    return [cell for cell in cells if cell["over_fastest"] and not cell["no_verdict"]]


def over_fastest(cell):
    if not cell["over_fastest"]:
        return "-"
    median, low, high = cell["over_fastest"]
    text = f"{median:.3f} ±{(high - low) / 2:.3f}"
    return f"({text})" if cell["no_verdict"] else text


def over_product(cell, name="over_product"):
    """With the fit of what serves the product where that is another's. A norm has its bound instead."""
    if name not in cell or (name == "over_product" and "over_bound" in cell):
        return "-"
    fit = cell["product_fit"]
    return f"{cell[name]:.3f}" + f" ({fit})" * (fit != "exact")


def over_bound(cell):
    return over_product(cell, "over_bound")


def peer_time(cell, name):
    """In brackets if the peer is wrong."""
    text = micros(cell["peers_ns"].get(name))
    return f"({text})" if name in cell["no_verdict"] and text != "-" else text


def peers_of(cells):
    return [name for name in PEERS if any(name in cell["peers_ns"] for cell in cells)]


def fastest(cell):
    return PEERS.get(cell["fastest"], cell["fastest"] or "-")


def served(cell):
    return cell["implementation"] + (f" ({cell['fit']})" if cell["fit"] != "exact" else "")


def some(columns, cells):
    """Of columns, a function of a cell by heading: those that are not empty."""
    return {name: of for name, of in columns.items() if any(of(cell) != "-" for cell in cells)}


def ours(cell):
    """Our time, with its fit unless that is exact."""
    return micros(cell["ns"]) + (f" ({cell['fit']})" if cell["fit"] != "exact" else "")


def exceptions(cells):
    """A sentence on fit and accuracy."""
    fit = ("All cells are served exactly" if all(cell["fit"] == "exact" for cell in cells) else
           "Cells are served exactly unless our time has another fit in brackets")
    return (f"{fit}; accuracy is good (rms at most 1.05 times the best peer's, the largest error an ulp above its)"
            + " but for the cells at the end" * bool(faults_of(cells)) + ".")


def cells_tables(cells, floor_ns=None):
    """A table an op and dtype, below its heading."""
    every = {"TFLOP/s": lambda cell: f"{cell['tflops']:.0f}" if "tflops" in cell else "-",
             "of ceiling, %": lambda cell: shown_share(cell, floor_ns), "over gemm": over_product,
             "over bound": over_bound}
    parts = [exceptions(cells)]
    for op, dtype in dict.fromkeys((cell["op"], cell["dtype"]) for cell in cells):
        those = [cell for cell in cells if (cell["op"], cell["dtype"]) == (op, dtype)]
        peers, columns = peers_of(those), some(every, those)
        rows = [[cell["shape"], ours(cell), *(peer_time(cell, name) for name in peers), fastest(cell),
                 over_fastest(cell), *(of(cell) for of in columns.values())] for cell in those]
        parts += [f"## `{op}`, {dtype}", table(["shape", "ours, µs", *(PEERS[name] for name in peers), "fastest",
                                                "ratio", *columns], rows)]
    return parts + reasons_of(cells) + faults_of(cells) + of_other_commits(cells)


def in_short(why):
    """The first words of an error: without colours, on one line, at most 160 characters."""
    lines = list(filter(None, (" ".join(line.split()) for line in ESCAPES.sub("", why).splitlines())))
    first = lines[0] if lines else ""
    # An error's kind alone says little: what it says follows on the next lines.
    words = f"{first} {lines[1]}" if first.endswith(":") and len(lines) > 1 else first
    return words if len(words) <= 160 else words[:157].rstrip() + "..."


def reasons_of(cells):
    """Why cells have no verdict, a line each."""
    lines = [f"- `{cell['op']}` {cell['shape']} {cell['dtype']}: {PEERS.get(name, name)}: {in_short(why)}"
             for cell in cells for name, why in cell["no_verdict"].items()]
    return ["\n".join(["No verdict:", *lines])] if lines else []


def faults_of(cells):
    """What is bad of the accuracy, a line a cell."""
    # In each regime it is the same.
    bad = dict.fromkeys(f"- `{cell['op']}` {cell['shape']} {cell['dtype']}: {'; '.join(cell['inaccurate'])}"
                        for cell in cells if cell["inaccurate"])
    return ["\n".join(["Bad accuracy:", *bad])] if bad else []


def of_other_commits(cells):
    """A sentence a commit on what was measured apart from the rest of its page."""
    commits = {}
    for cell in cells:
        if "commit" in cell:
            ops = commits.setdefault(cell["commit"][:8], {})
            ops.setdefault(f"`{cell['op']}` {cell['dtype']}", []).append(cell["shape"])
    return [f"Of commit `{commit}`: " + "; ".join(" ".join([op, *shapes]) for op, shapes in ops.items()) + "."
            for commit, ops in commits.items()]


def over_libraries(cell):
    """The ratio to the fastest peer that is no chain of our own ops; None if there is no such peer."""
    return min((ratio for name, ratio in cell["over_peers"].items() if name != "unfused"), default=None)


def head_ratios(cells):
    """Ratios of the cells with a verdict, to the fastest peer that is another library's."""
    ratios = [over_libraries(cell) if "unfused" in cell["peers_ns"] else cell["over_fastest"][0]
              for cell in judged(cells)]
    return [ratio for ratio in ratios if ratio]


def mean_of(ratios):
    return (f"geometric mean {geometric_mean(ratios):.3f} of {len(ratios)} cells, least {min(ratios):.3f}; "
            f"{sum(ratio >= 1 for ratio in ratios)} at 1.000 or above.")


def summary(cells):
    ratios, others = [cell["over_fastest"][0] for cell in judged(cells)], head_ratios(cells)
    if not ratios:
        return "No cell has a verdict."
    text = f"The fastest peer's time over ours: {mean_of(ratios)}"
    if others and any("unfused" in cell["peers_ns"] for cell in cells):
        text += f" Without our own unfused chain among the peers: {mean_of(others)}"
    return text


def method(figures, more=""):
    versions = ", ".join(f"{name} {version}" for name, version in figures["versions"].items()
                         if isinstance(version, str))
    peers = peers_of(figures["cells"])
    names = "".join(f" {PEERS[name]} is {LONG[name]}." for name in peers if name in LONG)
    if "unfused" in peers:
        more += (" *unfused* is the chain of our own ops. *over gemm* is our time over that of our gemm with the same "
                 "epilogue but for what the op adds, with its fit unless that is exact.")
    if any("over_bound" in cell for cell in figures["cells"]):
        more += (" *over bound* is our time over the bound of a norm: the time of our gemm with the residual, and half "
                 "of that of the tuned `copy` of an m × n matrix, for m · n elements more are written at its rate.")
    if any("tflops" in cell and cell.get("share_of_ceiling") for cell in figures["cells"]):
        more += (" *of ceiling* is the time of the tuned `copy` that moves the same bytes by three reads a write, over "
                 "ours.")
    more += about_shares(figures)
    return (f"Times are medians of rounds, in µs. A round times all of a row in turns, cold, on the same random "
            f"tensors ({versions}). The ratio is the fastest peer's time over ours: the median over rounds ± half its "
            "interval. Above 1 Tilewright is faster. A ratio in brackets has no verdict: a peer that should be there "
            "is absent or wrong; a time in brackets is of a wrong one. A peer without a column gave no time."
            f"{names}{more}")


def cells_page(figures):
    """With a line an op where there are several."""
    cells = figures["cells"]
    ops = [groups_table(cells, ("op",))] if len({cell["op"] for cell in cells}) > 1 else []
    return [summary(cells), *ops, method(figures), *cells_tables(cells, figures.get("floor_ns"))]


def ceilings_page(figures):
    """Of all cells, and of those that are large enough for the share to say how well the memory is used."""
    floor = figures.get("floor_ns")
    known = [(share_of(cell, floor), round(cell["gb_per_s"] * cell["ns"])) for cell in figures["cells"]]
    shares = {least: [share for share, moved in known if share and share <= MOST_OF_CEILING and moved >= least]
              for least in (0, LARGE_BYTES)}
    sentences = [f"{what}: half of {len(each)} cells have {percent(median(each))} % or more, the least "
                 f"{percent(min(each))} %; {sum(share < 0.95 for share in each)} are below 95 %."
                 for what, each in (("All", shares[0]), ("128 MiB and more", shares[LARGE_BYTES])) if each]
    rows = [[f"`{cell['op']}`", cell["shape"], ours(cell), f"{cell['gb_per_s'] / 1e3:.2f}",
             shown_share(cell, floor), cell["implementation"]] for cell in figures["cells"]]
    return [*sentences, "The share of the ceiling is the time of a copy of the same bytes, the faster of the tuned "
            "`copy` and torch's, over ours, timed in turns, cold. Below 128 MiB the start of a kernel counts, too."
            + about_shares(figures, ", and counts in no sentence above"),
            exceptions(figures["cells"]),
            table(["op, bf16", "shape", "Tilewright, µs", "TB/s", "of ceiling, %", "by"], rows),
            *faults_of(figures["cells"])]


def groups_of(cells, *names):
    """Cells with a verdict by the values of these names, in the order of the first of each."""
    groups = {}
    for cell in judged(cells):
        groups.setdefault(tuple(cell[name] for name in names), []).append(cell)
    return groups


def mean_and_least(ratios):
    return f"{geometric_mean(ratios):.3f} ({min(ratios):.3f})" if ratios else "-"


def groups_table(cells, names):
    """A line a group: geometric mean and least ratio over the fastest peer."""
    return table([*names, "cells", "fastest peer / ours (least)"],
                 [[*group, len(those), mean_and_least([cell["over_fastest"][0] for cell in those])]
                  for group, those in groups_of(cells, *names).items()])


def in_burst(cells):
    """Without those that were timed under load."""
    return [cell for cell in cells if cell.get("regime", "burst") == "burst"]


def attention_page(figures):
    cells = sorted(figures["cells"], key=lambda cell: (cell["regime"], cell["mask"] != "none", cell["mask"],
                                                       int(cell["d"].split("/")[0])))
    peers = peers_of(cells)
    over = [[*group, len(those), mean_and_least([cell["over_fastest"][0] for cell in those]),
             *(mean_and_least([cell["over_peers"][name] for cell in those if name in cell["over_peers"]])
               for name in peers)] for group, those in groups_of(cells, "regime", "mask", "d").items()]

    def row(cell):
        return [cell["d"], cell["sequences"], cell["heads"], micros(cell["ns"]), f"{cell['tflops']:.0f}",
                *(f"{cell['tflops'] * cell['ns'] / cell['peers_ns'][name]:.0f}" if name in cell["peers_ns"] else "-"
                  for name in peers), fastest(cell), over_fastest(cell), served(cell),
                *(f"{cell['errors_over_best'][what]:.3f}" if cell["errors_over_best"][what] else "-"
                  for what in ("rms", "largest"))]

    headings = ["d", "batch × tokens", "heads", "µs", "Tilewright", *(PEERS[name] for name in peers), "fastest",
                "ratio", "served", "rms", "largest"]
    parts = {}
    for cell in cells:
        parts.setdefault(f"## In {cell['regime']}, mask {cell['mask']}, {cell['dtype']}", []).append(row(cell))
    under_load = [cell for cell in cells if cell not in in_burst(cells)]
    summaries = [summary(in_burst(cells))]
    of_whom = {PEERS[name] for cell in cells for name in cell.get("errors_of", ["cudnn"])}
    if under_load:
        summaries.append(f"[Under load](../measuring.md#regimes), in `sustained`: {summary(under_load)}")
    return [*summaries,
            table(["regime", "mask", "d", "cells", "fastest peer / ours (least)",
                   *(f"{PEERS[name]} / ours" for name in peers)], over),
            method(figures, " Columns of Tilewright and of peers are TFLOP/s, of which a causal mask has half. Errors, "
                            "rms and largest against float64, are ours over the least of these: "
                            f"{', '.join(sorted(of_whom))}."),
            *(part for title, rows in parts.items() for part in (title, table(headings, rows))), *faults_of(cells)]


def deterministic_page(figures):
    cells = figures["cells"]
    ratios = [cell["ratio"] for cell in cells]

    def served(cell, each):
        fit = cell["fit"][each]
        return cell["served"][each].split("{")[0] + f" ({fit})" * (fit != "exact")

    rows = [[cell["d"], "causal" if cell["causal"] == "yes" else "none", f"{cell['b']}×{cell['s']}",
             *(micros(cell["ns"][each]) for each in ("yes", "no")), f"{cell['ratio']:.3f}",
             "yes" if cell["same"] else "NO", f"{cell['apart']:.1e}", served(cell, "yes"), served(cell, "no")]
            for cell in cells]
    return [f"`attention_bwd` with `deterministic=yes` takes {geometric_mean(ratios):.3f} times as long as without it "
            f"in the geometric mean of {len(ratios)} cells, at most {max(ratios):.3f}.",
            "16 heads, bf16; both are timed in turns, cold, without [rests](../measuring.md#the-stop-rule). The ratio "
            "is the median over rounds. Two launches with it are compared bit by bit; *apart* is how far its gradients "
            "are norm-wise from those without it.",
            table(["d", "mask", "batch × tokens", "with, µs", "without", "with / without", "same bits", "apart",
                   "served with", "without"], rows)]


def decode_page(figures):
    cells = figures["cells"]
    whole = {(cell["kind"], cell["batch"], cell["heads"], cell["tokens"]): cell["ns"] for cell in cells
             if not cell["page"]}

    def over_whole(cell):
        one = whole.get((cell["kind"], cell["batch"], cell["heads"], cell["tokens"]))
        return f"{cell['ns'] / one:.3f}" if one and cell["page"] else "-"

    def error(cell):
        return f"{cell['error_over_best']:.3f}" if cell["error_over_best"] else "-"

    def one_table(those):
        peers = peers_of(those)
        columns = some({"page": lambda cell: cell["page"] or "-", "over whole": over_whole, "error": error}, those)
        beside = {"ratio": over_fastest} if peers else {}
        rows = [[cell["kind"], f"{cell['batch']} × {cell['tokens']}", cell["heads"], micros(cell["ns"]),
                 *(peer_time(cell, name) for name in peers), *(of(cell) for of in beside.values()),
                 f"{cell['gb_per_s'] / 1e3:.2f}", served(cell), *(of(cell) for of in columns.values())]
                for cell in those]
        return table(["lengths", "batch × tokens", "heads", "ours", *(PEERS[name] for name in peers), *beside, "TB/s",
                      "served", *columns], rows)

    parts = {"In one piece": [cell for cell in cells if not cell["page"]],
             "In pages": [cell for cell in cells if cell["page"]]}
    return [summary(cells), groups_table(cells, ("batch", "heads")),
            method(figures, " Lengths are *full* (of the tensor), *uniform* (any) or *long* (one full, the others a "
                            "64th of it). The error is ours over the best peer's, against float64. *Over whole* is "
                            "the time with pages over that in one piece. Triton is no peer here."),
            *(part for title, those in parts.items() if those for part in (f"## {title}", one_table(those)))]


def varlen_page(figures):
    def inexact(cell):
        return ", ".join(f"{arm} {fit}" for arm, fit in cell["fit"].items() if fit != "exact")

    ratios = [cell["tflops"]["varlen"] / cell["tflops"]["dense"] for cell in figures["cells"]]
    rows = [[cell["d"], "causal" if cell["causal"] == "yes" else "none", f"1 to {cell['most']}",
             *(f"{cell['tflops'][arm]:.0f}" for arm in ("varlen", "dense")), f"{ratio:.3f}",
             f"{cell['implementation']}" + f" ({inexact(cell)})" * bool(inexact(cell)), f"{cell['error']:.1e}"]
            for cell, ratio in zip(figures["cells"], ratios)]
    return [f"`attention_varlen` of 64 drawn lengths beside `attention` of 64 equally "
            f"long ones with as many products: {geometric_mean(ratios):.3f} of its rate in the geometric mean of "
            f"{len(ratios)} cells, least {min(ratios):.3f}.",
            "16 heads, bf16, TFLOP/s; both are timed in turns, cold, without [rests](../measuring.md#the-stop-rule). "
            "The error is norm-wise, against float64.",
            table(["d", "mask", "tokens", "varlen", "dense", "varlen / dense", "served", "error"], rows)]


def tuner_page(figures):
    rows = []
    several = any(arm["least"] < arm["most"] for arms in figures["to_a_winner_s"].values() for arm in arms.values())
    for case, arms in figures["to_a_winner_s"].items():
        theirs, ours = arms["triton"], arms["tilewright"]
        seconds = [f"{arm['median']:.2f}" + (f" ({arm['least']:.2f} to {arm['most']:.2f})" if several else "")
                   for arm in (theirs, ours)]
        rows.append([case, *seconds, f"{theirs['median'] / ours['median']:.1f} ×"])
    grid = figures["grid"]
    swept = grid and (f"A grid of {grid['problems']} shapes of softmax, cold: {grid['measured']} configs verified and "
                      f"measured, {grid['compiled']} binaries compiled, in {grid['seconds']:.1f} s.")
    counts = ", ".join(f"{case} {count}" for case, count in figures.get("configs", {}).items())
    raced = ["Seconds from the first call to a winner, with as many configs as Triton's autotuner has" +
             f" ({counts})" * bool(counts) + " and nothing compiled before; " +
             ("medians, least and most." if several else "one turn."),
             table(["", "Triton", "Tilewright", "as fast"], rows)]
    return raced * bool(rows) + [swept] * bool(swept)


def launch_page(figures):
    runs = list(zip(figures["bare_ns"], figures["whole_ns"], figures["whole_over_bare"]))
    rows = [[i, f"{bare:.0f} ns", f"{whole:.0f} ns", f"{ratio:.3f}"] for i, (bare, whole, ratio) in enumerate(runs, 1)]
    opened = [f"Opening a cache of {int(name.rpartition('_')[2]):,} winners and planning a first launch takes {ms:.2f} "
              f"ms (`{name}`)." for name, ms in figures["open_ms"].items()]
    return ["A launch through the C++ layer beside the bare `cuLaunchKernelEx`, in bursts in turns; medians of the "
            f"bursts of a run. The median of whole / bare is {median(figures['whole_over_bare']):.3f}.",
            table(["run", "bare", "whole", "whole / bare"], rows), *opened]


def pooled(specs):
    """The number of these specs' shapes; mean, median and 95th percentile of their losses, in percent."""
    losses = [row["loss"] for each in specs for row in each["each"]]
    short = losses_in_short(losses)
    return len(losses), *(percent(short[name]) for name in ("mean", "median", "p95"))


def untuned_page(figures):
    bounded = (" A sweep had the time of its `--budget` below: its winner may not be the fastest config."
               if any(each["bounded"] for each in figures["specs"]) else "")
    def shown(spec):
        return " ".join(word for word in spec.split() if not word.endswith(("=no", "=none")))

    def judged(spec):
        return spec["judged"] if spec["judged"] == spec["asked"] else f"{spec['judged']} of {spec['asked']}"

    means = []
    for served in dict.fromkeys(each["served"] for each in figures["specs"]):
        count, mean, half, most = pooled([each for each in figures["specs"] if each["served"] == served])
        means.append(f"*{served}*: mean loss {mean} % of {count} shapes, median {half} %, 95th percentile {most} %.")
    rows = [[f"`{shown(each['spec'])}`", each["served"], judged(each), percent(each["mean"]),
             percent(each["median"]), percent(each["p95"]), percent(each["worst"]), each["failed"]]
            for each in figures["specs"]]
    columns = ["spec, bf16", "served", "judged", "mean, %", "median", "95th", "worst", "wrong"]
    if any("commit" in each for each in figures["specs"]):
        columns.append("commit")
        rows = [[*cells, f"`{each['commit'][:8]}`" if "commit" in each else "-"]
                for cells, each in zip(rows, figures["specs"])]
    notes = dict.fromkeys(note for each in figures["specs"] for note in each["notes"])
    return [" ".join(means),
            "Shapes are drawn between the tuned ones, those first that share the fewest dims with any of them. Each is "
            "swept, and the config that would serve it is timed beside its winner. The loss is how much slower it is, "
            "in %: mean, median, 95th percentile and worst; what is faster loses nothing. *wrong* are shapes at which "
            "what serves fails. *exported* is served by what an export has, *jit* by a launcher that compiles "
            "([untuned.md](../untuned.md)); `--within` bounds the dims drawn. The table leaves out attributes that are "
            "`no` or `none`." + " A row that names a commit is of that one." * ("commit" in columns) + bounded,
            table(columns, rows), *notes]


def service_page(figures):
    def row(what, name):
        found = figures[name]
        return [what, found["asked"], f"{found['answered']:.0f}",
                *(f"{found['ms'][which]:.1f} ms" for which in ("p50", "p99", "p99.9", "max")), found["not_200"]]
    listeners = figures["listeners"]
    return [f"`tilewright serve` over {figures['problems']} tuned problems, asked by a client on the same cores (load "
            f"{figures['load']:.1f} before). A time is from when a request was due, sent or not.",
            table(["queries", "asked a second", "answered", "p50", "p99", "p99.9", "latest", "not 200"],
                  [row("tuned shapes, each asked before", "exact"), row("untuned shapes, no two the same", "nearest"),
                   row(f"tuned shapes beside {listeners['count']} listeners", "beside")]),
            f"{listeners['count']} listeners take {listeners['mib']:.1f} MiB, and the service "
            f"{listeners['before_mib']:.0f} MiB before."]


PAGES = {"rows": cells_page, "ceilings": ceilings_page, "gemm": cells_page, "drawn": cells_page,
         "attention": attention_page, "attention_bwd": attention_page, "decode": decode_page,
         "deterministic": deterministic_page, "varlen": varlen_page,
         "gradients": cells_page, "fused": cells_page, "tuner": tuner_page, "launch": launch_page,
         "untuned": untuned_page, "service": service_page}


def facts(result):
    again = f"scripts/benchmark {result['part']}{' --brief' if result['brief'] else ''}"
    if result.get("budget"):
        again += f" --budget {result['budget']}"
    if result.get("only"):
        again += f" --only {quoted(result['only'])}"
    if result["part"] == "untuned":
        again += f" --drawn {result['figures']['specs'][0]['asked']}"
    driver = f", driver {result['driver']}" if result["driver"] else ""
    return (f"One {result['device']}{driver}, {result['cores']} cores, commit "
            f"`{result['commit'][:12]}`, {result['date']}. `{again}` measures it again, in {result['seconds']} s.")


def quoted(word):
    """A word of a command for a shell, with double quotes about single ones where that is the same."""
    return f'"{word}"' if "'" in word and not set('"$`\\!') & set(word) else shlex.quote(word)


def wrapped(command):
    """A command in lines of at most 120 characters. A word that is longer goes on where the next line begins."""
    room = 112  # an indent, quotes and ` \\` besides
    lines = [""]
    for word in shlex.split(command):
        first, *rest = [word[i:i + room] for i in range(0, len(word), room)] or [""]
        if lines[-1] and len(lines[-1]) + len(quoted(first)) > 117:
            lines[-1] += " "
            lines.append("   ")
        lines[-1] += f" {quoted(first)}" if lines[-1] else quoted(first)
        lines += map(quoted, rest)
    return "\\\n".join(lines)


def page(part, result):
    commands = "\n".join(["```sh", *map(wrapped, result["commands"]), "```"])
    parts = [f"# {TITLES[part]}", f"{facts(result)} [measuring.md](../measuring.md) has the method.",
             *PAGES[part](result["figures"]),
             *(["Missing: " + "; ".join(result["missing"]) + "."] if result.get("missing") else []),
             "What was called:", commands,
             f"`scripts/benchmark report` makes this page from [{part}.json]({part}.json)."]
    return text_of(parts) + "\n"


def extent(result):
    """Which of its cells a part has."""
    if result["part"] == "untuned":
        return f"{result['figures']['specs'][0]['asked']} shapes a spec" + ", in part" * bool(result.get("missing"))
    return ", ".join(["few"] * result["brief"] + ["in part"] * bool(result.get("missing"))) or "all"


def peers_in_words(result):
    cells = [cell for cell in result["figures"].get("cells", []) if "peers_ns" in cell]
    return ", ".join(PEERS[name].removeprefix("torch.") for name in peers_of(cells)) or "-"


def index(results):
    devices = dict.fromkeys(results[part]["device"] for part in TITLES if part in results)
    tables = [[f"One {device}:",
               table(["part", "what", "peers", "cells", "date", "commit"],
                     [[f"[{part}]({part}.md)", re.sub(" beside (its|their) peers", "", TITLES[part]),
                       peers_in_words(result), extent(result), result["date"], f"`{result['commit'][:8]}`"]
                      for part, result in results.items() if result["device"] == device])] for device in devices]
    others = ", ".join(f"`{part}`" + (f" ({WITHOUT[part]})" if part in WITHOUT else "")
                       for part in TITLES if part not in results)
    return text_of([
        "# Benchmarks",
        "Which figures are measured, beside whom, and when. `scripts/benchmark PART` measures a part again; *few* cells"
        " are those of `--brief`.",
        *sum(tables, []), *([f"Without figures: {others}."] if others else []),
        "## On a GPU of your own",
        "In a tree with a build of preset `ci`, or in the folder that `scripts/bundle` writes, with torch and Triton, "
        "this compares one op:",
        "```sh\nscripts/compare_peers.py --op gemm --shapes 4096x4096x4096 --cache FILE --out comparison\n"
        "scripts/compare_peers.py --report comparison --format markdown\n```",
        "This measures all parts and makes their pages:",
        "```sh\nscripts/benchmark all --brief --out FOLDER     # few cells; without --brief all of them\n"
        "scripts/benchmark report --out FOLDER          # also the README's table\n```",
        "Without `--out` both write into docs/benchmarks. On another GPU than the shipped winners', sweep "
        "first, and name your winners by `--cache FILE`. "
        "`scripts/peers-requirements.txt` says how QuACK, Liger, FlashAttention 4, FlashInfer and cuDNN's frontend are "
        "brought; cuDNN is torch's. An absent peer that is asked for leaves cells without a verdict.",
        "Each part calls the script or the verb that measures it and writes a JSON file with commit, device, driver, "
        "date and commands. `report` makes the pages and the README's table from these files; "
        "`tests/scripts/benchmark_test.py` fails where a page and its JSON differ."]) + "\n"


def between(values):
    """The least and the greatest, or both at once where they read alike."""
    texts = sorted({f"{min(values):.1f}", f"{max(values):.1f}"}, key=float)
    return " to ".join(texts)


def short(op):
    """Without attributes that are no or none."""
    name, _, inside = op.rstrip("]").partition("[")
    kept = [each for each in inside.split(",") if each and not each.endswith(("=no", "=none"))]
    return f"{name}[{','.join(kept)}]" if kept else name


def readme_table(results):
    """Head figures: a line an op at one shape, without attributes that are no or none, then a sentence a part."""
    parts = []
    cells = [cell for part, shapes in HEAD_SHAPES.items() if part in results
             for cell in results[part]["figures"]["cells"]
             if cell["shape"] in shapes and not LEFT_OUT_OF_HEAD.match(cell["op"])]
    if cells:
        peers = peers_of(cells)
        parts.append(table(
            ["bf16, µs", "shape", "Tilewright", *(PEERS[name] for name in peers), "fastest peer / ours"],
            [[f"`{short(cell['op'])}`", cell["shape"], micros(cell["ns"]),
              *(micros(cell["peers_ns"].get(name)) for name in peers), over_fastest(cell)] for cell in cells]))
    means = {part: head_ratios(in_burst(results[part]["figures"]["cells"])) for part in HEAD_MEANS if part in results}
    means = {part: f"[{HEAD_MEANS[part]}](docs/benchmarks/{part}.md) {geometric_mean(ratios):.3f} ({len(ratios)}; "
                   f"{min(ratios):.3f})"
             for part, ratios in means.items() if ratios}
    sentences = ["- Above 1 Tilewright takes less time."
                 + " The table leaves out attributes that are `no` or `none`."
                 * any(short(cell["op"]) != cell["op"] for cell in cells)] if cells or means else []
    if any(cell["no_verdict"] for cell in cells):
        sentences.append("- A ratio in brackets has no verdict, since a peer is absent or wrong; it counts in no mean.")
    sentences += ["- Each page's geometric mean over other libraries (cells; least ratio), in "
                  f"[burst](docs/measuring.md#regimes): {', '.join(means.values())}."] if means else []
    if "tuner" in results and results["tuner"]["figures"]["to_a_winner_s"]:
        ratios = [arms["triton"]["median"] / arms["tilewright"]["median"]
                  for arms in results["tuner"]["figures"]["to_a_winner_s"].values()]
        cases = ", ".join(f"`{case}`" for case in results["tuner"]["figures"]["to_a_winner_s"])
        sentences.append(f"- [Tuning](docs/benchmarks/tuner.md) {cases}: {between(ratios)} times as fast as Triton's "
                         "autotuner.")
    if "launch" in results:
        ratio = median(results["launch"]["figures"]["whole_over_bare"])
        sentences.append(f"- [A launch](docs/benchmarks/launch.md): {ratio:.3f} times the host time of the bare "
                         "driver call.")
    exported = [each for each in results["untuned"]["figures"]["specs"]
                if each["served"] == "exported" and 2 * each["judged"] > each["asked"]] if "untuned" in results else []
    # Of a spec whose judging was cut off, the shapes served by their own winner are judged first.
    if exported:
        count, mean, half, most = pooled(exported)
        worst = max(exported, key=lambda each: each["mean"])
        name, _, bounds = worst["spec"].partition(" --within ")
        name = f"`{name.split()[0]}`" + f" within `{bounds}`" * bool(bounds)
        sentences.append(f"- [Untuned shapes](docs/benchmarks/untuned.md) ({count}, bf16, served by an export) lose "
                         f"{mean} % in the mean, {half} % in the median, {most} % at the 95th percentile. The worst "
                         f"spec, {name}, loses {percent(worst['mean'])} % in the mean.")
    parts += ["\n".join(sentences)] if sentences else []
    measured = {}
    for result in results.values():
        if result["driver"]:
            measured.setdefault((result["device"], result["driver"]), []).append(result["date"])
    parts += [f"One {device}, driver {driver}, {' to '.join(sorted({min(dates), max(dates)}))}; the pages name the "
              "peers that took part ([all figures, with commits](docs/benchmarks/README.md))."
              for (device, driver), dates in sorted(measured.items())]
    return text_of(parts or ["No part is measured yet: [benchmarks](docs/benchmarks/README.md)."])


def with_table(readme, results):
    """The README's text with what is between the marks made anew."""
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"README.md has not the lines {BEGIN} and {END}, between which the table goes")
    return f"{before}{BEGIN}\n\n{readme_table(results)}\n\n{END}{after}"


def pages(folder, readme):
    """All texts that are made, by path."""
    results = load(folder)
    folder = pathlib.Path(folder)
    made = {folder / f"{part}.md": page(part, result) for part, result in results.items()}
    made[folder / "README.md"] = index(results)
    made[readme] = with_table(readme.read_text(encoding="utf-8"), results)
    return made


def differing(folder, readme):
    """Pages that are not what their JSON makes, and pages of no JSON."""
    made = pages(folder, readme)
    wrong = [path for path, text in made.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    return wrong + [path for path in pathlib.Path(folder).rglob("*.md") if path not in made]


def write(folder, readme, check):
    try:
        if check:
            wrong = differing(folder, readme)
            for path in wrong:
                print(f"benchmark: {path} is not what its JSON makes: type scripts/benchmark report", file=sys.stderr)
            return 1 if wrong else 0
        for path, text in pages(folder, readme).items():
            path.write_text(text, encoding="utf-8")
    except ValueError as error:
        print(f"benchmark: {error}", file=sys.stderr)
        return 1
    return 0
