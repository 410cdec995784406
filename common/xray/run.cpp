#include "common/xray/run.hpp"

#include <stdexcept>

#include "emulator/emulator.hpp"

namespace ladder {

namespace {

Verdict verdict_on(const Implementation& implementation, const Problem& problem,
                   const Explained& explained, std::uint64_t& host_bytes) {
  Device& where = device(implementation.device);
  const auto on_device = problem.place(where, implementation);
  require(on_device != nullptr,
          implementation.name + " does not compute that; allowed: what it has a launcher for");
  emulator::xray::take_host_bytes();  // of copying the problem to the device
  on_device->call();
  where.synchronize();
  host_bytes = emulator::xray::take_host_bytes();
  const Arithmetic arithmetic = arithmetic_of(implementation, problem.storage());
  Verdict verdict = on_device->judge(arithmetic, false);
  if (!verdict.right) verdict.message = explained(verdict, *on_device, arithmetic);
  return verdict;
}

// "06.05"; empty for a chapter's own kernel.
std::string lesson_number(const Implementation& implementation) {
  const std::string lesson = lesson_of(implementation.source);
  const auto number_of = [](const std::string& folder) {
    return folder.substr(0, folder.find('_'));
  };
  return lesson.empty() ? "" : number_of(implementation.chapter) + "." + number_of(lesson);
}

}  // namespace

void let_copies_come_late() {
  emulator::Schedule schedule = emulator::schedule();
  schedule.late = true;
  emulator::set_schedule(schedule);
}

XrayRun xray(const Implementation& implementation, const Problem& problem,
             const Explained& explained, std::uint64_t most_accesses) {
  emulator::xray::set_access_limit(most_accesses);
  emulator::xray::take();
  XrayRun result;
  try {
    const Verdict verdict = verdict_on(implementation, problem, explained, result.host_bytes);
    result.right = verdict.right;
    result.message = verdict.message;
  } catch (const std::invalid_argument&) {
    throw;
  } catch (const std::runtime_error& failure) {  // a failed launch or an out-of-bounds write
    result.stopped = true;
    result.message = failure.what();
  }
  for (emulator::xray::Kernel& kernel : emulator::xray::take()) {
    result.too_large = result.too_large || kernel.too_large;
    result.subjects.push_back({implementation.chapter, implementation.name, std::move(kernel),
                               lesson_number(implementation)});
  }
  return result;
}

}  // namespace ladder
