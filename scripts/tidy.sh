#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# clang-tidy with the checks of .clang-tidy over every source file of the product (not of its tests).
#   scripts/tidy.sh BUILD_FOLDER      the folder holds compile_commands.json
set -eu
cd "$(dirname "$0")/.."
find base schemas plugin_data convert cli capture python_shim/src -name '*.c' -print0 |
    xargs -0 -n 4 -P "$(nproc)" clang-tidy -p "${1:-build/release}" --quiet --warnings-as-errors='*'
