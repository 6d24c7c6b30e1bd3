#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times attention_decode and attention_paged beside FlashInfer, FlashAttention 4, and torch's cuDNN and FlashAttention
2: alternately in one process, on the same random tensors, with cold caches, in CUDA graphs. Compares each result with
float64. torch's two take only sequences that are equally long, in one piece. FlashInfer is the fastest of its kernels
in each cell; keys in one piece are pages in order for it. A plan is made before, and is not timed.

    scripts/compare_decode.py --cache winners.db --out decode.json               all cells
    scripts/compare_decode.py --cache winners.db --only 'b64'                     those whose name has that

A cell is a KIND-bBATCH-hHQxHKV-sTOKENS, with -pPAGE where tokens lie in pages; lengths are full, uniform (drawn from 1
to TOKENS) or long (one of TOKENS, the others a 64th of it). GB/s are of the keys and values of these lengths, of
queries and results. With --draws N errors are means over N draws of the inputs. The cache should have winners of these
shapes: --sweep prints the commands.
"""
import dataclasses
import math
import re
import sys

from peers import served_cells
from peers.verdicts import SAME

COLUMNS = 128
CELLS = [*(f"full-b{b}-h{h}x8-s{s}" for h in (32, 64) for b in (1, 2, 4, 8) for s in (512, 1024, 2048, 4096)),
         "full-b64-h32x8-s8192", "full-b8-h64x8-s32768", "uniform-b64-h32x8-s8192", "long-b64-h32x8-s32768",
         *(f"{kind}-b64-h32x8-s8192-p{page}" for kind in ("full", "uniform") for page in (16, 64, 128))]


@dataclasses.dataclass(frozen=True)
class Cell:
    name: str
    kind: str
    b: int
    hq: int
    hkv: int
    s: int
    page: int

    @staticmethod
    def of(name):
        match = re.fullmatch(r"(full|uniform|long)-b(\d+)-h(\d+)x(\d+)-s(\d+)(?:-p(\d+))?", name)
        if not match:
            raise ValueError(f"'{name}' is no cell")
        return Cell(name, match[1], *(int(each or 0) for each in match.groups()[1:]))

    @property
    def op(self):
        return "attention_paged" if self.page else "attention_decode"

    @property
    def dims(self):
        heads = {"batch": self.b, "hq": self.hq, "hkv": self.hkv, "sq": 1}
        if not self.page:
            return {**heads, "sk": self.s, "d": COLUMNS, "dv": COLUMNS}
        pages = self.s // self.page
        return {**heads, "max_pages": pages, "page": self.page, "d": COLUMNS, "pages": self.b * pages}


def lengths_of(cell):
    if cell.kind == "full":
        return [cell.s] * cell.b
    if cell.kind == "long":
        return [cell.s if n == cell.b // 2 else max(1, cell.s // 64) for n in range(cell.b)]
    return served_cells.drawn_lengths(cell.b, cell.s)


def error_of(o, q, k, v, length):
    """Norm-wise, of one sequence, against float64."""
    import torch
    group = q.shape[1] // k.shape[1]
    keys, values = (each[:length].double().repeat_interleave(group, 1) for each in (k, v))
    weights = torch.softmax(torch.einsum("hd,lhd->hl", q[0].double(), keys) / math.sqrt(COLUMNS), -1)
    right = torch.einsum("hl,lhd->hd", weights, values)
    return float((o[0].double() - right).norm() / right.norm())


def checked(errors):
    """The worst of some sequences' errors. What is no number, or too far off, is another result: it raises."""
    errors = list(errors)
    if not all(error < SAME for error in errors):
        raise RuntimeError(f"its output is another one: errors {', '.join(f'{error:.1e}' for error in errors)}")
    return max(errors)


def over_draws(first, draws, renew, error_of, skipped):
    """Errors in the mean over so many draws of the inputs, by arms: `first` has those of the draw that there is,
    `renew()` draws again, and `error_of(arm)` raises if the output is another one. Such an arm's reason is put into
    `skipped` and its error left out."""
    errors = {arm: [error] for arm, error in first.items()}
    for _ in range(1, draws):
        renew()
        for arm in list(errors):
            try:
                errors[arm].append(error_of(arm))
            except Exception as error:  # an arm that does not run means no verdict
                skipped[arm] = f"{type(error).__name__}: {error}"[:600]
                del errors[arm]
    return {arm: math.fsum(each) / len(each) for arm, each in errors.items()}


