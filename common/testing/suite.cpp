#include "common/testing/suite.hpp"

#include <algorithm>
#include <cctype>
#include <functional>
#include <memory>
#include <set>

#include "common/core/operator.hpp"
#include "common/testing/pairwise.hpp"
#include "common/testing/tests.hpp"

namespace ladder::testing {
namespace {

std::vector<std::function<void()>>& pending() {
  static std::vector<std::function<void()>> list;
  return list;
}

const std::vector<std::int64_t> kUsualSizes = {37, 1, 4, 16, 17, 64, 65, 100};

struct NamedCase {
  Shape shape;
  Options options;
  std::string storage;

  std::string name() const {
    std::string text;
    for (const Size& size : shape.sizes())
      text += size.name + std::to_string(size.value) + "_";
    for (const auto& [option, value] : options)
      text += option + "_" + value + "_";
    std::replace_if(
        text.begin(), text.end(), [](char c) { return !std::isalnum(c); }, '_');
    return text + storage;
  }
  // What it is made of.
  std::vector<std::string> levels() const {
    std::vector<std::string> result = {"stored in " + storage};
    for (const Size& size : shape.sizes())
      result.push_back(size.name + "=" + std::to_string(size.value));
    for (const auto& [option, value] : options)
      result.push_back(option + "=" + value);
    return result;
  }
  std::unique_ptr<AnyCase> of(const std::string& op) const {
    return find_operator(op).make_case(shape, options, storage);
  }
};

// Unlike each other first: 37, 38, ... are no powers of two.
Shape first_shape(const std::string& op, const SuiteSupport& support) {
  Shape shape;
  std::int64_t next = kUsualSizes.front();
  const Shape usual = find_operator(op).shape();
  for (const Size& size : usual.sizes()) {
    shape.set(size.name, next++);
    for (const auto& [name, levels] : support.sizes) {
      if (name == size.name) shape.set(name, levels.front());
    }
  }
  return shape;
}

std::vector<NamedCase> cases_of(const std::string& op, const SuiteSupport& support) {
  using Change = std::function<void(NamedCase&, std::size_t)>;
  std::vector<std::size_t> counts;
  std::vector<Change> factors;
  const NamedCase first{first_shape(op, support), {}, support.storages.front()};
  for (const Size& size : first.shape.sizes()) {
    std::vector<std::int64_t> levels = kUsualSizes;
    for (const auto& [name, own] : support.sizes) {
      if (name == size.name) levels = own;
    }
    counts.push_back(levels.size());
    factors.push_back(
        [=](NamedCase& c, std::size_t level) { c.shape.set(size.name, levels[level]); });
  }
  for (const auto& [name, levels] : support.options) {
    counts.push_back(levels.size());
    factors.push_back([name = name, levels = levels](NamedCase& c, std::size_t level) {
      c.options.emplace_back(name, levels[level]);
    });
  }
  counts.push_back(support.storages.size());
  factors.push_back([&](NamedCase& c, std::size_t level) { c.storage = support.storages[level]; });
  std::vector<NamedCase> cases = {first};
  std::set<std::string> names = {first.name()};
  const auto draw = wanted_draw();
  for (const Row& row : draw ? drawn_rows(counts, *draw) : pairwise_rows(counts)) {
    NamedCase c = first;
    for (std::size_t f = 0; f < factors.size(); ++f)
      factors[f](c, row[f]);
    if (names.insert(c.name()).second) cases.push_back(std::move(c));
  }
  return cases;
}

// Calls work(placed) with the case's problem on the implementation's device.
void place(const Implementation& i, const AnyCase& c,
           const std::function<void(const AnyOnDevice&)>& work) {
  const auto problem = c.make();
  const auto placed = problem->place(device(i.device), i);
  ASSERT_NE(placed, nullptr) << i.name << " has no launcher for this";
  work(*placed);
}

void expect_right(const Implementation& i, const NamedCase& c, const std::string& op) {
  place(i, *c.of(op), [&](const AnyOnDevice& placed) {
    placed.call();
    device(i.device).synchronize();
    const Verdict verdict = placed.judge(arithmetic_of(i, c.storage), false);
    EXPECT_TRUE(is_right(verdict)) << c.name();
  });
}

void register_now(const std::string& op, const std::string& implementation,
                  const SuiteSupport& support) {
  const std::vector<NamedCase> cases = cases_of(op, support);
  std::vector<std::vector<std::string>> levels;
  for (const NamedCase& c : cases)
    levels.push_back(c.levels());
  const std::vector<std::size_t> schedules = schedules_of(levels);
  for (std::size_t n = 0; n < cases.size(); ++n) {
    add(
        implementation, "MatchesReference/" + cases[n].name(),
        [=, c = cases[n]](const Implementation& i) { expect_right(i, c, op); }, schedules[n]);
  }
  const NamedCase first = cases.front();
  add(implementation, "TakesNothing", [=](const Implementation& i) {
    const std::vector<std::int64_t> least = find_operator(op).least();
    for (std::size_t n = 0; n < least.size(); ++n) {
      if (least[n] > 0) continue;
      NamedCase c = first;
      c.shape.set(first.shape.sizes()[n].name, 0);
      expect_right(i, c, op);
    }
  });
  for (const std::string& storage : support.storages) {
    NamedCase c = first;
    c.storage = storage;
    add(implementation, "RefusesBadInput/" + storage, [=](const Implementation& i) {
      place(i, *c.of(op), [&](const AnyOnDevice& placed) {
        placed.for_each_bad_input(
            [](const std::string& argument, const std::function<void()>& call) {
              expect_refused(argument, call);
            });
        EXPECT_TRUE(placed.is_untouched()) << "something was written";
      });
    });
    add(implementation, "TakesOrRefusesAnyAlignment/" + storage, [=](const Implementation& i) {
      expect_right_or_refused_when_shifted(c.of(op)->arrays(), [&] { expect_right(i, c, op); });
    });
  }
  if (!support.repeatable) return;
  add(implementation, "IsRepeatable", [=](const Implementation& i) {
    const auto outputs = [&] {
      std::vector<unsigned char> bytes;
      place(i, *first.of(op), [&](const AnyOnDevice& placed) {
        placed.call();
        device(i.device).synchronize();
        bytes = placed.outputs();
      });
      return bytes;
    };
    EXPECT_TRUE(outputs() == outputs());
  });
}

}  // namespace

bool register_suite(const std::string& op, const std::string& implementation,
                    const SuiteSupport& support) {
  pending().push_back([=] { register_now(op, implementation, support); });
  return true;
}

void register_pending_suites() {
  for (const auto& each : pending())
    each();
  pending().clear();
}

}  // namespace ladder::testing
