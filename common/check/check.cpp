// Linked into each program of ./ladder check. The program's launches are recorded, and what is
// found goes to the file that EMULATOR_CHECK names, one JSON record per line, for
// tools/ladder_tools/check.py: at exit, and after a signal too.
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "common/xray/report.hpp"
#include "common/xray/xray.hpp"

namespace {

using emulator::xray::Kernel;

std::uint64_t access_limit() {
  const char* const limit = std::getenv("EMULATOR_CHECK_LIMIT");
  return limit == nullptr ? emulator::xray::kDefaultAccessLimit : std::strtoull(limit, nullptr, 10);
}

nlohmann::json triple(const dim3& size) {
  return {size.x, size.y, size.z};
}

void write_report(const std::string& end, int status) {
  static bool written = false;
  const char* const path = std::getenv("EMULATOR_CHECK");
  if (written || path == nullptr) return;
  written = true;
  std::ofstream to(path);
  for (const Kernel& kernel : emulator::xray::take()) {
    to << nlohmann::json({{"fact", "kernel"},
                          {"name", kernel.name},
                          {"launches", kernel.launches},
                          {"grid", triple(kernel.grid)},
                          {"block", triple(kernel.block)},
                          {"atomics", kernel[emulator::xray::kAtomics] > 0},
                          {"cut_short", kernel.too_large}})
              .dump()
       << '\n';
    for (const auto& error : kernel.errors)
      to << emulator::xray::fact_of(error) << '\n';
    for (const auto& note : kernel.notes) {
      to << nlohmann::json({{"fact", "note"},
                            {"message", note.message},
                            {"file", note.where.file},
                            {"line", note.where.line}})
                .dump()
         << '\n';
    }
  }
  to << nlohmann::json({{"fact", "end"}, {"by", end}, {"status", status}}).dump() << '\n';
}

void on_signal(int signal) {
  std::signal(signal, SIG_DFL);
  write_report("signal", signal);
  raise(signal);
}

// After the recorder's construction, so that the report comes before its destruction.
[[maybe_unused]] const bool installed = [] {
  emulator::xray::set_access_limit(access_limit());
  on_exit([](int status, void*) { write_report("exit", status); }, nullptr);
  for (const int signal : std::array{SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTERM})
    std::signal(signal, on_signal);
  return true;
}();

}  // namespace
