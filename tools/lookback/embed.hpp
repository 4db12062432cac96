// Files inside the binary: the assembler's macro lookback_embed, for use within .rodata.
#pragma once

#include <cstddef>

// The assembler puts the files into read-only data as they are. LOOKBACK_DATA_DIR is CMake's, one
// for each source; the directives are ELF's, on every processor, and the assemblers of GCC and
// Clang both know them.
asm(R"(
  .macro lookback_embed symbol, file
  .balign 64
  .globl \symbol\()_begin
  .globl \symbol\()_end
  .hidden \symbol\()_begin
  .hidden \symbol\()_end
\symbol\()_begin:
  .incbin ")" LOOKBACK_DATA_DIR R"(/\file"
\symbol\()_end:
  .byte 0
  .endm
)");
