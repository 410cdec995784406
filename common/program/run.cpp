#include "common/program/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <string>
#include <vector>

#include "common/core/text.hpp"
#include "common/program/build.hpp"
#include "common/program/climb.hpp"
#include "common/program/command_line.hpp"

namespace ladder::program {
namespace {

std::vector<OperatorIn> climbed_ladders() {
  std::vector<OperatorIn> ladders;
  for (const auto& op : operators()) {
    for (const std::string& storage : op->climbed)
      ladders.emplace_back(op->name, storage);
  }
  return ladders;
}

std::string climbed_text() {
  std::vector<std::string> texts;
  for (const auto& [op, storage] : climbed_ladders())
    texts.push_back(op + " in " + storage);
  return joined(texts);
}

}  // namespace

int run_ladder(int argc, char** argv) {
  CLI::App app(
      "Climbs the ladder: each kernel is checked, then timed. Without a chapter: the kernels of "
      "the chapters' own folders, then the summits, by their recorded times where there is no "
      "GPU. With nothing but chapters: their rungs, of " +
          climbed_text() + "; chapters that have none of them, in the operators that they have.",
      "./ladder run");
  const SelectionOptions options(app, SelectionOptions::Shapes::kUsual);
  std::string json_path, recorded;
  const CLI::Option* json_option = app.add_option("--json", json_path, "Write the results there");
  app.add_option("--recorded", recorded, "Folder of earlier results, shown where there is no GPU")
      ->group("");  // set by the script
  std::vector<std::string> tables;
  app.add_option("--table", tables, "One that is climbed; may be repeated")->group("");
  double patience_seconds = kPatienceSeconds;
  app.add_option("--patience", patience_seconds,
                 "Seconds that one implementation may take in the emulator or on the CPU. Beyond "
                 "that, by estimate, only a part of the shape is checked, and nothing timed")
      ->capture_default_str();

  return run_program(app, argc, argv, [&] {
    std::vector<Selection> selections;
    std::transform(tables.begin(), tables.end(), std::back_inserter(selections), table_in);
    if (tables.empty()) selections = options.selections(climbed_ladders());
    require(patience_seconds > 0,
            fmt::format("--patience is {}; allowed: more than 0 seconds", patience_seconds));
    require_writable(*json_option);
    const auto on_gpu = [](const Row& row) { return row.back_end == "cuda"; };
    std::vector<Climb> climbs;
    std::vector<nlohmann::json> runs;
    for (const Selection& selection : selections) {
      climbs.push_back(climb(selection, show_progress, patience_seconds));
      add_recorded(climbs.back(), recorded);
      auto conditions = options.conditions();
      if (std::any_of(climbs.back().rows.begin(), climbs.back().rows.end(), on_gpu))
        conditions["cuda_compiler"] = cuda_compiler();
      runs.push_back(to_json(climbs.back()));
      runs.back()["date"] = today();
      runs.back()["conditions"] = conditions;
    }
    fmt::print("{}", to_table(climbs));
    if (!json_path.empty())
      write_file(json_path, as_rows({{"schema", kRuns}, {"runs", runs}}) + "\n");
    std::fflush(stdout);
    const auto ran = [](const Climb& each) { return each.any_ran(); };
    if (std::none_of(climbs.begin(), climbs.end(), ran))
      fmt::print(stderr, "Nothing ran here: the table says why.\n");
    return passed(climbs) ? 0 : kWrongResult;
  });
}

}  // namespace ladder::program
