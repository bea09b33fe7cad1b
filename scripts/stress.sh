#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The backend library under 32 threads while its files change, plain and under the sanitizers.
#   scripts/stress.sh [SECONDS]     seconds per build; default 120
set -eu
cd "$(dirname "$0")/.."
seconds=${1:-120}
for preset in release dev tsan; do
    cmake --preset "$preset" >/dev/null
    cmake --build "build/$preset" --target stress_backend >/dev/null
    echo "$preset:"
    # ThreadSanitizer cannot have the address space that some kernels hand out at random
    setarch -R "build/$preset/tests/stress_backend" "$seconds" 1 \
        tests/data/tf24-one.xplane.pb tests/data/tf28-nosteps.xplane.pb \
        samples/multiworker/plugins/profile/*/*.xplane.pb
done
