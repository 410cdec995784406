// With ladder::cuda::call.batch_invariant, a sequence's result does not depend on the batch size.
// Launchers cut time into as many segments as fill the device. Here two batches leave less room on
// a small device, and a long T gives more than two segments, whose sums round.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "common/cuda/call.hpp"
#include "common/emulator/include/emulator/smaller_device.hpp"
#include "common/operators/linear_attention/operator.hpp"
#include "common/operators/wkv/operator.hpp"
#include "common/testing/tests.hpp"

namespace {

// Compares the output bytes of a batch of one with those of a batch of two equal sequences.
template <typename Op>
void expect_same_in_a_larger_batch(const ladder::Implementation& i, typename Op::Case c) {
  c.B = 1;
  const typename Op::Problem one(c);
  c.B = 2;
  typename Op::Problem two(c);
  for (const auto& [name, count] : one.inputs()) {
    const bool once = two[name].size() == one[name].size();  // u
    two[name] = one[name];
    if (!once) two[name].insert(two[name].end(), one[name].begin(), one[name].end());
  }
  const auto of_one = ladder::testing::computed(i, one);
  const auto of_two = ladder::testing::computed(i, two);
  ASSERT_EQ(of_two.size(), 2 * of_one.size());
  EXPECT_TRUE(std::equal(of_one.begin(), of_one.end(), of_two.begin()))
      << i.name << " gives a sequence another result in a batch of two: " << name_of(c);
}

// Atomics add in any order. `best` considers the batch when it chooses, so the library gives it one
// sequence (library/README.md).
bool promises_nothing(const std::string& kernel) {
  return kernel == "wkv_atomic" || kernel == "causal_dot_product" ||
         kernel == "wkv_chunkwise_time_parallel" || kernel.starts_with("best_");
}

// Tests all kernels that take the case. It has no state, so a batch is half of the only output.
template <typename Op>
int ask_all(const typename Op::Case& c) {
  int asked = 0;
  for (const ladder::Implementation& i : ladder::implementations()) {
    if (i.device != ladder::DeviceKind::kCuda || promises_nothing(i.name) ||
        !ladder::operator_of<Op>().computes(i, ladder::storage_of(c)))
      continue;
    try {
      expect_same_in_a_larger_batch<Op>(i, c);
      ++asked;
    } catch (const std::invalid_argument&) {
      // a kernel without that option
    }
  }
  return asked;
}

TEST(BatchInvariance, HoldsForEveryKernelThatCutsTime) {
  const ladder::Implementation any = ladder::find_implementation("wkv_shared_mem");
  if (ladder::testing::device_is_missing(any)) return;
  if (ladder::device(any.device).back_end() != "emulator")
    return ladder::testing::skip("only the emulator can be a device with few multiprocessors");
  const emulator::SmallerDevice small(emulator::SmallerDevice::kMultiprocessors, "2");
  ladder::cuda::call.batch_invariant = true;
  using ladder::Precision;
  for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
    for (const std::int64_t K : {64, 128}) {
      EXPECT_GT(ask_all<ladder::Wkv>({.T = 390, .H = 1, .K = K, .V = 64, .precision = precision}),
                2);
      EXPECT_GT(ask_all<ladder::Gla>({.recurrence = ladder::Recurrence::kGla,
                                      .T = 390,
                                      .H = 1,
                                      .K = K,
                                      .V = 64,
                                      .precision = precision}),
                1);
      for (const bool plain : {true, false}) {
        ladder::LinearAttentionCase c{
            .T_q = 390, .T_k = 390, .H = 1, .K = K, .V = 64, .precision = precision};
        if (plain) c.feature_map = ladder::FeatureMap::kIdentity, c.normalize = false;
        EXPECT_GT(ask_all<ladder::LinearAttention>(c), 0);
      }
    }
  }
  ladder::cuda::call.batch_invariant = false;
}

}  // namespace
