#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows that shapes which an application missed are tuned and served to it, with no restart of anything.

    scripts/serve_misses.py                          on the GPU at hand
    scripts/serve_misses.py --device cpu             on the emulator
    scripts/serve_misses.py --op rmsnorm --dtype bf16 --tuned rows=64,cols=4096 --missed rows=96,cols=4096

In a folder of its own it tunes one shape, publishes it, starts `tilewright serve` on the device and `tilewright pull`
beside it, and then is the application: a launcher of Python that opens what pull keeps, and watches it. It launches
(on the emulator: asks for) shapes that nobody tuned, and waits until each is served exactly; what is tuned meanwhile
is published and promoted as a team's job would do. Prints what happened, and when. Needs Python alone.
"""
import argparse
import ctypes
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent.parent
BUILD = HERE / "build/dev"


class Story:
    """Tells what happened, with the seconds since the first miss."""

    def __init__(self):
        self.began = time.monotonic()

    def tell(self, text):
        print(f"{time.monotonic() - self.began:7.1f} s  {text}", flush=True)


class Services:
    """The programs of a team: tuned, published, served, pulled."""

    def __init__(self, arguments, folder):
        self.arguments, self.folder = arguments, folder
        self.cache, self.key = folder / "cache.db", folder / "key"
        self.ops = ["--ops", arguments.ops] if arguments.ops else []
        self.running = []
        self.port = 0

    def run(self, *words, accepted=(0,)):
        done = subprocess.run([self.arguments.program, *map(str, words)], text=True, capture_output=True, check=False)
        if done.returncode not in accepted:
            sys.exit(f"tilewright {' '.join(map(str, words))}\n{done.stdout}{done.stderr}")
        return done.stdout

    def start(self, *words):
        process = subprocess.Popen([self.arguments.program, *map(str, words)], stdout=subprocess.PIPE, text=True,
                                   stderr=open(self.folder / f"{words[0]}.log", "w", encoding="utf-8"))
        self.running.append(process)
        return process

    def prepare(self):
        named = self.arguments
        self.run("key", self.key)
        self.run("sweep", named.op, *named.tuned.split(","), "--dtype", named.dtype, "--device", named.device,
                 "--cache", self.cache, "--budget-ms", named.budget_ms, "--no-ceilings", *self.ops)
        service = self.start("serve", "--port", 0, "--cache", self.cache, "--publishers", f"{self.key}.pub",
                             "--devices", named.device, *self.ops)
        self.port = int(service.stdout.readline().rsplit(":", 1)[1])
        self.publish()
        self.start("pull", self.url(), "--publishers", f"{self.key}.pub", "--to", self.folder / "pulled",
                   "--misses", self.folder / "misses", "--every", "1s").stdout.readline()

    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def publish(self):
        self.run("publish", self.url(), "--key", self.key, "--cache", self.cache)
        self.run("promote", self.url(), "--key", self.key, "--accept-undecided")

    def tuned(self):
        """Shape keys that the service has winners of."""
        query = urllib.parse.urlencode({"op": self.arguments.op, "columns": "shape_key"})
        with urllib.request.urlopen(f"{self.url()}/v1/winners?{query}") as answer:
            return {row["shape_key"] for row in json.load(answer)["rows"]}

    def stop(self):
        for process in reversed(self.running):
            process.terminate()
        for process in self.running:
            process.wait()


def use_gpu():
    """A context of the first GPU, current on this thread."""
    driver = ctypes.CDLL("libcuda.so.1")
    context = ctypes.c_void_p()
    for failed in (driver.cuInit(0), driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0),
                   driver.cuCtxSetCurrent(context)):
        if failed:
            sys.exit(f"no GPU can be used: the driver answers {failed}; --device cpu needs none")


def launch(op, dims, on_gpu, misses):
    """As a launch does, its plan is made, and a shape that nobody tuned is written down."""
    if on_gpu:
        op.preload(**dims)
        return
    match = op.match(**dims)
    now = int(time.time())
    header = "" if misses.exists() else "tilewright misses 1\n"
    with open(misses, "a", encoding="utf-8") as file:
        file.write(f"{header}{now}\t{now}\t1\t{match.device}\t{match.json['problem']}\n")


def dims_of(text):
    return {name: int(value) for name, value in (pair.split("=") for pair in text.split(","))}


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--program", default=str(BUILD / "bin/tilewright"))
    parser.add_argument("--library", default=str(BUILD / "lib/libtilewright.so"))
    parser.add_argument("--device", default="cuda:0", help="cuda:0 (default) or cpu, the emulator")
    parser.add_argument("--op", help="default: softmax, on the emulator shift, an op of the tests")
    parser.add_argument("--ops", help="a folder of ops")
    parser.add_argument("--dtype", help="default: bf16, on the emulator f32")
    parser.add_argument("--tuned", default="rows=64,cols=1024", help="the shape that is tuned at first")
    parser.add_argument("--missed", action="append", help="a shape that is missed; may be given again")
    parser.add_argument("--budget-ms", default=20)
    parser.add_argument("--patience", type=float, default=600, help="seconds for all to be served")
    arguments = parser.parse_args()
    on_cpu = arguments.device == "cpu"
    if arguments.op is None:
        arguments.op = "shift" if on_cpu else "softmax"
        if on_cpu and arguments.ops is None:
            arguments.ops = str(HERE / "tests/cli/ops")
    arguments.dtype = arguments.dtype or ("f32" if on_cpu else "bf16")
    arguments.missed = arguments.missed or ["rows=5,cols=1000", "rows=96,cols=3000"]
    return arguments


def main():
    arguments = read_arguments()
    os.environ["TILEWRIGHT_LIBRARY"] = arguments.library
    sys.path.insert(0, str(HERE / "cache/launch/python"))
    import tilewright

    on_gpu = arguments.device != "cpu"
    with tempfile.TemporaryDirectory() as name:
        services = Services(arguments, pathlib.Path(name))
        try:
            services.prepare()
            if on_gpu:
                use_gpu()
            misses = services.folder / "misses"
            launcher = tilewright.Launcher(services.folder / "pulled/stable.db", device=None if on_gpu else "cpu",
                                           misses=misses, watch_ms=100)
            op = launcher.op(arguments.op, dtype=arguments.dtype)
            story = Story()
            waiting = {text: dims_of(text) for text in arguments.missed}
            for text, dims in waiting.items():
                launch(op, dims, on_gpu, misses)
                story.tell(f"missed {text}: {op.match(**dims).match}, {launcher.snapshot()['snapshot']}")
            published = services.tuned()
            while waiting and time.monotonic() - story.began < arguments.patience:
                tuned = services.tuned()
                if tuned - published:
                    story.tell(f"tuned {', '.join(sorted(tuned - published))}")
                    services.publish()
                    story.tell("published and promoted")
                    published = tuned
                for text in [text for text, dims in waiting.items() if op.match(**dims).fit == "exact"]:
                    match = op.match(**waiting.pop(text))
                    story.tell(f"served {text}: {match.match}, {match.config}, {launcher.snapshot()['snapshot']}")
                time.sleep(0.2)
            if waiting:
                sys.exit(f"{', '.join(waiting)}: not served after {arguments.patience:.0f} s")
        finally:
            services.stop()


if __name__ == "__main__":
    main()
