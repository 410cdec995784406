// What somebody gets who changes one thing of an operator's formula. Each operator has one loop in double with a struct of switches; a
// variant is a change of these switches, and what a result with it is called.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace ladder {

template <typename Switches>
struct Variant {
  std::string words;  // "with the bonus forgotten", behind "equals the result "
  std::string line;   // of code, where it is typically made
  std::function<void(Switches&)> change;
};

template <typename Switches>
using Variants = std::vector<Variant<Switches>>;

// Elements of a variant's result that nobody has written. Those that are NaN were computed.
inline constexpr double kUnwritten = std::numeric_limits<double>::infinity();

// Which element of an array (batch, step, head, lane) is taken for one of them.
struct Taken {
  enum class Of { kOwn, kFirst, kBefore, kAfter };
  Of batch = Of::kOwn, step = Of::kOwn, head = Of::kOwn, lane = Of::kOwn;
  std::int64_t group = 1;    // the first of so many lanes stands for all of them
  std::int64_t period = 0;   // the first so many lanes again and again; 0: not so
  std::int64_t overlap = 1;  // vectors of so many lanes begin one lane behind each other
  bool crossed = false;      // its lane is that of the other axis: the column's for the row's
  bool heads_first = false;  // as if (batch, head, step, lane) were the order
  bool no_head_stride = false;
  bool mirrored = false;   // where time runs backwards: the step that has as many before it
  std::int64_t pitch = 0;  // elements from one row to the next; 0: as wide as a row
};

// Sizes and data of such an array.
struct Operand {
  const float* data;
  std::int64_t B, T, H, width;

  // The row of (b, t, h); `t` is what Taken::step has made of it, -1 where there is no such step: zeros.
  std::vector<double> row(std::int64_t b, std::int64_t t, std::int64_t h, const Taken& taken) const;
};

// `n` of 0 .. count - 1, or -1.
inline std::int64_t moved(std::int64_t n, std::int64_t count, Taken::Of of) {
  using Of = Taken::Of;
  const std::int64_t to = of == Of::kFirst    ? 0
                          : of == Of::kBefore ? n - 1
                          : of == Of::kAfter  ? n + 1
                                              : n;
  return to < count ? to : -1;
}

// The changes of one array's Taken that somebody makes by one index. `name` is the array's, `member` that of the switches.
struct TakenChange {
  std::string words, line;
  std::function<void(Taken&)> change;
};
// `lane` is what the code calls its lane: ik for a key row, iv for a value column.
std::vector<TakenChange> taken_changes(const std::string& name, const std::string& lane);
// Those that only rows of two widths show: `other` is the name of the width that they have not, and `width` what it is.
TakenChange pitch_change(const std::string& name, const std::string& other, std::int64_t width);

// The product of two rows of one width, in four sums, which a processor adds to side by side.
template <typename Number>
Number dot(const std::vector<Number>& a, const std::vector<Number>& b) {
  Number sums[4] = {};
  for (std::size_t j = 0; j < a.size(); ++j)
    sums[j % 4] += a[j] * b[j];
  return sums[0] + sums[1] + (sums[2] + sums[3]);
}

// Which of the key rows' parts reach a sum.
struct Rows {
  std::string words, line;
  std::function<bool(std::int64_t)> arrives;
};
std::vector<Rows> partial_rows(std::int64_t K);

// What becomes of the outputs of the steps, heads and columns.
enum class Stored {
  kOwn,
  kRunningOverSteps,
  kRunningOverColumns,
  kLate,
  kEarly,
  kHeadsFirst,
  kNoHeadStride,
  kInHead0,
};
// Whether an element of o may be what another head, or a later step, has computed.
inline bool needs_all(Stored stored) {
  return stored == Stored::kEarly || stored == Stored::kHeadsFirst ||
         stored == Stored::kNoHeadStride || stored == Stored::kInHead0;
}
template <typename Switches>
void add_stored(Variants<Switches>& list) {
  const auto add = [&](const char* words, const char* line, Stored stored) {
    list.push_back({words, line, [=](Switches& s) { s.stored = stored; }});
  };
  add("with the sum over all steps so far: the sum of one step runs into the next",
      "float sum = 0.0f; before the loop over the steps", Stored::kRunningOverSteps);
  add("with the sum over all columns so far: the sum of one column runs into the next",
      "float sum = 0.0f; before the loop over the columns", Stored::kRunningOverColumns);
  add("one step late", "o of step t + 1 gets the sum of step t", Stored::kLate);
  add("one step early", "o of step t - 1 gets the sum of step t", Stored::kEarly);
  add("with o written in the order (B, H, T, V)", "args.o + ((b * H + h) * T + t) * V",
      Stored::kHeadsFirst);
  add("with o's steps one head apart: the factor H is forgotten", "args.o + (b * T + t + h) * V",
      Stored::kNoHeadStride);
  add("with every head's o written to head 0", "args.o without h * width", Stored::kInHead0);
}
// `o` is (B, T, H, width).
void apply(Stored stored, std::vector<double>& o, std::int64_t B, std::int64_t T, std::int64_t H,
           std::int64_t width, bool reverse);

// What a loop computes: for a first look the first steps of the last batch's last head may be enough. The loop says whether they are.
enum class Look { kThorough, kQuick };
inline constexpr std::int64_t kQuickSteps = 3;

// These steps' rows of a (B, T, H, width) array.
std::vector<double> quick_look(const std::vector<double>& o, std::int64_t T, std::int64_t H,
                               std::int64_t width);

}  // namespace ladder
