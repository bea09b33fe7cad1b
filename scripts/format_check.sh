#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Names the sources that clang-format would write differently; --fix rewrites them.
#   scripts/format_check.sh [--fix]
set -eu
cd "$(dirname "$0")/.."
mode="--dry-run -Werror"
[ "${1:-}" = --fix ] && mode=-i
# shellcheck disable=SC2086  # two words
find base schemas plugin_data convert capture cli python_shim tests \( -name '*.c' -o -name '*.h' \) -print0 |
    xargs -0 clang-format $mode
