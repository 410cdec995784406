// Tests of WKV, GLA and their gradients: their plans and edge cases.
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "common/judge/reach.hpp"
#include "common/operators/wkv/operator.hpp"

namespace ladder {
namespace {

// The prefix that distinguishes an operator's test names from those for WKV.
template <typename Op>
constexpr const char* kPrefix = "";
template <>
constexpr const char* kPrefix<Gla> = "Gla";
template <>
constexpr const char* kPrefix<WkvBackward> = "Backward";
template <>
constexpr const char* kPrefix<GlaBackward> = "GlaBackward";

template <typename Op>
constexpr bool kIsGradient = std::is_same_v<typename Op::Problem, WkvGradProblem>;

// With states if they are supported.
WkvCase case_with_states(const Support& support, Recurrence recurrence, std::int64_t B,
                         std::int64_t T, std::int64_t H) {
  WkvCase c = ragged_wkv_case(support, recurrence);
  c.B = B;
  c.T = T;
  c.H = H;
  c.initial_state = c.final_state = support.has("states");
  return c;
}

// Fewer heads for repeated runs of a backward pass, which is slow on the emulator.
template <typename Op>
WkvCase few_heads(WkvCase c) {
  if (kIsGradient<Op>) {
    c.B = 1;
    c.H = 2;
  }
  return c;
}

template <typename Op>
void expect_right_in_narrow_rows(const Implementation& i, Report& report, const Support& support) {
  for (const Precision precision : precisions_of(support.storages)) {
    for (const std::int64_t V : kNarrow) {
      for (const Decay decay : {Decay::kMild, Decay::kStrong, Decay::kTotal}) {
        WkvCase c = case_with_states(support, Op::kRecurrence, 1, 18, 2);
        c.V = V;
        c.decay = decay;
        c.precision = precision;
        if (V % 2 == 1) c.initial_state = c.final_state = false;
        expect_right(report, i, typename Op::Problem(c));
      }
    }
  }
}

// More tiles of key or value channels than the usual sizes have, unless a limit is lower.
template <typename Op>
void expect_right_in_wide_heads(const Implementation& i, Report& report, const Support& support) {
  constexpr std::int64_t kWide = 330;
  for (const char* size : {"K", "V"}) {
    const std::int64_t most = support.most_of(size);
    if (most > 0 && most < kWide) continue;
    WkvCase c = case_with_states(support, Op::kRecurrence, 1, 18, 1);
    c.K = c.V = 4;
    (*size == 'K' ? c.K : c.V) = kWide;
    c.precision = precision_of(support.storages.front());
    try {
      expect_right(report, i, typename Op::Problem(c));
    } catch (const std::invalid_argument&) {  // too wide for this kernel
    }
  }
}

template <typename Op>
void expect_right_with_every_decay(const Implementation& i, Report& report,
                                   const Support& support) {
  WkvCase c = case_with_states(support, Op::kRecurrence, 1, 66, 1);  // short, for nine runs
  c.decay = Decay::kFixed;
  for (const float log_w : {0.0f, -1e-3f, -0.1f, -0.6f, -1.3f, -5.0f, -16.0f, -1e4f, -INFINITY}) {
    c.fixed_log_w = log_w;
    typename Op::Problem problem(c);
    if (log_w == 0.0f) {  // some steps leave the state as it is
      std::vector<float>& k = problem["k"];
      const std::int64_t step = std::ssize(k) / c.T;
      for (const std::int64_t t : {0, 1, 20, 40, 65})
        std::fill_n(k.begin() + t * step, step, 0.0f);
    }
    expect_right(report, i, problem);
  }
}

// The narrowest rows, because long runs and runs of many blocks must be cheap.
WkvCase narrow_case(const Support& support, Recurrence recurrence, std::int64_t B, std::int64_t T,
                    std::int64_t H) {
  WkvCase c = case_with_states(support, recurrence, B, T, H);
  c.K = from(1, wkv_key_rows(support));
  c.V = support.has("K != V") ? from(1, support.levels("V", {c.K})) : c.K;
  return c;
}

template <typename Op>
void expect_right_in_many_heads(const Implementation& i, Report& report, const Support& support) {
  const std::int64_t B = kIsGradient<Op> ? 1 : 3;  // gradients are slow
  WkvCase c = narrow_case(support, Op::kRecurrence, B, 3, kManyHeads);
  c.decay_per_head = true;
  c.scale = 0.5f;
  c.precision = precision_of(support.storages.back());
  expect_right(report, i, typename Op::Problem(c));
}

template <typename Op>
void expect_right_in_many_batches(const Implementation& i, Report& report, const Support& support) {
  WkvCase c = narrow_case(support, Op::kRecurrence, kManyBatches, 3, 2);
  c.precision = precision_of(support.storages.front());
  expect_right(report, i, typename Op::Problem(c));
}

// The last step must still depend on the first. Drawn decays forget within a chunk or two, which
// hides errors over longer distances.
template <typename Op>
void expect_right_over_many_steps(const Implementation& i, Report& report, const Support& support) {
  for (std::size_t n = 0; n < std::max<std::size_t>(2, support.storages.size()); ++n) {
    WkvCase c = narrow_case(support, Op::kRecurrence, 1, kManySteps, 1);
    c.decay = n % 2 == 0 ? Decay::kNone : Decay::kFixed;
    c.fixed_log_w = -1e-3f;
    c.decay_per_head = n % 2 == 1;
    c.B = c.decay_per_head ? 2 : 1;  // its gradient is also a sum over batches
    c.reverse = n % 2 == 1 && support.has("reverse");
    c.precision = precision_of(support.storages[n % support.storages.size()]);
    expect_right(report, i, typename Op::Problem(c));
  }
}

// After one large step each other adds about 2^-15 of it to the state, too little for 16 bits. The
// large step's products differ, so that their roundings cancel.
template <typename Op>
void expect_small_steps_added(const Implementation& i, Report& report, const Support& support) {
  WkvCase c = narrow_case(support, Op::kRecurrence, 1, kManySteps, 1);
  c.initial_state = c.final_state = false;
  c.decay = Decay::kNone;
  c.precision = precision_of(support.storages.back());
  typename Op::Problem problem(c);
  for (const char* array : {"q", "k", "v"}) {
    std::vector<float>& values = problem[array];
    const std::int64_t row = std::ssize(values) / c.T;
    const bool is_query = array[0] == 'q';
    for (std::int64_t i = 0; i < row; ++i)
      values[i] = is_query ? 1.0f : 1.0f + std::min(1.0f, std::abs(values[i]));
    std::fill(values.begin() + row, values.end(), is_query ? 1.0f : 0.0078125f);
  }
  problem.round_to_storage();
  expect_right(report, i, problem);
}

template <typename Op>
void expect_right_in_packed_sequences(const Implementation& i, Report& report,
                                      const Support& support, bool reverse) {
  WkvCase c = packed(case_with_states(support, Op::kRecurrence, 1, 0, 2), {0, 5, 0, 17, 1, 150, 0});
  c.reverse = reverse;
  expect_right(report, i, typename Op::Problem(c));
}

// Without steps the initial state must become the final state.
template <typename Op>
void expect_no_steps(const Implementation& i, Report& report, const Support& support) {
  const WkvCase c = case_with_states(support, Op::kRecurrence, 2, 0, 3);
  with_storage<Op>(storage_of(c), [&]<typename Args>() {
    const typename Op::Problem problem(c);
    const OnDevice<Op, Args> on_device(device(i.device), problem);
    Args args = on_device.args();
    Args::arrays(args, [](const char*, auto& pointer, const Axes& axes, auto...) {
      if (count(axes) == 0) pointer = nullptr;
    });
    if constexpr (kIsGradient<Op>)
      args.forward.u = nullptr;
    else
      args.u = nullptr;
    launch<Op>(i, args);
    device(i.device).synchronize();
    const auto outputs = on_device.download();
    if constexpr (kIsGradient<Op>) {
      if (outputs.d_initial_state != problem["d_final_state"])
        report.fails("d_initial_state is not d_final_state");
      if (outputs.du != std::vector<float>(problem["u"].size(), 0.0f)) report.fails("du is not 0");
    } else if (outputs.final_state != problem["initial_state"]) {
      report.fails("final_state is not initial_state");
    }
  });
}

// The steps begin to end - 1 of a (B, T, ...) array.
std::vector<float> cut_in_time(const std::vector<float>& values, const WkvCase& c,
                               std::int64_t begin, std::int64_t end) {
  const std::int64_t step = std::ssize(values) / (c.B * c.T);
  std::vector<float> result;
  for (std::int64_t b = 0; b < c.B; ++b) {
    const auto first = values.begin() + b * c.T * step;
    result.insert(result.end(), first + begin * step, first + end * step);
  }
  return result;
}

// The steps begin to end - 1 of a problem, with the initial state of the whole.
template <typename Typed>
Typed slice_in_time(const Typed& whole, std::int64_t begin, std::int64_t end) {
  Typed part = whole;
  part.drawn_case().T = end - begin;
  for (const char* array : {"q", "k", "v", "log_w", "d_o"})
    part[array] = cut_in_time(whole[array], whole.drawn_case(), begin, end);
  return part;
}

// Joins two parts in time, for each of B batches.
std::vector<float> joined_in_time(const std::vector<float>& early, const std::vector<float>& late,
                                  std::int64_t B) {
  std::vector<float> joined;
  for (std::int64_t b = 0; b < B; ++b) {
    for (const std::vector<float>* part : {&early, &late}) {
      const std::int64_t size = std::ssize(*part) / B;
      joined.insert(joined.end(), part->begin() + b * size, part->begin() + (b + 1) * size);
    }
  }
  return joined;
}

// `first` and `second` are halves in the direction of time.
WkvOutputs run_halves(const Implementation& i, const WkvProblem& first, WkvProblem second) {
  const WkvOutputs first_out = run(i, first);
  second["initial_state"] = first_out.final_state;
  const WkvOutputs second_out = run(i, second);
  const WkvCase& c = first.drawn_case();
  return {c.reverse ? joined_in_time(second_out.o, first_out.o, c.B)
                    : joined_in_time(first_out.o, second_out.o, c.B),
          second_out.final_state};
}

// The gradient of the state passes from the second half to the first.
WkvGradients run_halves(const Implementation& i, WkvGradProblem first, WkvGradProblem second) {
  const auto between = wkv_recurrence(first.args().forward).final_state;
  second["initial_state"].assign(between.begin(), between.end());
  const WkvGradients second_out = run_backward(i, second);
  first["d_final_state"] = second_out.d_initial_state;
  const WkvGradients first_out = run_backward(i, first);
  const WkvCase& c = first.drawn_case();
  const WkvGradients& early = c.reverse ? second_out : first_out;
  const WkvGradients& late = c.reverse ? first_out : second_out;
  WkvGradients joined{joined_in_time(early.dq, late.dq, c.B),
                      joined_in_time(early.dk, late.dk, c.B),
                      joined_in_time(early.dv, late.dv, c.B),
                      joined_in_time(early.d_log_w, late.d_log_w, c.B),
                      first_out.du,
                      first_out.d_initial_state};
  std::transform(joined.du.begin(), joined.du.end(), second_out.du.begin(), joined.du.begin(),
                 std::plus<>());
  return joined;
}

// The state passes from one half in time to the other.
template <typename Op>
void expect_right_in_halves(const Implementation& i, Report& report, const Support& support,
                            bool reverse) {
  constexpr std::int64_t kCut = 17;
  WkvCase c = few_heads<Op>(ragged_wkv_case(support, Op::kRecurrence));
  c.initial_state = c.final_state = true;
  c.reverse = reverse;
  const typename Op::Problem whole(c);
  auto first = slice_in_time(whole, 0, kCut), second = slice_in_time(whole, kCut, c.T);
  if (reverse) std::swap(first, second);
  expect_right(report, whole, run_halves(i, first, second), arithmetic_of(i, c.precision));
}

// The position of a NaN or infinity: one step in one head of one sequence.
struct Place {
  std::int64_t sequence, step, h;

