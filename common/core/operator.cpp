#include "common/core/operator.hpp"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <tuple>

namespace ladder {
namespace {

struct Listed {
  std::vector<std::unique_ptr<AnyOperator>> operators;
  std::vector<int> places;
};

Listed& listed() {
  static Listed list;
  return list;
}

}  // namespace

const std::vector<std::unique_ptr<AnyOperator>>& operators() {
  return listed().operators;
}

std::string operator_names() {
  std::string names;
  for (const auto& each : operators())
    names += (names.empty() ? "" : ", ") + each->name();
  return names;
}

const AnyOperator& find_operator(const std::string& name) {
  for (const auto& each : operators()) {
    if (each->name() == name) return *each;
  }
  throw std::invalid_argument("operator is '" + name + "'; allowed: " + operator_names());
}

void add_operator(std::unique_ptr<AnyOperator> op, int place) {
  auto& [operators, places] = listed();
  std::size_t at = 0;
  for (; at < operators.size(); ++at) {
    if (operators[at]->name() == op->name()) {
      // Before main, nobody would catch an exception.
      std::cerr << "operator '" << op->name() << "' is registered twice\n";
      std::exit(EXIT_FAILURE);
    }
  }
  for (at = 0; at < operators.size(); ++at) {
    if (std::tuple(place, op->name()) < std::tuple(places[at], operators[at]->name())) break;
  }
  operators.insert(operators.begin() + static_cast<std::ptrdiff_t>(at), std::move(op));
  places.insert(places.begin() + static_cast<std::ptrdiff_t>(at), place);
}

}  // namespace ladder
