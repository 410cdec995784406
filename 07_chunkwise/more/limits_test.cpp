// Sizes that a kernel's integers or a grid cannot count are rejected by a message, before anything
// is launched. No machine has enough memory for these sizes, so nothing is allocated here.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "07_chunkwise/01_prefix_sum/prefix_sum.hpp"
#include "07_chunkwise/05_gla_steps/gla_steps.hpp"
#include "07_chunkwise/06_gla_layer/gla_layer.hpp"
#include "common/operators/linear_attention/operator.hpp"
#include "common/operators/wkv/operator.hpp"
#include "common/testing/tests.hpp"

namespace {

using ladder::BadInput;
using ladder::find_implementation;
using ladder::Implementation;
using ladder::Precision;
using ladder::Recurrence;
using ladder::testing::device_is_missing;
using ladder::testing::expect_refused;

constexpr std::int64_t k2To20 = std::int64_t{1} << 20, k2To30 = std::int64_t{1} << 30;

// A decay per head, because the strides of a decay per token would depend on the sizes.
ladder::WkvCase small(Recurrence recurrence, Precision precision) {
  ladder::WkvCase c{.recurrence = recurrence, .B = 1, .T = 2, .H = 1, .K = 4, .V = 4};
  c.decay_per_head = true;
  c.initial_state = c.final_state = true;
  c.precision = precision;
  return c;
}

template <typename Op, typename Args, typename Launch>
void expect_nothing_written(const typename Op::Problem& problem, const Launch& launch,
                            const std::vector<BadInput<Args>>& bad) {
  const ladder::OnDevice<Op, Args> on_device(ladder::device(ladder::DeviceKind::kCuda), problem);
  expect_refused(bad, on_device.args(), launch);
}

TEST(wkv_chunkwise, RefusesMoreThanItCanCount) {
  for (const char* name : {"wkv_chunkwise", "wkv_chunkwise_fused", "wkv_chunkwise_time_parallel"}) {
    const Implementation implementation = find_implementation(name);
    if (device_is_missing(implementation)) return;
    for (const Recurrence recurrence : {Recurrence::kWkv, Recurrence::kGla}) {
      for (const Precision precision :
           {Precision::kFp32, Precision::kBf16, Precision::kBf16Fp32Decay, Precision::kFp16}) {
        ladder::with_forward(recurrence, precision, [&]<typename Op, typename Args>() {
          const auto problem = make_problem(small(recurrence, precision));
          const std::vector<BadInput<Args>> bad = {
              {"K is 513;", [](Args& a) { a.K = 513; }},
              {"V is 1048577;", [](Args& a) { a.V = k2To20 + 1; }},
              {"T is 1073741825;", [](Args& a) { a.T = k2To30 + 1; }},
              {"H is 268435457;", [](Args& a) { a.H = k2To30 / 4 + 1; }},  // K = 4
              {"H is 1025;",
               [](Args& a) {
                 a.V = k2To20;
                 a.H = 1025;
               }},
              {"536870913 sequences", [](Args& a) { a.B = k2To30 / 2 + 1; }},
              {"536870913 sequences",
               [](Args& a) {
                 static const std::int64_t cu_seqlens[1] = {};
                 a.cu_seqlens = cu_seqlens;
                 a.sequences = k2To30 / 2 + 1;
               }},
              {"2 heads",
               [](Args& a) {
                 a.B = k2To30 / 4 + 1;
                 a.H = 2;
               }},
          };
          expect_nothing_written<Op, Args>(problem, ladder::launcher<Op, Args>(implementation),
                                           bad);
        });
      }
    }
  }
}

TEST(chunkwise_backward, RefusesMoreThanItCanCount) {
  for (const auto& [name, recurrence] : {std::pair{"wkv_chunkwise_backward", Recurrence::kWkv},
                                         {"gla_chunkwise_backward", Recurrence::kGla},
                                         {"wkv_gradient_segments", Recurrence::kWkv},
                                         {"gla_gradient_segments", Recurrence::kGla}}) {
    const Implementation implementation = find_implementation(name);
    if (device_is_missing(implementation)) return;
    for (const Precision precision :
         {Precision::kFp32, Precision::kBf16, Precision::kBf16Fp32Decay}) {
      ladder::with_backward(
          recurrence, precision, [&, recurrence = recurrence]<typename Op, typename Args>() {
            const auto problem = make_grad_problem(small(recurrence, precision));
            const std::vector<BadInput<Args>> bad = {
                {"T is 1073741825;", [](Args& a) { a.forward.T = k2To30 + 1; }},
                {"K is 65536;", [](Args& a) { a.forward.K = 65536; }},
                {"V is 65536;", [](Args& a) { a.forward.V = 65536; }},
                // 256 * 256 tiles, one more than a grid's y allows
                {"K is 16384 and V is 16384;", [](Args& a) { a.forward.K = a.forward.V = 16384; }},
                {"H is 268435457;", [](Args& a) { a.forward.H = k2To30 / 4 + 1; }},
                {"B is 2147483648;", [](Args& a) { a.forward.B = 2 * k2To30; }},
                {"B is 1073741824;",
                 [](Args& a) {
                   a.forward.B = k2To30;
                   a.forward.T = 64;
                 }},
                // Two tiles of K, and more dv than can be added up.
                {"B * T * H * V is ",
                 [](Args& a) {
                   a.forward.K = 65;
                   a.forward.V = 16384;
                   a.forward.T = 64;
                   a.forward.B = k2To20;
                 }},
            };
            expect_nothing_written<Op, Args>(problem, ladder::launcher<Op, Args>(implementation),
                                             bad);
          });
    }
  }
}

TEST(linear_attention_chunkwise, RefusesMoreThanItCanCount) {
  for (const char* name : {"linear_attention_chunkwise", "linear_attention_chunk_walk",
                           "linear_attention_chunk_states"}) {
    const Implementation implementation = find_implementation(name);
    if (device_is_missing(implementation)) return;
    for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
      ladder::LinearAttentionCase c{.B = 1, .T_q = 2, .T_k = 2, .H = 1, .K = 4, .V = 4};
      c.precision = precision;
      using Op = ladder::LinearAttention;
      ladder::with_storage<Op>(to_string(precision), [&]<typename Args>() {
        const auto launch = ladder::launcher<Op, Args>(implementation);
        if (launch == nullptr) return;  // fp32 only
        std::vector<BadInput<Args>> bad = {
            {"K is 257;", [](Args& a) { a.K = 257; }},
            {"V is 1048577;", [](Args& a) { a.V = k2To20 + 1; }},
            {"B is 65536 ", [](Args& a) { a.B = 65536; }},
            {"H is 65536;", [](Args& a) { a.H = 65536; }},
        };
        if (std::string(name) == "linear_attention_chunk_states") {
          bad.push_back({"T or V", [](Args& a) { a.T_q = std::int64_t{1} << 35; }});
          bad.push_back({"B * H * K * V", [](Args& a) {
                           a.B = a.H = 65535;
                           a.K = 256;
                         }});
        }
        expect_nothing_written<Op, Args>(make_problem(c), launch, bad);
      });
    }
  }
}

