# Help as it is shown -> roff. A line that begins with two blanks and a dash is an option, which
# text far to the right explains; a line that ends with a colon heads what follows; the rest stands
# as it is.
function roff(text) {
  gsub(/\\/, "\\e", text)
  gsub(/-/, "\\-", text)
  if (text ~ /^[.']/) text = "\\&" text
  return text
}
function verbatim(yes) {
  if (yes != is_verbatim) print yes ? ".nf" : ".fi"
  is_verbatim = yes
}
/^  -[-a-zA-Z]/ {
  verbatim(0)
  at = match(substr($0, 3), /   */)
  sub(/^  /, "")
  print ".TP"
  print ".B " roff(at ? substr($0, 1, at - 1) : $0)
  if (at) print roff(substr($0, at + RLENGTH))
  in_option = 1
  next
}
in_option && /^            / {
  sub(/^ +/, "")
  print roff($0)
  next
}
/^$/ {
  verbatim(0)
  in_option = 0
  next
}
/^[^ ].*:$/ {
  verbatim(0)
  print ".PP"
  print ".B " roff($0)
  in_option = 0
  next
}
{
  in_option = 0
  if (!is_verbatim) print ".PP"
  verbatim(1)
  print roff($0)
}
END { verbatim(0) }
