#include "common/testing/xray.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "common/core/facts.hpp"
#include "common/diagnosis/second_start.hpp"
#include "common/xray/play.hpp"

namespace ladder::testing {
namespace {

using emulator::xray::Buffer;
using emulator::xray::Kernel;
using emulator::xray::Operation;

// Far more than any solution needs, but few enough for the recording of an endless loop.
constexpr std::uint64_t kMostBudgetAccesses = 20'000'000;

std::uint64_t accesses(const std::vector<Kernel>& kernels, Operation operation) {
  std::uint64_t count = 0;
  for (const Kernel& kernel : kernels) {
    for (const Buffer& buffer : kernel.buffers)
      count += buffer.traffic[static_cast<std::size_t>(operation)].accesses;
  }
  return count;
}

void report_errors(const Kernel& kernel) {
  for (const auto& error : kernel.errors) {
    write_fact(emulator::xray::fact_of(error));
    ADD_FAILURE() << error.message;
  }
}

void report_budget(const emulator::xray::UsedBudget& budget) {
  const auto number = [](double x) {  // not 1.638e+04
    return x < 1e4 ? fmt::format("{:.4g}", x) : fmt::format("{:.0f}", x);
  };
  if (std::isnan(budget.used)) {  // a quotient of counts that are 0
    ADD_FAILURE() << "nothing was counted of " << budget.what;
    return;
  }
  write_fact(emulator::xray::fact_of(budget));
  const std::string what =
      budget.per.empty() ? budget.what
                         : budget.what + " used, per " + budget.per + ", " + budget.implementation;
  fmt::print("budget: {} of {} {}\n", number(budget.used), number(budget.allowed), what);
  if (!budget.dearest.empty()) fmt::print("  {}\n", budget.dearest);
  EXPECT_LE(budget.used, budget.allowed) << what;
}

// Writes the last test's report, for ./ladder exercise --draw.
void write_report(const std::vector<Kernel>& kernels, const std::string& what) {
  const char* const path = std::getenv("LADDER_XRAY_JSON");
  if (path == nullptr || kernels.empty()) return;
  std::vector<emulator::xray::Subject> subjects;
  for (const Kernel& kernel : kernels)
    subjects.push_back({"", "", kernel});
  std::ofstream file(path);
  emulator::xray::write_case(file, what, subjects);
}

// Writes its stores, for ./ladder exercise to compare with another kernel's.
void write_values(const char* path) {
  std::ofstream file(path, std::ios::binary);
  emulator::xray::write_values(file, emulator::xray::take_values());
}

// Writes the steps of one block, for the player.
void write_play(const char* path) {
  const emulator::xray::Play play = emulator::xray::take_play();
  if (play.steps.empty()) return;
  std::ofstream file(path);
  emulator::xray::write_play(file, play);
}

// Fails tests in which the X-ray finds errors, unless they take the recordings themselves.
class ErrorsFailTests : public ::testing::EmptyTestEventListener {
  void OnTestStart(const ::testing::TestInfo&) override {
    emulator::xray::set_access_limit(std::getenv("LADDER_XRAY_JSON") != nullptr
                                         ? kMostBudgetAccesses
                                         : emulator::xray::kDefaultAccessLimit);
    emulator::xray::take();
    if (values_ != nullptr) emulator::xray::keep_values();
    if (play_ != nullptr) emulator::xray::keep_play();
  }
  void OnTestEnd(const ::testing::TestInfo& test) override {
    if (values_ != nullptr) write_values(values_);
    const std::vector<Kernel> kernels = emulator::xray::take();
    for (const Kernel& kernel : kernels)
      report_errors(kernel);
    write_report(kernels, test.name());
    if (play_ != nullptr) write_play(play_);
  }

