#!/bin/sh
# Builds the tests of the same bits for AArch64 and runs them under an emulator, against the golden
# results that x86-64 has too. Needs g++-aarch64-linux-gnu, qemu-user and Debian's archive.
#
#   aarch64.sh SOURCE WORK
set -eu
source=$1
work=$2

skip() {
  echo "skipped: $1"
  exit 0
}

for tool in aarch64-linux-gnu-g++ qemu-aarch64 apt-get dpkg-deb cmake ninja; do
  command -v "$tool" >/dev/null || skip "no $tool here, so no AArch64"
done

# The libraries come from the archive into a directory of their own: the system's package lists,
# architectures and packages stay as they are.
sysroot=$work/sysroot
if ! [ -e "$sysroot/complete" ]; then
  rm -rf "$sysroot" "$work/apt"
  mkdir -p "$sysroot" "$work/apt/lists/partial" "$work/apt/cache/archives/partial"
  cat >"$work/apt/apt.conf" <<EOF
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
APT::Sandbox::User "";
Dir::State::lists "$work/apt/lists";
Dir::State::status "/dev/null";
Dir::Cache "$work/apt/cache";
EOF
  (
    cd "$work/apt"
    export APT_CONFIG="$work/apt/apt.conf"
    packages="libtbb12 libtbbmalloc2 libtbbbind-2-5 libtbb-dev libxsimd-dev catch2"
    apt-get update
    # Where catch2 is Catch2 3, its files are in this one.
    apt-cache show libcatch2-dev >/dev/null && packages="$packages libcatch2-dev"
    apt-get download $packages
  ) >"$work/apt/log" 2>&1 ||
    skip "the libraries for arm64 could not be fetched: $(tail -n 1 "$work/apt/log")"
  for package in "$work"/apt/*.deb; do
    dpkg-deb --extract "$package" "$sysroot"
  done
  touch "$sysroot/complete"
fi

cmake -G Ninja -S "$source" -B "$work/build" -DLOOKBACK_SYSROOT="$sysroot" \
  -DCMAKE_TOOLCHAIN_FILE="$source/tests/build/aarch64.cmake" -DCMAKE_BUILD_TYPE=Release \
  -DLOOKBACK_BUILD_BENCH=OFF -DLOOKBACK_BUILD_TOOLS=OFF
cmake --build "$work/build" --target bits_golden worked_test hooks_test print_target

run() {
  qemu-aarch64 -L /usr/aarch64-linux-gnu "$work/build/bin/tests/$@"
}
[ "$(run print_target)" = neon ]
for test in bits_golden worked_test; do
  run "$test"
done
run hooks_test "*the same bits on every machine"
