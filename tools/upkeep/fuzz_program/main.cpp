// fuzz_BACKEND --seed S --first I --step N --cases M: each case as a line of JSON. Lines before it announce the case, its problem
// and each implementation before it runs, so that whoever reads knows what ended the program.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "tools/upkeep/fuzz_program/trial.hpp"

namespace {

nlohmann::json to_json(const ladder::fuzz::Trial& trial) {
  nlohmann::json json = {{"implementation", trial.implementation},
                         {"schedule", trial.schedule},
                         {"outcome", trial.outcome}};
  if (trial.outcome != "refused") {
    json["error"] = trial.error;
    json["limit"] = trial.limit;
    json["share"] = trial.share;
  }
  if (!trial.message.empty()) json["message"] = trial.message;
  return json;
}

void print_line(const nlohmann::json& json) {
  using Json = nlohmann::json;
  fmt::print("{}\n", json.dump(-1, ' ', false, Json::error_handler_t::replace));
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Random problems for every implementation. tools/upkeep/fuzz.py starts it.", "fuzz");
  std::uint64_t seed = 1, first = 0, step = 1, cases = 1;
  std::string only;
  app.add_option("--seed", seed, "Which run");
  app.add_option("--first", first, "Its first case");
  app.add_option("--step", step, "To the next case")->check(CLI::PositiveNumber);
  app.add_option("--cases", cases, "How many");
  app.add_option("--implementation", only, "No other");
  CLI11_PARSE(app, argc, argv);
  for (std::uint64_t n = 0; n < cases; ++n) {
    const std::uint64_t index = first + n * step;
    print_line({{"begins", index}});
    const auto begin = std::chrono::steady_clock::now();
    const ladder::fuzz::Draw draw = ladder::fuzz::draw(seed, index);
    nlohmann::json json = {{"operator", draw.op}, {"name", draw.name}};
    if (draw.bad) {
      json["bad"] =
          fmt::format("{} element {} is {}, of head {}, sequence {}", draw.bad->array,
                      draw.bad->element, draw.bad->value, draw.bad->head, draw.bad->sequence);
    }
    print_line(json);
    const auto announce = [](const ladder::fuzz::Trial& trial) {
      print_line({{"implementation", trial.implementation}, {"schedule", trial.schedule}});
    };
    json["case"] = index;
    json["runs"] = nlohmann::json::array();
    for (const auto& trial : ladder::fuzz::try_out(draw, seed, index, only, announce))
      json["runs"].push_back(to_json(trial));
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    json["seconds"] = seconds.count();
    print_line(json);
  }
}
