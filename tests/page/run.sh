#!/usr/bin/env bash
# Runs the tests of the page in a browser, or says why not (status 77: skipped).
#
#   tests/page/run.sh COMMAND DATA    the built command `lookback`; where the recordings are
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
skip() {
  echo "skipped: $1; 'tools/setup page' installs it"
  exit 77
}
command -v chromium > /dev/null || skip "there is no chromium"
command -v chromedriver > /dev/null || skip "there is no chromedriver"
# The system's Python has the system's packages; the first one found may be another.
for python in python3 /usr/bin/python3 ''; do
  [[ -n $python ]] || skip "there is no selenium for Python"
  if "$python" -c 'import selenium' 2> /dev/null; then break; fi
done
export LOOKBACK=$1 LOOKBACK_SHARED_DATA=$2 PYTHONDONTWRITEBYTECODE=1
exec "$python" -m unittest discover --start-directory "$here" --pattern '*_test.py'
