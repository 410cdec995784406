#include "common/program/selection.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <set>
#include <stdexcept>

namespace ladder::program {
namespace {

// The operators that it computes, each with its first storage.
std::vector<OperatorIn> computed_by(const Implementation& implementation) {
  std::vector<OperatorIn> result;
  for (const auto& op : operators()) {
    const std::vector<std::string> storages = op->storages();
    const auto first = std::find_if(
        storages.begin(), storages.end(),
        [&](const std::string& storage) { return op->computes(implementation, storage); });
    if (first != storages.end()) result.emplace_back(op->name, *first);
  }
  return result;
}

// Whether `wanted` selects this source's chapter ("03", "03_cuda_baseline", "03_cuda_baseline/") or
// lesson ("07.02", "07.11b", "07_chunkwise/02_chunk_walk", "03.00" for its own folder).
bool means(std::string wanted, const std::string& chapter, const std::string& source) {
  if (wanted.ends_with('/')) wanted.pop_back();
  const std::string lesson = lesson_of(source);
  const auto number_of = [](const std::string& folder) {
    return folder.substr(0, folder.find('_'));
  };
  const std::string number = number_of(chapter);
  return wanted == chapter || wanted == number || wanted == chapter + "/" + lesson ||
         wanted == number + "." + (lesson.empty() ? "00" : number_of(lesson));
}

// A lesson that is named is shown even if it is a variant.
bool names_lesson(const std::string& wanted) {
  return wanted.find_first_of("./") < wanted.size() - 1;
}

// Whether an implementation, present or absent, is selected by chapter or lesson, and is shown.
template <typename Each>
bool is_wanted(const Selection& selection, const Each& each) {
  const auto& chapters = selection.chapters;
  return chapters.empty() ||
         std::any_of(chapters.begin(), chapters.end(), [&](const std::string& wanted) {
           return means(wanted, each.chapter, each.source);
         });
}

template <typename Each>
bool is_shown(const Selection& selection, const Each& each) {
  const auto& names = selection.names;
  if (!names.empty()) return std::find(names.begin(), names.end(), each.name) != names.end();
  const auto& chapters = selection.chapters;
  return each.rung || !selection.rungs_only ||
         std::any_of(chapters.begin(), chapters.end(), [&](const std::string& wanted) {
           return names_lesson(wanted) && means(wanted, each.chapter, each.source);
         });
}

}  // namespace

std::unique_ptr<Case> case_of(const Selection& selection) {
  const Operator& op = find_operator(selection.op);
  Options options = selection.options;
  if (selection.causal) options.emplace_back("causal", "");
  for (const char* state : {"initial_state", "final_state"}) {
    if (selection.states) options.emplace_back(state, "");
  }
  return op.make_case(selection.shape, options, selection.precision);
}

std::vector<Implementation> chosen(const Selection& selection) {
  case_of(selection);  // throws if the operator lacks something
  const std::vector<Implementation> all = implementations();
  std::set<std::string> known;
  for (const Implementation& each : all)
    known.insert(each.chapter);
  for (const std::string& wanted : selection.chapters) {
    const auto meant = [&](const Implementation& each) {
      return means(wanted, each.chapter, each.source);
    };
    require(std::any_of(all.begin(), all.end(), meant),
            fmt::format("chapter is '{}'; allowed: {} or their numbers, and lessons such as 07.02",
                        wanted, fmt::join(known, ", ")));
  }
  for (const std::string& name : selection.names)
    find_implementation(name);
  const Operator& op = find_operator(selection.op);
  std::vector<Implementation> result;
  std::set<std::string> able;    // all such chapters
  std::set<std::string> others;  // operators that the selected ones compute
  for (const Implementation& each : all) {
    const bool wanted = is_wanted(selection, each);
    const bool runs = !selection.cuda_only || each.device == DeviceKind::kCuda;
    if (!is_shown(selection, each) || !runs) continue;
    if (op.computes(each, selection.precision)) {
      able.insert(each.chapter);
      if (wanted) result.push_back(each);
    } else if (wanted && !(selection.chapters.empty() && selection.names.empty())) {
      for (const OperatorIn& other : computed_by(each))
        others.insert(other.first);
    }
  }
  others.erase(selection.op);  // which they compute in another precision
  if (result.empty()) {
    const std::string kind = selection.cuda_only ? "CUDA kernel" : "implementation",
                      where = selection.chapters.empty()
                                  ? "any chapter"
                                  : fmt::format("{}", fmt::join(selection.chapters, ", "));
    throw std::invalid_argument(fmt::format(
        "no {} in {}{} computes {} in {}; allowed: {}another --operator{} or --precision{}", kind,
        where,
        selection.names.empty() ? ""
                                : fmt::format(" called {}", fmt::join(selection.names, " or ")),
        selection.op, selection.precision,
        able.empty() ? "" : fmt::format("{}, ", fmt::join(able, ", ")),
        others.empty() ? "" : fmt::format(" ({})", fmt::join(others, ", ")),
        selection.names.empty() ? ", or --all for variants" : ", or another --implementation"));
  }
  return result;
}

std::vector<OperatorIn> computed(const Selection& selection) {
  std::vector<OperatorIn> result;
  std::set<std::string> names;
  for (const Implementation& each : implementations()) {
    const bool runs = !selection.cuda_only || each.device == DeviceKind::kCuda;
    if (!runs || !is_wanted(selection, each) || !is_shown(selection, each)) continue;
    for (const OperatorIn& op : computed_by(each)) {
      if (names.insert(op.first).second) result.push_back(op);
    }
  }
  return result;
}

std::vector<std::string> up_to(const std::vector<std::string>& chapters) {
  if (chapters.size() != 1 || names_lesson(chapters[0])) return chapters;
  std::set<std::string> known;
  for (const Implementation& each : implementations())
    known.insert(each.chapter);
  for (const AbsentImplementation& each : absent_implementations())
    known.insert(each.chapter);
  const auto asked = std::find_if(known.begin(), known.end(), [&](const std::string& chapter) {
    return means(chapters[0], chapter, chapter + "/");
  });
  // Folders outside the chapters have no number.
  if (asked == known.end() || !std::isdigit(static_cast<unsigned char>(asked->front())))
    return chapters;
  return {known.begin(), std::next(asked)};
}

bool has_any(const Selection& selection) {
  try {
    return !chosen(selection).empty();
  } catch (const std::invalid_argument&) {
    return false;
  }
}

std::string launcher_of(const Selection& selection) {
  const std::string op = find_operator(selection.op).launchers;
  return selection.precision == "fp32" ? op : op + "_" + selection.precision;
}

std::vector<AbsentImplementation> chosen_absent(const Selection& selection) {
  case_of(selection);  // throws if the operator lacks something
  const std::string launcher = launcher_of(selection);
  std::vector<AbsentImplementation> result;
  for (const AbsentImplementation& each : absent_implementations()) {
    const bool computes =
        std::find(each.launchers.begin(), each.launchers.end(), launcher) != each.launchers.end();
    if (computes && is_wanted(selection, each) && is_shown(selection, each)) result.push_back(each);
  }
  return result;
}

}  // namespace ladder::program
