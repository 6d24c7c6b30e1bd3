#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compare_programs.py BEFORE AFTER CACHE.db: runs the same commands with two builds of tilewright on one cache and
compares exit code, standard output (JSON, byte for byte) and the kind of error. For changes that must not be seen.

Exit code: 0 all agree, 1 some differ, 2 the arguments are wrong."""
import argparse
import difflib
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

KERNELS = pathlib.Path(__file__).resolve().parent.parent / "kernels"
H200 = "--device H200"
COMMANDS = f"""
list
list softmax
show softmax
show gemm
show activation
show "softmax[dtype=bf16]{{rows=4096,cols=1024}}" {H200}
show "gemm[dtype=bf16]{{m=4096,n=4096,k=4096}}" {H200}
show "rmsnorm[dtype=f16]{{rows=8192,cols=4096}}" {H200}
show softmax --config "streaming{{num_warps=8,vec=4,ragged=1,unroll=1}}" --ptx
query "softmax[dtype=bf16]{{rows=4096,cols=1024}}" {H200}
query "softmax[dtype=bf16]{{rows=4097,cols=1003}}" {H200}
query "softmax[dtype=f32]{{rows=1,cols=1}}" {H200}
query "gemm[dtype=bf16]{{m=4096,n=4096,k=4096}}" {H200}
query "gemm[dtype=bf16,act=gelu]{{m=100,n=2000,k=3001}}" {H200}
query "gemm[dtype=f16,layout=nn,bias=yes]{{m=1,n=14336,k=4096}}" {H200}
query layernorm rows=777 cols=8191 dtype=bf16 {H200}
query rmsnorm rows=32768 cols=256 dtype=bf16
query swiglu rows=1000 cols=11008 dtype=f16 {H200}
query dropout n=1048577 dtype=bf16 {H200}
query activation n=1000 act=gelu dtype=bf16 {H200}
query bias_act_dropout rows=4096 cols=4096 act=gelu dtype=bf16 {H200}
query add_layernorm rows=100 cols=300 dtype=f32 {H200}
query softmax rows=4096 dtype=bf16
query softmacs rows=1 cols=1
query softmax rows=0 cols=5
table softmax --dtype bf16
table softmax --dtype bf16,f16 --where "cols>=4096 and share_of_ceiling<0.9" --sort share_of_ceiling
table rmsnorm --top 20 --sort=-gb_per_s
table layernorm rows=4096
table gemm --dtype bf16 --top 50
table softmax rows=4096 cols=1024 dtype=bf16 --all --top 30
table gemm --by stages --dtype bf16
table softmax --by implementation
table swiglu --columns rows,cols,dtype,median_ns,config
table bias_act --where nothing=1
table bias_act --top 3
table softmax --compare CACHE CACHE --dtype bf16
fusion add_rmsnorm_silu rows=8192 cols=4096 dtype=bf16 {H200}
fusion bias_act_dropout rows=8192 cols=4096 dtype=bf16 {H200}
fusion add_layernorm rows=4096 cols=8192 dtype=bf16 {H200}
regret add {H200}
regret dropout {H200}
sweep softmax --dtype bf16 --shapes "rows=8 cols=100,200" --device cpu --dry-run
sweep gemm --dtype bf16 --shapes "m=64 n=64 k=64" --device cpu --dry-run
export --jsonl - add
export --csv - add
export --t4 - mul
export --google-benchmark - copy
export --header - dropout {H200}
export -o OUT.db activation
import CACHE
"""


def run(program, words, cache, folder):
    words = [cache if word == "CACHE" else str(folder / word) if word == "OUT.db" else word for word in words]
    if words[0] == "import":
        words += ["--cache", str(folder / "imported.db")]
    else:
        words += ["--cache", cache]
    if words[0] != "export" or "-o" in words:
        words += ["--format", "json"]
    environment = dict(os.environ, TILEWRIGHT_MISSES="off", COLUMNS="120", XDG_CACHE_HOME=str(folder))
    environment["TILEWRIGHT_KERNELS_DIR"] = str(KERNELS)
    done = subprocess.run([program, *words], capture_output=True, env=environment, cwd=folder, check=False)
    return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("cache")
    arguments = parser.parse_args()
    programs = [str(pathlib.Path(each).resolve()) for each in (arguments.before, arguments.after)]
    cache = str(pathlib.Path(arguments.cache).resolve())
    differ = count = 0
    for line in filter(None, COMMANDS.splitlines()):
        words = shlex.split(line)
        results = []
        for program in programs:
            with tempfile.TemporaryDirectory() as folder:
                code, out, err = run(program, words, cache, pathlib.Path(folder))
                results.append((code, out.replace(folder, "FOLDER"), err.replace(folder, "FOLDER")))
        count += 1
        (code_a, out_a, err_a), (code_b, out_b, err_b) = results
        # What goes to standard error beside a result is progress.
        same = code_a == code_b and out_a == out_b and (code_a == 0 or err_a == err_b)
        print(f"{'same' if same else 'DIFFERENT'}  exit code {code_a}, {len(out_a)} bytes: {line}", flush=True)
        if not same:
            differ += 1
            for text_a, text_b in ((out_a, out_b), (err_a, err_b)):
                lines = difflib.unified_diff(text_a.splitlines(), text_b.splitlines(), *programs, n=0, lineterm="")
                print("\n".join(each[:200] for each in list(lines)[:20]))
    print(f"{count} commands, {differ} differ")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
