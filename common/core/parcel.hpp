// Bytes preceded by their count, for another process of the same program.
#pragma once

#include <cstdint>
#include <istream>
#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace ladder {

inline void put(std::ostream& out, std::string_view bytes) {
  const std::uint64_t count = bytes.size();
  out.write(reinterpret_cast<const char*>(&count), sizeof count);
  out.write(bytes.data(), static_cast<std::streamsize>(count));
}

inline std::string take(std::istream& in) {
  std::uint64_t count = 0;
  in.read(reinterpret_cast<char*>(&count), sizeof count);
  std::string bytes(in ? count : 0, '\0');
  if (!in.read(bytes.data(), static_cast<std::streamsize>(bytes.size())))
    throw std::runtime_error("what travels here ends too early");
  return bytes;
}

}  // namespace ladder
