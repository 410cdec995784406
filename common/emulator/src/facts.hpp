// Facts for tools, one JSON record per line of the file that EMULATOR_FACTS names (README.md).
#pragma once

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

namespace emulator::detail {

inline void write_fact(const nlohmann::json& fact) {
  const char* const path = std::getenv("EMULATOR_FACTS");
  if (path == nullptr) return;
  const auto replaced = nlohmann::json::error_handler_t::replace;  // a path may be no UTF-8
  std::ofstream(path, std::ios::app) << fact.dump(-1, ' ', false, replaced) << "\n";
}

}  // namespace emulator::detail
