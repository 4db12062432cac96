#!/bin/sh
# Writes the manual page. What it says of commands and options is what the command's own help says,
# so that they cannot differ.
#
#   manual.sh LOOKBACK [EMULATOR...] > lookback.1
set -eu
here=$(dirname "$0")
command=$1
shift

emulator=$*
run() {
  $emulator "$command" "$@"
}

cat <<EOT
.TH LOOKBACK 1 "" "$(run --version)" "User Commands"
.SH NAME
lookback \\- exact attention on the CPU
.SH SYNOPSIS
.B lookback
.RI [ COMMAND ]
.RI [ OPTION ]...
.SH DESCRIPTION
Scores queries against keys, turns the scores into weights by a softmax, and blends the values.
It is streamed, so that the alignment matrix is never stored, and a result has the same bits
whatever the number of threads, the batch around it and the instruction set.
.PP
.B lookback demo
is the place to start.
.SH COMMANDS
EOT
for name in $(run --help | sed -n '/^Commands:/,/^$/ s/^  \([a-z]*\) .*/\1/p'); do
  printf '.SS lookback %s\n' "$name"
  run "$name" --help | awk -f "$here/manual.awk"
done
cat <<'EOT'
.SH ENVIRONMENT
.TP
.B LOOKBACK_ISA
The instruction set to use, by a name that
.B lookback info
lists. The default is the best that the machine runs.
.TP
.B NO_COLOR
If set, no colours.
.SH EXIT STATUS
0 done; 1 failed; 2 something given was wrong; 130 ended by Ctrl-C.
.SH SEE ALSO
The headers
.I lookback/lookback.hpp
(C++) and
.I lookback/lookback.h
(C) are the manual of the library.
EOT
