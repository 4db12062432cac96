#!/bin/sh
# Installs tools/python with pip and runs its tests.
#
#   python.sh numpy SOURCE WORK [BUILD]    in a fresh virtual environment with NumPy
#   python.sh torch SOURCE WORK [BUILD]    beside what LOOKBACK_TEST_TORCH_PYTHON, a Python, has:
#                                          PyTorch and pytest, and perhaps transformers
#
# With BUILD, the engine and the command are those of that build and not compiled again.
set -eu
case ${1-} in
  numpy | torch) ;;
  *)
    sed -n '2,8s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac
kind=$1
source=$2
work=$3
build=${4:-}

skip() {
  echo "skipped: $1"
  exit 0
}

rm -rf "$work"
mkdir -p "$work"
case $kind in
  numpy)
    python=${LOOKBACK_TEST_PYTHON:-python3}
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null ||
      skip "no Python 3.10 or later here"
    "$python" -m venv "$work/venv" >"$work/log" 2>&1 || skip "no virtual environment can be made here"
    python=$work/venv/bin/python
    "$python" -m pip install numpy pytest cffi matplotlib ml_dtypes >"$work/log" 2>&1 ||
      skip "pip cannot reach its index: $(tail -n 1 "$work/log")"
    set --
    ;;
  torch)
    python=${LOOKBACK_TEST_TORCH_PYTHON:-}
    [ -n "$python" ] || skip "LOOKBACK_TEST_TORCH_PYTHON names no Python with PyTorch"
    set -- --no-deps --target "$work/beside"
    export PYTHONPATH="$work/beside"
    ;;
esac

if [ -n "$build" ]; then
  cmake --install "$build" --prefix "$work/prefix" >"$work/log"
  export LOOKBACK_TEST_COMMAND="$work/prefix/bin/lookback"
  set -- "$@" --config-settings=cmake.define.LOOKBACK_USE_INSTALLED=ON \
              --config-settings=cmake.define.CMAKE_PREFIX_PATH="$work/prefix"
fi
"$python" -m pip --disable-pip-version-check --quiet install "$@" "$source/tools/python"

# The tests must see the installed package, and leave nothing in the sources.
cd "$work"
export PYTHONDONTWRITEBYTECODE=1
exec "$python" -m pytest -p no:cacheprovider --quiet -rs "$source/tools/python/tests"
