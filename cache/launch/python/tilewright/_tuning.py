# SPDX-License-Identifier: Apache-2.0
"""Tuning from Python: `sweep`, `query` and `table` run the program `tilewright` and give its JSON as plain data. There
is one tuner, and this is not a second."""
from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Union

from ._library import CacheError, Error, UsageError, find_library

Values = Union[str, int, float, Iterable[Union[str, int, float]]]
Progress = Union[bool, Callable[[dict[str, Any]], None], None]


class Table(list):  # type: ignore[type-arg]
    """Rows as dicts, in full precision; what is not known is None. `notes` say what people should know of it, `summary`
    has a sweep's figures."""

    def __init__(self, document: Mapping[str, Any]):
        super().__init__(document.get("rows", []))
        self.title: str = document.get("title", "")
        self.notes: list[str] = list(document.get("notes", []))
        self.summary: dict[str, Any] = dict(document.get("summary", {}))

    def frame(self) -> Any:
        """A pandas.DataFrame, with `notes` and `summary` in its `attrs`."""
        import pandas  # type: ignore[import-untyped]

        frame = pandas.DataFrame(list(self))
        frame.attrs.update(title=self.title, notes=self.notes, summary=self.summary)
        return frame


class Definition:
    """An op of one's own from two strings, its TOML and its CUDA source, for `ops`. Its files live as long as it."""

    def __init__(self, toml: str, source: str):
        name = re.search(r'^\s*name\s*=\s*"([\w.-]+)"', toml, re.MULTILINE)
        file = re.search(r'source\s*=\s*"([\w.-]+)"', toml)
        if not name or not file:
            raise UsageError('a definition has name = "..." of the op and source = "..." of its CUDA file')
        self.name = name[1]
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="tilewright-op-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)
        folder = self.path / self.name
        folder.mkdir()
        (folder / f"{self.name}.toml").write_text(toml, encoding="utf-8")
        (folder / file[1]).write_text(source, encoding="utf-8")


def find_program() -> pathlib.Path:
    """$TILEWRIGHT_PROGRAM, else the one beside the library, else the one of the PATH."""
    if os.environ.get("TILEWRIGHT_PROGRAM"):
        return pathlib.Path(os.environ["TILEWRIGHT_PROGRAM"])
    try:
        beside = find_library().resolve().parent.parent / "bin" / "tilewright"
        if beside.exists():
            return beside
    except Error:
        pass
    found = shutil.which("tilewright")
    if found:
        return pathlib.Path(found)
    raise Error("the program tilewright is neither beside libtilewright.so nor on the PATH, and tuning needs it; "
                "install Tilewright whole, or name the program in TILEWRIGHT_PROGRAM")


def _text(values: Values) -> str:
    if isinstance(values, bool):
        return "yes" if values else "no"
    if isinstance(values, (str, int, float)):
        return str(values)
    return ",".join(_text(value) for value in values)


def _options(options: Mapping[str, Any]) -> list[str]:
    """max_configs=4 is --max-configs 4; True is the option alone, None and False are nothing."""
    words = []
    for name, value in options.items():
        if value is None or value is False:
            continue
        words.append("--" + name.replace("_", "-"))
        if value is not True:
            words.append(_text(value))
    return words


def _is_notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None and "IPKernelApp" in getattr(shell, "config", {})


class _Shown:
    """One line that is written over, for people."""

    def __init__(self) -> None:
        self.width = 0
        self.best = ""

    def __call__(self, event: dict[str, Any]) -> None:
        kind = event.get("event")
        if kind == "trial" and event.get("best") and "median_ns" in event:
            self.best = f"best {event['median_ns'] / 1e3:.2f} µs: {event['config']}"
        elif kind == "problem_started":
            self.best = ""
            self._write(f"{event['index']}/{event['of']} {event['problem']}")
        elif kind == "state":
            self._write(f"{event['finished']}/{event['problems']} problems, {event['tried']} configs  {self.best}")
        elif kind in ("note", "message"):
            self._write(event["text"], ended=True)
        elif kind == "sweep_done":
            self._write("", ended=False)

    def _write(self, text: str, ended: bool = False) -> None:
        print("\r" + text.ljust(self.width), end="\n" if ended else "", file=sys.stderr, flush=True)
        self.width = 0 if ended else len(text)


def _listener(progress: Progress) -> Callable[[dict[str, Any]], None]:
    if callable(progress):
        return progress
    wanted = progress if progress is not None else sys.stderr.isatty() or _is_notebook()
    return _Shown() if wanted else lambda event: None


