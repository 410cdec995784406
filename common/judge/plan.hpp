// What is tested of an implementation, as data: common/testing makes tests of it. An operator has a plan, and knows what else must hold at
// its edges.
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

// A case that a draw has found, so that it is tested whether it is drawn again or not.
struct FoundCase {
  Shape shape;
  Options options = {};
  std::string storage = "fp32";
};

// Up to each of these sizes an implementation takes one way: one tile, one kernel, one turn of the grid. The next size takes another.
struct Border {
  std::string size;
  std::vector<std::int64_t> at;
  Shape others = {};      // instead of the operator's small ones
  std::int64_t step = 1;  // to the next size that is allowed
  // Of the emulated device: on a small one few blocks are more than one turn. 0: as many as it has.
  std::int64_t multiprocessors = 0;
};

// What an implementation can do, and what its cases are made of.
struct Support {
  bool repeatable = true;                        // the same input twice gives the same bits
  std::vector<std::string> not_repeatable = {};  // or only these outputs do not
  std::vector<std::string> storages = {"fp32"};
  // Levels by name. Those that are not named have the usual ones, ragged and around powers of two.
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> sizes = {};
  std::vector<std::pair<std::string, std::vector<std::string>>> options = {};
  // What it refuses of what its operator has, in the operator's words: {"states", "reverse"}.
  std::vector<std::string> refuses = {};
  // Sizes above these are refused. Those that are not named have no limit that a test can reach.
  std::vector<std::pair<std::string, std::int64_t>> most = {};
  std::int64_t multiple = 1;  // of which its channels must be
  // Steps or keys of the plain case, where the operator's are too few: more than two of the parts that the implementation takes them in.
  std::int64_t plain_steps = 0;
  // A number that is none (NaN, infinity) reaches the outputs of its own sequence and head, from its step on. Where steps are taken in
  // tiles, masked terms of the tile are multiplied by 0 and carry it back to the tile's first step: so many steps.
  std::int64_t nan_tile = 1;
  std::vector<FoundCase> also = {};
  // Each is tested, and the next size that is allowed, all other sizes being small.
  std::vector<Border> borders = {};

  bool has(const std::string& feature) const;
  bool stores(const std::string& storage) const;
  std::int64_t most_of(const std::string& size) const;  // 0: no limit
  // The levels of that size, or `usual`.
  std::vector<std::int64_t> levels(const std::string& size,
                                   const std::vector<std::int64_t>& usual) const;
};

// What of a Support an operator's tests look at.
struct SupportWords {
  std::vector<std::string> sizes = {}, options = {}, refuses = {}, most = {};
  // Its other fields, by their names: "nan_tile".
  std::vector<std::string> fields = {};

  // std::invalid_argument for what nobody would look at.
  void check(const std::string& op, const Support& support) const;
};

// An option that the tests of an operator by lists try: with these levels, unless a Support has others. A number has none.
struct TriedOption {
  std::string name;
  std::vector<std::string> levels;
};

// What a test says.
class Report {
 public:
  virtual ~Report() = default;
  virtual void fails(const std::string& why) = 0;
  void expect(const std::string& what_is_wrong) {
    if (!what_is_wrong.empty()) fails(what_is_wrong);
  }
  virtual void skips(const std::string& why) = 0;
  // A result of the case of that name. If it is wrong, `examine` helps to find out why.
  virtual void wrong(const Verdict& verdict, const Placed& result, Arithmetic arithmetic) = 0;
  virtual bool has_failed() const = 0;
  // `call` must throw a sentence that names the argument and says what is allowed.
  virtual void must_refuse(const std::string& argument, const std::function<void()>& call) = 0;
  // With each of the arrays in turn one element off: what `work` does is right, or refused with a sentence that names the array.
  virtual void right_or_refused_when_shifted(const std::vector<std::string>& arrays,
                                             const std::function<void()>& work) = 0;
};

// Something that must hold besides.
struct Edge {
  std::string test;
  std::function<void(const Implementation&, Report&)> run;
  // The number of its schedule, for what need not run under each of the device's. Tests with successive numbers share them.
  std::optional<std::size_t> turn = std::nullopt;
};

struct PlannedCase {
  std::string name;
  std::shared_ptr<const Case> c;
  std::vector<std::string> levels = {};  // "T=130": what it is made of
  std::int64_t multiprocessors = 0;      // of the emulated device; 0: as many as it has
};

struct Plan {
  std::string prefix =
      {};  // of its tests' names: what tells the operator from others with the same implementation
  std::vector<PlannedCase> cases = {};
  std::vector<std::string> missing_pairs =
      {};                                 // levels that must come together somewhere, and do not
  std::vector<PlannedCase> borders = {};  // on both sides of each border
  bool has_pairs = false;                 // whether it promises that all do
  std::optional<PlannedCase> plain = {};  // on which no two mistakes give the same
  std::optional<PlannedCase> every_mistake =
      {};                               // that has what each of them is about; else the plain one
  std::vector<PlannedCase> empty = {};  // that have nothing to do
  std::string empty_test = "TakesNothing";
  std::vector<std::pair<std::string, PlannedCase>> bad_input =
      {};  // of which tests are made: the names end like this
  struct Alignment {
    std::string test_ends;
    std::vector<PlannedCase> cases;
  };
  std::vector<Alignment> alignments = {};
  std::optional<PlannedCase> repeated = {};
  std::vector<Edge> edges = {};
};

// By the operator's lists: pairwise cases of sizes, options and storages. std::invalid_argument where something would never be tried: an
// option that is a number and has no levels in the support, an optional array that no option leaves out.
Plan plan_by_lists(const Operator& op, const std::vector<TriedOption>& options,
                   const Support& support);

// The cases on both sides of each border. `small`: the sizes of all. `follow` sets what follows from the others.
void plan_borders(Plan& plan, const Operator& op, const Support& support, const Shape& small,
                  const Options& options = {}, const std::function<void(Shape&)>& follow = {});

// What the implementation makes of the problem is right, or reported.
void expect_right(Report& report, const Implementation& i, const Problem& problem);
}  // namespace ladder