  const char* const values_ = std::getenv("LADDER_XRAY_VALUES");
  const char* const play_ = std::getenv("LADDER_XRAY_PLAY");
};

[[maybe_unused]] const bool listens = [] {
  ::testing::UnitTest::GetInstance()->listeners().Append(new ErrorsFailTests);
  return true;
}();

// The line with most of these global accesses.
std::string dearest_of(const std::vector<Kernel>& kernels, Operation operation) {
  const emulator::xray::Access* dearest = nullptr;
  std::uint64_t all = 0;
  for (const Kernel& kernel : kernels) {
    for (const emulator::xray::Access& access : kernel.accesses) {
      if (access.space != emulator::xray::Space::kGlobal || access.operation != operation) continue;
      all += access.requests;
      if (dearest == nullptr || access.requests > dearest->requests) dearest = &access;
    }
  }
  if (dearest == nullptr) return "";
  return fmt::format("{:.0f} % of these {}s are made at {}, {} bytes at a time",
                     100.0 * static_cast<double>(dearest->requests) / static_cast<double>(all),
                     to_string(operation), dearest->where.text(), dearest->bytes);
}

// The line where most copies are waited for too early.
std::string hastiest_of(const std::vector<Kernel>& kernels) {
  const emulator::xray::Wait* hastiest = nullptr;
  std::uint64_t all = 0;
  for (const Kernel& kernel : kernels) {
    for (const emulator::xray::Wait& wait : kernel.waits) {
      all += wait.at_once;
      if (hastiest == nullptr || wait.at_once > hastiest->at_once) hastiest = &wait;
    }
  }
  return fmt::format(
      "{:.0f} % of these copies are waited for at {}, before their thread has done anything else",
      100.0 * static_cast<double>(hastiest->at_once) / static_cast<double>(all),
      hastiest->where.text());
}

// Why a launch may have been stopped.
std::string why_so_many(const std::vector<Kernel>& kernels) {
  constexpr std::uint64_t kFewOfThread = 1000;
  for (const Kernel& kernel : kernels) {
    const auto product = [](const dim3& of) { return std::uint64_t{of.x} * of.y * of.z; };
    const std::uint64_t blocks = product(kernel.grid);
    if (!kernel.too_large || blocks * product(kernel.block) < kMostBudgetAccesses / kFewOfThread)
      continue;
    return "Should the grid have " + emulator::xray::grouped(blocks) +
           (blocks == 1 ? " block?" : " blocks?");
  }
  return "Is there a loop that does not end?";
}

void expect_budget_kept(const std::string& implementation, const std::string& op,
                        const Budget& budget, const Shape& shape, const Options& options,
                        const Caller& caller, const std::string& storage) {
  const auto asked = case_of(op, shape, options, storage, caller);
  const auto problem = asked->make();
  const XrayRun run =
      xray(find_implementation(implementation), *problem, named, kMostBudgetAccesses);
  const std::vector<Kernel> kernels = sound_kernels(run);
  write_report(kernels, to_string(shape));
  if (run.too_large) {
    const std::string message = "stopped: more than " +
                                emulator::xray::grouped(kMostBudgetAccesses) +
                                " accesses and basic blocks. " + why_so_many(kernels);
    write_fact(nlohmann::json({{"fact", "stopped"}, {"message", message}}).dump());
    FAIL() << message;
  }
  if (run.stopped) return;  // the counts cover only a part of the run
  write_fact(emulator::xray::counters_fact_of(kernels));
  const auto expect_within = [&](const std::string& what, const std::string& part, double used,
                                 double allowed, const std::string& dearest = "") {
    report_budget({used, allowed, what, part, implementation, dearest});
  };
  std::uint64_t copies = 0, to_used_places = 0;
  for (const Kernel& kernel : kernels) {
    copies += kernel[emulator::xray::kAsyncCopies];
    to_used_places += kernel.copies_to_used_places;
  }
  const bool is_ours = std::getenv("LADDER_NOT_OURS") == nullptr;
  EXPECT_TRUE(!is_ours || copies == 0 || (to_used_places > 0) == !budget.uses_places_once)
      << "copies to a place that was read before: " << to_used_places << " of " << copies
      << "; a longer case has some";
  const auto [output, elements] = asked->first_output();
  for (const auto& [what, operation, allowed] :
       {std::tuple("global loads", Operation::kLoad, budget.loads),
        std::tuple("global stores", Operation::kStore, budget.stores),
        std::tuple("global atomics", Operation::kAtomic, budget.atomics)}) {
    const double used = static_cast<double>(accesses(kernels, operation)) / elements;
    // For a small excess it would name an innocent line.
    expect_within(what, "element of " + output, used, allowed,
                  used > 1.5 * allowed ? dearest_of(kernels, operation) : "");
  }
  const double host_bytes = static_cast<double>(run.host_bytes) / elements;
  if (host_bytes > 0 || budget.host_bytes > 0)
    expect_within("bytes of cudaMemset or cudaMemcpy", "element of " + output, host_bytes,
                  budget.host_bytes);
  for (const Budget::Count& count : budget.counts) {
    std::uint64_t used = 0;
    for (const Kernel& kernel : kernels)
      used += kernel[count.counter];
    const double of_a_part = static_cast<double>(used) / static_cast<double>(count.of);
    const bool at_once = count.counter == emulator::xray::kAsyncCopiesAtOnce;
    expect_within(emulator::xray::info(count.counter).words, count.part, of_a_part, count.allowed,
                  at_once && of_a_part > count.allowed ? hastiest_of(kernels) : "");
  }
}

class XrayTest : public ::testing::Test {
 public:
  explicit XrayTest(std::function<void()> body) : body_(std::move(body)) {}
  void TestBody() override { body_(); }

