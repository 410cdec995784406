// Arrays in numpy's files, .npy: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ladder::program {

// What a file says before its elements. They lie in C's order and in the machine's byte order.
struct NpyHeader {
  std::string type;  // "f4", "f2", "f8", "u2", "i8", ...
  std::vector<std::int64_t> shape;
  std::size_t first = 0;  // byte
  std::size_t count = 0;  // elements
  std::size_t element_bytes() const;
};

// The header alone; the file has as many bytes as it says. std::invalid_argument names the file, what it is and what is allowed.
NpyHeader read_npy_header(const std::string& path);
std::vector<unsigned char> read_npy_elements(const std::string& path, const NpyHeader& header);

// "float32"; the type itself where numpy has no such word.
std::string npy_words(const std::string& type);

// std::runtime_error says why it cannot be written; a part of it may be there then.
void write_npy(const std::string& path, const std::string& type,
               const std::vector<std::int64_t>& shape, const unsigned char* elements);

}  // namespace ladder::program
