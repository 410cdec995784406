// Pointers to arrays without elements, which may be null, and to arrays that begin at any address.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "07_chunkwise/01_prefix_sum/prefix_sum.hpp"
#include "07_chunkwise/06_gla_layer/gla_layer.hpp"
#include "common/operators/linear_attention/operator.hpp"
#include "common/operators/wkv/operator.hpp"
#include "common/testing/tests.hpp"

namespace {

using ladder::arithmetic_of;
using ladder::Device;
using ladder::device;
using ladder::find_implementation;
using ladder::GuardedArray;
using ladder::Implementation;
using ladder::LinearAttentionCase;
using ladder::Precision;
using ladder::Recurrence;
using ladder::WkvCase;
using ladder::testing::is_right;
using Floats = std::vector<float>;
using Role = GuardedArray::Role;

Device& cuda() {
  return device(ladder::DeviceKind::kCuda);
}

template <typename Element>
std::vector<Element> contents(const GuardedArray& array, std::size_t count) {
  cuda().synchronize();
  array.check_guards();
  std::vector<Element> elements(count);
  array.download(elements.data());
  return elements;
}

// ---- No steps or no batch, so arrays without elements are null pointers ----

constexpr std::int64_t kH = 2, kK = 20, kV = 10, kSequences = 3;
constexpr std::int64_t kStateSize = kSequences * kH * kK * kV;

Floats some_state() {
  Floats state(kStateSize);
  for (std::size_t i = 0; i < state.size(); ++i)
    state[i] = static_cast<float>(i) - 100.5f;
  return state;
}

template <typename Args>
Args no_steps() {
  Args args;
  args.B = kSequences;
  args.H = kH;
  args.K = kK;
  args.V = kV;
  args.log_w_stride_T = kH * kK;
  return args;
}

template <typename Op, typename Args>
void hand_the_state_through(const Implementation& implementation, bool packed) {
  const auto launch = ladder::launcher<Op, Args>(implementation);
  if (launch == nullptr) return;  // five steps, fp32 only
  const Floats state = some_state();
  const GuardedArray initial(cuda(), "initial_state", state, Role::kInput);
  const GuardedArray final_state(cuda(), "final_state", Floats(kStateSize, NAN), Role::kOutput);
  const GuardedArray cu_seqlens(cuda(), "cu_seqlens", std::vector<std::int64_t>(kSequences + 1, 0),
                                Role::kInput);
  Args args = no_steps<Args>();
  if (packed) {
    args.B = 1;
    args.cu_seqlens = static_cast<const std::int64_t*>(cu_seqlens.pointer());
    args.sequences = kSequences;
  }
  launch(args);  // nothing to read, nothing to write
  args.final_state = static_cast<float*>(final_state.pointer());
  launch(args);
  EXPECT_EQ(contents<float>(final_state, kStateSize), Floats(kStateSize, 0.0f));
  args.initial_state = static_cast<const float*>(initial.pointer());
  launch(args);
  EXPECT_EQ(contents<float>(final_state, kStateSize), state);
}

template <typename Op, typename Args>
void take_no_batch(const Implementation& implementation) {
  const auto launch = ladder::launcher<Op, Args>(implementation);
  if (launch == nullptr) return;
  Args args = no_steps<Args>();
  args.B = 0;
  args.T = 70;
  args.log_w_stride_B = args.T * kH * kK;
  EXPECT_NO_THROW(launch(args));
  cuda().synchronize();
}

void for_each_forward(const std::string& name, bool packs) {
  const Implementation implementation = find_implementation(name);
  for (const Recurrence recurrence : {Recurrence::kWkv, Recurrence::kGla}) {
    for (const Precision precision :
         {Precision::kFp32, Precision::kBf16, Precision::kBf16Fp32Decay}) {
      ladder::with_forward(recurrence, precision, [&]<typename Op, typename Args>() {
        hand_the_state_through<Op, Args>(implementation, false);
        if (packs) hand_the_state_through<Op, Args>(implementation, true);
        take_no_batch<Op, Args>(implementation);
      });
    }
  }
}

KERNEL_TEST(wkv_chunkwise, HandsTheStateThroughWithoutTensors) {
  for (const char* name : {"wkv_chunkwise", "wkv_chunkwise_fused", "wkv_chunkwise_time_parallel"}) {
    SCOPED_TRACE(name);
    for_each_forward(name, true);
  }
}

KERNEL_TEST(gla_five_steps, HandsTheStateThroughWithoutTensors) {
  for_each_forward("gla_five_steps", false);
}

// Without steps, the bonus and some gradients still have elements.
template <typename Op, typename Args>
void hand_the_gradient_through(const Implementation& implementation, std::int64_t B, std::int64_t T,
                               bool per_head) {
  using Element = ladder::Pointee<decltype(Args::dq)>;
  using LogW = ladder::Pointee<decltype(Args::d_log_w)>;
  SCOPED_TRACE("B = " + std::to_string(B) + ", T = " + std::to_string(T));
  const auto launch = ladder::launcher<Op, Args>(implementation);
  if (launch == nullptr) return;  // the other operator's
  const bool wkv = std::is_same_v<Op, ladder::WkvBackward>;
  const Floats state = some_state();
  const std::size_t states = B == 0 ? 0 : state.size();
  const GuardedArray u(cuda(), "u", std::vector<Element>(kH * kK), Role::kInput);
  const GuardedArray d_final(cuda(), "d_final_state", state, Role::kInput);
  const GuardedArray d_initial(cuda(), "d_initial_state", Floats(states, NAN), Role::kOutput);
  const GuardedArray du(cuda(), "du", Floats(kH * kK, NAN), Role::kOutput);
  const GuardedArray d_log_w(cuda(), "d_log_w", std::vector<LogW>(kH * kK), Role::kOutput);
  Args args;
  args.forward = no_steps<decltype(args.forward)>();
  args.forward.B = B;
  args.forward.T = T;
  args.forward.log_w_stride_B = T * kH * kK;
  if (per_head) {
    args.forward.log_w_stride_B = args.forward.log_w_stride_T = 0;
    args.d_log_w = static_cast<LogW*>(d_log_w.pointer());
  }
  if (wkv) {
    args.forward.u = static_cast<const Element*>(u.pointer());
    args.du = static_cast<float*>(du.pointer());
  }
  args.d_final_state = static_cast<const float*>(d_final.pointer());
  args.d_initial_state = static_cast<float*>(d_initial.pointer());
  launch(args);
  cuda().synchronize();
  EXPECT_EQ(contents<float>(d_initial, states), B > 0 ? state : Floats());
  if (wkv) {
    EXPECT_EQ(contents<float>(du, kH * kK), Floats(kH * kK, 0.0f));
  }
}

KERNEL_TEST(chunkwise_backward, HandsTheGradientThroughWithoutTensors) {
  for (const auto& [name, recurrence] : {std::pair{"wkv_chunkwise_backward", Recurrence::kWkv},
                                         {"gla_chunkwise_backward", Recurrence::kGla},
                                         {"wkv_gradient_segments", Recurrence::kWkv},
                                         {"gla_gradient_segments", Recurrence::kGla}}) {
    const Implementation implementation = find_implementation(name);
    for (const Precision precision :
         {Precision::kFp32, Precision::kBf16, Precision::kBf16Fp32Decay}) {
      ladder::with_backward(recurrence, precision, [&]<typename Op, typename Args>() {
        for (const bool per_head : {false, true}) {
          hand_the_gradient_through<Op, Args>(implementation, kSequences, 0, per_head);
          hand_the_gradient_through<Op, Args>(implementation, 0, 70, per_head);
        }
      });
    }
  }
}

KERNEL_TEST(linear_attention_chunkwise, TakesNullPointersToNothing) {
  for (const char* name : {"linear_attention_chunkwise", "linear_attention_chunk_walk",
                           "linear_attention_chunk_states"}) {
    SCOPED_TRACE(name);
    const Implementation implementation = find_implementation(name);
    ladder::LinearAttentionArgs args;
    args.B = 2, args.H = kH, args.K = kK, args.V = kV;
    EXPECT_NO_THROW(ladder::launch<ladder::LinearAttention>(implementation, args))
        << "no queries, no keys";
    args.T_k = 70;
    EXPECT_NO_THROW(ladder::launch<ladder::LinearAttention>(implementation, args)) << "no queries";
    args.B = 0, args.T_q = 70;
    EXPECT_NO_THROW(ladder::launch<ladder::LinearAttention>(implementation, args)) << "no batch";

    // Queries without keys, where only q and o have elements.
    args.B = 2, args.T_k = 0;
    const std::size_t count = args.B * args.T_q * kH * kV;
    const GuardedArray q(cuda(), "q", Floats(args.B * args.T_q * kH * kK, 1.0f), Role::kInput);
    const GuardedArray o(cuda(), "o", Floats(count, NAN), Role::kOutput);
    args.q = static_cast<const float*>(q.pointer());
    args.o = static_cast<float*>(o.pointer());
    ladder::launch<ladder::LinearAttention>(implementation, args);
    EXPECT_EQ(contents<float>(o, count), Floats(count, 0.0f));
  }
}

KERNEL_TEST(gla_layer, TakesNullPointersToNothing) {
  const auto no_gla = [](const ladder::WkvArgs&) { ADD_FAILURE() << "something was launched"; };
  ladder::GlaLayerArgs args;
  args.B = 2, args.T = 0, args.d_model = 5, args.H = 2, args.K = 4, args.V = 4, args.rank = 2;
  EXPECT_NO_THROW(chunkwise::gla_layer(args, no_gla));
  args.B = 0, args.T = 3;
  EXPECT_NO_THROW(chunkwise::gla_layer(args, no_gla));
}

KERNEL_TEST(prefix_sum, TakesNullPointersToNothing) {
  EXPECT_NO_THROW(chunkwise::prefix_sums::prefix_sum({.length = 0, .chunk = 4}));
}

// ---- Any alignment of an element, with 16-byte accesses if all arrays allow them, and single
// elements otherwise ----

// Runs a problem with one array moved by one element. The result must be right, or the call must be
// rejected by a message that names the array.
template <typename OnDevice, typename Problem, typename Launch, typename Place>
void expect_right_when_moved(const Problem& problem, const std::string& name, std::size_t count,
                             const Launch& launch, const Place& place,
                             ladder::Arithmetic arithmetic) {
  SCOPED_TRACE(name + " begins one element later");
  const OnDevice on_device(cuda(), problem);
  auto args = on_device.args();
  auto*& pointer = place(args);
  using Element =
      std::remove_const_t<std::remove_pointer_t<std::remove_reference_t<decltype(pointer)>>>;
  ASSERT_NE(pointer, nullptr);
  std::vector<Element> elements(count + 1);
  cuda().download(elements.data() + 1, pointer, count * sizeof(Element));
  const GuardedArray moved(cuda(), name, elements, Role::kInput);
  auto* const original = const_cast<Element*>(pointer);
  pointer = static_cast<Element*>(moved.pointer()) + 1;
  try {
    launch(args);
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find(name), std::string::npos) << error.what();
    return;
  }
  elements = contents<Element>(moved, count + 1);
  cuda().upload(original, elements.data() + 1, count * sizeof(Element));
  EXPECT_TRUE(is_right(problem, on_device.download(), arithmetic));
}

