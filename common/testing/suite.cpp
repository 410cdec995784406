#include "common/testing/suite.hpp"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "common/core/text.hpp"
#include "common/diagnosis/second_start.hpp"
#include "common/emulator/include/emulator/smaller_device.hpp"
#include "common/judge/pairwise.hpp"
#include "common/testing/tests.hpp"

namespace ladder::testing {
namespace {

std::vector<std::function<void()>>& pending() {
  static std::vector<std::function<void()>> list;
  return list;
}

// Calls work(placed) with the case's problem on the implementation's device.
void place(const Implementation& i, const Case& c, const std::function<void(const Placed&)>& work) {
  const auto problem = c.make();
  const auto placed = problem->place(device(i.device), i);
  ASSERT_NE(placed, nullptr) << i.name << " has no launcher for this";
  work(*placed);
}

// Calls judged(verdict, placed) with the implementation's result.
void judge(const Implementation& i, const Case& c,
           const std::function<void(const Verdict&, const Placed&)>& judged) {
  place(i, c, [&](const Placed& placed) {
    placed.call();
    device(i.device).synchronize();
    judged(placed.judge(arithmetic_of(i, c.storage()), false), placed);
  });
}

// False also if it cannot be run.
bool is_wrong(const Implementation& i, const Case& c) {
  bool wrong = false;
  try {
    judge(i, c, [&](const Verdict& verdict, const Placed&) { wrong = !verdict.right; });
  } catch (const std::exception&) {
  }
  return wrong;
}

// The names of the mistakes that a case shows.
Excluded shown_by(const Case& c) {
  Excluded names;
  c.make()->with_mistakes([&](const Mistakes& mistakes) {
    for (const std::string& words : mistakes.variants.words)
      names.push_back(mistakes.variants.equals + words);
  });
  return names;
}

// What makes a case wrong if the plain case is right: options, and storage, that alone make the
// plain case wrong and without which the case is right, else all differences or only the sizes.
std::string beyond_the_plain_case(const Implementation& i, const Case& c, const Case& plain) {
  const std::vector<Case::Difference> differences = c.differences(plain);
  std::vector<std::string> guilty, sizes, all;
  const Case* sized = nullptr;
  for (const auto& [words, is_size, changed] : differences) {
    if (is_size) {
      sizes.push_back(words);
      sized = changed.get();
    } else if (is_wrong(i, *changed)) {
      guilty.push_back(words);
    }
    all.push_back(words);
  }
  // An option may make the plain case too hard to compute accurately.
  if (is_wrong(i, *c.without(guilty, plain))) guilty.clear();
  std::erase_if(guilty, [&, found = guilty](const std::string& one) {
    std::vector<std::string> others = found;
    std::erase(others, one);
    return !is_wrong(i, *c.without(others, plain));
  });
  if (guilty.empty()) guilty = sized != nullptr && is_wrong(i, *sized) ? sizes : all;
  return "right on the plain case; wrong with " + joined(guilty) + "\n";
}

void expect_right(const Implementation& i, const PlannedCase& c, const Case* plain = nullptr) {
  judge(i, *c.c, [&](const Verdict& verdict, const Placed& placed) {
    if (verdict.right) return;
    const bool asks_why = std::getenv("LADDER_NO_NAMES") == nullptr;
    const bool plain_is_right = asks_why && plain != nullptr && !is_wrong(i, *plain);
    ADD_FAILURE() << named_but_for(plain_is_right ? shown_by(*plain) : Excluded{}, verdict, placed,
                                   arithmetic_of(i, c.c->storage()))
                  << (plain_is_right ? beyond_the_plain_case(i, *c.c, *plain) : "") << c.name;
  });
}

void add_cases(const std::string& implementation, const Plan& plan) {
  std::vector<std::vector<std::string>> levels;
  for (const PlannedCase& c : plan.cases)
    levels.push_back(c.levels);
  const std::vector<std::size_t> schedules = schedules_of(levels);
  const auto plain = plan.plain ? plan.plain->c : nullptr;
  for (std::size_t n = 0; n < plan.cases.size(); ++n) {
    add(
        implementation, plan.prefix + "MatchesReference/" + plan.cases[n].name,
        [c = plan.cases[n], plain](const Implementation& i) { expect_right(i, c, plain.get()); },
        schedules[n], plan.cases[n].c->text());
  }
  if (!plan.has_pairs || wanted_draw()) return;  // a draw promises no pairs
  add(
      implementation, plan.prefix + "CasesHoldEveryPair",
      [=, missing = plan.missing_pairs](const Implementation&) {
        EXPECT_EQ(missing, std::vector<std::string>{});
        EXPECT_EQ(missing_schedules(levels, schedules), std::vector<std::string>{});
      },
      0);
}

// Tests of borders share the schedules.
void add_borders(const std::string& implementation, const Plan& plan) {
  const auto plain = plan.plain ? plan.plain->c : nullptr;
  for (std::size_t n = 0; n < plan.borders.size(); ++n) {
    const PlannedCase& c = plan.borders[n];
    add(
        implementation, plan.prefix + "AtItsBorders/" + c.name,
        [=](const Implementation& i) {
          std::optional<emulator::SmallerDevice> device;
          if (c.multiprocessors > 0)
            device.emplace(emulator::SmallerDevice::kMultiprocessors,
                           std::to_string(c.multiprocessors).c_str());
          expect_right(i, c, plain.get());
        },
        n, c.c->text());
  }
}

// In lessons before streams no case may use its call's stream, from then on all must.
void expect_all_on_one_stream(const Implementation& i, const Plan& plan) {
  std::string on, off;  // cases with and without launches on their call's stream
  for (const std::vector<PlannedCase>* cases : {&plan.cases, &plan.borders}) {
    for (const PlannedCase& c : *cases) {
      place(i, *c.c, [&](const Placed& placed) {
        const Launches launches = device(i.device).launches_of([&] { placed.call(); });
        if (launches.on_its_stream > 0) on = c.name;
        if (launches.on_its_stream < launches.all) off = c.name;
      });
      if (::testing::Test::HasFailure()) return;
      ASSERT_TRUE(on.empty() || off.empty())
          << "launches, copies and fills name no stream, or another one than "
             "ladder::cuda::stream(), in "
          << off << (on == off ? "" : ", and are on that stream in " + on);
    }
  }
}

// The result of launching a case without memory. No kernel runs.
struct Tried {
  enum { kLaunched, kRefused, kBroken, kCostly } what = kLaunched;
  std::string said = {};
};

Tried tried(const Implementation& i, const Case& c) {
  constexpr int kMostLaunches = 1000;  // some kernels launch once per step
  Tried result;
  std::uintptr_t next = 1 << 20;
  const auto place = [&](std::size_t bytes) {
    return reinterpret_cast<void*>(std::exchange(next, next + (bytes + 255) / 256 * 256));
  };
  const Launches launches = device(i.device).launches_of([&] {
    try {
      c.launch(i, place);
    } catch (const std::invalid_argument& refusal) {
      result = {Tried::kRefused, refusal.what()};
    } catch (const std::exception& failure) {
      result = {Tried::kBroken, failure.what()};
    }
  });
  // Without working memory in the emulator, the rest of the launch is unknown.
  const bool no_memory = result.said.find("cudaErrorMemoryAllocation") != std::string::npos;
  const bool many = result.what == Tried::kLaunched && launches.all > kMostLaunches;
  if (no_memory || many) result.what = Tried::kCostly;
  return result;
}

// Grows one or two sizes until the launcher rejects them. Smaller sizes must be launchable.
void expect_launched_or_refused(const Implementation& i, const Operator& op, const Case& plain) {
  constexpr double kMostElements = 2e11;  // exceeds a device's memory
  Shape shape = plain.shape();            // an operator's own plan uses its defaults
  for (const char* const count : {"B", "T", "T_q"}) {
    if (shape.has(count)) shape.set(count, std::min<std::int64_t>(shape[count], 20));
  }
  const auto try_with = [&](const std::string& one, const std::string& other, std::int64_t size) {
    Shape larger = shape;
    larger.set(one, size), larger.set(other, size);
    Tried result;
    try {
      const auto c = op.make_case(larger, plain.options(), plain.storage());
      result = c->elements() > kMostElements ? Tried{Tried::kCostly} : tried(i, *c);
    } catch (const std::invalid_argument& refusal) {
      result = {Tried::kRefused, refusal.what()};
    }
    EXPECT_NE(result.what, Tried::kBroken)
        << one << (one == other ? "" : " and " + other) << " = " << size
        << " can be launched by no device, and is not refused: " << result.said;
    return result.what;
  };
  for (const Size& one : shape.sizes()) {
    for (const Size& other : shape.sizes()) {
      if (other.name < one.name) continue;
      const auto launches = [&](std::int64_t size) {
        return try_with(one.name, other.name, size) == Tried::kLaunched;
      };
      std::int64_t least = one.name == other.name ? std::max<std::int64_t>(1, one.value) : 1;
      while (least < 64 && !launches(least))
        least *= 2;
      if (!launches(least)) continue;
      std::int64_t most = 2 * least;
      while (launches(most))
        least = std::exchange(most, 2 * most);
      while (most - least > 1) {
        const std::int64_t middle = least + (most - least) / 2;
        (launches(middle) ? least : most) = middle;
      }
    }
  }
}

void register_now(const std::string& op, const std::string& implementation,
                  const Support& support) {
  const std::shared_ptr<const Plan> plan = find_operator(op).plan(support);
  const std::string& prefix = plan->prefix;
  if (plan->plain) {
    // Names only the storage, as a hole's test does (hole.hpp).
    const std::string about = plan->plain->c->text();
    add(
        implementation, prefix + "PlainCase",
        [c = *plan->plain](const Implementation& i) { expect_right(i, c); }, std::nullopt,
        about.ends_with("; fp32") ? "" : "; ; " + about.substr(about.rfind("; ") + 2));
  }
  add_cases(implementation, *plan);
  add_borders(implementation, *plan);
  if (find_implementation(implementation).device == DeviceKind::kCuda) {
    add(
        implementation, prefix + "LaunchesOnItsCallsStream",
        [plan](const Implementation& i) { expect_all_on_one_stream(i, *plan); }, 0);
  }
  if (find_implementation(implementation).device == DeviceKind::kCuda && !plan->cases.empty()) {
    add(
        implementation, prefix + "LaunchesOrRefusesAnySize",
        [=, &of = find_operator(op)](const Implementation& i) {
          if (device(i.device).back_end() != "emulator")
            return skip("a GPU does not note launches without running them; the emulator does");
          expect_launched_or_refused(i, of, plan->plain ? *plan->plain->c : *plan->cases[0].c);
        },
        0);
  }
  if (!plan->empty.empty()) {
    add(implementation, prefix + plan->empty_test, [plan](const Implementation& i) {
      for (const PlannedCase& c : plan->empty)
        expect_right(i, c);
    });
  }
  for (const auto& [ends, c] : plan->bad_input) {
    add(implementation, prefix + "RefusesBadInput" + ends,
        [c = c, support](const Implementation& i) {
          place(i, *c.c, [&](const Placed& placed) {
            placed.for_each_bad_input(
                support, [](const std::string& argument, const std::function<void()>& call) {
                  expect_refused(argument, call);
                });
            EXPECT_TRUE(placed.is_untouched()) << "something was written";
          });
        });
  }
  for (std::size_t n = 0; n < plan->alignments.size(); ++n) {
    const auto& [ends, cases] = plan->alignments[n];
    // With several tests, one schedule each.
    add(
        implementation, prefix + "TakesOrRefusesAnyAlignment" + ends,
        [cases = cases](const Implementation& i) {
          for (const PlannedCase& c : cases)
            expect_right_or_refused_when_shifted(c.c->array_names(), [&] { expect_right(i, c); });
        },
        plan->has_pairs ? std::optional(n) : std::nullopt);
  }
  if (plan->repeated && support.repeatable) {
    add(implementation, prefix + "IsRepeatable", [c = *plan->repeated](const Implementation& i) {
      if (computed(i, *c.c->make()) != computed(i, *c.c->make()))
        ADD_FAILURE() << "WRONG RESULT: two calls with the same inputs do not give the same bits";
    });
  }
  for (const Edge& edge : plan->edges) {
    add(
        implementation, prefix + edge.test,
        [run = edge.run](const Implementation& i) {
          TestReport report;
          run(i, report);
        },
        edge.turn);
  }
}

}  // namespace

bool register_suite(const std::string& op, const std::string& implementation,
                    const Support& support) {
  pending().push_back([=] {
    try {
      register_now(op, implementation, support);
    } catch (const std::invalid_argument& error) {
      add(implementation, "HasASuite",
          [said = std::string(error.what())](const Implementation&) { FAIL() << said; });
    }
  });
  return true;
}

void register_pending_suites() {
  for (const auto& each : pending())
    each();
  pending().clear();
}

}  // namespace ladder::testing
