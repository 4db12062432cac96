#!/bin/sh
# Makes a minimal system of the distribution's packages in WORK, installs the .deb there with what
# it depends on and nothing else, and lets the outside projects use it. They must print the bits
# that they printed outside, which deb.sh left beside the .deb.
#
#   clean_system.sh SOURCE DEB_DIRECTORY WORK
set -eu
source=$1
made=$2
work=$3

skip() {
  echo "skipped: $1"
  exit 0
}
[ "$(id -u)" -eq 0 ] || skip "a clean system is made as root"
command -v mmdebstrap >/dev/null || skip "no mmdebstrap here"
[ -s "$made/bits" ] || skip "no .deb was made"
codename=$(. /etc/os-release && echo "${VERSION_CODENAME-}")
[ -n "$codename" ] || skip "the system has no codename to ask an archive for"

mkdir -p "$work"
system=$work/system
rm -rf "$system"
trap 'rm -rf "$system"' EXIT

# The bare system is kept for the next run. It comes from where this system's own packages do.
if ! [ -f "$work/bare.tar" ]; then
  apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' \
    'Origin: Debian' >"$work/sources.list" 2>/dev/null || true
  set --
  if [ -s "$work/sources.list" ]; then set -- "$work/sources.list"; fi
  mmdebstrap --variant=apt --format=tar --include=g++,cmake,make,pkg-config \
    --aptopt='APT::Install-Recommends "false"' --dpkgopt=force-unsafe-io \
    "$codename" "$work/bare.tar.part" "$@" >"$work/log" 2>&1 ||
    skip "no clean system could be made: $(tail -n 1 "$work/log")"
  mv "$work/bare.tar.part" "$work/bare.tar"
fi
mkdir "$system"
tar -C "$system" -xf "$work/bare.tar"
cp /etc/resolv.conf "$system/etc/resolv.conf"

# inside COMMAND...: in the system, with nothing of this one's environment.
inside() {
  env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
    DEBIAN_FRONTEND=noninteractive chroot "$system" "$@"
}
# quietly COMMAND...: the same, showing what it printed only if it fails.
quietly() {
  inside "$@" >"$work/log" 2>&1 || {
    cat "$work/log"
    echo "failed in the clean system: $*"
    exit 1
  }
}

inside apt-get -q update >"$work/log" 2>&1 || skip "no archive answers: $(tail -n 1 "$work/log")"
cp "$made"/lookback_*.deb "$system/lookback.deb"
cp -r "$source/tests/build/consumers" "$system/consumers"

# What it depends on is enough for the command and for programs linked with the shared library.
quietly apt-get -q -y install --no-install-recommends /lookback.deb
quietly lookback --version
quietly lookback demo --act 1
quietly make -C /tmp -f /consumers/pkg_config/Makefile c_pkg_shared
quietly /tmp/c_pkg_shared

# With what it recommends, the static library serves too.
quietly apt-get -q -y install libtbb-dev
inside /consumers/run.sh /tmp/projects >"$work/bits" || {
  cat "$work/bits"
  exit 1
}
if ! cmp -s "$work/bits" "$made/bits"; then
  echo "in the clean system $(cat "$work/bits"), outside $(cat "$made/bits")"
  exit 1
fi
cat "$work/bits"
