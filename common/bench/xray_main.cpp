// The X-ray program. The script `ladder` builds and calls it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <set>
#include <stdexcept>
#include <string>

#include "common/bench/command_line.hpp"
#include "common/bench/xray_run.hpp"

using namespace ladder::bench;

namespace {

// Each element of each tensor is touched at least once.
void refuse_what_cannot_be_traced(const Selection& selection) {
  const Shape& s = selection.shape;
  const double elements = static_cast<double>(s.B) * s.T * s.H * (3.0 * s.K + 2.0 * s.V);
  if (elements <= static_cast<double>(kMostAccesses)) return;
  throw std::invalid_argument(fmt::format(
      "--shape is {}: its arrays alone have {:.3g} elements; allowed: shapes that make up to {} "
      "accesses, such as T=16,H=2,K={},V={}",
      to_string(s), elements, kMostAccesses, s.K, s.V));
}

std::vector<ladder::Implementation> kernels_of(const Selection& selection) {
  std::vector<ladder::Implementation> result = chosen(selection);
  std::erase_if(result, [](const auto& each) { return each.device != ladder::DeviceKind::kCuda; });
  if (result.empty()) {
    throw std::invalid_argument(
        fmt::format("chapters {} have no CUDA kernel that computes {}; "
                    "allowed: chapters 03 and later, and another --operator",
                    fmt::join(selection.chapters, ", "), selection.op));
  }
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("The kernel X-ray: what each kernel asks of memory, counted in the emulator.",
               "./ladder xray");
  const SelectionOptions options(app, "B=1,T=16,H=2,K=64,V=64");
  std::string json_path, page_path;
  app.add_option("--json", json_path, "Write the counts there");
  app.add_option("--html", page_path, "Write the page that draws them there");

  return run_program(app, argc, argv, [&] {
    const Selection selection = options.selection();
    const auto implementations = kernels_of(selection);
    refuse_what_cannot_be_traced(selection);
    require_writable("--json", json_path);
    require_writable("--html", page_path);

    std::vector<emulator::xray::Subject> subjects;
    std::string wrong;
    for (const ladder::Implementation& implementation : implementations) {
      show_progress("tracing " + implementation.name);
      XrayRun run = xray(implementation, selection);
      if (run.too_large) {
        throw std::invalid_argument(fmt::format(
            "{} makes more than {} accesses on {}; tracing it would take minutes: try --shape "
            "B=1,T=16,H=2,K={},V={}",
            implementation.name, kMostAccesses, to_string(selection.shape), selection.shape.K,
            selection.shape.V));
      }
      if (!run.right) wrong += fmt::format("\n{}: {}\n", implementation.name, run.message);
      std::move(run.subjects.begin(), run.subjects.end(), std::back_inserter(subjects));
    }
    show_progress("");
    fmt::print("X-ray of {} on {}\n\n{}{}", selection.op, to_string(selection.shape),
               emulator::xray::to_table(subjects), wrong);

    nlohmann::json report = emulator::xray::to_json(subjects);
    const Shape& s = selection.shape;
    report["operator"] = selection.op;
    report["shape"] = {{"B", s.B}, {"T", s.T}, {"H", s.H}, {"K", s.K}, {"V", s.V}};
    report["conditions"] = options.conditions();
    report["conditions"]["date"] = today();
    if (!json_path.empty()) write_file(json_path, report.dump(2) + "\n");
    if (!page_path.empty()) write_file(page_path, emulator::xray::to_page(report));

    const bool clean = std::all_of(subjects.begin(), subjects.end(),
                                   [](const auto& each) { return each.kernel.errors.empty(); });
    return clean && wrong.empty() ? 0 : kWrongResult;
  });
}
