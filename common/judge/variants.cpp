#include "common/judge/variants.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace ladder {

std::vector<double> Operand::row(std::int64_t b, std::int64_t t, std::int64_t h,
                                 const Taken& taken) const {
  std::vector<double> result(width, 0.0);
  b = taken.batch == Taken::Of::kFirst ? 0 : b;
  h = taken.head == Taken::Of::kOwn      ? h
      : taken.head == Taken::Of::kFirst  ? 0
      : taken.head == Taken::Of::kBefore ? (h + H - 1) % H
                                         : (h + 1) % H;
  if (t < 0) return result;
  const std::int64_t row = taken.heads_first      ? (b * H + h) * T + t
                           : taken.no_head_stride ? b * T + t + h
                                                  : (b * T + t) * H + h;
  const std::int64_t begin = row * (taken.pitch > 0 ? taken.pitch : width);
  const bool own = taken.pitch == 0 && taken.group == 1 && taken.period == 0 &&
                   taken.overlap == 1 && taken.lane == Taken::Of::kOwn;
  if (own) {
    result.assign(data + begin, data + begin + width);
    return result;
  }
  for (std::int64_t lane = 0; lane < width; ++lane) {
    std::int64_t from = lane - lane % taken.group;
    if (taken.overlap > 1) from = lane / taken.overlap + lane % taken.overlap;
    if (taken.period > 0) from = lane % taken.period;
    if (taken.lane == Taken::Of::kFirst) from = 0;
    if (taken.lane == Taken::Of::kBefore) --from;
    if (taken.lane == Taken::Of::kAfter) ++from;
    const std::int64_t at = begin + from;
    if (at >= 0 && at < B * T * H * width) result[lane] = data[at];
  }
  return result;
}

std::vector<TakenChange> taken_changes(const std::string& name, const std::string& lane) {
  using Of = Taken::Of;
  const std::string element = name + "[" + lane + "]", array = "args." + name;
  std::vector<TakenChange> list = {
      {"with the first " + name + " of each row used for all of them", name + "[0] for " + element,
       [](Taken& t) { t.lane = Of::kFirst; }},
      {"with each " + name + " taken one too far", name + "[" + lane + " + 1] for " + element,
       [](Taken& t) { t.lane = Of::kAfter; }},
      {"with each " + name + " taken one too early", name + "[" + lane + " - 1] for " + element,
       [](Taken& t) { t.lane = Of::kBefore; }},
      {"with " + name + " of head 0 in every head", array + " without + h * width",
       [](Taken& t) { t.head = Of::kFirst; }},
      {"with " + name + " of the next head", array + " with h + 1",
       [](Taken& t) { t.head = Of::kAfter; }},
  };
  for (const auto& [lanes, word] :
       {std::pair{2, "two"}, {4, "four"}, {8, "eight"}, {16, "sixteen"}}) {
    list.push_back(
        {std::string("with the first of every ") + word + " " + name + " used for all " + word,
         "the vector's first " + name + " for each of its " + word,
         [lanes = lanes](Taken& t) { t.group = lanes; }});
  }
  for (const int width : {4, 8, 16}) {
    const std::string w = std::to_string(width);
    list.push_back({"with the first " + w + " " + name + " again and again",
                    "load(" + name + ") for load(" + name + " + " + lane + ")",
                    [width](Taken& t) { t.period = width; }});
    list.push_back(
        {"with vectors of " + w + " " + name + " that begin one element behind each other",
         "load(" + name + " + c) for load(" + name + " + c * " + w + ")",
         [width](Taken& t) { t.overlap = width; }});
  }
  if (name == "u") return list;  // it is the same for every step
  list.insert(list.end(),
              {{"with " + name + " of batch 0 in every batch", array + " without + b * T",
                [](Taken& t) { t.batch = Of::kFirst; }},
               {"with " + name + " of the step before", array + " with t - 1",
                [](Taken& t) { t.step = Of::kBefore; }},
               {"with " + name + " of the step after", array + " with t + 1",
                [](Taken& t) { t.step = Of::kAfter; }},
               {"with " + name + " of the first step in every step", array + " without + t",
                [](Taken& t) { t.step = Of::kFirst; }},
               {"with " + name + " of the first row of all: the pointer is not moved",
                array + "[" + lane + "]", [](Taken& t) { t.batch = t.step = t.head = Of::kFirst; }},
               {"with " + name + " read in the order (B, H, T, width)",
                array + " + ((b * H + h) * T + t) * width", [](Taken& t) { t.heads_first = true; }},
               {"with " + name + "'s steps one head apart: the factor H is forgotten",
                array + " + (b * T + t + h) * width", [](Taken& t) { t.no_head_stride = true; }}});
  return list;
}

TakenChange pitch_change(const std::string& name, const std::string& other, std::int64_t width) {
  return {"with the rows of " + name + " " + other + " apart, as if they were so wide",
          "args." + name + " + row * " + other, [width](Taken& t) { t.pitch = width; }};
}

