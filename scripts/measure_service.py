#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures `tilewright serve`: how many queries a second, how late the slowest answers are, what listeners cost.

    scripts/measure_service.py --cache build/dev/winners/nvidia-h200.db
    scripts/measure_service.py --cache FILE --exact 5000 --nearest 500 --seconds 10 --streams 1000
    scripts/measure_service.py --cache FILE --beside-sweep 200 --rounds 8

Starts the program on the cache, read-only, and asks for all problems that have a winner, in a drawn order (exact), and
for shapes that nobody tuned, no two the same (nearest). Requests are sent when they are due and not when an answer has
come, so that a late answer delays no other and counts whole: the time of each is from when it was due. Prints a table;
--json writes it, too (scripts/benchmark service). It needs Python alone; client and service share the machine's cores.

With --beside-sweep it measures instead how much slower so many queries a second make a sweep of the emulator with
--jobs 1 on the cache that is served: sweeps with and without them in turns, each pair on a new copy of the cache.
The queries are of 200 tuned problems, each asked before. Prints both times of each pair, and the median of the ratios
with its interval of 95 %. It needs an idle machine.
"""
import argparse
import itertools
import json
import os
import pathlib
import random
import selectors
import shutil
import socket
import statistics
import subprocess
import tempfile
import time
import urllib.parse
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent


def start(program, cache):
    command = [program, "serve", "--port", "0", "--read-only", "--quiet", "--cache", cache]
    service = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    return service, int(service.stdout.readline().rsplit(":", 1)[1])


def get(port, target):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{target}") as answer:
        return json.load(answer)


def tuned_problems(port):
    """Shape keys with a winner."""
    keys = []
    for op in get(port, "/v1/ops")["rows"]:
        if op["problems_tuned"]:
            query = urllib.parse.urlencode({"op": op["op"], "columns": "shape_key"})
            keys += [row["shape_key"] for row in get(port, f"/v1/winners?{query}")["rows"]]
    return keys


def target_of(key, device=None):
    return "/v1/query?" + urllib.parse.urlencode({"op": key, **({"device": device} if device else {})})


def untuned(rng, keys):
    """Shapes of two dims or more near tuned ones, for ever."""
    while True:
        head, dims = rng.choice(keys)[:-1].split("{")
        values = [pair.split("=") for pair in dims.split(",")]
        name, value = values[0]
        values[0] = [name, str(max(1, int(int(value) * rng.uniform(0.6, 1.6))))]
        yield target_of(head + "{" + ",".join("=".join(pair) for pair in values) + "}")


class Connection:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.due = None
        self.text = b""

    def send(self, target, due):
        self.due = due
        self.socket.sendall(f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())

    def receive(self):
        """The status once the answer is whole."""
        self.text += self.socket.recv(1 << 16)
        end = self.text.find(b"\r\n\r\n")
        if end < 0:
            return None
        at = self.text.find(b"Content-Length: ", 0, end) + 16
        if len(self.text) < end + 4 + int(self.text[at:self.text.find(b"\r", at)]):
            return None
        status = int(self.text[9:12])
        self.text = b""
        return status


def load(port, targets, rate, seconds, connections, going=lambda: True):
    """Latencies in milliseconds from when each request was due, and the statuses that are not 200. Ends after the
    seconds, or when `going` is false."""
    free = [Connection(port) for _ in range(connections)]
    selector = selectors.DefaultSelector()
    for connection in free:
        selector.register(connection.socket, selectors.EVENT_READ, connection)
    times, wrong = [], {}
    begin = time.perf_counter()
    sent, busy = 0, 0
    total = int(rate * seconds)
    while sent < total or busy:
        if not going():
            total = sent
            if not busy:
                break
        now = time.perf_counter()
        while free and sent < total and begin + sent / rate <= now:
            connection = free.pop()
            connection.send(next(targets), begin + sent / rate)
            sent, busy = sent + 1, busy + 1
        wait = max(0.0, begin + sent / rate - time.perf_counter()) if free and sent < total else 1.0
        for key, _ in selector.select(wait):
            status = key.data.receive()
            if status is None:
                continue
            times.append(1e3 * (time.perf_counter() - key.data.due))
            if status != 200:
                wrong[status] = wrong.get(status, 0) + 1
            free.append(key.data)
            busy -= 1
    elapsed = time.perf_counter() - begin
    for connection in free:
        connection.socket.close()
    return sorted(times), wrong, len(times) / elapsed


def resident_mib(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def row(name, asked, outcome):
    """Prints it, and returns what was printed."""
    times, wrong, rate = outcome
    share = {f"p{100 * part:g}": times[min(len(times) - 1, int(part * len(times)))] for part in (0.5, 0.99, 0.999)}
    figures = "  ".join(f"{label} {value:8.2f} ms" for label, value in share.items())
    print(f"{name:8}  asked {asked:6}/s  answered {rate:8.1f}/s  {figures}  max {times[-1]:8.2f} ms"
          f"  not 200: {wrong or 0}", flush=True)
    return {"asked": asked, "answered": rate, "ms": {**share, "max": times[-1]}, "not_200": sum(wrong.values())}


def sweep_seconds(options, service_cache, targets, rate):
    """Of one sweep on a copy of the cache, which is served meanwhile, and asked where `rate` is not 0."""
    with tempfile.TemporaryDirectory() as folder:
        cache = pathlib.Path(folder, "cache.db")
        shutil.copyfile(service_cache, cache)
        service, port = start(options.program, cache)
        try:
            for target in targets:
                get(port, target)
            began = time.perf_counter()
            sweep = subprocess.Popen([options.program, "sweep", "softmax", "--dtype", "f32", "--shapes",
                                      options.sweep, "--device", "cpu", "--jobs", "1", "--no-ceilings", "--quiet",
                                      "--cache", cache], stdout=subprocess.DEVNULL)
            ended = []

            def going():
                if sweep.poll() is not None:
                    ended.append(time.perf_counter())
                return not ended

            if rate:
                row("beside", rate, load(port, itertools.cycle(targets), rate, 3600, 8, going))
            if sweep.wait() != 0:
                raise SystemExit("the sweep failed")
            return (ended or [time.perf_counter()])[0] - began
        finally:
            service.terminate()
            service.wait()


def measure_beside_sweep(options, targets, rng):
    ratios = []
    for i in range(options.rounds):
        times = {}
        for rate in (0, options.beside_sweep) if i % 2 == 0 else (options.beside_sweep, 0):
            times[rate] = sweep_seconds(options, options.cache, targets, rate)
        alone, beside = times[0], times[options.beside_sweep]
        ratios.append(beside / alone)
        print(f"pair {i + 1}: alone {alone:.2f} s, beside {options.beside_sweep} queries a second {beside:.2f} s, "
              f"ratio {ratios[-1]:.4f}", flush=True)
    medians = sorted(statistics.median(rng.choices(ratios, k=len(ratios))) for _ in range(10_000))
    print(f"the sweep takes {statistics.median(ratios):.4f}x as long, 95 % interval {medians[250]:.4f} to "
          f"{medians[9749]:.4f}; at most 1.05 is asked")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(HERE.parent / "build/dev/bin/tilewright"))
    parser.add_argument("--cache", required=True)
    parser.add_argument("--exact", type=int, default=5000, help="queries a second of tuned shapes")
    parser.add_argument("--nearest", type=int, default=500, help="queries a second of untuned shapes")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--streams", type=int, default=1000, help="listeners to /v1/events")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--beside-sweep", type=int, default=0, metavar="RATE", help="queries a second beside a sweep")
    parser.add_argument("--rounds", type=int, default=8, help="pairs of sweeps")
    parser.add_argument("--sweep", default="rows=2,4 cols=64", help="the shapes that are swept")
    parser.add_argument("--json", metavar="FILE", help="write the table as JSON")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    service, port = start(options.program, options.cache)
    try:
        keys = tuned_problems(port)
        made = {"problems": len(keys), "load": os.getloadavg()[0]}
        print(f"{len(keys)} problems have a winner; {os.cpu_count()} cores, load {made['load']:.1f}")
        exact = iter(lambda: target_of(rng.choice(keys)), None)
        if options.beside_sweep:
            # Of the GPU alone: for the emulator, which the sweep adds, each would be a shape that nobody tuned.
            device = get(port, "/v1/devices")["rows"][0]["fingerprint"]
            return measure_beside_sweep(options, [target_of(key, device) for key in rng.sample(keys, 200)], rng)
        get(port, "/readyz")
        for key in keys:  # Each once, so that what is measured is the steady state.
            get(port, target_of(key))
        made["exact"] = row("exact", options.exact,
                            load(port, exact, options.exact, options.seconds, options.connections))
        nearest = untuned(rng, [key for key in keys if "," in key.split("{")[1]])
        made["nearest"] = row("nearest", options.nearest,
                              load(port, nearest, options.nearest, options.seconds, options.connections))
        before = resident_mib(service.pid)
        streams = []
        for _ in range(options.streams):
            streams.append(socket.create_connection(("127.0.0.1", port)))
            streams[-1].sendall(b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        for stream in streams:
            stream.recv(4096)
        made["listeners"] = {"count": len(streams), "mib": resident_mib(service.pid) - before, "before_mib": before}
        print(f"{len(streams)} listeners: {made['listeners']['mib']:.1f} MiB more, {before:.1f} MiB before")
        made["beside"] = row("beside", options.exact,
                             load(port, exact, options.exact, options.seconds, options.connections))
        if options.json:
            pathlib.Path(options.json).write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    finally:
        service.terminate()
        service.wait()


if __name__ == "__main__":
    main()
