#!/bin/sh
# Builds the projects of this directory in WORK and runs what they make: every program must print the
# same line, which is printed once.
#
#   run.sh WORK
#
# PREFIX says where lookback is installed, if not in the system's directories, and SOURCE where its
# source is, for the project that builds it; without one, that project takes the installed lookback.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$1
prefix=${PREFIX-}
# What was built stays, so that the next time is short; programs do not.
mkdir -p "$work/pkg_config"
rm -f "$work"/*/c_* "$work"/*/cpp_*

quietly() {
  if ! "$@" >"$work/log" 2>&1; then
    cat "$work/log"
    echo "failed: $*"
    exit 1
  fi
}

for project in find_package find_package_c fetch_content; do
  quietly cmake -S "$here/$project" -B "$work/$project" -DCMAKE_PREFIX_PATH="$prefix" \
    -DLOOKBACK_SOURCE="${SOURCE-}"
  quietly cmake --build "$work/$project"
done
if [ -n "$prefix" ]; then
  libdir=$(dirname "$(find "$prefix" -name liblookback.so)")
  export LD_LIBRARY_PATH="$libdir" PKG_CONFIG_PATH="$libdir/pkgconfig"
fi
quietly make -C "$work/pkg_config" -f "$here/pkg_config/Makefile"

sum=
for program in "$work"/*/c_* "$work"/*/cpp_*; do
  printed=$("$program")
  echo "$printed ${program##*/}" >&2
  if [ -n "$sum" ] && [ "$printed" != "$sum" ]; then
    echo "$program printed $printed, the one before it $sum"
    exit 1
  fi
  sum=$printed
done
echo "$sum"
