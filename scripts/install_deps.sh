#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages that a job needs and that are missing; silent when nothing is.
#   scripts/install_deps.sh build|test|ci|e2e
set -eu

build="gcc libc6-dev cmake ninja-build pkg-config zlib1g-dev libyaml-dev libprotobuf-c-dev
       protobuf-c-compiler protobuf-compiler libdeflate-dev libisal-dev libsqlite3-dev libnghttp2-dev"
test="$build libcriterion-dev libjansson-dev python3 python3-dev python3-venv"
ci="$test clang clang-format clang-tidy libclang-rt-dev"
e2e= # programs, from wherever
command -v chromium >/dev/null 2>&1 || e2e="$e2e chromium"
command -v node >/dev/null 2>&1 || e2e="$e2e nodejs"
command -v npm >/dev/null 2>&1 || e2e="$e2e npm"
case "${1:-build}" in
    build) wanted=$build ;;
    test) wanted=$test ;;
    ci) wanted=$ci ;;
    e2e) wanted=$e2e ;;
    *) echo "usage: install_deps.sh build|test|ci|e2e" >&2; exit 2 ;;
esac

command -v dpkg-query >/dev/null 2>&1 || exit 0 # no Debian: the user's own package manager
missing=
for package in $wanted; do
    state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$state" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

as_root=
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null 2>&1; then
        echo "these packages are missing; please install them:$missing" >&2
        exit 1
    fi
    as_root=sudo
fi
echo "installing:$missing" >&2
export DEBIAN_FRONTEND=noninteractive
$as_root apt-get -o Acquire::Retries=3 update -qq </dev/null >&2
# shellcheck disable=SC2086  # a list of words
$as_root apt-get -o Acquire::Retries=3 install -y -qq --no-install-recommends $missing </dev/null >&2
