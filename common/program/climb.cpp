#include "common/program/climb.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <tuple>

#include "common/diagnosis/second_start.hpp"
#include "common/program/build.hpp"
#include "common/program/estimate.hpp"

namespace ladder::program {
namespace {

// A part that takes less time does not predict the whole.
constexpr double kTellingSeconds = 0.02;
// How long threads and fibers may take to start.
constexpr double kStartSeconds = 0.1;
// A longer estimate is shown.
constexpr double kShownSeconds = 5;

// Calls per sample, so that its start and end are negligible, or one pass over all copies. Fewer if
// they would take longer than a burst may.
constexpr std::size_t kLeastCalls = 24;
constexpr double kMostCallsSeconds = 0.02;

// The rotated data must be larger than the cache by this factor.
constexpr double kCacheMultiple = 3.0;
// All copies together may use this share of the free memory.
constexpr double kMemoryShare = 0.5;
// More take too long to create. Calls of 22 KB exceed an L2 of 60 MB three times.
constexpr std::size_t kMostCopies = 8192;

// About the most calls of a timing if one takes `once`. More copies would not be used. The host has
// neither bursts nor a sustained load.
double most_calls(double once, bool is_host) {
  return is_host ? 4 + TimingLimits().most_seconds / once : 30 + 4.0 / once;
}

// Checks and then times one implementation on a problem.
class Runner {
 public:
  Runner(Device& device, const Problem& problem, const Implementation& implementation)
      : device_(device), problem_(problem), implementation_(implementation) {}

  // One call and its verdict.
  void check(Row& row, Spent& spent) {
    place();
    spent.launch = called();
    if (device_.back_end() == "cuda")
      spent.launch = called();  // the first call also loads the kernel
    device_.synchronize();
    const auto begin = std::chrono::steady_clock::now();
    const Arithmetic arithmetic = arithmetic_of(implementation_, problem_.storage());
    const Verdict verdict = data_[0]->judge(arithmetic, true);
    spent.judge = seconds_since(begin);
    row.right = verdict.right;
    if (!verdict.right) row.message = named(verdict, *data_[0], arithmetic);
    row.error = verdict.error.whole;
    row.limit = verdict.limit.whole;
    row.plain_loop_error = verdict.plain_loop.whole;
  }

  // Seconds of another call, after `check`.
  double called() {
    return device_.time([&] { data_[0]->call(); });
  }

  void time(Row& row, double once, double bytes) {
    const Layout layout = layout_of(once, bytes, device_);
    while (data_.size() < layout.copies)
      place();
    const auto call_on = [&](std::size_t copy) { data_[copy % layout.copies]->call(); };
    Rotation rotation;
    rotation.calls = layout.calls;
    rotation.seconds = once;
    for (std::size_t first = 0; first < layout.copies; first += layout.calls) {
      rotation.recordings.push_back(device_.record([&, first] {
        for (std::size_t i = 0; i < layout.calls; ++i)
          call_on(first + i);
      }));
    }
    const bool gpu = device_.back_end() == "cuda";
    row.conditions = {gpu ? Regime::kBurst : Regime::kPlain, rotation.recordings[0].without_host,
                      layout};
    row.timing = measure(device_, rotation, row.conditions.regime);
    if (!gpu) return;
    row.sustained = measure(device_, rotation, Regime::kSustained);
    std::vector<std::function<void()>> calls;
    for (std::size_t copy = 0; copy < layout.copies; ++copy)
      calls.push_back([&, copy] { call_on(copy); });
    row.end_to_end = measure_end_to_end(device_, calls);
  }

 private:
  void place() {
    data_.push_back(problem_.place(device_, implementation_));
    require(data_.back() != nullptr, implementation_.name +
                                         " has no launcher for this problem; "
                                         "allowed: what it computes");
  }

  Device& device_;
  const Problem& problem_;
  const Implementation& implementation_;
  std::vector<std::unique_ptr<Placed>> data_;
};

void set_bound(Row& row, const Implementation& implementation, const Climb& climb,
               const Ceilings& ceilings) {
  if (ceilings.bytes_per_second == 0 || climb.cost_is_a_limit) return;
  const std::string& precision = climb.options.precision;
  const double operations = seconds_of(implementation.fma_share * climb.fma_count,
                                       implementation.units, precision, ceilings);
  const double bytes = climb.bytes / ceilings.bytes_per_second;
  row.bound_seconds = std::max(operations, bytes);
  row.bound_by_bytes = bytes >= operations;
}

// The row of a present or absent implementation.
template <typename Each>
Row row_of(const Each& each) {
  Row row;
  row.chapter = each.chapter;
  row.implementation = each.name;
  row.source = each.source;
  row.slower = slower_because(each.source, source_folder());
  if constexpr (requires { each.needs; })
    row.message = each.needs.empty() ? "" : "needs " + each.needs;
  return row;
}

// The problem of the requested shape is made once, for the first implementation that needs it.
class Climber {
 public:
  Climber(const Selection& options, const Progress& progress, double patience_seconds)
      : options_(options), progress_(progress), patience_seconds_(patience_seconds) {
    options_.shape = case_of(options)->shape();
    result_.options = options_;
    const Cost cost = case_of(options_)->cost();
    result_.fma_count = cost.fma_count;
    result_.bytes = cost.bytes;
    result_.cost_is_a_limit = cost.is_a_limit;
  }

