#!/bin/sh
# Installs tools/python with pip into a fresh virtual environment and runs its tests on NumPy. If
# LOOKBACK_TEST_TORCH_PYTHON names a Python that has torch and pytest, and perhaps transformers, they
# run there too, with what is installed beside them.
#
#   python.sh SOURCE WORK
set -eu
source=$1
work=$2
python=${LOOKBACK_TEST_PYTHON:-python3}

skip() {
  echo "skipped: $1"
  exit 0
}

"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null ||
  skip "no Python 3.10 or later here"
rm -rf "$work"
mkdir -p "$work"
"$python" -m venv "$work/venv" >"$work/log" 2>&1 || skip "no virtual environment can be made here"
"$work/venv/bin/pip" install numpy pytest scikit-build-core nanobind >"$work/log" 2>&1 ||
  skip "pip cannot reach its index: $(tail -n 1 "$work/log")"
"$work/venv/bin/pip" install "$source/tools/python"

# The tests must see the installed package, and leave nothing in the sources.
cd "$work"
export PYTHONDONTWRITEBYTECODE=1
"$work/venv/bin/python" -m pytest -p no:cacheprovider -rs "$source/tools/python/tests"

torch_python=${LOOKBACK_TEST_TORCH_PYTHON:-}
[ -n "$torch_python" ] || exit 0
"$torch_python" -m pip install --no-deps --target "$work/beside" "$source/tools/python"
PYTHONPATH=$work/beside "$torch_python" -m pytest -p no:cacheprovider -rs \
  "$source/tools/python/tests"
