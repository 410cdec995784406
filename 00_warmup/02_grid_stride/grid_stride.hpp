// Functions that the tests call, besides the implementations.
#pragma once

#include <cstdint>

#include "00_warmup/vector_add.hpp"

namespace warmup {

// Launch a grid of that many blocks, even if it is too small. They do not check arguments.
void add_per_element_on(const VectorAddArgs& args, std::int64_t blocks);
void add_grid_stride_on(const VectorAddArgs& args, std::int64_t blocks);

// The number of elements that add_per_element_on leaves unwritten.
std::int64_t unwritten_elements(std::int64_t N, std::int64_t blocks);

// `per_multiprocessor` blocks per SM, but none without work. The grid's threads share `items`.
std::int64_t blocks_for(std::int64_t items, std::int64_t multiprocessors,
                        std::int64_t per_multiprocessor);

}  // namespace warmup