// All arrays in turn, of the forward pass and of the gradients. Rows are whole 16-byte vectors, so
// that only a pointer can rule them out.
void expect_right_wherever_arrays_begin(const std::string& name, const WkvCase& c) {
  SCOPED_TRACE(name + " " + name_of(c));
  const Implementation implementation = find_implementation(name);
  const ladder::WkvProblem problem = make_problem(c);
  const std::size_t rows = c.B * c.T * c.H, states = c.B * c.H * c.K * c.V;
  ladder::with_forward(c.recurrence, c.precision, [&]<typename Op, typename Args>() {
    const auto launch = ladder::launcher<Op, Args>(implementation);
    const auto check = [&](const char* array, std::size_t count, const auto& place) {
      expect_right_when_moved<ladder::OnDevice<Op, Args>>(
          problem, array, count, launch, place, arithmetic_of(implementation, c.precision));
    };
    check(
        "q", rows * c.K, [](auto& a) -> auto& { return a.q; });
    check(
        "k", rows * c.K, [](auto& a) -> auto& { return a.k; });
    check(
        "v", rows * c.V, [](auto& a) -> auto& { return a.v; });
    check(
        "log_w", rows * c.K, [](auto& a) -> auto& { return a.log_w; });
    check(
        "o", rows * c.V, [](auto& a) -> auto& { return a.o; });
    check(
        "initial_state", states, [](auto& a) -> auto& { return a.initial_state; });
    check(
        "final_state", states, [](auto& a) -> auto& { return a.final_state; });
    if (c.recurrence == Recurrence::kWkv)
      check(
          "u", c.H * c.K, [](auto& a) -> auto& { return a.u; });
  });
}

