// The last of many batches, whose elements begin at 2^31 on a GPU, gives what it gives alone: no kernel counts elements in 32 bits. In the
// emulator there are three batches, which shows that the test itself is right.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "common/core/registry.hpp"
#include "common/cuda/check.hpp"
#include "common/operators/attention/attention.hpp"
#include "common/operators/linear_attention/linear_attention.hpp"
#include "common/operators/wkv/wkv.hpp"

namespace {

using ladder::bfloat16;

#ifdef LADDER_LARGE_ARRAYS
constexpr std::int64_t kBatches = 1025, kSteps = 1024,
                       kHeads = 32;  // batch 1024 begins at element 2^31
#else
constexpr std::int64_t kBatches = 3, kSteps = 40, kHeads = 2;
#endif
constexpr std::int64_t kHeadSize = 64;

// An array of both problems: all batches, and the last one alone.
struct Array {
  std::string name;
  bool output = false;
  std::size_t bytes = 0, all_count = 0, alone_count = 0;  // of an element; elements
  char *all = nullptr, *alone = nullptr;

  char* last() const { return all + (all_count - alone_count) * bytes; }
};

bool is_taken(const std::string& name, ladder::Presence presence) {
  return presence == ladder::Presence::kRequired || name == "u" || name == "du";
}

template <typename Args, typename Use>
void each_array(Args& args, const Use& use) {
  Args::arrays(args, [&](const char* name, auto& pointer, const ladder::Axes& axes,
                         ladder::Presence presence = ladder::Presence::kRequired) {
    if (!is_taken(name, presence)) return;
    std::size_t count = 1;
    for (const ladder::Axis& axis : axes)
      count *= static_cast<std::size_t>(axis.size);
    use(name, pointer, count);
  });
}

template <typename Element>
std::vector<Element> values_for(const std::string& name, std::size_t count, std::mt19937& random) {
  std::uniform_real_distribution<float> uniform(-0.5f, 0.5f);
  std::vector<Element> values(count);
  for (Element& value : values) {
    const float x = name == "log_w" ? -std::abs(uniform(random)) : uniform(random);
    if constexpr (std::is_same_v<Element, bfloat16>)
      value = ladder::to_bfloat16(x);
    else
      value = static_cast<Element>(x);
  }
  return values;
}

template <typename Element>
std::vector<float> read(const char* device, std::size_t count) {
  std::vector<Element> values(count);
  CUDA_CHECK(cudaMemcpy(values.data(), device, count * sizeof(Element), cudaMemcpyDeviceToHost));
  std::vector<float> result;
  for (const Element& value : values)
    result.push_back(ladder::to_float(value));
  return result;
}

std::vector<float> read(const Array& array, const char* from) {
  return array.bytes == sizeof(float) ? read<float>(from, array.alone_count)
                                      : read<bfloat16>(from, array.alone_count);
}

template <typename Args>
class Problem {
 public:
  Problem(const Args& all, const Args& alone) : all_(all), alone_(alone) {
    std::mt19937 random(1);
    each_array(all_, [&](const char* name, auto& pointer, std::size_t count) {
      using Element = std::remove_reference_t<decltype(*pointer)>;
      arrays_.push_back({name, !std::is_const_v<Element>, sizeof(Element), count});
    });
    std::size_t at = 0;
    each_array(alone_, [&](const char* name, auto& pointer, std::size_t count) {
      using Element = std::remove_const_t<std::remove_reference_t<decltype(*pointer)>>;
      Array& array = arrays_[at++];
      array.alone_count = count;
      CUDA_CHECK(cudaMalloc(&array.all, array.all_count * array.bytes));
      CUDA_CHECK(cudaMalloc(&array.alone, count * array.bytes));
      pointer = reinterpret_cast<Element*>(array.alone);
      if (array.output) return;
      CUDA_CHECK(cudaMemset(array.all, 0, array.all_count * array.bytes));
      const auto values = values_for<Element>(name, count, random);
      for (char* to : {array.alone, array.last()})
        CUDA_CHECK(cudaMemcpy(to, values.data(), count * array.bytes, cudaMemcpyHostToDevice));
    });
    at = 0;
    each_array(all_, [&](const char*, auto& pointer, std::size_t) {
      using Element = std::remove_const_t<std::remove_reference_t<decltype(*pointer)>>;
      pointer = reinterpret_cast<Element*>(arrays_[at++].all);
    });
  }

  ~Problem() {
    for (const Array& array : arrays_) {
      cudaFree(array.all);
      cudaFree(array.alone);
    }
  }

  Problem(const Problem&) = delete;
  Problem& operator=(const Problem&) = delete;

