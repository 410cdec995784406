// Recorded times of earlier runs.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "common/program/climb.hpp"

namespace ladder::program {
namespace {

std::string text(const nlohmann::json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

nlohmann::json parsed(const std::filesystem::path& file) {
  return nlohmann::json::parse(std::ifstream(file), nullptr, false);
}

// From kernels.json, for each run: implementation -> hash of its present launches. Or null.
nlohmann::json launched_in(const std::string& folder) {
  const nlohmann::json kernels = parsed(std::filesystem::path(folder) / "kernels.json");
  if (!kernels.is_object() || text(kernels, "schema") != "kernel-ladder/kernels/2") return {};
  nlohmann::json launched = nlohmann::json::object();
  for (const auto& run : kernels.value("launched", nlohmann::json::array()))
    launched[text(run, "name")] = run.value("code", nlohmann::json::object());
  return launched;
}

bool is_same_run(const nlohmann::json& run, const nlohmann::json& mine) {
  return run.is_object() && text(run, "operator") == text(mine, "operator") &&
         run.value("precision", "fp32") == text(mine, "precision") &&
         run.value("states", false) == mine.at("states") &&
         run.value("causal", false) == mine.at("causal") &&
         run.value("options", nlohmann::json::object()) == mine.at("options") &&
         run.value("shape", nlohmann::json()) == mine.at("shape");
}

}  // namespace

void add_recorded(Climb& climb, const std::string& folder) {
  if (!std::filesystem::is_directory(folder)) return;
  const nlohmann::json mine = to_json(climb);
  const nlohmann::json launched = launched_in(folder);
  // The hash of the present launches for a recorded row, or a word that is no hash if unknown.
  const auto today = [&](const nlohmann::json& run, const nlohmann::json& row) -> std::string {
    const auto its = launched.value(text(run, "name"), nlohmann::json::object());
    const std::string hash = text(its, text(row, "implementation").c_str());
    return hash.empty() ? "unknown" : hash;
  };
  std::set<std::filesystem::path> files;  // sorted by name
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".json") files.insert(entry.path());
  }
  std::vector<nlohmann::json> runs;
  // By GPU and row. The present kernel's time is preferred, then the latest.
  using Rank = std::pair<bool, std::string>;
  std::map<std::string, std::map<std::size_t, std::pair<Rank, Recorded>>> found;
  for (const auto& file : files) {
    const nlohmann::json document = parsed(file);
    if (!document.is_object() || text(document, "schema") != kRuns) continue;
    for (const auto& each : document.value("runs", nlohmann::json::array())) {
      if (is_same_run(each, mine)) runs.push_back(each);
    }
  }
  for (const auto& run : runs) {
    for (std::size_t i = 0; i < climb.rows.size(); ++i) {
      const Row& row = climb.rows[i];
      if (row.back_end != "emulator" && !row.back_end.empty()) continue;
      for (const auto& each : run.value("rows", nlohmann::json::array())) {
        const bool on_gpu = text(each, "back_end") == "cuda";
        const bool fits = on_gpu || (row.back_end.empty() && text(each, "back_end") == "cpu");
        if (text(each, "implementation") != row.implementation || !fits ||
            !each.value("right", false) || !each.contains("seconds"))
          continue;
        const bool old = on_gpu && launched.is_object() && text(each, "code") != today(run, each);
        const Rank rank(!old, text(run, "date"));
        auto& [best, recorded] = found[text(each, "device")][i];
        if (recorded.seconds > 0 && rank < best) continue;
        best = rank;
        // Without `units`, a record's bound may be for units that the kernel does not use.
        const double bound = each.contains("units") ? each.value("bound_seconds", 0.0) : 0.0;
        recorded = {each.at("seconds").get<double>(), text(each, "device"), old, bound};
      }
    }
  }
  climb.recorded_on = "";
  const auto fewer = [](const auto& a, const auto& b) {
    const auto worth = [](const auto& of_device) {
      Rank best;
      std::size_t of_today = 0;
      for (const auto& [row, ranked] : of_device.second) {
        best = std::max(best, ranked.first);
        of_today += ranked.first.first;
      }
      return std::tuple(of_device.second.size(), of_today, best.second);
    };
    return worth(a) < worth(b);
  };
  const auto most = std::max_element(found.begin(), found.end(), fewer);
  if (most == found.end()) return;
  climb.recorded_on = most->first;
  for (const auto& [i, ranked] : most->second)
    climb.rows[i].recorded = ranked.second;
}

std::string slower_because(const std::string& source, const std::string& root) {
  std::ifstream page(std::filesystem::path(root) / std::filesystem::path(source).parent_path() /
                     "README.md");
  constexpr std::string_view kBegin = "<!-- slower: ", kEnd = " -->";
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with(kBegin) && line.ends_with(kEnd))
      return line.substr(kBegin.size(), line.size() - kBegin.size() - kEnd.size());
  }
  return "";
}

}  // namespace ladder::program
