// launches_emulated reads lines from standard input, each a run as ./ladder run writes it, with
// names in "implementations". For each it prints what they launch: {NAME: [{"kernel": address
// within the program, "name", "grid", "block", "shared"}]}, or {NAME: why not}. No kernel runs.
#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/core/registry.hpp"
#include "common/program/selection.hpp"
#include "emulator/emulator.hpp"

extern "C" const char __executable_start;  // from the linker: the program's base address

namespace {

using namespace ladder;
using nlohmann::json;

json triple(const dim3& extents) {
  return {extents.x, extents.y, extents.z};
}

// Memory that stays untouched and so uses no space, because no kernel runs.
class Blank {
 public:
  void* place(std::size_t bytes) {
    constexpr std::size_t kAlignment = 256;  // like cudaMalloc
    void* const placed = begin_ + used_;
    used_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    if (used_ > kMost) throw std::runtime_error("the arrays are larger than this program reserves");
    return placed;
  }
  void clear() { used_ = 0; }

 private:
  static constexpr std::size_t kMost = std::size_t{1} << 40;
  char* const begin_ = static_cast<char*>(mmap(nullptr, kMost, PROT_READ | PROT_WRITE,
                                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  std::size_t used_ = 0;
};

json launches_of(const Case& c, const std::string& name) {
  static Blank blank;
  blank.clear();
  const std::vector<Implementation> all = implementations();
  const auto its = std::find_if(all.begin(), all.end(),
                                [&](const Implementation& each) { return each.name == name; });
  if (its == all.end()) return "no implementation is called so";
  json launches = json::array();
  try {
    bool can = true;
    const auto place = [&](std::size_t bytes) { return blank.place(bytes); };
    const auto noted = emulator::launches_of([&] { can = c.launch(*its, place); });
    if (!can) return "it has no launcher for this";
    for (const emulator::NotedLaunch& each : noted) {
      launches.push_back(
          {{"name", each.name},
           {"kernel", each.kernel == nullptr
                          ? 0
                          : static_cast<const char*>(each.kernel) - &__executable_start},
           {"grid", triple(each.grid)},
           {"block", triple(each.block)},
           {"shared", each.dynamic_shared_bytes}});
    }
  } catch (const std::exception& refusal) {
    return refusal.what();
  }
  return launches;
}

std::unique_ptr<Case> case_in(const json& run) {
  program::Selection selection;
  selection.op = run.at("operator");
  selection.precision = run.at("precision");
  for (const auto& [size, value] : run.at("shape").items())
    selection.shape.set(size, value);
  selection.causal = run.at("causal");
  selection.states = run.at("states");
  for (const auto& [option, value] : run.at("options").items())
    selection.options.emplace_back(option, value);
  return program::case_of(selection);
}

}  // namespace

int main() {
  emulator::allow_host_memory(true);
  for (std::string line; std::getline(std::cin, line);) {
    const json run = json::parse(line);
    json answer = json::object();
    try {
      const auto c = case_in(run);
      for (const std::string name : run.at("implementations"))
        answer[name] = launches_of(*c, name);
    } catch (const std::exception& refusal) {
      for (const std::string name : run.at("implementations"))
        answer[name] = refusal.what();
    }
    fmt::print("{}\n", answer.dump());
    std::fflush(stdout);
  }
}
