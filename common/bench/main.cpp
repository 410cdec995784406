// The ladder program. The script `ladder` builds and calls it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>

#include "common/bench/climb.hpp"
#include "common/bench/command_line.hpp"
#include "common/bench/growth.hpp"

using namespace ladder::bench;

int main(int argc, char** argv) {
  CLI::App app("Climbs the ladder: every chapter's kernel, checked, then timed.", "./ladder run");
  const SelectionOptions options(app, "rwkv6-1.6b");
  std::string json_path, recorded;
  bool growth = false;
  app.add_flag("--growth", growth, "Also fit how the CPU implementations' time grows with T");
  app.add_option("--json", json_path, "Write the results there");
  app.add_option("--recorded", recorded, "Folder of earlier results, shown where there is no GPU")
      ->group("");  // set by the script

  return run_program(app, argc, argv, [&] {
    const Selection selection = options.selection();
    require_writable("--json", json_path);
    Climb result = climb(selection, show_progress);
    add_recorded(result, recorded);
    fmt::print("{}", to_table(result));
    nlohmann::json json = to_json(result);
    if (growth) {
      const auto fits = measure_growth(show_progress);
      fmt::print("\n{}", to_table(fits));
      json["growth"] = to_json(fits);
    }
    if (!json_path.empty()) {
      json["date"] = today();
      json["conditions"] = options.conditions();
      write_file(json_path, json.dump(2) + "\n");
    }
    return result.all_right() ? 0 : kWrongResult;
  });
}
