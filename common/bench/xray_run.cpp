#include "common/bench/xray_run.hpp"

#include <stdexcept>

#include "common/core/device_problem.hpp"
#include "common/reference/judge.hpp"

namespace ladder::bench {
namespace {

template <typename Problem>
void run_and_judge(const Implementation& implementation, const Problem& problem, XrayRun& result) {
  try {
    const reference::Verdict verdict =
        reference::judge(problem, ladder::run(implementation, problem));
    result.right = verdict.right;
    result.message = verdict.message;
  } catch (const std::invalid_argument&) {
    throw;
  } catch (const std::runtime_error& failure) {  // a launch that failed, or a write elsewhere
    result.message = failure.what();
  }
}

}  // namespace

XrayRun xray(const Implementation& implementation, const Selection& selection) {
  emulator::xray::set_access_limit(kMostAccesses);
  emulator::xray::take();
  XrayRun result;
  if (selection.op == "wkv") {
    run_and_judge(implementation, wkv_problem_of(selection), result);
  } else {
    run_and_judge(implementation, linear_attention_problem_of(selection), result);
  }
  for (emulator::xray::Kernel& kernel : emulator::xray::take()) {
    result.too_large = result.too_large || kernel.too_large;
    result.subjects.push_back({implementation.chapter, implementation.name, std::move(kernel)});
  }
  return result;
}

}  // namespace ladder::bench
