# lookback.h compiles alone, pedantically, as C99 and as C++. Given: source, c_compiler,
# cxx_compiler, work.
file(WRITE ${work}/alone.c "#include <lookback/lookback.h>\nint main(void) { return 0; }\n")
set(flags -fsyntax-only -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror
          -I ${source}/include)
execute_process(COMMAND ${c_compiler} -std=c99 ${flags} ${work}/alone.c COMMAND_ERROR_IS_FATAL ANY)
foreach(standard 11 20)
  execute_process(COMMAND ${cxx_compiler} -std=c++${standard} -Wold-style-cast ${flags} -x c++
                          ${work}/alone.c
                  COMMAND_ERROR_IS_FATAL ANY)
endforeach()
message("lookback.h is C99 and C++")
