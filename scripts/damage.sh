#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Cuts and flips every profile below the folders given (default: samples, tests/data and ../shared, if it is
# there), in the sanitizer build: sh scripts/damage.sh [-c CUTS] [-f FLIPS] [FOLDER...]
set -e
cd "$(dirname "$0")/.."
cuts=200 flips=0
while getopts c:f: option; do
    case $option in
    c) cuts=$OPTARG ;;
    f) flips=$OPTARG ;;
    *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
if [ $# -eq 0 ]; then
    set -- samples tests/data
    [ ! -d ../shared ] || set -- "$@" ../shared/
fi
cmake --preset dev >/dev/null
cmake --build build/dev --target damage
find -L "$@" -type f \( -name '*.xplane.pb' -o -name '*.xplane.pb.gz' \) -print0 |
    xargs -0 build/dev/tests/damage cuts "$cuts"
[ "$flips" -eq 0 ] || find -L "$@" -type f \( -name '*.xplane.pb' -o -name '*.xplane.pb.gz' \) -print0 |
    xargs -0 build/dev/tests/damage flips "$flips"
