# SPDX-License-Identifier: Apache-2.0
"""How kernels that compute without a pause are timed alternately. At its power limit a GPU lowers its clock: in `burst`
it rests after each round, so that the limit is not reached; in `sustained` it has been busy for a second before the
first round that counts, and is never idle."""
import collections
import time

import torch

from . import timing

REST = 2  # lengths of the round
LONGEST_REST_SECONDS = 0.1
# About 0.2 ms in which the device spins: the graph is in the queue before the device begins with it.
HEAD_START_CYCLES = 400_000
LOAD_SECONDS = 1.2
TIMED_SECONDS = 1.0
PASSES_AHEAD = 2  # of what the device has done


def _events():
    return tuple(torch.cuda.Event(enable_timing=True) for _ in range(2))


def _nanoseconds(events):
    return events[0].elapsed_time(events[1]) * 1e6


def _one_round(graph, stream, probe):
    begin, end = events = _events()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(HEAD_START_CYCLES)
        begin.record(stream)
        graph.replay()
        end.record(stream)
    probe.sample()
    end.synchronize()
    nanoseconds = _nanoseconds(events)
    time.sleep(min(REST * nanoseconds * 1e-9, LONGEST_REST_SECONDS))
    return nanoseconds


class NoProbe:
    def sample(self):
        pass


NO_PROBE = NoProbe()


def burst(graphs, rounds, stream, probe=NO_PROBE):
    """By name, nanoseconds a launch, one value a round. The first time of each is not counted."""
    names = list(graphs)
    times = {name: [] for name in names}
    for name in names:
        _one_round(graphs[name], stream, NO_PROBE)
    for turn in range(rounds):
        for name in timing.order_of(names, turn):
            times[name].append(_one_round(graphs[name], stream, probe) / graphs[name].count)
    return times


def sustained(graphs, rounds, stream, probe=NO_PROBE):
    """As above; at least `rounds` rounds and a second of them, after a second of the same load."""
    names = list(graphs)
    counted = {name: [] for name in names}
    ends = collections.deque()
    began = time.monotonic()
    turn = 0
    while True:
        seconds = time.monotonic() - began
        counts = seconds >= LOAD_SECONDS
        if counts and len(counted[names[0]]) >= rounds and seconds >= LOAD_SECONDS + TIMED_SECONDS:
            break
        with torch.cuda.stream(stream):
            for name in timing.order_of(names, turn):
                begin, end = events = _events()
                begin.record(stream)
                graphs[name].replay()
                end.record(stream)
                if counts:
                    counted[name].append(events)
        turn += 1
        ends.append(end)
        if len(ends) > PASSES_AHEAD:
            ends.popleft().synchronize()
            if counts:
                probe.sample()
    stream.synchronize()
    return {name: [_nanoseconds(events) / graphs[name].count for events in counted[name]] for name in names}


BY_NAME = {"burst": burst, "sustained": sustained}
