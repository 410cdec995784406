// From program counters to source lines.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "model.hpp"

namespace emulator::xray {

// For each return address, the source lines of the call in front of it: the innermost first, then
// what it was inlined into. Asks addr2line, which comes with the compiler; where there is none, or
// no debug information, a list is empty. The map also has the addresses of earlier calls.
const std::map<std::uintptr_t, std::vector<Source>>& source_lines(
    const std::vector<std::uintptr_t>& return_addresses);

// Whether `address` lies in a variable of the program itself (its data segments).
bool in_program_data(std::uintptr_t address);

}  // namespace emulator::xray
