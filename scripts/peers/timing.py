# SPDX-License-Identifier: Apache-2.0
"""Times as docs/measuring.md makes them: a CUDA graph of launches that rotate over so many input sets that each is out
of L2 when its turn comes again, replayed without gaps. Different functions are timed alternately, so that a clock that
drifts is the same for all."""
import math

import torch

COLD_BYTES = 192 << 20  # together more than twice the L2 of an H200
MOST_SETS = 512
MOST_LAUNCHES = 2048


def sets_for(cell, l2_bytes):
    wanted = max(COLD_BYTES, 2 * l2_bytes + 1)
    return max(2, min(MOST_SETS, math.ceil(wanted / cell.bytes)))


class Graph:
    """`count` launches over the sets in turn. What a launch returns is kept: its memory is not another launch's."""

    def __init__(self, launch, sets, count, stream):
        self.count = count
        self.kept = []
        self.graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            self.graph.capture_begin(capture_error_mode="thread_local")
            try:
                for i in range(count):
                    self.kept.append(launch(i % sets))
            finally:
                self.graph.capture_end()
        torch.cuda.synchronize()

    def replay(self):
        self.graph.replay()

    def free(self):
        self.kept.clear()
        self.graph.reset()


def order_of(names, turn):
    """By Williams's balanced squares: over as many turns as there are names, twice as many of an odd number, each is as
    often as others at each place, and as often behind each other."""
    count = len(names)
    # 0, 1, n-1, 2, n-2, …: no two neighbours are as far apart, in this direction.
    first = [(place + 1) // 2 if place % 2 else (count - place // 2) % count for place in range(count)]
    order = [names[(index + turn) % count] for index in first]
    return order[::-1] if count % 2 and turn // count % 2 else order


def _rounds(graphs, count, stream):
    """Microseconds are read only at the end: the device is never idle between the first launch and the last."""
    names = list(graphs)
    events = {name: [] for name in names}
    with torch.cuda.stream(stream):
        for name in names:
            graphs[name].replay()
        for turn in range(count):
            for name in order_of(names, turn):
                begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                begin.record(stream)
                graphs[name].replay()
                end.record(stream)
                events[name].append((begin, end))
    stream.synchronize()
    return {name: [begin.elapsed_time(end) * 1e6 / graphs[name].count for begin, end in events[name]]
            for name in names}


def prepare(launch, sets, stream, round_ms):
    """A graph of about `round_ms`. The first launch, which may compile and allocate, was made before."""
    with torch.cuda.stream(stream):
        for i in range(2):
            launch(i % sets)
    stream.synchronize()
    graph = Graph(launch, sets, sets, stream)
    nanoseconds = min(_rounds({"": graph}, 3, stream)[""])
    turns = max(1, math.ceil(round_ms * 1e6 / (nanoseconds * sets)))
    count = min(sets * turns, max(sets, MOST_LAUNCHES))
    if count == sets:
        return graph
    graph.free()
    return Graph(launch, sets, count, stream)


def fastest(launches, sets, stream, rounds=_rounds):
    """The name of the fastest launch, by short looks at each: `rounds` of graphs by name, how many, on a stream. One
    that fails is passed over."""
    best, best_ns = None, math.inf
    for name, launch in launches.items():
        try:
            graph = prepare(launch, sets, stream, 0.25)
        except Exception as error:  # a config that does not fit the device is no candidate
            print(f"    {name}: {error}", flush=True)
            continue
        nanoseconds = sorted(rounds({"": graph}, 5, stream)[""])[2]
        graph.free()
        if nanoseconds < best_ns:
            best, best_ns = name, nanoseconds
    return best


def alternate(graphs, rounds, stream):
    """By name, nanoseconds a launch, one value a round."""
    return _rounds(graphs, rounds, stream)
