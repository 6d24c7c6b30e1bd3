#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check_pages.sh PREFIX: checks that the completions and man pages below PREFIX are those that its program writes.
set -euo pipefail
prefix=$1
program=$prefix/bin/tilewright
pages=$(mktemp -d)
trap 'rm -rf "$pages"' EXIT
"$program" completion bash | cmp - "$prefix/share/bash-completion/completions/tilewright"
"$program" completion zsh | cmp - "$prefix/share/zsh/site-functions/_tilewright"
"$program" completion fish | cmp - "$prefix/share/fish/vendor_completions.d/tilewright.fish"
"$program" help --man "$pages" >/dev/null
diff -r "$pages" "$prefix/share/man/man1"