 private:
  std::function<void()> body_;
};

void add(const std::string& implementation, const std::string& test,
         const std::function<void()>& body) {
  ::testing::RegisterTest(implementation.c_str(), test.c_str(), nullptr, nullptr, __FILE__,
                          __LINE__, [=]() -> ::testing::Test* { return new XrayTest(body); });
}

}  // namespace

void expect_within_budget(double used, double allowed, const std::string& what) {
  report_budget({used, allowed, what});
}

void expect_within_budget(const Kernel& kernel, emulator::xray::Counter counter,
                          emulator::xray::Counter of, double allowed, const std::string& what) {
  const double parts = std::max(1.0, static_cast<double>(kernel[of]));  // a hole may have none
  expect_within_budget(static_cast<double>(kernel[counter]) / parts, allowed, what);
}

std::uint64_t turns_passed_without_products(const Kernel& kernel) {
  using emulator::xray::Span;
  const std::vector<Span>& spans = kernel.timeline.spans;
  return static_cast<std::uint64_t>(
      std::count_if(spans.begin(), spans.end(), [&](const Span& turn) {
        // A product starts when the last thread issues it, and a turn ends when the last passes.
        const auto is_on_its_way = [&](const Span& product) {
          return product.kind == Span::kProduct && product.row == turn.row &&
                 product.from < turn.to && turn.from < product.to;
        };
        return turn.kind == Span::kPass && std::none_of(spans.begin(), spans.end(), is_on_its_way);
      }));
}

std::vector<Kernel> sound_kernels(const XrayRun& run) {
  EXPECT_TRUE(run.right) << run.message;
  std::vector<Kernel> kernels;
  for (const auto& subject : run.subjects) {
    report_errors(subject.kernel);
    kernels.push_back(subject.kernel);
  }
  return kernels;
}

Kernel only_one(const std::vector<Kernel>& kernels) {
  EXPECT_EQ(kernels.size(), 1u);
  return kernels.empty() ? Kernel{} : kernels.front();
}

std::vector<Kernel> xrays_of(const std::string& implementation, const Case& c) {
  const XrayRun run = xray(find_implementation(implementation), *c.make(), named);
  EXPECT_FALSE(run.too_large);
  return sound_kernels(run);
}

std::vector<Kernel> xrays_of(const std::string& implementation, const std::string& op,
                             const Shape& shape, const Options& options, const std::string& storage,
                             const Caller& caller) {
  return xrays_of(implementation, *case_of(op, shape, options, storage, caller));
}

Kernel xray_of(const std::string& implementation, const std::string& op, const Shape& shape,
               const Options& options, const std::string& storage, const Caller& caller) {
  return only_one(xrays_of(implementation, op, shape, options, storage, caller));
}

// One head with so many steps, keys (for gradients also queries), or so deep a product, that each
// stage of a ring of tiles is used a fourth time. A scalar fp32 kernel is slow to record and keeps
// its few queries.
Shape of_many_turns(Shape shape, const std::string& op, bool is_scalar) {
  if (!shape.has("T")) {
    if (shape.has("K")) shape.set("K", 328);
    return shape;
  }
  for (const char* const count : {"B", "H", "H_kv"}) {
    if (shape.has(count)) shape.set(count, 1);
  }
  if (shape["T_q"] == 0) {
    shape.set("T", 328);
    return shape;
  }
  shape.set("T", 450);  // tiles of up to 128 keys or queries
  if (!is_scalar) shape.set("T_q", op.ends_with("_backward") ? 450 : 130);
  return shape;
}

// One head with few rows, in multiples of 16 bytes, which kernels access as vectors if they can. All
// rows are aligned alike, so few steps are enough, unless the kernel divides many among blocks.
Shape of_whole_vectors(const Shape& shape, const std::string& storage) {
  constexpr std::int64_t kMostUndivided = 128;
  const std::int64_t unit = storage == "fp32" ? 4 : 8;
  Shape whole;
  for (const Size& size : shape.sizes()) {
    const bool counts = size.name == "B" || size.name == "H" || size.name == "H_kv";
    if (counts) {
      whole.set(size.name, std::min<std::int64_t>(size.value, 1));
    } else if (size.name.starts_with('T') && size.value <= kMostUndivided) {
      whole.set(size.name, std::min(size.value, unit));
    } else {
      whole.set(size.name, (size.value + unit - 1) / unit * unit);
    }
  }
  return whole;
}

bool launches(const std::string& implementation, const Case& c) {
  try {
    xrays_of(implementation, c);
    return true;
  } catch (const std::invalid_argument&) {
    return false;
  }
}

// The emulator's host would accept misaligned accesses. An array is shifted by one element, and by
// half a vector with whole tiles of steps and channels, for which a kernel may have its own vectors.
void add_alignment(const std::string& implementation, const std::string& op, const Shape& shape,
                   const Options& options, const std::string& storage) {
  static std::set<std::pair<std::string, std::string>> added;
  if (!added.emplace(implementation, op).second) return;
  add(implementation, "AlignsItsAccesses/" + op, [=] {
    const auto expect_aligned = [&](const Case& c, std::size_t bytes) {
      expect_right_or_refused_when_shifted(
          c.array_names(), [&] { xrays_of(implementation, c); }, bytes);
    };
    const Shape whole = of_whole_vectors(shape, storage);
    const auto c = case_of(op, whole, options, storage, {});
    expect_aligned(*c, 1);
    Shape tiles = whole;
    if (whole.has("T") && whole.has("V")) {
      for (const char* const size : {"T", "K", "V"})
        tiles.set(size, 64);
    }
    const auto of_tiles = case_of(op, tiles, options, storage, {});
    const bool takes_tiles = !(tiles == whole) && launches(implementation, *of_tiles);
    expect_aligned(takes_tiles ? *of_tiles : *c, 8);
  });
}

bool register_bounds(const std::string& implementation, const std::string& op, const Shape& shape,
                     const Options& options, const std::vector<std::string>& storages) {
  if (const Shape longer = of_many_turns(shape, op, storages.front() == "fp32");
      !(longer == shape)) {
    add(implementation, "StaysInBoundsOverManyTurns/" + op,
        [=] { xrays_of(implementation, op, longer, options, storages.back()); });
  }
  add_alignment(implementation, op, shape, options, storages.back());
  add(implementation, "StaysInBounds/" + op, [=] {
    for (const std::string& storage : storages) {
      write_report(xrays_of(implementation, op, shape, options, storage), to_string(shape));
      if (::testing::Test::HasFailure()) return;
    }
  });
  return true;
}

bool register_budget(const std::string& implementation, const std::string& op, const Budget& budget,
                     const Shape& shape, const Options& options, const Caller& caller,
                     const std::string& storage) {
  add_alignment(implementation, op, shape, options, storage);
  add(implementation, "KeepsItsBudget",
      [=] { expect_budget_kept(implementation, op, budget, shape, options, caller, storage); });
  return true;
}

}  // namespace ladder::testing
