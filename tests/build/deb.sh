#!/bin/sh
# Builds the .deb into WORK, looks at what it says and holds, and lets the outside projects use it
# from where it is unpacked. Leaves what they print in WORK/bits.
#
#   deb.sh SOURCE WORK
set -eu
source=$1
work=$2

for tool in cpack ninja make pkg-config file dpkg-deb dpkg-shlibdeps; do
  if ! command -v "$tool" >/dev/null; then
    echo "skipped: no $tool here"
    exit 0
  fi
done
fail() {
  echo "$1"
  exit 1
}
quietly() {
  "$@" >"$work/log" 2>&1 || fail "failed: $*
$(cat "$work/log")"
}

mkdir -p "$work"
rm -rf "$work"/*.deb "$work/unpacked" "$work/bits"
export CMAKE_BUILD_PARALLEL_LEVEL="${CMAKE_BUILD_PARALLEL_LEVEL-$(nproc)}"
cd "$source"
quietly cmake --preset package -B "$work/build"
quietly cmake --build "$work/build"
quietly cpack --config "$work/build/CPackConfig.cmake" -B "$work"
deb=$(echo "$work"/lookback_*.deb)
[ -e "$deb" ] || fail "cpack made no .deb"

# field NAME PATTERN: the field has it, as an extended regular expression.
field() {
  dpkg-deb --field "$deb" "$1" | grep -Eq "$2" ||
    fail "$1 is '$(dpkg-deb --field "$deb" "$1")'; it should match $2"
}
version=$(sed -n 's/^project(lookback VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
field Package '^lookback$'
field Version "^$version\$"
field Architecture "^$(dpkg --print-architecture)\$"
field Maintainer '^lookback maintainers <maintainers@lookback\.invalid>$'
field Section '^libdevel$'
field Recommends '^libtbb-dev$'
for package in libc6 libgcc-s1 libstdc++6 libtbb12; do
  field Depends "(^|, )$(echo "$package" | sed 's/+/\\+/g') \\(>= [0-9.]+\\)"
done
dpkg-deb --ctrl-tarfile "$deb" | tar --to-stdout -xf - ./shlibs |
  grep -q "^liblookback [0-9.]* lookback (>= $version)" || fail "the .deb has no shlibs of its own"

dpkg-deb --extract "$deb" "$work/unpacked"
prefix=$work/unpacked/usr
libdir=$(dirname "$(find "$prefix" -name liblookback.so)")
for file in "$prefix/include/lookback/lookback.h" "$prefix/include/lookback/lookback.hpp" \
  "$libdir/liblookback.a" "$libdir/pkgconfig/lookback.pc" "$prefix/bin/lookback" \
  "$libdir/cmake/lookback/lookback-config.cmake" "$prefix/share/man/man1/lookback.1.gz" \
  "$prefix/share/doc/lookback/copyright"; do
  [ -s "$file" ] || fail "the .deb holds no $file"
done
if grep -rlI -e "$source" -e "$work" "$work/unpacked"; then
  fail "these files of the .deb name directories of the machine that built it"
fi
[ "$(LD_LIBRARY_PATH=$libdir "$prefix/bin/lookback" --version)" = "lookback $version" ] ||
  fail "the command does not run"
PREFIX=$prefix tests/build/consumers/run.sh "$work/projects" >"$work/bits"
cat "$work/bits"
