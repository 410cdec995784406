// Code built with -fsanitize=bounds calls this handler for an index outside of its array's type.
// Names and structures are from gcc's libsanitizer/ubsan/ubsan_handlers.h, and clang has the same.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "emulator/emulator.hpp"
#include "emulator/site.hpp"
#include "emulator/threads.hpp"

namespace {

struct SourceLocation {
  const char* file;
  std::uint32_t line;
  std::uint32_t column;
};

// info of an integer: bit 0 is 1 if it is signed, and the rest is the logarithm of its bits.
struct TypeDescriptor {
  std::uint16_t kind;
  std::uint16_t info;
  char name[1];  // "'float [4]'", of variable length
};

struct OutOfBounds {
  SourceLocation location;
  const TypeDescriptor* array;
  const TypeDescriptor* index;
};

// gcc sign-extends, clang zero-extends.
std::intptr_t value_of(std::intptr_t index, const TypeDescriptor& type) {
  const int above = 64 - (1 << (type.info >> 1));
  if (type.info % 2 == 0 || above <= 0) return index;
  return static_cast<std::intptr_t>(static_cast<std::uintptr_t>(index) << above) >> above;
}

}  // namespace

// index is the value itself, because types wider than a word are not used as indices.
extern "C" void __ubsan_handle_out_of_bounds(OutOfBounds* what, std::intptr_t index) {
  const std::string sentence = "index " + std::to_string(value_of(index, *what->index)) +
                               " is outside of an array " + what->array->name;
  const emulator::Site where{what->location.file, static_cast<int>(what->location.line)};
  emulator::ThreadIdentity thread;
  if (emulator::current_thread(&thread)) emulator::fail_in_kernel(sentence.c_str(), where);
  std::fprintf(stderr, "%s:%d: %s\n", where.file, where.line, sentence.c_str());
  std::abort();  // host code, such as a launcher
}