def _run(words: list[str], ops: Iterable[Any], cache: Any, listener: Callable[[dict[str, Any]], None] | None) -> Any:
    """The JSON that the program prints; None where it printed none. Its errors are raised with its words."""
    command = [str(find_program()), *words, "--format", "json"]
    for folder in ops:
        command += ["--ops", str(folder.path if isinstance(folder, Definition) else folder)]
    if cache is not None:
        command += ["--cache", os.fspath(cache)]
    if listener is not None:
        command += ["--log-format", "json"]
    said: list[str] = []
    out: list[str] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", errors="replace",
                          stdin=subprocess.DEVNULL) as process:
        assert process.stdout is not None and process.stderr is not None
        reader = threading.Thread(target=lambda: out.append(process.stdout.read()))  # type: ignore[union-attr]
        reader.start()
        try:
            for line in process.stderr:
                event = _event(line) if listener is not None else None
                if event is None or event.get("event") == "error":
                    said.append(line.strip() if event is None else str(event.get("text", "")))
                elif listener is not None:
                    listener(event)
        except BaseException:
            # The program stores what it has and ends, as for Ctrl-C.
            process.terminate()
            raise
        finally:
            if process.poll() is None:
                process.stderr.read()
            reader.join()
            process.wait()
    if process.returncode == 2:
        raise UsageError("\n".join(said))
    if not out[0].strip():
        text = "\n".join(said) or f"tilewright {words[0]} ended with exit code {process.returncode}"
        raise (CacheError if "cache" in text else Error)(text)
    return json.loads(out[0])


def _event(line: str) -> dict[str, Any] | None:
    try:
        event = json.loads(line)
    except ValueError:
        return None
    return event if isinstance(event, dict) else None


def _given(document: Any, frame: bool | None) -> Any:
    tables = [Table(each) for each in (document if isinstance(document, list) else [document])]
    if frame or (frame is None and importlib.util.find_spec("pandas")):
        given = [table.frame() for table in tables]
    else:
        given = tables
    return given if isinstance(document, list) else given[0]


def _problem(op: Any, names: Mapping[str, Values], ops: Iterable[Any]) -> tuple[list[str], list[Any]]:
    folders = list(ops)
    if isinstance(op, Definition):
        folders.insert(0, op)
        op = op.name
    return [str(op), *(f"{name}={_text(value)}" for name, value in names.items())], folders


def sweep(op: Any = None, names: Mapping[str, Values] | None = None, *, cache: Any = None, ops: Iterable[Any] = (),
          progress: Progress = None, frame: bool | None = None, **options: Any) -> Any:
    """Tunes an op, and gives the winners. `op` is a name, a shape key or a Definition; `names` are dims, attributes and
    dtype with their values: {"rows": [1024, 4096], "dtype": "bf16"}. Options are those of `tilewright sweep`:
    device="cuda:0", budget="5m", campaign="night.toml" (then no op), max_trials=100.

    `progress` is told each event (docs/progress.md); True shows a line, False nothing, None a line where somebody
    looks: a terminal or a notebook. A pandas.DataFrame where pandas is there, else a Table; `frame` asks for one of the
    two. Several ops, of a campaign, give a list. Ctrl-C ends it, and what was measured is kept."""
    words, folders = _problem(op, names or {}, ops) if op is not None else ([], list(ops))
    return _given(_run(["sweep", *words, *_options(options)], folders, cache, _listener(progress)), frame)


def query(op: Any, names: Mapping[str, Values] | None = None, *, cache: Any = None, ops: Iterable[Any] = (),
          frame: bool | None = None, **options: Any) -> Any:
    """Which config the cache serves for a problem, a row a device. As `tilewright query`: device="H200"."""
    words, folders = _problem(op, names or {}, ops)
    return _given(_run(["query", *words, *_options(options)], folders, cache, None), frame)


def table(op: Any, names: Mapping[str, Values] | None = None, *, cache: Any = None, ops: Iterable[Any] = (),
          frame: bool | None = None, **options: Any) -> Any:
    """What the cache has of an op: its winners; all=True all configs; by="stages" what a parameter does. As `tilewright
    table`: where="cols>=4096", sort="time_ns", top=10."""
    words, folders = _problem(op, names or {}, ops)
    return _given(_run(["table", *words, *_options(options)], folders, cache, None), frame)
