# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the scripts share. Sourced, never run. Everything printed here goes to stderr: stdout is the program's.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# Where scripts/setup puts NVRTC and the CUDA headers on a machine that has no toolkit.
private_cuda=$root/.cuda
private_cuda_home=$private_cuda/nvidia/cu13
logs=$root/build/logs

say() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
}

# Says each sentence on a line of its own, and ends the script.
die() {
  local sentence
  for sentence in "$@"; do
    say "$sentence"
  done
  exit 1
}

# logged NAME COMMAND...: runs the command with its output in build/logs/NAME.log, shown only when it fails.
logged() {
  local log=$logs/$1.log status=0
  shift
  mkdir -p "$logs"
  "$@" >"$log" 2>&1 </dev/null || status=$?
  if [ "$status" -ne 0 ]; then
    tail -n 60 "$log" >&2
    die "failed (exit code $status): $*" "the whole log is ${log#"$root"/}"
  fi
}

# Prints where the CUDA compiler library is that the program will find by itself, in the order in which it
# looks: TILEWRIGHT_NVRTC, the loader path, CUDA_HOME, CUDA_PATH, /usr/local/cuda*. Fails when there is none.
# TILEWRIGHT_HIDE_CUDA=1 hides all of them, for testing what happens on a machine without a toolkit.
find_cuda_toolkit() {
  if [ "${TILEWRIGHT_HIDE_CUDA:-0}" = 1 ]; then
    return 1
  fi
  if [ -n "${TILEWRIGHT_NVRTC:-}" ] && [ -e "$TILEWRIGHT_NVRTC" ]; then
    echo "$TILEWRIGHT_NVRTC"
    return
  fi
  if [ -e /usr/include/cuda_fp16.h ] && /sbin/ldconfig -p 2>/dev/null | grep -q 'libnvrtc\.so'; then
    echo "the loader path"
    return
  fi
  local folder library
  for folder in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda /usr/local/cuda-*; do
    # The headers must be there too: NVRTC is of little use without cuda_fp16.h.
    if [ -z "$folder" ] || [ ! -e "$folder/include/cuda_fp16.h" ]; then
      continue
    fi
    for library in "$folder"/lib64/libnvrtc.so* "$folder"/lib/libnvrtc.so*; do
      if [ -e "$library" ]; then
        echo "$folder"
        return
      fi
    done
  done
  return 1
}

# Points the program at what scripts/setup brought, when there is no toolkit.
use_private_cuda() {
  if find_cuda_toolkit >/dev/null || [ ! -d "$private_cuda_home" ]; then
    return 0
  fi
  export CUDA_HOME=$private_cuda_home
  export TILEWRIGHT_NVRTC=$private_cuda_home/lib/libnvrtc.so.13
  unset CUDA_PATH
}

# configure PRESET [-DNAME=VALUE...]: configures build/PRESET where that was not done or its cache has another value;
# ninja itself notices later changes.
configure() {
  local folder=$root/build/$1 wanted name stale=no
  for wanted in "${@:2}"; do
    name=${wanted%%=*}
    grep -qE "^${name#-D}:[A-Z]+=${wanted#*=}\$" "$folder/CMakeCache.txt" 2>/dev/null || stale=yes
  done
  if [ "$stale" = yes ] || [ ! -e "$folder/build.ninja" ]; then
    say "configuring build/$1"
    (cd "$root" && logged "configure-$1" cmake --preset "$@")
  fi
}
