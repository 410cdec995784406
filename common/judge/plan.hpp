// The tests of an implementation, as data from which common/testing makes tests.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/judge/operator.hpp"

namespace ladder {

// A case that a draw once found, to be tested in every run.
struct FoundCase {
  Shape shape;
  Options options = {};
  std::string storage = "fp32";
};

// Sizes up to which an implementation has one method: one tile, kernel or pass of the grid.
struct Border {
  std::string size;
  std::vector<std::int64_t> at;
  Shape others = {};      // instead of the operator's small sizes
  std::int64_t step = 1;  // to the next allowed size
  // SMs of the emulated device, 0 for the default. Fewer need fewer blocks for a second pass.
  std::int64_t multiprocessors = 0;
};

// What an implementation supports, and the levels of its cases.
struct Support {
  bool repeatable = true;                        // the same input gives the same bits
  std::vector<std::string> not_repeatable = {};  // or only these outputs do not
  std::vector<std::string> storages = {"fp32"};
  // Levels by name. Sizes without an entry have the usual ones, partial and around powers of two.
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> sizes = {};
  std::vector<std::pair<std::string, std::vector<std::string>>> options = {};
  // Features of the operator that it rejects, as {"states", "reverse"}.
  std::vector<std::string> refuses = {};
  // Larger sizes are rejected. Sizes without an entry have no limit within reach of a test.
  std::vector<std::pair<std::string, std::int64_t>> most = {};
  std::int64_t multiple = 1;  // its channels must be multiples of it
  // Steps or keys of the plain case if the operator's are too few, more than two tiles.
  std::int64_t plain_steps = 0;
  // NaN and infinity reach the outputs of their own sequence and head from their step on. Masked
  // terms of a tile are multiplied by 0, so they reach back to the first of the tile's steps, whose
  // number this is.
  std::int64_t nan_tile = 1;
  std::vector<FoundCase> also = {};
  // Each border, and the next allowed size, are tested with all other sizes small.
  std::vector<Border> borders = {};

  bool has(const std::string& feature) const;
  bool stores(const std::string& storage) const;
  std::int64_t most_of(const std::string& size) const;  // 0 for no limit
  // The levels of that size, or `usual`.
  std::vector<std::int64_t> levels(const std::string& size,
                                   const std::vector<std::int64_t>& usual) const;
};

// The parts of a Support that an operator's tests use.
struct SupportWords {
  std::vector<std::string> sizes = {}, options = {}, refuses = {}, most = {};
  // Names of its other fields, such as "nan_tile".
  std::vector<std::string> fields = {};

  // Throws std::invalid_argument for parts of a Support that no test would use.
  void check(const std::string& op, const Support& support) const;
};

// An option to test with these levels, unless a Support has others. A number has none.
struct TriedOption {
  std::string name;
  std::vector<std::string> levels;
};

// The outcome of a test.
class Report {
 public:
  virtual ~Report() = default;
  virtual void fails(const std::string& why) = 0;
  void expect(const std::string& what_is_wrong) {
    if (!what_is_wrong.empty()) fails(what_is_wrong);
  }
  virtual void skips(const std::string& why) = 0;
  // Reports a wrong result of the named case.
  virtual void wrong(const Verdict& verdict, const Placed& result, Arithmetic arithmetic) = 0;
  virtual bool has_failed() const = 0;
  // `call` must throw a sentence with the argument and the allowed values.
  virtual void must_refuse(const std::string& argument, const std::function<void()>& call) = 0;
  // For each array shifted by one element, `work` must be right, or rejected with the array's name.
  virtual void right_or_refused_when_shifted(const std::vector<std::string>& arrays,
                                             const std::function<void()>& work) = 0;
};

// A further test.
struct Edge {
  std::string test;
  std::function<void(const Implementation&, Report&)> run;
  // Its number in the rotation of schedules, if it need not run under each of the device's.
  std::optional<std::size_t> turn = std::nullopt;
};

struct PlannedCase {
  std::string name;
  std::shared_ptr<const Case> c;
  std::vector<std::string> levels = {};  // "T=130"
  std::int64_t multiprocessors = 0;      // SMs of the emulated device, or 0 for the default
};

struct Plan {
  std::string prefix = {};  // of test names, if operators share implementations
  std::vector<PlannedCase> cases = {};
  std::vector<std::string> missing_pairs = {};    // pairs of levels in no case
  std::vector<PlannedCase> borders = {};          // on both sides of each border
  bool has_pairs = false;                         // whether all pairs must occur
  std::optional<PlannedCase> plain = {};          // here any two mistakes differ
  std::optional<PlannedCase> every_mistake = {};  // shows every mistake, plain by default
  std::vector<PlannedCase> empty = {};            // without work
  std::string empty_test = "TakesNothing";
  std::vector<std::pair<std::string, PlannedCase>> bad_input = {};  // suffixes of test names
  struct Alignment {
    std::string test_ends;
    std::vector<PlannedCase> cases;
  };
  std::vector<Alignment> alignments = {};
  std::optional<PlannedCase> repeated = {};
  std::vector<Edge> edges = {};
};

// Pairwise cases of sizes, options and storages from the lists. Throws std::invalid_argument for a
// number option without levels and for an optional array that is never null.
Plan plan_by_lists(const Operator& op, const std::vector<TriedOption>& options,
                   const Support& support);

// The cases on both sides of each border. `small` has all sizes, and `follow` derives sizes.
void plan_borders(Plan& plan, const Operator& op, const Support& support, const Shape& small,
                  const Options& options = {}, const std::function<void(Shape&)>& follow = {});

// Reports the implementation's result for this problem if it is wrong.
void expect_right(Report& report, const Implementation& i, const Problem& problem);
}  // namespace ladder