WkvCase whole_pieces(Recurrence recurrence, Precision precision) {
  WkvCase c{.recurrence = recurrence, .B = 1, .T = 37, .H = 2, .K = 64, .V = 64};
  c.initial_state = c.final_state = true;
  c.precision = precision;
  return c;
}

KERNEL_TEST(wkv_chunkwise, IsRightWhereverArraysBegin) {
  expect_right_wherever_arrays_begin("wkv_chunkwise",
                                     whole_pieces(Recurrence::kWkv, Precision::kBf16));
  expect_right_wherever_arrays_begin("wkv_chunkwise",
                                     whole_pieces(Recurrence::kGla, Precision::kFp32));
}

KERNEL_TEST(gla_five_steps, IsRightWhereverArraysBegin) {
  expect_right_wherever_arrays_begin("gla_five_steps",
                                     whole_pieces(Recurrence::kGla, Precision::kFp32));
}

KERNEL_TEST(chunkwise_backward, IsRightWhereverArraysBegin) {
  const Implementation implementation = find_implementation("wkv_chunkwise_backward");
  for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
    WkvCase c = whole_pieces(Recurrence::kWkv, precision);
    c.T = 18;
    c.H = 1;
    const ladder::WkvGradProblem problem = make_grad_problem(c);
    const std::size_t qs = c.T * c.K, vs = c.T * c.V, states = c.K * c.V, heads = c.K;
    ladder::with_backward(c.recurrence, precision, [&]<typename Op, typename Args>() {
      const auto launch = ladder::launcher<Op, Args>(implementation);
      const auto check = [&](const char* array, std::size_t count, const auto& place) {
        expect_right_when_moved<ladder::OnDevice<Op, Args>>(
            problem, array, count, launch, place, arithmetic_of(implementation, precision));
      };
      check(
          "q", qs, [](auto& a) -> auto& { return a.forward.q; });
      check(
          "k", qs, [](auto& a) -> auto& { return a.forward.k; });
      check(
          "v", vs, [](auto& a) -> auto& { return a.forward.v; });
      check(
          "log_w", qs, [](auto& a) -> auto& { return a.forward.log_w; });
      check(
          "u", heads, [](auto& a) -> auto& { return a.forward.u; });
      check(
          "initial_state", states, [](auto& a) -> auto& { return a.forward.initial_state; });
      check(
          "d_o", vs, [](auto& a) -> auto& { return a.d_o; });
      check(
          "d_final_state", states, [](auto& a) -> auto& { return a.d_final_state; });
      check(
          "dq", qs, [](auto& a) -> auto& { return a.dq; });
      check(
          "dk", qs, [](auto& a) -> auto& { return a.dk; });
      check(
          "dv", vs, [](auto& a) -> auto& { return a.dv; });
      check(
          "d_log_w", qs, [](auto& a) -> auto& { return a.d_log_w; });
      check(
          "du", heads, [](auto& a) -> auto& { return a.du; });
      check(
          "d_initial_state", states, [](auto& a) -> auto& { return a.d_initial_state; });
    });
  }
}

