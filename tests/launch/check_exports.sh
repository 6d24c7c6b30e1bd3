#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check_exports.sh LIBRARY HEADER: checks that the library exports exactly the functions of the C header, and needs only
# glibc's libraries.
set -euo pipefail
library=$1
header=$2

shown=$(nm --dynamic --defined-only "$library" | awk '{ print $3 }' | sort)
declared=$(grep --only-matching --perl-regexp '^[a-z].*\btw_\w+(?=\()' "$header" | grep --only-matching 'tw_[a-z_]*$' | sort)
if [ "$shown" != "$declared" ]; then
  echo "shown by $library (<) and declared in $header (>):"
  diff <(echo "$shown") <(echo "$declared") || true
  exit 1
fi

needed=$(readelf --dynamic "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
foreign=$(grep --invert-match --extended-regexp '^(libc|libm|libdl|libpthread|ld-linux[-a-z0-9]*)\.so' <<<"$needed" || true)
if [ -n "$foreign" ]; then
  echo "$library needs: $foreign"
  exit 1
fi
echo "$(wc -l <<<"$shown") functions are shown"
