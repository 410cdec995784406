#include "common/core/registry.hpp"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <tuple>
#include <utility>

#include "common/core/errors.hpp"

namespace ladder {
namespace {

std::vector<Implementation>& registered() {
  static std::vector<Implementation> list;
  return list;
}

}  // namespace

std::vector<Implementation> implementations() {
  std::vector<Implementation> sorted = registered();
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return std::tie(a.chapter, a.step) < std::tie(b.chapter, b.step);
  });
  return sorted;
}

Implementation find_implementation(const std::string& name) {
  std::string known;
  for (const Implementation& implementation : implementations()) {
    if (implementation.name == name) return implementation;
    known += (known.empty() ? "" : ", ") + implementation.name;
  }
  throw std::invalid_argument("implementation is '" + name + "'; allowed: " + known);
}

Registration::Registration(Implementation implementation) {
  for (const Implementation& other : registered()) {
    if (other.name != implementation.name) continue;
    // Before main, nobody would catch an exception.
    std::cerr << "implementation '" << other.name << "' is registered twice: by " << other.chapter
              << " and by " << implementation.chapter << "; give one of them another name\n";
    std::exit(EXIT_FAILURE);
  }
  registered().push_back(std::move(implementation));
}

}  // namespace ladder