KERNEL_TEST(linear_attention_chunkwise, IsRightWhereverArraysBegin) {
  const Implementation implementation = find_implementation("linear_attention_chunkwise");
  for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
    for (const bool plain : {false, true}) {
      LinearAttentionCase c{.B = 1, .T_q = 70, .T_k = 70, .H = 2, .K = 64, .V = 64};
      c.precision = precision;
      c.normalize = !plain;
      if (plain) c.feature_map = ladder::FeatureMap::kIdentity;
      SCOPED_TRACE(name_of(c));
      const ladder::LinearAttentionProblem problem = make_problem(c);
      const std::size_t count = c.T_q * c.H * c.K;
      using Op = ladder::LinearAttention;
      ladder::with_storage<Op>(to_string(precision), [&]<typename Args>() {
        const auto launch = ladder::launcher<Op, Args>(implementation);
        const auto check = [&](const char* array, const auto& place) {
          expect_right_when_moved<ladder::OnDevice<Op, Args>>(
              problem, array, count, launch, place, arithmetic_of(implementation, precision));
        };
        check(
            "q", [](auto& a) -> auto& { return a.q; });
        check(
            "k", [](auto& a) -> auto& { return a.k; });
        check(
            "v", [](auto& a) -> auto& { return a.v; });
        check(
            "o", [](auto& a) -> auto& { return a.o; });
      });
    }
  }
}

}  // namespace
