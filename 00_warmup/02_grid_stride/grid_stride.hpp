// What the tests call of this lesson beside its implementations.
#pragma once

#include <cstdint>

#include "00_warmup/vector_add.hpp"

namespace warmup {

// With a grid of that many blocks, be it too small. Arguments are not checked.
void add_per_element_on(const VectorAddArgs& args, std::int64_t blocks);
void add_grid_stride_on(const VectorAddArgs& args, std::int64_t blocks);

// How many elements the first of them leaves unwritten.
std::int64_t unwritten_elements(std::int64_t N, std::int64_t blocks);

// So many blocks for each multiprocessor, but none without work: `items` are what the grid's threads take in turns.
std::int64_t blocks_for(std::int64_t items, std::int64_t multiprocessors,
                        std::int64_t per_multiprocessor);

}  // namespace warmup
