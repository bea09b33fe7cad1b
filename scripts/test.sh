#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds tbprof and runs its tests.
#   scripts/test.sh [quick|full|long]     quick: the tier of every push; full (default): quick and more
set -eu
cd "$(dirname "$0")/.."
case "${1:-full}" in
    quick) tiers='quick' ;;
    full) tiers='quick|full' ;;
    long) tiers='quick|full|long' ;;
    *) echo "usage: test.sh [quick|full|long]" >&2; exit 2 ;;
esac

scripts/install_deps.sh test
cmake --preset release >/dev/null
cmake --build build/release
ctest --test-dir build/release -j2 -L "^($tiers)\$" --output-on-failure </dev/null
echo "all tests passed"
