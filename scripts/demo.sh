#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# From nothing to a converted profile: builds tbprof, converts the sample, says where to look.
#   scripts/demo.sh [--serve] [PROFILE...]     --serve: also opens TensorBoard (needs network once)
set -eu
cd "$(dirname "$0")/.."
serve=no
case "${1:-}" in
    --serve) serve=yes; shift ;;
    -h | --help) sed -n '3,4s/^# *//p' "$0"; exit 0 ;;
    -*) echo "demo.sh: unknown option '$1'; see demo.sh --help" >&2; exit 2 ;;
esac
[ $# -gt 0 ] || set -- samples/keras-inputbound

scripts/install_deps.sh build
cmake -S . -B build/demo -G Ninja -DCMAKE_BUILD_TYPE=Release -DTBP_TESTS=OFF >/dev/null
cmake --build build/demo
tbprof=build/demo/tbprof

echo
for profile; do
    $tbprof info "$profile"
done
$tbprof convert -o .demo "$@"

echo
echo "The converted profile lies in $(pwd)/.demo. Look at it with"
echo "    $tbprof tool overview_page .demo"
echo "    tensorboard --logdir $(pwd)/.demo        (tab 'Profile'; pip install tensorboard xprof)"
[ "$serve" = yes ] || exit 0

if [ ! -x .demo/venv/bin/tensorboard ]; then
    python3 -m venv .demo/venv 2>/dev/null || {
        echo "python3 -m venv does not work here; on Debian: apt-get install python3-venv" >&2
        exit 1
    }
    .demo/venv/bin/pip install --quiet "setuptools<81" tensorboard xprof
fi
echo "Ctrl-C ends TensorBoard; open http://localhost:6006/#profile"
exec .demo/venv/bin/tensorboard --logdir .demo
