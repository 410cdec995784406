// From program counters to source lines.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "model.hpp"

namespace emulator::xray {

// For each return address, the source lines of its call: the innermost first, then its callers if
// it was inlined. Uses addr2line, which comes with the compiler. Without it, or without debug
// information, lists are empty. The map also contains the addresses of earlier calls.
const std::map<std::uintptr_t, std::vector<Source>>& source_lines(
    const std::vector<std::uintptr_t>& return_addresses);

// Whether `address` is in a variable of the program (its data segments).
bool in_program_data(std::uintptr_t address);

}  // namespace emulator::xray
