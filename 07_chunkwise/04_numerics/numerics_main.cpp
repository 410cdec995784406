// Prints how wrong each chunkwise form is under which decay. usage: chapter07_numerics [FILE.json]
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "numerics.hpp"

namespace {

using namespace chunkwise::numerics;

// Null where the result is not finite.
nlohmann::json row_of(double mean) {
  nlohmann::json errors = nlohmann::json::array();
  for (const Form form : kForms) {
    const ladder::RelativeError error = error_of(form, mean);
    errors.push_back(error.finite ? nlohmann::json(error.whole) : nlohmann::json());
  }
  return {{"mean_log_decay", mean}, {"errors", errors}};
}

nlohmann::json rows_of(const std::vector<double>& means) {
  nlohmann::json rows = nlohmann::json::array();
  for (const double mean : means)
    rows.push_back(row_of(mean));
  return rows;
}

std::string table_of(const nlohmann::json& rows) {
  std::string heads = "| mean log-decay per token |", rule = "|---|", lines;
  for (const Form form : kForms) {
    heads += fmt::format(" {} |", name_of(form));
    rule += "---|";
  }
  for (const nlohmann::json& row : rows) {
    lines += fmt::format("| {} |", row["mean_log_decay"].get<double>());
    for (const nlohmann::json& error : row["errors"])
      lines += error.is_null() ? " NaN/Inf |" : fmt::format(" {:.1e} |", error.get<double>());
    lines += "\n";
  }
  return heads + "\n" + rule + "\n" + lines;
}

}  // namespace

int main(int count, char** arguments) {
  const nlohmann::json table = rows_of({-1e-3, -0.1, -0.17, -0.61, -1.3, -5, -16});
  fmt::print("relative error against a float64 recurrence, chunks of {}\n\n{}", kChunk,
             table_of(table));
  if (count < 2) return EXIT_SUCCESS;

  std::vector<double> means;
  for (int eighth = -24; eighth <= 10; ++eighth)
    means.push_back(-std::pow(10.0, eighth / 8.0));
  nlohmann::json forms = nlohmann::json::array();
  for (const Form form : kForms)
    forms.push_back(name_of(form));
  std::ofstream file(arguments[1]);
  file << nlohmann::json{{"chunk", kChunk},
                         {"sub_chunk", kSubChunk},
                         {"largest_exponent", kLargestExponent},
                         {"forms", forms},
                         {"table", table},
                         {"curve", rows_of(means)}}
              .dump(1)
       << "\n";
  file.close();
  if (!file) {
    fmt::print(stderr, "cannot write {}\n", arguments[1]);
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