def measure(cell, launcher, rounds, stream, draws=1):
    import torch

    from peers import decode_peers, statistics, timing

    def random(*shape):
        return torch.randn(*shape, device="cuda", dtype=torch.bfloat16)

    lengths = lengths_of(cell)
    tokens = sum(lengths)
    moved = 2 * (tokens * cell.hkv + cell.b * cell.hq) * COLUMNS * 2
    count = max(2, min(64, math.ceil(timing.COLD_BYTES / moved)))
    q = [random(cell.b, 1, cell.hq, COLUMNS) for _ in range(count)]
    k, v = ([random(cell.b, cell.s, cell.hkv, COLUMNS) for _ in range(count)] for _ in range(2))
    o = [torch.full_like(each, math.nan) for each in q]  # what is not written shows
    on_device = torch.tensor(lengths, dtype=torch.int32, device="cuda")
    op = launcher.op(cell.op, dtype="bf16")
    scale = 1 / math.sqrt(COLUMNS)
    tensors = decode_peers.Tensors(q, k, v, lengths, on_device, scale)
    if cell.page:
        pages = cell.s // cell.page
        orders = [torch.randperm(cell.b * pages, device="cuda") for _ in range(count)]

        def pooled(tensor, table):
            rows = tensor.view(cell.b * pages, cell.page, cell.hkv, COLUMNS)
            return torch.empty_like(rows).index_copy_(0, table, rows)

        k_pool, v_pool = ([pooled(*each) for each in zip(of, orders)] for of in (k, v))
        tables = [order.to(torch.int32).view(cell.b, pages) for order in orders]
        tensors = decode_peers.Tensors(q, k_pool, v_pool, lengths, on_device, scale, tables)

    def renew():
        for each in (q[0], k[0], v[0]):
            each.copy_(random(*each.shape))
        if cell.page:
            k_pool[0].copy_(pooled(k[0], orders[0]))
            v_pool[0].copy_(pooled(v[0], orders[0]))

    def tilewright(i):
        if cell.page:
            op(q[i], k_pool[i], v_pool[i], tables[i], on_device, o[i], scale)
        else:
            op(q[i], k[i], v[i], on_device, o[i], scale)
        return o[i]

    def flashinfer():
        result["flashinfer"], launch = decode_peers.flashinfer(tensors, stream, worst_error)
        return launch

    def worst_error(output):
        return checked(error_of(output[n], q[0][n], k[0][n], v[0][n], lengths[n]) for n in {0, cell.b // 2, cell.b - 1})

    def error_of_arm(arm):
        # What launches read was made on another stream.
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            output = launches[arm](0)
        stream.synchronize()
        return worst_error(output)

    makers = {"tilewright": lambda: tilewright}
    if tensors.whole:
        makers["cudnn"] = lambda: decode_peers.through_torch("CUDNN_ATTENTION", tensors)
        makers["flash2"] = lambda: decode_peers.through_torch("FLASH_ATTENTION", tensors)
    makers |= {"flash4": lambda: decode_peers.flash4(tensors), "flashinfer": flashinfer}

    match = op.match(**cell.dims)
    result = {"cell": cell.name, "op": cell.op, "kind": cell.kind, "batch": cell.b, "heads": f"{cell.hq}/{cell.hkv}",
              "tokens": cell.s, "page": cell.page, "bytes": moved, "served": match.config, "fit": match.fit,
              "skipped": {}}
    # A graph reads what its launch holds.
    launches, graphs, errors = {}, {}, {}
    for arm, make in makers.items():
        try:
            launches[arm] = make()
            error = error_of_arm(arm)
            graphs[arm] = timing.prepare(launches[arm], count, stream, 2.0)
            errors[arm] = error
        except Exception as error:  # an arm that does not run means no verdict
            result["skipped"][arm] = f"{type(error).__name__}: {error}"[:600]
    result["errors"] = over_draws(errors, draws, renew, error_of_arm, result["skipped"])
    for arm in errors.keys() - result["errors"].keys():
        graphs.pop(arm).free()
    if "tilewright" not in graphs:
        raise RuntimeError(result["skipped"]["tilewright"])
    times = timing._rounds(graphs, rounds, stream)
    result["arms"] = {arm: statistics.beside(each, times["tilewright"]) for arm, each in times.items()}
    for graph in graphs.values():
        graph.free()
    return result


def line_of(result):
    times = {arm: each["median"] for arm, each in result["arms"].items()}
    words = [f"{arm} {ns / 1e3:.1f} us {result['bytes'] / ns:.0f} GB/s error {result['errors'][arm]:.1e}"
             for arm, ns in times.items()]
    ratios = [each["over_tilewright"]["median"] for arm, each in result["arms"].items() if arm != "tilewright"]
    if ratios:
        words.append(f"fastest peer / ours {min(ratios):.3f}")
    if "flashinfer" in result:
        words.append(f"flashinfer by {result['flashinfer']}")
    words += [f"{arm} skipped: {why}" for arm, why in result["skipped"].items()]
    return f"{result['cell']}: {', '.join(words)} [{result['served']}]"


def problems(cell):
    return [f"{cell.op}[dtype=bf16]{{{','.join(f'{name}={value}' for name, value in cell.dims.items())}}}"]


if __name__ == "__main__":
    sys.exit(served_cells.run(sys.argv[1:], __file__, __doc__, {name: Cell.of(name) for name in CELLS}, problems,
                              measure, line_of, has_page=True, has_draws=True))