  std::int64_t row(const WkvArgs& args) const {
    return (ladder::sequence(args, sequence).first + step) * args.H + h;
  }
};

constexpr Place kSpoilt{1, 119, 1};  // its tiles of 4, 16, 32 and 64 steps begin at different steps

// A case whose second sequence is long enough for several tiles.
WkvCase isolation_case(const Support& support, Recurrence recurrence, bool packed_sequences) {
  WkvCase c = case_with_states(support, recurrence, 2, 122, 2);
  const auto narrow = [&](const char* size) {
    const std::vector<std::int64_t> levels = support.levels(size, {32});
    return std::count(levels.begin(), levels.end(), 32) > 0 ? 32 : levels.front();
  };
  c.K = narrow("K");
  c.V = support.has("K != V") ? narrow("V") : c.K;
  return packed_sequences ? packed(c, {20, 122, 15}) : c;
}

// Rows of whole 16-byte vectors, for kernels that load vectors.
WkvCase aligned_case(const Support& support, Recurrence recurrence, std::int64_t T,
                     Precision precision) {
  WkvCase c = case_with_states(support, recurrence, 1, T, 2);
  if (support.has("K != V")) c.V = preferred(support.levels("V", {64}), 64);
  c.precision = precision;
  return c;
}

const WkvArgs& forward_of(const WkvArgs& args) {
  return args;
}
const WkvArgs& forward_of(const WkvGradArgs& args) {
  return args.forward;
}

template <typename Op>
void expect_isolation(const Implementation& i, Report& report, const Support& support,
                      const WkvCase& c) {
  const typename Op::Problem clean(c);
  const auto all_args = clean.args();
  const WkvArgs& args = forward_of(all_args);
  const auto before = run_as<Op>(i, clean);
  const auto [first, length] = sequence(args, kSpoilt.sequence);
  // In the same sequence and head steps from `must_from` must and from `may_from` may be reached.
  const auto expect = [&, first = first, length = length](
                          const auto& spoilt, std::int64_t must_from, std::int64_t may_from) {
    expect_reach(report, clean, before, run_as<Op>(i, spoilt), support,
                 [&](const ElementPlace& at) {
                   if (at.h != kSpoilt.h) return Reach::kMustNot;
                   if (at.row < 0)
                     return at.b < 0 || at.b == kSpoilt.sequence ? Reach::kMust : Reach::kMustNot;
                   const std::int64_t step = at.row - first;
                   if (step < may_from || step >= length) return Reach::kMustNot;
                   return step >= must_from ? Reach::kMust : Reach::kMay;
                 });
  };
  const std::int64_t tile = kSpoilt.step / support.nan_tile * support.nan_tile;
  for (const float value : {kNan, INFINITY}) {
    auto spoilt = clean;
    for (const char* array : {"q", "k", "v", "d_o"}) {
      const std::int64_t width = std::ssize(spoilt[array]) / (c.B * c.T * c.H);
      std::fill_n(spoilt[array].begin() + kSpoilt.row(args) * width, width, value);
    }
    if (kIsGradient<Op>) {
      expect(spoilt, c.T, 0);  // a gradient may be reached from every step
    } else {
      expect(spoilt, kSpoilt.step, tile);
    }
  }
  if (kIsGradient<Op>) return;
  auto spoilt_key = clean;  // a masked score has no effect, even within a tile
  std::fill_n(spoilt_key["k"].begin() + kSpoilt.row(args) * c.K, c.K, kNan);
  expect(spoilt_key, kSpoilt.step, kSpoilt.step);
  auto spoilt = clean;
  std::fill_n(spoilt["log_w"].begin() + kSpoilt.row(args) * c.K, c.K, kNan);
  // In WKV o reads the state before the decay.
  expect(spoilt, kSpoilt.step + (is_gla(args) ? 0 : 1), tile);
}

// The state and the last step are infinite in one head of the second sequence. Tested at every K,
// because some kernels pad rows of K.
template <typename Op>
void expect_infinity_kept(const Implementation& i, Report& report, const Support& support) {
  WkvCase c = isolation_case(support, Op::kRecurrence, false);
  c.T = 5;
  for (const std::int64_t K : wkv_key_rows(support)) {
    c.K = K;
    if (!support.has("K != V")) c.V = K;
    const typename Op::Problem clean(c);
    auto spoilt = clean;
    const auto spoil = [&](const char* array, std::int64_t of, std::int64_t count) {
      const std::int64_t part = std::ssize(spoilt[array]) / count;
      std::fill_n(spoilt[array].begin() + of * part, part, INFINITY);
    };
    for (const char* array : {"initial_state", "d_final_state"})
      spoil(array, kSpoilt.sequence * c.H + kSpoilt.h, c.B * c.H);
    for (const char* array : {"q", "k", "v", "d_o"})
      spoil(array, ((kSpoilt.sequence + 1) * c.T - 1) * c.H + kSpoilt.h, c.B * c.T * c.H);
    expect_reach(report, clean, run_as<Op>(i, clean), run_as<Op>(i, spoilt), support,
                 [&](const ElementPlace& at) {
                   const std::int64_t sequence = at.row < 0 ? at.b : at.row / c.T;
                   const bool own = sequence < 0 || sequence == kSpoilt.sequence;
                   return own && at.h == kSpoilt.h ? Reach::kMay : Reach::kMustNot;
                 });
  }
}

template <typename Args>
std::vector<BadInput<Args>> bad_forward_inputs(const Support& support, Recurrence recurrence) {
  static const std::int64_t cu_seqlens[] = {0, 3};
  static const Pointee<decltype(Args::u)> some_u{};
  static float some_state = 0;
  std::vector<BadInput<Args>> bad = {{"log_w", [](Args& a) { a.log_w_stride_T = 1; }}};
  if (recurrence == Recurrence::kGla) {
    bad.push_back({"u", [](Args& a) { a.u = &some_u; }});
  } else {
    bad.push_back({"u", [](Args& a) { a.u = nullptr; }});
  }
  if (!support.has("K != V")) {
    bad.push_back({"K", [](Args& a) {
                     a.K = a.V = 65;
                     a.log_w_stride_B = a.log_w_stride_T = 0;
                   }});
    bad.push_back({"V", [](Args& a) { a.V = 32; }});
  }
  // One more than the limit. The decay is per head, so its strides do not depend on sizes.
  const auto beyond = [&](const char* size, const char* argument, std::int64_t Args::*member) {
    const std::int64_t most = support.most_of(size);
    if (most == 0) return;
    bad.push_back({argument, [=](Args& a) {
                     if (argument != std::string(size)) a.B = 1;
                     a.*member = most + 1;
                     a.log_w_stride_B = a.log_w_stride_T = 0;
                   }});
  };
  beyond("K", "K", &Args::K);
  beyond("V", "V", &Args::V);
  beyond("T", "T", &Args::T);
  beyond("B * H", "H", &Args::H);
  if (support.has("states")) {
    bad.push_back({"initial_state", [](Args& a) {
                     a.initial_state = reinterpret_cast<const float*>(a.q);
                     misalign(a.initial_state);
                   }});
  } else {
    bad.push_back({"initial_state", [](Args& a) { a.initial_state = &some_state; }});
    bad.push_back({"final_state", [](Args& a) { a.final_state = &some_state; }});
  }
  if (!support.has("reverse")) bad.push_back({"reverse", [](Args& a) { a.reverse = true; }});
  if (support.has("packed sequences")) {
    const auto add_packed = [&](const char* argument, void (*spoil)(Args&)) {
      bad.push_back({argument, [=](Args& a) {
                       a.cu_seqlens = cu_seqlens;
                       a.sequences = 1;
                       spoil(a);
                     }});
    };
    add_packed("B", [](Args& a) { a.B = 2; });
    add_packed("sequences", [](Args& a) { a.sequences = -1; });
    add_packed("cu_seqlens", [](Args& a) { misalign(a.cu_seqlens); });
  } else {
    bad.push_back({"cu_seqlens", [](Args& a) { a.cu_seqlens = cu_seqlens; }});
  }
  return bad;
}

}  // namespace

std::vector<WkvCase> wkv_cases(const Support& support, Recurrence recurrence) {
  const auto finish = [&](WkvCase& c) {
    std::tie(c.B, c.H) = batch_and_heads(c.T);
    if (!support.has("K != V")) c.V = c.K;
    c.magnitude = magnitude_within(c.precision, c.magnitude);
  };
  std::vector<WkvCase> found = found_cases<Wkv>(support.also);
  for (WkvCase& c : found)
    c.recurrence = recurrence;
  return wkv_design(support).cases(ragged_wkv_case(support, recurrence), finish, wanted_draw(),
                                   found);
}

template <typename Args>
std::vector<BadInput<Args>> wkv_bad_inputs(const Support& support, Recurrence recurrence) {
  if constexpr (requires(Args & a) { a.forward; }) {
    std::vector<BadInput<Args>> bad;
    if (recurrence == Recurrence::kWkv) bad.push_back({"du", [](Args& a) { a.du = nullptr; }});
    for (const auto& [argument, spoil] :
         bad_forward_inputs<decltype(Args::forward)>(support, recurrence))
      bad.push_back({argument, [spoil = spoil](Args& a) { spoil(a.forward); }});
    return bad;
  } else {
    return bad_forward_inputs<Args>(support, recurrence);
  }
}

template std::vector<BadInput<WkvArgs>> wkv_bad_inputs(const Support&, Recurrence);
template std::vector<BadInput<WkvBf16Args>> wkv_bad_inputs(const Support&, Recurrence);
template std::vector<BadInput<WkvBf16Fp32DecayArgs>> wkv_bad_inputs(const Support&, Recurrence);
template std::vector<BadInput<WkvFp16Args>> wkv_bad_inputs(const Support&, Recurrence);
template std::vector<BadInput<WkvGradArgs>> wkv_bad_inputs(const Support&, Recurrence);
template std::vector<BadInput<WkvGradBf16Args>> wkv_bad_inputs(const Support&, Recurrence);
template std::vector<BadInput<WkvGradBf16Fp32DecayArgs>> wkv_bad_inputs(const Support&, Recurrence);

SupportWords wkv_support_words() {
  return {.sizes = {"T", "K", "V"},
          .refuses = {"states", "reverse", "packed sequences", "K != V"},
          .most = {"K", "V", "T", "B * H"},
          .fields = {"plain_steps", "nan_tile", "also"}};
}

template <typename Op>
std::shared_ptr<const Plan> wkv_plan(const Support& support) {
  const bool states = support.has("states");
  const WkvCase ragged = ragged_wkv_case(support, Op::kRecurrence);
  auto plan = std::make_shared<Plan>();
  plan->prefix = kPrefix<Op>;
  plan->plain = planned<Op>(plain_wkv_case(support, Op::kRecurrence));
  WkvCase every = plain_wkv_case(support, Op::kRecurrence);
  every.initial_state = every.final_state = states;
  plan->every_mistake = planned<Op>(every);
  plan_cases<Op>(*plan, wkv_design(support), wkv_cases(support, Op::kRecurrence));
  WkvCase c = ragged;
  c.B = 0;
  plan->empty = {planned<Op>(c)};
  plan->empty_test = "TakesAnEmptyBatch";
  c = ragged;
  c.final_state = kIsGradient<Op> && states;
  plan->bad_input = {{"", planned<Op>(c)}};
  for (const Precision precision : precisions_of(support.storages)) {
    Plan::Alignment& alignment = plan->alignments.emplace_back();
    alignment.test_ends = test_word(precision);
    for (const std::int64_t T : {1, 17})
      alignment.cases.push_back(planned<Op>(aligned_case(support, Op::kRecurrence, T, precision)));
  }
  const Options with_states = {{"initial_state", "true"}, {"final_state", "true"}};
  plan_borders(*plan, operator_of<Op>(), support,
               {{"B", 1}, {"T", 20}, {"H", 2}, {"K", 20}, {"V", 20}},
               states ? with_states : Options(), [&](Shape& shape) {
                 if (!support.has("K != V")) shape.set("V", shape["K"]);
               });
  c = few_heads<Op>(ragged);
  c.T = 65;
  c.initial_state = kIsGradient<Op> && states;
  plan->repeated = planned<Op>(c);

  const auto add = [&](const std::string& test, const auto& expect,
                       std::optional<std::size_t> turn = std::nullopt) {
    plan->edges.push_back(
        {test, [=](const Implementation& i, Report& report) { expect(i, report, support); }, turn});
  };
  // Forward in time, and in reverse if that is supported.
  const auto add_both_ways = [&](const std::string& test, const auto& expect) {
    for (const bool reverse : {false, true}) {
      if (reverse && !support.has("reverse")) continue;
      add(test + (reverse ? "InReverse" : ""),
          [=](const Implementation& i, Report& report, const Support& s) {
            expect(i, report, s, reverse);
          });
    }
  };
  if (support.has("K != V"))
    add("MatchesReferenceInNarrowRows", expect_right_in_narrow_rows<Op>, 0);
  if (support.has("K != V")) add("MatchesReferenceInWideHeads", expect_right_in_wide_heads<Op>, 2);
  add("SurvivesEveryDecay", expect_right_with_every_decay<Op>, 1);
  add("TakesManyHeads", expect_right_in_many_heads<Op>, 0);
  add("TakesManyBatches", expect_right_in_many_batches<Op>, 1);
  add("RemembersOverManySteps", expect_right_over_many_steps<Op>, 2);
  if (!kIsGradient<Op>) add("AddsSmallStepsToALargeState", expect_small_steps_added<Op>, 0);
  if (support.has("packed sequences"))
    add_both_ways("TakesPackedSequences", expect_right_in_packed_sequences<Op>);
  add("TakesNoStepsAndNullTensors", expect_no_steps<Op>, 0);
  if (states) add_both_ways("SplitAndResume", expect_right_in_halves<Op>);
  add("KeepsInfinityToItsHead", expect_infinity_kept<Op>, 2);
  for (const bool packed_sequences : {false, true}) {
    if (packed_sequences && (kIsGradient<Op> || !support.has("packed sequences"))) continue;
    add(
        std::string("KeepsNanToItself") + (packed_sequences ? "InPackedSequences" : ""),
        [=](const Implementation& i, Report& report, const Support& s) {
          expect_isolation<Op>(i, report, s, isolation_case(s, Op::kRecurrence, packed_sequences));
        },
        kIsGradient<Op> || packed_sequences);
  }
  return plan;
}

template std::shared_ptr<const Plan> wkv_plan<Wkv>(const Support&);
template std::shared_ptr<const Plan> wkv_plan<Gla>(const Support&);
template std::shared_ptr<const Plan> wkv_plan<WkvBackward>(const Support&);
template std::shared_ptr<const Plan> wkv_plan<GlaBackward>(const Support&);

}  // namespace ladder
