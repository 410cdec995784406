// Facts for tools, one JSON record per line of the file that EMULATOR_FACTS names (README.md).
#pragma once

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

namespace emulator::detail {

inline void write_fact(const nlohmann::json& fact) {
  const char* const path = std::getenv("EMULATOR_FACTS");
  if (path != nullptr) std::ofstream(path, std::ios::app) << fact << "\n";
}

}  // namespace emulator::detail
