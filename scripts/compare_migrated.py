#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compare_migrated.py PROGRAM FILE: whether a cache of schema 6 loses anything when PROGRAM brings it forward. A copy
of FILE (a cache, or one packed by zstd) is opened for writing; then every table's rows are counted before and after,
and the rows whose common columns have changed. The winners that were shipped last with schema 6:
git show f243317:kernels/winners/nvidia-h200.db.zst > six.db.zst. Exits with 1 where a row is lost. --keep FILE keeps
what became of it, for compare_served.py."""
import argparse
import contextlib
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile

SPARE = "status = 'pruned' AND reason = 'compiled for shapes around that were not tuned' AND build IS NOT NULL"
# What schema 7 has in another place, as a question to the old file, and the same to the new one.
MOVED = {
    "trials without spares": (f"SELECT count(*) FROM old.trials WHERE NOT ({SPARE})", "SELECT count(*) FROM trials"),
    "spares": (f"SELECT count(*) FROM (SELECT DISTINCT problem, device, mode, config FROM old.trials WHERE {SPARE})",
               "SELECT count(*) FROM spares"),
    "GPUs of trials": ("SELECT count(DISTINCT gpu_uuid) FROM old.trials", "SELECT count(*) FROM gpus"),
    "requests, misses": ("SELECT count(*) FROM old.requests", "SELECT count(*) FROM misses"),
    "binaries with models": (
        "SELECT count(*) FROM (SELECT hash FROM old.binaries UNION SELECT hash FROM old.loss_models)",
        "SELECT count(*) FROM binaries"),
    "rules": (
        "SELECT count(*) FROM (SELECT DISTINCT (SELECT json_group_array(key) FROM json_each(choice, '$.forbidden')) "
        "AS text FROM old.winners) WHERE text <> '[]'", "SELECT count(*) FROM rules"),
}
# Columns that schema 7 writes anew: hashes of tokens, choices that name their rules once.
RESTAMPED = {"implementations": {"hash"}, "winners": {"choice"}}


def columns(connection, schema, table):
    rows = connection.execute("SELECT name FROM pragma_table_xinfo(?, ?) WHERE hidden = 0", (table, schema))
    return [name for name, in rows]


def number(connection, sql):
    return connection.execute(sql).fetchone()[0]


def compare(connection):
    """Lines of name, before, after, and how many rows are missing or changed."""
    tables = [name for name, in connection.execute(
        "SELECT name FROM old.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY 1")]
    now = {name for name, in connection.execute("SELECT name FROM main.sqlite_schema WHERE type = 'table'")}
    for table in tables:
        if table not in now:
            continue
        before = columns(connection, "old", table)
        common = [c for c in columns(connection, "main", table) if c in before and c not in RESTAMPED.get(table, ())]
        which = f"WHERE NOT ({SPARE})" if table == "trials" else ""
        names = ", ".join(common)
        # Winners are put in another order.
        names = names.removeprefix("id, ") if table == "winners" else names
        lost = number(connection, f"SELECT count(*) FROM (SELECT {names} FROM old.{table} {which} "
                                  f"EXCEPT SELECT {names} FROM main.{table})")
        yield (table, number(connection, f"SELECT count(*) FROM old.{table}"),
               number(connection, f"SELECT count(*) FROM main.{table}"), lost)
    for name, (old, new) in MOVED.items():
        before, after = number(connection, old), number(connection, new)
        yield name, before, after, abs(before - after)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--keep", type=pathlib.Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        old, new = pathlib.Path(folder, "old.db"), pathlib.Path(folder, "new.db")
        if arguments.file.suffix == ".zst":
            subprocess.run(["zstd", "--quiet", "-d", "--long=27", arguments.file, "-o", old], check=True)
        else:
            shutil.copy(arguments.file, old)
        shutil.copy(old, new)
        subprocess.run([arguments.program, "cache", "gc", "--dry-run", "--cache", new], check=True,
                       stdout=subprocess.DEVNULL, env=os.environ | {"TILEWRIGHT_ALLOW_SHARED_CACHE": "1"})
        lost = 0
        with contextlib.closing(sqlite3.connect(new)) as connection:
            connection.execute("ATTACH ? AS old", (str(old),))
            print(f"schema {number(connection, 'PRAGMA old.user_version')} to "
                  f"{number(connection, 'PRAGMA main.user_version')}")
            print(f"{'table':24} {'before':>8} {'after':>8} {'missing or changed':>20}")
            for name, before, after, missing in compare(connection):
                print(f"{name:24} {before:8} {after:8} {missing:20}")
                lost += missing
            connection.execute("DETACH old")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        if arguments.keep:
            shutil.copy(new, arguments.keep)
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
