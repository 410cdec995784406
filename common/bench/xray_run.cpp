#include "common/bench/xray_run.hpp"

#include <algorithm>
#include <stdexcept>
#include <variant>

#include "common/core/device_problem.hpp"
#include "common/reference/judge.hpp"

namespace ladder::bench {
namespace {

template <typename Problem>
auto outputs_of(const Implementation& implementation, const Problem& problem) {
  return run(implementation, problem);
}
WkvGradients outputs_of(const Implementation& implementation, const WkvGradProblem& problem) {
  return run_backward(implementation, problem);
}
AttentionGradients outputs_of(const Implementation& implementation,
                              const AttentionGradProblem& problem) {
  return run_backward(implementation, problem);
}

template <typename Problem>
void run_and_judge(const Implementation& implementation, const Problem& problem,
                   const Selection& selection, XrayRun& result) {
  try {
    const reference::Verdict verdict =
        reference::judge(problem, outputs_of(implementation, problem),
                         arithmetic_of(implementation, selection.precision));
    result.right = verdict.right;
    result.message = verdict.message;
  } catch (const std::invalid_argument&) {
    throw;
  } catch (const std::runtime_error& failure) {  // a launch that failed, or a write elsewhere
    result.stopped = true;
    result.message = failure.what();
  }
}

}  // namespace

XrayRun xray(const Implementation& implementation, const Selection& selection,
             std::uint64_t most_accesses) {
  emulator::xray::set_access_limit(most_accesses);
  emulator::xray::take();
  XrayRun result;
  std::visit(
      [&](const auto& problem) { run_and_judge(implementation, problem, selection, result); },
      problem_of(selection));
  for (emulator::xray::Kernel& kernel : emulator::xray::take()) {
    result.too_large = result.too_large || kernel.too_large;
    result.subjects.push_back({implementation.chapter, implementation.name, std::move(kernel)});
  }
  return result;
}

std::uint64_t estimated_accesses(const Implementation& implementation, const Selection& selection) {
  const std::int64_t steps = selection.shape.T;
  const auto largest_launch = [&](std::int64_t T) {
    Selection brief = selection;
    brief.shape.T = T;
    std::uint64_t most = 0;
    for (const auto& subject : xray(implementation, brief).subjects)
      most = std::max(most, subject.kernel.largest_launch);
    return most;
  };
  if (steps < 2) return 0;
  try {
    // Most shapes are far from the limit, and some launches are beyond it at once.
    const std::uint64_t one = largest_launch(1);
    if (one > kMostAccesses || one * static_cast<std::uint64_t>(steps) <= kMostAccesses)
      return one * static_cast<std::uint64_t>(steps);
    const std::uint64_t two = std::max(one, largest_launch(2));
    return one + (two - one) * static_cast<std::uint64_t>(steps - 1);
  } catch (const std::invalid_argument&) {  // T = 1 is refused
    return 0;
  }
}

}  // namespace ladder::bench
