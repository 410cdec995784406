// Arrays in numpy's files, .npy:
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ladder::program {

// A file's header. Elements are in C order and in the machine's byte order.
struct NpyHeader {
  std::string type;  // "f4", "f2", "f8", "u2", "i8", ...
  std::vector<std::int64_t> shape;
  std::size_t first = 0;  // byte
  std::size_t count = 0;
  std::size_t element_bytes() const;
};

// Reads the header and checks the file's size. Throws std::invalid_argument.
NpyHeader read_npy_header(const std::string& path);
std::vector<unsigned char> read_npy_elements(const std::string& path, const NpyHeader& header);

// "float32", or the type itself if numpy has no word for it.
std::string npy_words(const std::string& type);

// Throws std::runtime_error with the reason, perhaps after a part of the file is written.
void write_npy(const std::string& path, const std::string& type,
               const std::vector<std::int64_t>& shape, const unsigned char* elements);

}  // namespace ladder::program
