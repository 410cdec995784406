#include "common/core/registry.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <utility>

#include "common/core/errors.hpp"

namespace ladder {
namespace {

std::vector<Implementation>& registered() {
  static std::vector<Implementation> list;
  return list;
}

std::vector<AbsentImplementation>& absent() {
  static std::vector<AbsentImplementation> list;
  return list;
}

template <typename Each>
std::vector<Each> sorted(std::vector<Each> list) {
  std::stable_sort(list.begin(), list.end(), comes_before<Each, Each>);
  return list;
}

// A learner's copy of an exercise may be linked beside the kernel that it is a copy of.
bool is_exercise(const Implementation& implementation) {
  return implementation.source.find("/exercise.") != std::string::npos;
}

// From the chapter's folder on, wherever the repository lies; the name alone of a file outside of it.
std::string inside_repository(const std::string& file, const std::string& chapter) {
  const std::string folder = chapter + "/";
  const auto begin = file.rfind("/" + folder);
  if (begin != std::string::npos) return file.substr(begin + 1);
  return file.rfind(folder, 0) == 0 ? file : std::filesystem::path(file).filename().string();
}

}  // namespace

std::string lesson_of(const std::string& source) {
  const auto begin = source.find('/'), end = source.rfind('/');
  return begin == end ? "" : source.substr(begin + 1, end - begin - 1);
}

std::vector<Implementation> implementations() {
  return sorted(registered());
}

std::vector<AbsentImplementation> absent_implementations() {
  return sorted(absent());
}

Implementation find_implementation(const std::string& name) {
  std::string known;
  for (const Implementation& implementation : implementations()) {
    if (implementation.name == name) return implementation;
    known += (known.empty() ? "" : ", ") + implementation.name;
  }
  for (const AbsentImplementation& each : absent()) {
    if (each.name != name) continue;
    throw std::invalid_argument("implementation is '" + name + "', which needs " + each.needs +
                                "; allowed in this program: " + known);
  }
  throw std::invalid_argument("implementation is '" + name + "'; allowed: " + known);
}

Registration::Registration(Implementation implementation, const char* file) {
  implementation.source = inside_repository(file, implementation.chapter);
  auto place = registered().end();
  for (auto other = registered().begin(); other != registered().end(); ++other) {
    if (other->name != implementation.name) continue;
    if (is_exercise(*other) == is_exercise(implementation)) {
      // Before main, nobody would catch an exception.
      std::cerr << "implementation '" << other->name << "' is registered twice: by "
                << other->chapter << " and by " << implementation.chapter
                << "; give one of them another name\n";
      std::exit(EXIT_FAILURE);
    }
    // Ours keeps its name and comes first, whichever is registered first.
    Implementation& learners = is_exercise(*other) ? *other : implementation;
    learners.name += " (yours)";
    place = is_exercise(*other) ? other : std::next(other);
    break;
  }
  registered().insert(place, std::move(implementation));
}

AbsentRegistration::AbsentRegistration(AbsentImplementation implementation) {
  absent().push_back(std::move(implementation));
}

}  // namespace ladder