  Climb climb() {
    const std::vector<AbsentImplementation> absent = chosen_absent(options_);
    const std::vector<Implementation> rungs = chosen_beside(absent);
    std::size_t next_absent = 0, number = 0;
    for (const Implementation& rung : rungs) {
      for (; next_absent < absent.size() && comes_before(absent[next_absent], rung); ++next_absent)
        result_.rows.push_back(row_of(absent[next_absent]));
      counter_ = fmt::format("{} of {}: ", ++number, rungs.size());
      result_.rows.push_back(climbed(rung));
    }
    for (; next_absent < absent.size(); ++next_absent)
      result_.rows.push_back(row_of(absent[next_absent]));
    progress_("");
    return std::move(result_);
  }

 private:
  // Empty if only absent implementations were requested.
  std::vector<Implementation> chosen_beside(const std::vector<AbsentImplementation>& absent) const {
    Selection here = options_;
    for (const AbsentImplementation& each : absent)
      std::erase(here.names, each.name);
    if (here.names.empty() && !options_.names.empty()) return {};
    return chosen(here);
  }

  Row climbed(const Implementation& implementation) {
    Row row = row_of(implementation);
    row.message = why_unavailable(implementation.device);
    if (!row.message.empty()) return row;
    Device& where = device(implementation.device);
    row.device = where.name();
    row.back_end = where.back_end();
    row.units = to_string(implementation.units, options_.precision);
    const std::string what = counter_ +
                             (row.back_end == "emulator" ? "checking " : "checking and timing ") +
                             implementation.name;
    progress_(what);
    row.ran = true;
    const bool gpu = row.back_end == "cuda";
    if (!gpu && only_a_part_ran(row, implementation, where)) return row;
    if (checked_room_.insert(&where).second) require_memory(options_, where);
    if (!whole_) whole_ = case_of(options_)->make();
    if (row.estimated_seconds > kShownSeconds)
      progress_(what + ", about " + time_text(row.estimated_seconds));
    row.estimated_seconds = 0;
    guarded(row, [&] {
      Runner runner(where, *whole_, implementation);
      Spent spent;
      runner.check(row, spent);
      if (!row.right || row.back_end == "emulator") return;
      set_bound(row, implementation, result_, ceilings_of(where));
      runner.time(row, spent.launch, result_.bytes);
    });
    return row;
  }

  // Rejected arguments give a row that did not run. Any other exception is a failure of that row.
  template <typename Work>
  void guarded(Row& row, const Work& work) {
    try {
      work();
    } catch (const std::invalid_argument& refusal) {
      row.ran = row.right = false;
      row.message = refusal.what();
    } catch (const std::exception& failure) {
      row.right = false;
      row.timing = row.sustained = row.end_to_end = {};
      row.message = fmt::format("FAILED: {}", failure.what());
    }
  }

  const Ceilings& ceilings_of(Device& where) {
    // Measured once per run of the program.
    static std::map<Device*, Ceilings> known;
    if (known.count(&where) == 0) {
      progress_("measuring the ceilings of " + where.name());
      known[&where] = where.measure_ceilings();
    }
    const auto listed = [&](const auto& each) { return each.first == where.name(); };
    if (std::none_of(result_.ceilings.begin(), result_.ceilings.end(), listed))
      result_.ceilings.emplace_back(where.name(), known[&where]);
    return known[&where];
  }

