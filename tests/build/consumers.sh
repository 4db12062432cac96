#!/bin/sh
# Installs what was built, moves it, and lets the outside projects of consumers/ use it and its
# source: all must print the same bits.
#
#   consumers.sh SOURCE BUILD WORK
set -eu
source=$1
build=$2
work=$3

for tool in cmake make pkg-config cc c++; do
  if ! command -v "$tool" >/dev/null; then
    echo "skipped: no $tool here"
    exit 0
  fi
done

# expect WHAT WANTED COMMAND...: what the command prints.
expect() {
  what=$1 wanted=$2
  shift 2
  printed=$("$@") || true
  if [ "$printed" != "$wanted" ]; then
    echo "$what is '$printed' but should be '$wanted'"
    exit 1
  fi
}

rm -rf "$work/installed" "$work/moved"
mkdir -p "$work"
cmake --install "$build" --prefix "$work/installed" >/dev/null
prefix=$work/moved
mv "$work/installed" "$prefix"
libdir=$(dirname "$(find "$prefix" -name liblookback.so)")

# One version, wherever it is told.
version=$(sed -n 's/^project(lookback VERSION \([0-9.]*\).*/\1/p' "$source/CMakeLists.txt")
expect "the library's name" "liblookback.so.$version" \
  basename "$(readlink -f "$libdir/liblookback.so")"
expect "the version of lookback.pc" "$version" \
  env PKG_CONFIG_PATH="$libdir/pkgconfig" pkg-config --modversion lookback
if [ -e "$source/CHANGELOG.md" ]; then
  expect "the newest version in CHANGELOG.md" "$version" \
    sed -n '/^## / { s/^## \([0-9.]*\).*/\1/p; q }' "$source/CHANGELOG.md"
fi
if [ -e "$prefix/bin/lookback" ]; then
  expect "the command's version" "lookback $version" "$prefix/bin/lookback" --version
  expect "the version in the manual page" "lookback $version" \
    sed -n 's/^\.TH.*"\(lookback [0-9.]*\)".*/\1/p' "$prefix/share/man/man1/lookback.1"
fi

export CMAKE_BUILD_PARALLEL_LEVEL="${CMAKE_BUILD_PARALLEL_LEVEL-$(nproc)}"
PREFIX=$prefix SOURCE=$source "$source/tests/build/consumers/run.sh" "$work/projects"
