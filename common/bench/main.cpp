// The ladder program. The script `ladder` builds and calls it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>

#include "common/bench/build.hpp"
#include "common/bench/climb.hpp"
#include "common/bench/command_line.hpp"
#include "common/bench/growth.hpp"

using namespace ladder::bench;

namespace {

std::map<std::string, std::string> conditions_of(const Climb& climb,
                                                 const SelectionOptions& options) {
  auto conditions = options.conditions();
  const auto on_gpu = [](const Row& row) { return row.back_end == "cuda"; };
  if (std::any_of(climb.rows.begin(), climb.rows.end(), on_gpu))
    conditions["cuda_compiler"] = cuda_compiler();
  return conditions;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Climbs the ladder: every chapter's kernel, checked, then timed.", "./ladder run");
  const SelectionOptions options(app, "rwkv6-1.6b", "attention");
  std::string json_path, recorded;
  bool growth = false;
  app.add_flag("--growth", growth, "Also fit how the CPU implementations' time grows with T");
  app.add_option("--json", json_path, "Write the results there");
  app.add_option("--recorded", recorded, "Folder of earlier results, shown where there is no GPU")
      ->group("");  // set by the script
  Limits limits;
  app.add_option("--patience", limits.patience_seconds,
                 "Seconds that one implementation may take in the emulator or on the CPU. Beyond "
                 "that, by estimate, only a part of the shape is checked, and nothing timed")
      ->capture_default_str();

  return run_program(app, argc, argv, [&] {
    const Selection selection = options.selection();
    if (!(limits.patience_seconds > 0))
      throw std::invalid_argument(
          fmt::format("--patience is {}; allowed: more than 0 seconds", limits.patience_seconds));
    require_writable("--json", json_path);
    Climb result = climb(selection, show_progress, limits);
    add_recorded(result, recorded);
    fmt::print("{}", to_table(result));
    const auto conditions = conditions_of(result, options);
    // A kernel that was edited is not the one whose hash is kept.
    const bool edited = conditions.at("commit").find("-dirty") != std::string::npos;
    nlohmann::json json = to_json(result, edited ? "" : recorded);
    if (growth) {
      const auto fits = measure_growth(show_progress);
      fmt::print("\n{}", to_table(fits));
      json["growth"] = to_json(fits);
    }
    if (!json_path.empty()) {
      json["date"] = today();
      json["conditions"] = conditions;
      write_file(json_path, json.dump(2) + "\n");
    }
    std::fflush(stdout);
    if (!result.any_ran()) fmt::print(stderr, "Nothing ran here: the table says why.\n");
    return result.passed() ? 0 : kWrongResult;
  });
}
