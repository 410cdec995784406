// How threads share the value columns of a head.
#pragma once

#include <cstdint>

namespace openmp {

struct Columns {
  std::int64_t first, end;
};

// Columns of part `part` of `parts`, perhaps none, in whole cache lines of a row that begins with
// one.
Columns columns_of(std::int64_t part, std::int64_t parts, std::int64_t V);

// Parts per head, enough for all threads, and at most one for each cache line.
std::int64_t parts_of(std::int64_t threads, std::int64_t heads, std::int64_t V);

}  // namespace openmp