  // Runs growing parts of the shape until one predicts the time of the whole. Returns true if the
  // whole would take too long. Then the row has the verdict on the parts.
  bool only_a_part_ran(Row& row, const Implementation& implementation, Device& where) {
    Shape part = part_of(options_);
    const Shape smallest = part;
    while (!(part == options_.shape)) {
      Selection selection = options_;
      selection.shape = part;
      if (least_seconds(selection) > patience_seconds_) {
        row.ran = false;
        row.message = fmt::format("even {} would take at least {}; allowed: a smaller --shape",
                                  to_string(part), time_text(least_seconds(selection)));
        return true;
      }
      require_memory(selection, where);
      Spent spent;
      guarded(row, [&] {
        const auto begin = std::chrono::steady_clock::now();
        const auto problem = case_of(selection)->make();
        spent.problem = seconds_since(begin);
        Runner runner(where, *problem, implementation);
        runner.check(row, spent);
        // The first call starts threads, whose number does not grow with the shape.
        if (row.right && spent.launch < kStartSeconds)
          spent.launch = std::min(spent.launch, runner.called());
      });
      if (!row.right) {
        if (row.ran) row.message += fmt::format(" (on {})", to_string(part));
        return true;
      }
      if (spent.total() < kTellingSeconds) {
        part = larger_part(part, options_);
        continue;
      }
      const Spent whole = scaled(spent, part, options_);
      const double problem = whole_ ? 0 : whole.problem;
      // On a CPU the samples need further calls.
      const double samples = row.back_end == "emulator"
                                 ? 0
                                 : std::max(4 * whole.launch, std::min(TimingLimits().most_seconds,
                                                                       100 * whole.launch));
      row.estimated_seconds = problem + whole.launch + whole.judge + samples;
      if (row.estimated_seconds <= patience_seconds_) return false;
      row.checked_shape = smallest;
      return true;
    }
    return false;
  }

  Selection options_;
  const Progress& progress_;
  const double patience_seconds_;
  std::string counter_;
  std::unique_ptr<Problem> whole_;
  std::set<Device*> checked_room_;
  Climb result_;
};

}  // namespace

bool Climb::all_right() const {
  return std::all_of(rows.begin(), rows.end(),
                     [](const Row& row) { return row.right || !row.ran; });
}

bool Climb::any_ran() const {
  return std::any_of(rows.begin(), rows.end(), [](const Row& row) { return row.ran; });
}

bool passed(const std::vector<Climb>& climbs) {
  return std::any_of(climbs.begin(), climbs.end(),
                     [](const Climb& each) { return each.any_ran(); }) &&
         std::all_of(climbs.begin(), climbs.end(),
                     [](const Climb& each) { return each.all_right(); });
}

double seconds_of(double fma_count, Units units, const std::string& precision,
                  const Ceilings& ceilings) {
  const bool fp32 = precision == "fp32";
  double fma_per_second = ceilings.fma_per_second;
  if (units == Units::kTensorCores)
    fma_per_second = fp32 ? ceilings.tf32_fma_per_second / 3 : ceilings.tensor_fma_per_second;
  if (units == Units::kWarpgroups) fma_per_second = ceilings.warpgroup_fma_per_second;
  return fma_per_second > 0 ? fma_count / fma_per_second : 0;
}

std::string to_string(Units units, const std::string& precision) {
  if (units == Units::kWarpgroups) return "tensor cores, a warpgroup's products";
  if (units == Units::kCores) return "fp32 multiply-adds";
  return precision == "fp32" ? "tensor cores, three TF32 products"
                             : "tensor cores, a warp's products";
}

Layout layout_of(double once, double bytes, const Device& device) {
  const bool is_host = device.free_bytes() == 0;
  const double per_copy_host = bytes * (is_host ? 2 : 1);
  double room = kMemoryShare * available_host_bytes() / per_copy_host;
  if (!is_host) room = std::min(room, kMemoryShare * device.free_bytes() / bytes);
  const double wanted = std::floor(kCacheMultiple * device.cache_bytes() / bytes) + 1;
  const double useful = std::min(wanted, std::ceil(most_calls(once, is_host)));
  const double possible = std::clamp(std::min<double>(room, kMostCopies), 1.0, useful);
  Layout layout;
  layout.copies = static_cast<std::size_t>(possible);
  layout.passes_caches = layout.copies >= static_cast<std::size_t>(useful);
  const std::size_t rounds = (kLeastCalls + layout.copies - 1) / layout.copies;
  layout.calls = rounds * layout.copies;
  const double quick = std::max(1.0, kMostCallsSeconds / once);
  if (quick < layout.calls) {  // enough whole recordings for all copies
    layout.calls = static_cast<std::size_t>(quick);
    if (layout.calls < layout.copies) {
      const std::size_t recordings = (layout.copies + layout.calls - 1) / layout.calls;
      layout.copies = recordings * layout.calls;
    } else {
      layout.calls -= layout.calls % layout.copies;
    }
  }
  return layout;
}

Climb climb(const Selection& options, const Progress& progress, double patience_seconds) {
  return Climber(options, progress, patience_seconds).climb();
}

}  // namespace ladder::program
