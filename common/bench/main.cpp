// The ladder program. The script `ladder` builds and calls it.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>

#include "common/bench/climb.hpp"
#include "common/bench/growth.hpp"

namespace {

using namespace ladder::bench;

constexpr int kWrongResult = 1;
constexpr int kUsage = 2;

void show_progress(const std::string& what) {
  if (isatty(STDERR_FILENO)) fmt::print(stderr, "\r\033[K{}", what);
}

// Tried before the long work; leaves no file behind that was not there.
bool can_be_written(const std::string& path) {
  const bool existed = std::filesystem::exists(path);
  const bool writable = std::ofstream(path, std::ios::app).good();
  if (writable && !existed) std::filesystem::remove(path);
  return writable;
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  char text[16];
  std::strftime(text, sizeof text, "%Y-%m-%d", std::gmtime(&now));
  return text;
}

}  // namespace

int main(int argc, char** argv) try {
  ClimbOptions options;
  std::string shape = "rwkv6-1.6b", json_path, recorded;
  std::map<std::string, std::string> conditions;
  bool all = false, growth = false;

  CLI::App app("Climbs the ladder: every chapter's kernel, checked, then timed.", "./ladder run");
  app.footer("Shapes:\n" + known_shapes());
  app.add_option("chapters", options.chapters,
                 "Only these: numbers or folder names (01 02_openmp)");
  app.add_option("--shape", shape, "A name, or sizes such as B=8,T=4096,H=32,K=64,V=64")
      ->capture_default_str();
  app.add_option("--operator", options.op, "wkv, linear_attention or causal_dot_product")
      ->capture_default_str();
  app.add_flag("--all", all, "Variants too, not only the rungs");
  app.add_flag("--growth", growth, "Also fit how the CPU implementations' time grows with T");
  app.add_option("--json", json_path, "Write the results there");
  app.add_option("--recorded", recorded, "Folder of earlier results, shown where there is no GPU")
      ->group("");  // set by the script
  app.add_option("--condition", conditions, "key value, kept in the JSON (commit, driver, ...)")
      ->group("");
  try {
    app.parse(argc, argv);
    options.shape = parse_shape(shape);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    app.exit(error);
    return kUsage;
  }
  options.rungs_only = !all;

  if (!json_path.empty() && !can_be_written(json_path)) {
    fmt::print(stderr, "--json is '{}'; allowed: a path that can be written\n", json_path);
    return kUsage;
  }
  Climb result = climb(options, show_progress);
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
    json["conditions"] = conditions;
    std::ofstream file(json_path);
    file << json.dump(2) << "\n";
    if (!file.flush()) throw std::runtime_error("could not write " + json_path);
    fmt::print("written: {}\n", json_path);
  }
  return result.all_right() ? 0 : kWrongResult;
} catch (const std::invalid_argument& error) {
  fmt::print(stderr, "\r{}\n", error.what());
  return kUsage;
} catch (const std::exception& error) {
  fmt::print(stderr, "\r{}\n", error.what());
  return kWrongResult;
}