std::vector<Rows> partial_rows(std::int64_t K) {
  std::vector<Rows> list;
  const auto add = [&](const std::string& words, const std::string& line,
                       const std::function<bool(std::int64_t)>& arrives) {
    list.push_back({words, line, arrives});
  };
  // Vectors of four rows, and strips of eight.
  for (const std::int64_t lost : std::set<std::int64_t>{1, 4, K % 8}) {
    const std::string count = std::to_string(lost);
    if (lost == 0 || lost >= K) continue;
    add("without the last " + (lost == 1 ? std::string("key row") : count + " key rows"),
        "ik + " + count + " < K for ik < K", [=](std::int64_t j) { return j < K - lost; });
  }
  if (K > 1) {
    add("without the first key row", "ik = 1; ik < K", [](std::int64_t j) { return j > 0; });
    add("of the first key row alone", "if (ik == 0) or lane 0 alone",
        [](std::int64_t j) { return j == 0; });
    add("of the last key row alone", "*o = term for sum += term",
        [=](std::int64_t j) { return j == K - 1; });
  }
  for (const std::int64_t last : std::set<std::int64_t>{4, 8, 16, K / 2}) {
    if (last < 2 || last >= K) continue;
    const std::string count = std::to_string(last);
    add("of the last " + count + " key rows alone: = for +=, or a loop that begins too late",
        "sum = ... for sum +=, " + count + " rows at a time",
        [=](std::int64_t j) { return j >= K - last; });
  }
  for (std::int64_t lane = 0; lane < 4 && K > 4; ++lane) {
    const std::string rows = std::to_string(lane) + ", " + std::to_string(lane + 4) + ", ...";
    add("of every fourth key row alone: " + rows, "sum[" + std::to_string(lane) + "] for all four",
        [=](std::int64_t j) { return j % 4 == lane; });
    add("with every fourth key row lost: " + rows, "+ sum[" + std::to_string(lane) + "] forgotten",
        [=](std::int64_t j) { return j % 4 != lane; });
  }
  if (K < 8) return list;
  for (const std::int64_t lane : {0, 1}) {
    add(std::string("of every second key row alone, the ") + (lane == 0 ? "even" : "odd") + " ones",
        lane == 0 ? "sum.x for sum.x + sum.y" : "sum.y for sum.x + sum.y",
        [=](std::int64_t j) { return j % 2 == lane; });
    if (lane == 0) {
      add("of the first half of the key rows alone", "ik < K / 2",
          [=](std::int64_t j) { return j < K / 2; });
    }
    add(std::string("with the ") + (lane == 0 ? "first" : "second") +
            " half of every four key rows alone",
        lane == 0 ? "sum[0] + sum[1]" : "sum[2] + sum[3]",
        [=](std::int64_t j) { return (j % 4 >= 2) == (lane == 1); });
  }
  return list;
}

std::vector<double> quick_look(const std::vector<double>& o, std::int64_t T, std::int64_t H,
                               std::int64_t width) {
  std::vector<double> rows;
  const std::int64_t step = H * width;
  for (std::int64_t t = 0; t < std::min(T, kQuickSteps); ++t) {
    const auto end = o.end() - (T - 1 - t) * step;
    rows.insert(rows.end(), end - width, end);
  }
  return rows;
}

void apply(Stored stored, std::vector<double>& o, std::int64_t B, std::int64_t T, std::int64_t H,
           std::int64_t width, bool reverse) {
  const std::vector<double> own = o;
  const std::int64_t step = H * width;
  if (stored == Stored::kNoHeadStride ||
      stored == Stored::kInHead0) {  // a later head overwrites what one before it has written
    std::fill(o.begin(), o.end(), kUnwritten);
    for (std::int64_t b = 0; b < B; ++b) {
      for (std::int64_t h = 0; h < H; ++h) {
        for (std::int64_t t = 0; t < T; ++t)
          std::copy_n(
              own.begin() + ((b * T + t) * H + h) * width, width,
              o.begin() + (stored == Stored::kInHead0 ? (b * T + t) * H : b * T + t + h) * width);
      }
    }
    return;
  }
  for (std::int64_t b = 0; b < B; ++b) {
    for (std::int64_t n = 0; n < T; ++n) {
      const auto at = [&](std::int64_t of) { return (b * T + (reverse ? T - 1 - of : of)) * step; };
      for (std::int64_t i = 0; i < step; ++i) {
        double& x = o[at(n) + i];
        switch (stored) {
          case Stored::kOwn:
          case Stored::kNoHeadStride:
          case Stored::kInHead0: break;
          case Stored::kRunningOverSteps: x += n > 0 ? o[at(n - 1) + i] : 0; break;
          case Stored::kRunningOverColumns: x += i % width > 0 ? o[at(n) + i - 1] : 0; break;
          case Stored::kLate: x = n > 0 ? own[at(n - 1) + i] : kUnwritten; break;
          case Stored::kEarly: x = n + 1 < T ? own[at(n + 1) + i] : kUnwritten; break;
          case Stored::kHeadsFirst: {
            const std::int64_t row = n * H + i / width;  // in that order it is row T h + n
            x = own[b * T * step + (row % T * H + row / T) * width + i % width];
            break;
          }
        }
      }
    }
  }
}

}  // namespace ladder
