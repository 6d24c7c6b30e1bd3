# SPDX-License-Identifier: Apache-2.0
"""Opens a cache as another program that knows the functions of its tables (cache/store/sqlite/row_hash.hpp)."""
import ctypes
import sqlite3
import struct

_hash = ctypes.CDLL("libxxhash.so.0").XXH3_64bits
_hash.restype = ctypes.c_uint64
_hash.argtypes = [ctypes.c_char_p, ctypes.c_size_t]


def _packed(value):
    """The value's type in SQLite's numbers, its length where it has one, and its bytes."""
    if value is None:
        return b"\x05"
    if isinstance(value, int):
        return b"\x01" + struct.pack("<q", value)
    if isinstance(value, float):
        return b"\x02" + struct.pack("<d", value)
    kind, data = (b"\x03", value.encode()) if isinstance(value, str) else (b"\x04", bytes(value))
    return kind + struct.pack("<i", len(data)) + data


def _row_hash(*values):
    data = b"".join(map(_packed, values))
    return ctypes.c_int32(_hash(data, len(data)) & 0xffffffff).value


def connect(path):
    """A connection that can write rows and read all their columns."""
    database = sqlite3.connect(path)
    database.create_function("row_hash", -1, _row_hash, deterministic=True)
    database.create_function("is_intact", -1, lambda table, checksum, *row: int(checksum == _row_hash(table, *row)),
                             deterministic=True)
    return database
