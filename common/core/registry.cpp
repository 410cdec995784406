#include "common/core/registry.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <utility>

#include "common/core/errors.hpp"
#include "common/core/text.hpp"

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

// A learner's copy of an exercise may be linked together with the kernel that it copies.
bool is_exercise(const Implementation& implementation) {
  return implementation.source.find("/exercise.") != std::string::npos;
}

// The path from the chapter's folder on, in the repository, in a copy (my/, build/mistaken/) or
// elsewhere. A folder is a lesson if it and its parent, the chapter, are numbered. The repository's
// own folder is neither, whatever its name.
std::string inside_chapter(std::string file) {
  const std::string root = std::string(LADDER_SOURCE_FOLDER) + "/";
  if (file.rfind(root, 0) == 0) file.erase(0, root.size());
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  const auto is_numbered = [](const std::filesystem::path& path) {  // 07_chunkwise, 11b_decay
    const std::string name = path.filename().string();
    const std::size_t digits = name.find_first_not_of("0123456789");
    return digits == 2 && name.substr(2, 2).find('_') != std::string::npos;
  };
  const bool is_lesson = is_numbered(folder) && is_numbered(folder.parent_path());
  const std::filesystem::path above =
      is_lesson ? folder.parent_path().parent_path() : folder.parent_path();
  return file.substr(above.empty() ? 0 : above.string().size() + 1);
}

// Sets the source and the chapter of an Implementation or AbsentImplementation.
template <typename Any>
void settle(Any& implementation, const std::string& file) {
  implementation.source = inside_chapter(file);
  implementation.chapter = implementation.source.substr(0, implementation.source.find('/'));
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
  std::vector<std::string> known;
  for (const Implementation& implementation : implementations()) {
    if (implementation.name == name) return implementation;
    known.push_back(implementation.name);
  }
  for (const AbsentImplementation& each : absent()) {
    if (each.name != name) continue;
    throw std::invalid_argument("implementation is '" + name + "', which needs " + each.needs +
                                "; allowed in this program: " + joined(known));
  }
  throw std::invalid_argument("implementation is '" + name + "'; allowed: " + joined(known));
}

std::string whole_path(const std::string& file) {
  return (std::filesystem::path(LADDER_BUILD_FOLDER) / file).lexically_normal().string();
}

Registration::Registration(Implementation implementation, const char* file) {
  settle(implementation, file);
  implementation.file = whole_path(file);
  auto place = registered().end();
  for (auto other = registered().begin(); other != registered().end(); ++other) {
    if (other->name != implementation.name) continue;
    if (is_exercise(*other) == is_exercise(implementation)) {
      // Before main no handler can catch an exception, and std::cerr may not exist yet.
      std::fputs(("implementation '" + other->name + "' is registered twice: by " + other->source +
                  " and by " + implementation.source + "; give one of them another name\n")
                     .c_str(),
                 stderr);
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
  settle(implementation, std::string(implementation.source));
  absent().push_back(std::move(implementation));
}

}  // namespace ladder
