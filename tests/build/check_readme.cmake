# The program in the README is the one that is compiled. Given: source.
cmake_minimum_required(VERSION 3.22)
file(READ ${source}/README.md readme)
file(READ ${source}/tests/build/readme_example.cpp program)
string(FIND "${readme}" "```cpp\n${program}```" at)
if(at EQUAL -1)
  message(FATAL_ERROR "README.md does not hold tests/build/readme_example.cpp as it stands")
endif()