TEST(gla_five_steps, RefusesMoreThanItCanCount) {
  if (device_is_missing(find_implementation("gla_five_steps"))) return;
  using Args = ladder::WkvArgs;
  const auto problem = make_problem(small(Recurrence::kGla, Precision::kFp32));
  const std::vector<BadInput<Args>> bad = {
      {"K is 257;", [](Args& a) { a.K = 257; }},
      {"T is 1073741825;", [](Args& a) { a.T = k2To30 + 1; }},
      {"V is 2097121;", [](Args& a) { a.V = 2097121; }},
      {"B * H is ", [](Args& a) { a.B = 2 * k2To30; }},
      {"B * H is ",
       [](Args& a) {
         a.T = 0;
         a.H = 2 * k2To30;
       }},
      // 2^31 chunks of 64 steps of 4 channels, which are more blocks of 16 queries than a grid can
      // count
      {"B * H * T", [](Args& a) { a.B = 2 * k2To30 - 1; }},
      {"B * H * T",
       [](Args& a) {
         a.B = k2To20;
         a.T = k2To20;
       }},
  };
  expect_nothing_written<ladder::Gla, Args>(
      problem, [](const Args& args) { chunkwise::gla_steps::gla(args); }, bad);
  expect_nothing_written<ladder::Gla, Args>(
      problem, [](const Args& args) { chunkwise::gla_steps::gla(args, 65552); },
      {{"chunk is 65552;", [](Args&) {}}});
}

TEST(gla_layer, RefusesMoreThanItCanCount) {
  if (device_is_missing({.device = ladder::DeviceKind::kCuda})) return;
  float array[1] = {};
  ladder::GlaLayerArgs args;
  args.B = args.T = args.H = args.K = args.V = args.d_model = args.rank = 1;
  args.x = args.w_q = args.w_k = args.w_v = args.w_1 = args.w_2 = args.b = args.norm = args.w_g =
      args.w_o = array;
  args.y = array;
  const auto refuses = [&](const char* what, auto spoil) {
    ladder::GlaLayerArgs bad = args;
    spoil(bad);
    try {
      chunkwise::gla_layer(bad, [](const ladder::WkvArgs&) {});
      ADD_FAILURE() << what << " was accepted";
    } catch (const std::invalid_argument& error) {
      EXPECT_NE(std::string(error.what()).find(what), std::string::npos) << error.what();
    }
  };
  refuses("H * K", [](auto& a) { a.K = 1048561; });
  refuses("H * V", [](auto& a) { a.V = 1048561; });
  refuses("d_model", [](auto& a) { a.d_model = 1048561; });
  refuses("rank", [](auto& a) { a.rank = 1048561; });
  refuses("B * T * H is", [](auto& a) { a.B = 2 * k2To30; });
  refuses("B * T * H * K is", [](auto& a) {
    a.B = k2To20;
    a.K = k2To20 / 2;
  });
}

TEST(prefix_sum, RefusesMoreThanItCanCount) {
  if (device_is_missing({.device = ladder::DeviceKind::kCuda})) return;
  std::int32_t array[1] = {};
  using chunkwise::prefix_sums::PrefixSumArgs;
  const auto refuses = [&](const char* what, std::int64_t length, std::int64_t chunk) {
    const PrefixSumArgs args{
        .length = length, .chunk = chunk, .x = array, .sums = array, .carry = array};
    try {
      chunkwise::prefix_sums::prefix_sum(args);
      ADD_FAILURE() << what << " was accepted";
    } catch (const std::invalid_argument& error) {
      EXPECT_NE(std::string(error.what()).find(what), std::string::npos) << error.what();
    }
  };
  refuses("length is 2147483649;", 2 * k2To30 + 1, 4);
  refuses("chunk is 2147483649;", 4, 2 * k2To30 + 1);
}

}  // namespace
