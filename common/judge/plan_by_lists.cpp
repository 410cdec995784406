// The plan of an operator that gives none of its own, made from its lists.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <stdexcept>

#include "common/core/text.hpp"
#include "common/judge/pairwise.hpp"
#include "common/judge/plan.hpp"
#include "common/judge/reach.hpp"
#include "common/judge/sequences.hpp"

namespace ladder {
namespace {

const std::vector<std::int64_t> kUsualSizes = {37, 1, 4, 16, 17, 64, 65, 100};

struct ListedCase {
  Shape shape;
  Options options;
  std::string storage;

  std::string name() const { return case_name(shape, options, storage); }
  std::vector<std::string> levels() const {
    std::vector<std::string> result = {"stored in " + storage};
    for (const Size& size : shape.sizes())
      result.push_back(size.name + "=" + std::to_string(size.value));
    for (const auto& [option, value] : options)
      result.push_back(option + "=" + value);
    return result;
  }
  PlannedCase of(const Operator& op) const {
    return {name(), op.make_case(shape, options, storage), levels()};
  }
};

// The levels of the support, or `first` and the usual ones, as far as the operator allows them.
std::vector<std::int64_t> levels_of(const Operator& op, const Support& support,
                                    const std::string& name, std::int64_t first) {
  std::vector<std::int64_t> usual = kUsualSizes;
  usual.front() = first;
  const Shape shape = op.shape();
  for (std::size_t n = 0; n < shape.sizes().size(); ++n) {
    if (shape.sizes()[n].name != name) continue;
    const std::int64_t most = op.most()[n];
    std::erase_if(usual, [&](std::int64_t size) { return size > most; });
    if (std::find(usual.begin(), usual.end(), most) == usual.end() && most < kUsualSizes.back())
      usual.insert(usual.begin(), most);
  }
  return support.levels(name, usual);
}

// Different sizes, so that exchanged ones are noticed. 37, 38, ... are no powers of two.
Shape first_shape(const Operator& op, const Support& support) {
  Shape shape;
  std::int64_t next = kUsualSizes.front();
  const Shape usual = op.shape();
  for (const Size& size : usual.sizes()) {
    shape.set(size.name, next++);
    shape.set(size.name, levels_of(op, support, size.name, shape[size.name]).front());
  }
  return shape;
}

// The levels of the support, or the option's own.
std::vector<std::string> levels_of(const Operator& op, const Support& support,
                                   const TriedOption& option) {
  for (const auto& [name, levels] : support.options) {
    if (name == option.name) return levels;
  }
  require(!option.levels.empty(),
          "option " + option.name + " of " + op.name +
              " is a number, and the suite says not which are tried; needed: .options = {{\"" +
              option.name + "\", {VALUE, VALUE}}}");
  return option.levels;
}

// An optional array that every option includes would never be tested as null.
void require_optional_arrays_to_be_absent(const Operator& op,
                                          const std::vector<TriedOption>& options) {
  std::vector<Options> each_alone = {{}};
  for (const TriedOption& option : options) {
    for (const std::string& level : option.levels)
      each_alone.push_back({{option.name, level}});
  }
  for (const std::string& storage : op.storages()) {
    for (const ListedArray& array : op.make_case({}, {}, storage)->stored_arrays()) {
      if (array.presence == Presence::kRequired) continue;
      const bool is_absent =
          std::any_of(each_alone.begin(), each_alone.end(), [&](const auto& with) {
            const auto arrays = op.make_case({}, with, storage)->stored_arrays();
            return std::none_of(arrays.begin(), arrays.end(),
                                [&](const ListedArray& other) { return other.name == array.name; });
          });
      require(is_absent, array.name + " of " + op.name +
                             " is optional, and with every option it is there; needed: an option, "
                             "and a wants(case, name) that leaves it out");
    }
  }
}

std::vector<ListedCase> cases_of(const Operator& op, const std::vector<TriedOption>& options,
                                 const Support& support) {
  using Change = std::function<void(ListedCase&, std::size_t)>;
  std::vector<std::size_t> counts;
  std::vector<Change> factors;
  const ListedCase first{first_shape(op, support), {}, support.storages.front()};
  for (const Size& size : first.shape.sizes()) {
    const std::vector<std::int64_t> levels = levels_of(op, support, size.name, kUsualSizes.front());
    counts.push_back(levels.size());
    factors.push_back(
        [=](ListedCase& c, std::size_t level) { c.shape.set(size.name, levels[level]); });
  }
  const auto add_option = [&](const std::string& name, const std::vector<std::string>& levels) {
    counts.push_back(levels.size());
    factors.push_back(
        [=](ListedCase& c, std::size_t level) { c.options.emplace_back(name, levels[level]); });
  };
  for (const TriedOption& option : options)
    add_option(option.name, levels_of(op, support, option));
  for (const auto& [name, levels] : support.options) {
    if (std::none_of(options.begin(), options.end(),
                     [name = name](const TriedOption& option) { return option.name == name; }))
      add_option(name, levels);
  }
  counts.push_back(support.storages.size());
  factors.push_back([&](ListedCase& c, std::size_t level) { c.storage = support.storages[level]; });
  std::vector<ListedCase> cases = {first};
  std::set<std::string> names = {first.name()};
  const auto draw = wanted_draw();
  for (const LevelRow& row : draw ? drawn_rows(counts, *draw) : pairwise_rows(counts)) {
    ListedCase c = first;
    for (std::size_t f = 0; f < factors.size(); ++f)
      factors[f](c, row[f]);
    if (names.insert(c.name()).second) cases.push_back(std::move(c));
  }
  return cases;
}

// The smallest positive level of each size, preferably a multiple of 8, for code with full vectors.
Shape of_whole_vectors(const Operator& op, const Support& support, const Shape& first) {
  Shape shape = first;
  for (const Size& size : first.sizes()) {
    std::vector<std::int64_t> levels = levels_of(op, support, size.name, size.value);
    std::erase(levels, 0);
    const auto cost = [](std::int64_t level) { return std::pair(level % 8 != 0, level); };
    shape.set(size.name, *std::min_element(levels.begin(), levels.end(),
                                           [&](auto a, auto b) { return cost(a) < cost(b); }));
  }
  return shape;
}

// Enough steps (or depth of a product) to use each stage of a ring of tiles a fourth time. The
// other sizes are small, and multiples of 8 if possible, so that rows are copied asynchronously.
void plan_many_turns(Plan& plan, const Operator& op, const Support& support, const Shape& first) {
  std::int64_t turns = 328;
  const std::string walked = first.has("T") ? "T" : "K";
  if (!first.has(walked)) return;
  const std::vector<std::int64_t> levels = levels_of(op, support, walked, first[walked]);
  std::int64_t unit = 0;  // all lengths may have to be multiples of it
  for (const std::int64_t level : levels)
    unit = std::gcd(unit, level);
  if (unit > 0) turns += (unit - turns % unit) % unit;
  const bool any =
      levels.size() > 1 && (support.most_of(walked) == 0 || support.most_of(walked) >= turns);
  Shape shape = of_whole_vectors(op, support, first);
  shape.set(walked, turns);
  if (!any) return;
  const auto c = std::shared_ptr(op.make_case(shape, {}, support.storages.back()));
  plan.edges.push_back(
      {"TakesManyTurns",
       [c](const Implementation& i, Report& report) { expect_right(report, i, *c->make()); }, 2});
}

Outputs run(const Implementation& i, const Problem& problem) {
  const auto placed = problem.place(device(i.device), i);
  require(placed != nullptr, i.name + " has no launcher for " + problem.name());
  placed->call();
  device(i.device).synchronize();
  return downloaded<Outputs>(placed->arrays());
}

bool holds_integers(const Case& c, const std::string& output) {
  const std::vector<ListedArray> stored = c.stored_arrays();
  return std::any_of(stored.begin(), stored.end(), [&](const ListedArray& array) {
    return array.name == output && array.type->to_integers != nullptr;
  });
}

// The case as it is, with each level of each option alone, and with all last levels.
std::vector<std::shared_ptr<const Case>> with_each_option(const Operator& op,
                                                          const std::vector<TriedOption>& options,
                                                          const Support& support,
                                                          ListedCase first) {
  std::vector<std::shared_ptr<const Case>> result;
  std::set<std::string> texts;
  const auto add = [&](const Options& with) {
    first.options = with;
    try {
      const std::shared_ptr<const Case> c = first.of(op).c;
      if (texts.insert(c->text()).second) result.push_back(c);
    } catch (const std::invalid_argument&) {  // not allowed beside the other options
    }
  };
  add({});
  Options last;
  for (const TriedOption& option : options) {
    const std::vector<std::string> levels = levels_of(op, support, option);
    for (const std::string& level : levels)
      add({{option.name, level}});
    last.emplace_back(option.name, levels.back());
  }
  add(last);
  return result;
}

// A NaN or infinity in one of the last two elements of an input must reach the outputs that depend
// on it. It must leave the others as they are, unless terms of a tile are multiplied by 0 or
// subtracted from each other (Support::nan_tile). Where the formula multiplies it by 0, as padding
// by a weight, either is right.
void expect_spoilt_where_the_truth_is(const Implementation& i, Report& report,
                                      const Support& support, const Case& c) {
  const std::unique_ptr<Problem> clean = c.make();
  const auto truth_of = [&](const Problem& problem) {
    return problem.op().truth(problem, arithmetic_of(i, problem.storage()));
  };
  const Outputs before = run(i, *clean);
  const std::vector<Truth> right = truth_of(*clean);
  const std::vector<ListedArray> outputs = clean->outputs();
  const auto expect_with = [&](const std::string& input, std::int64_t element, float value) {
    const auto with = [&](float other) { return clean->with(input, element, other); };
    const std::unique_ptr<Problem> spoilt = with(value);
    const Outputs after = run(i, *spoilt);
    const std::vector<Truth> truth = truth_of(*spoilt), larger = truth_of(*with(1e4f)),
                             smaller = truth_of(*with(-1e4f));
    for (std::size_t n = 0; n < outputs.size(); ++n) {
      const std::string& name = outputs[n].name;
      if (holds_integers(c, name)) continue;
      const auto reach = [&](std::int64_t at) {
        const double finite = right[n].values[at];
        const bool depends = larger[n].values[at] != finite || smaller[n].values[at] != finite;
        if (!std::isfinite(truth[n].values[at])) return depends ? Reach::kMust : Reach::kMay;
        const bool may = truth[n].values[at] != finite || support.nan_tile > 1;
        return may ? Reach::kMay : Reach::kMustNot;
      };
      const std::string wrong =
          wrong_reach(name.c_str(), before[n], after[n], repeats(support, name), reach);
      if (!wrong.empty()) report.fails(wrong + " The case: " + c.text() + ".");
    }
  };
  for (const RealInput& input : clean->real_inputs()) {
    const auto elements = static_cast<std::int64_t>(input.values.size());
    expect_with(input.array.name, elements - 1, kNan);
    if (elements > 1)
      expect_with(input.array.name, elements - 2, std::numeric_limits<float>::infinity());
  }
}

// A size that makes no array longer, as the number of elements of a group, may exceed 32 bits. Then
// the result is right, or the size is refused by its name.
void expect_sizes_beyond_32_bits(const Implementation& i, Report& report, const Case& first,
                                 const Operator& op) {
  constexpr std::int64_t kBeyond = (std::int64_t{1} << 32) + 1;
  const Shape sizes = first.shape();
  for (const Size& size : sizes.sizes()) {
    Shape shape = sizes;
    shape.set(size.name, kBeyond);
    try {
      const auto c = op.make_case(shape, first.options(), first.storage());
      if (c->elements() > first.elements() || c->fma_count() > first.fma_count()) continue;
      expect_right(report, i, *c->make());
    } catch (const std::invalid_argument& refusal) {
      if (std::string(refusal.what()).find(size.name) == std::string::npos)
        report.fails(size.name + " of 2^32 + 1 is refused without its name: " + refusal.what());
    }
  }
}

}  // namespace

Plan plan_by_lists(const Operator& op, const std::vector<TriedOption>& options,
                   const Support& support) {
  require_optional_arrays_to_be_absent(op, options);
  Plan plan;
  const std::vector<ListedCase> cases = cases_of(op, options, support);
  for (const ListedCase& c : cases)
    plan.cases.push_back(c.of(op));
  const ListedCase& first = cases.front();
  const std::vector<std::int64_t> least = op.least();
  for (std::size_t n = 0; n < least.size(); ++n) {
    if (least[n] > 0) continue;
    const std::string& empty = first.shape.sizes()[n].name;
    ListedCase usual = first;
    usual.shape.set(empty, 0);
    plan.empty.push_back(usual.of(op));
    std::set<std::string> names = {usual.name()};
    for (ListedCase c : cases) {
      c.shape.set(empty, 0);
      if (!names.insert(c.name()).second) continue;
      try {
        plan.empty.push_back(c.of(op));
      } catch (const std::invalid_argument&) {  // beside some levels, nothing is left
      }
    }
  }
  for (const std::string& storage : support.storages) {
    ListedCase c = first;
    c.storage = storage;
    plan.bad_input.emplace_back("/" + storage, c.of(op));
    plan.alignments.push_back({"/" + storage, {c.of(op)}});
    c.shape = of_whole_vectors(op, support, first.shape);
    plan.alignments.back().cases.push_back(c.of(op));
  }
  plan.repeated = first.of(op);
  const std::shared_ptr<const Case> c = plan.repeated->c;
  plan.edges.push_back({"TakesOrRefusesSizesBeyond32Bits",
                        [c, &op](const Implementation& i, Report& report) {
                          expect_sizes_beyond_32_bits(i, report, *c, op);
                        },
                        0});
  if (op.truth && !op.to_judge) {
    const auto spoilt = with_each_option(op, options, support, first);
    plan.edges.push_back({"KeepsNanToItself",
                          [spoilt, support](const Implementation& i, Report& report) {
                            for (const std::shared_ptr<const Case>& each : spoilt)
                              expect_spoilt_where_the_truth_is(i, report, support, *each);
                          },
                          1});
  }
  plan_many_turns(plan, op, support, first.shape);
  Shape small = first.shape;
  for (const Size& size : first.shape.sizes())
    small.set(size.name, std::min<std::int64_t>(size.value, 5));
  plan_borders(plan, op, support, small);
  return plan;
}

std::shared_ptr<const Plan> Operator::plan(const Support& support) const {
  support_words().check(name, support);
  if (own_plan) return own_plan(support);
  return std::make_shared<Plan>(plan_by_lists(*this, tried_options(), support));
}

SupportWords Operator::support_words() const {
  if (own_support_words) return own_support_words();
  SupportWords words;
  const Shape sizes = shape();
  for (const Size& size : sizes.sizes())
    words.sizes.push_back(size.name);
  words.most = words.sizes;
  for (const ListedOption& option : usual_case().options())
    words.options.push_back(option.name);
  words.fields = {"nan_tile"};
  return words;
}

std::vector<TriedOption> Operator::tried_options() const {
  std::vector<TriedOption> options;
  const Struct usual = usual_case();
  const std::vector<ListedField> fields = default_sizes.fields();
  for (const ListedOption& option : usual.options()) {
    TriedOption tried{option.name, {option.words.begin(), option.words.end()}};
    const std::string value = option.text(option);
    if (value == "true" || value == "false")
      tried.levels = {value, value == "true" ? "false" : "true"};
    const bool is_field = std::any_of(fields.begin(), fields.end(), [&](const ListedField& field) {
      return field.name == option.name;
    });
    if (is_field || !tried.levels.empty()) options.push_back(tried);
  }
  return options;
}

}  // namespace ladder