  // What the launcher writes for the last batch is what it writes for it alone, and the first batch, all zeros, gives zeros.
  template <typename Launcher>
  void check(const Launcher& launcher) {
    for (const Array& array : arrays_) {
      if (!array.output) continue;
      CUDA_CHECK(cudaMemset(array.all, 0xff, array.all_count * array.bytes));  // NaN
      CUDA_CHECK(cudaMemset(array.alone, 0xff, array.alone_count * array.bytes));
    }
    launcher(alone_);
    launcher(all_);
    CUDA_CHECK(cudaDeviceSynchronize());
    for (const Array& array : arrays_) {
      if (!array.output) continue;
      const std::vector<float> alone = read(array, array.alone), last = read(array, array.last());
      float largest = 0.0f, difference = 0.0f;
      for (std::size_t i = 0; i < alone.size(); ++i) {
        largest = std::fmax(largest, std::abs(alone[i]));
        difference =
            last[i] == last[i] ? std::fmax(difference, std::abs(last[i] - alone[i])) : INFINITY;
      }
      EXPECT_GT(largest, 0.0f) << array.name;
      EXPECT_LE(difference, 0.01f * largest) << array.name << " of the last batch";
      if (array.all_count == array.alone_count || array.name == "lse") continue;
      for (const float value : read(array, array.all))
        ASSERT_EQ(value, 0.0f) << array.name << " of the first batch";
    }
  }

 private:
  Args all_, alone_;
  std::vector<Array> arrays_;
};

template <typename Op, typename Args>
void all_kernels_reach(Args all, Args alone, int least) {
  std::size_t needed = 0, free = 0, total = 0;
  each_array(all, [&](const char*, auto& pointer, std::size_t count) {
    needed += count * sizeof(*pointer);
  });
  CUDA_CHECK(cudaMemGetInfo(&free, &total));
  if (needed + needed / 4 > free)
    GTEST_SKIP() << "needs " << needed / 1'000'000'000 << " GB of device memory and a quarter more";
  Problem<Args> problem(all, alone);
  int reached = 0;
  for (const ladder::Implementation& each : ladder::implementations()) {
    const auto launcher = ladder::launcher<Op, Args>(each);
    if (launcher == nullptr || each.device != ladder::DeviceKind::kCuda) continue;
    SCOPED_TRACE(each.name);
    try {
      problem.check(launcher);
      ++reached;
    } catch (const std::invalid_argument& refusal) {  // a grid that cannot count so many, say
      std::printf("%s: %s\n", each.name.c_str(), refusal.what());
    } catch (const ladder::CudaError& error) {  // a kernel's own scratch memory comes on top
      if (cudaGetLastError(), std::string(error.what()).find("out of memory") == std::string::npos)
        throw;
      std::printf("%s: its scratch memory does not fit\n", each.name.c_str());
    }
  }
  EXPECT_GE(reached, least);
}

template <typename Args>
Args recurrence(std::int64_t B) {
  Args args;
  args.B = B, args.T = kSteps, args.H = kHeads, args.K = args.V = kHeadSize;
  args.log_w_stride_B = kSteps * kHeads * kHeadSize;
  args.log_w_stride_T = kHeads * kHeadSize;
  return args;
}

template <typename Args>
Args attention(std::int64_t B) {
  Args args;
  args.B = B, args.T_q = args.T_k = kSteps, args.H_q = args.H_kv = kHeads, args.D = kHeadSize;
  args.causal = true;
  args.scale = 0.125f;
  return args;
}

template <typename Args>
Args linear(std::int64_t B) {
  Args args;
  args.B = B, args.T_q = args.T_k = kSteps, args.H = kHeads, args.K = args.V = kHeadSize;
  return args;
}

TEST(LargeArrays, Wkv) {
  all_kernels_reach<ladder::Wkv>(recurrence<ladder::WkvArgs>(kBatches),
                                 recurrence<ladder::WkvArgs>(1), 6);
}

TEST(LargeArrays, WkvInBf16) {
  all_kernels_reach<ladder::Wkv>(recurrence<ladder::WkvBf16Args>(kBatches),
                                 recurrence<ladder::WkvBf16Args>(1), 3);
}

TEST(LargeArrays, WkvBackwardInBf16) {
  ladder::BasicWkvGradArgs<bfloat16> all, alone;
  all.forward = recurrence<ladder::WkvBf16Args>(kBatches);
  alone.forward = recurrence<ladder::WkvBf16Args>(1);
  all_kernels_reach<ladder::WkvBackward>(all, alone, 1);
}

TEST(LargeArrays, LinearAttention) {
  all_kernels_reach<ladder::LinearAttention>(linear<ladder::LinearAttentionArgs>(kBatches),
                                             linear<ladder::LinearAttentionArgs>(1), 2);
}

TEST(LargeArrays, LinearAttentionInBf16) {
  all_kernels_reach<ladder::LinearAttention>(linear<ladder::LinearAttentionBf16Args>(kBatches),
                                             linear<ladder::LinearAttentionBf16Args>(1), 1);
}

TEST(LargeArrays, AttentionInBf16) {
  all_kernels_reach<ladder::Attention>(attention<ladder::AttentionBf16Args>(kBatches),
                                       attention<ladder::AttentionBf16Args>(1), 3);
}

TEST(LargeArrays, AttentionBackwardInBf16) {
  ladder::AttentionGradBf16Args all, alone;
  all.forward = attention<ladder::AttentionBf16Args>(kBatches);
  alone.forward = attention<ladder::AttentionBf16Args>(1);
  all_kernels_reach<ladder::AttentionBackward>(all, alone, 1);
}

}  // namespace
