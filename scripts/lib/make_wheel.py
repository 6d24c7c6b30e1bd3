#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_wheel.py LIBRARY FOLDER [WINNERS]: packs the Python package, the launch library LIBRARY and the shipped winners,
the file WINNERS that the build folded, if any, into a wheel in FOLDER, and prints its path. A wheel is a zip file with
a list of what is in it: no packaging tool is needed. It serves every Python 3 on this architecture with the glibc that
the library asks for, which its tag says."""
import base64
import ctypes
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "cache" / "launch" / "python"


def version_of(functions):
    functions.tw_version.restype = ctypes.c_char_p
    return functions.tw_version().decode()


def require_opens(functions, winners):
    """Ends the program where the library does not open the winners: those of an older schema must be brought forward
    first."""
    functions.tw_last_error.restype = ctypes.c_char_p
    functions.tw_close.argtypes = [ctypes.c_void_p]
    # Whoever may write in the build tree; nobody may in the wheel.
    os.environ["TILEWRIGHT_ALLOW_SHARED_CACHE"] = "1"
    launcher = ctypes.c_void_p()
    if functions.tw_open(os.fsencode(winners), ctypes.byref(launcher)) != 0:
        sys.exit(f"make_wheel.py: {functions.tw_last_error().decode()}")
    functions.tw_close(launcher)


def platform_of(library):
    """"manylinux_2_36_x86_64": the newest glibc of which the library uses a symbol."""
    symbols = subprocess.run(["objdump", "-T", str(library)], capture_output=True, text=True, check=True).stdout
    newest = max((int(major), int(minor)) for major, minor in re.findall(r"GLIBC_(\d+)\.(\d+)", symbols))
    return f"manylinux_{newest[0]}_{newest[1]}_{os.uname().machine}"


def definitions():
    """What the package needs to know of the built-in ops."""
    sys.path.insert(0, str(PACKAGE))
    from tilewright import _definitions
    return _definitions.read(ROOT / "kernels")


def files_of(library, winners, version, tag):
    """Every file of the wheel, by its name in it."""
    files = {f"tilewright/{source.name}": source.read_bytes()
             for source in sorted((PACKAGE / "tilewright").iterdir()) if source.suffix in (".py", ".typed")}
    files["tilewright/ops.json"] = json.dumps(definitions()).encode()
    files["tilewright/libtilewright.so"] = library.read_bytes()
    if winners:
        files[f"tilewright/winners/{winners.name}"] = winners.read_bytes()
    info = f"tilewright-{version}.dist-info"
    readme = (PACKAGE / "README.md").read_text(encoding="utf-8")
    files[f"{info}/METADATA"] = (
        f"Metadata-Version: 2.1\nName: tilewright\nVersion: {version}\n"
        "Summary: Launches the fastest known CUDA kernel for a shape\nLicense: Apache-2.0\nRequires-Python: >=3.9\n"
        "Classifier: Operating System :: POSIX :: Linux\nClassifier: Typing :: Typed\n"
        f"Description-Content-Type: text/markdown\n\n{readme}").encode()
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: tilewright\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    files[f"{info}/LICENSE"] = (ROOT / "LICENSE").read_bytes()
    hashes = {name: base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
              for name, data in files.items()}
    lines = [f"{name},sha256={hashes[name]},{len(data)}" for name, data in files.items()]
    files[f"{info}/RECORD"] = "\n".join([*lines, f"{info}/RECORD,,", ""]).encode()
    return files


def write(path, files, when):
    """The same files at the same time give the same bytes."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, time.gmtime(max(when, 315532800))[:6])  # zip knows nothing before 1980
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if name.endswith(".so") else 0o100644) << 16
            wheel.writestr(entry, data)


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    library, folder = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    winners = pathlib.Path(sys.argv[3]) if len(sys.argv) == 4 else None
    functions = ctypes.CDLL(str(library))
    if winners:
        require_opens(functions, winners)
    version = version_of(functions)
    tag = f"py3-none-{platform_of(library)}"
    folder.mkdir(parents=True, exist_ok=True)
    for older in folder.glob("tilewright-*.whl"):
        older.unlink()
    path = folder / f"tilewright-{version}-{tag}.whl"
    files = files_of(library, winners, version, tag)
    write(path, files, int(os.environ.get("SOURCE_DATE_EPOCH", "0")))
    print(path)


if __name__ == "__main__":
    main()
