// The last of many batches, heads or rows, beyond element 2^31, must give the same result as alone,
// so that no kernel counts elements in 32 bits. The emulator runs the last blocks only.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "00_warmup/11_rows/rows.hpp"
#include "00_warmup/matmul.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/check.hpp"
#include "common/operators/attention/attention.hpp"
#include "common/operators/linear_attention/linear_attention.hpp"
#include "common/operators/wkv/wkv.hpp"
#ifndef LADDER_LARGE_ARRAYS
#include "emulator/emulator.hpp"
#endif

namespace {

using ladder::bfloat16;

constexpr std::int64_t kHeadSize = 64;
struct Sizes {
  std::int64_t B, T, H;
};
#ifdef LADDER_LARGE_ARRAYS
constexpr bool kSparse = false;
constexpr Sizes kManyBatches{1025, 1024, 32};  // batch 1024 begins at element 2^31
void run_last_blocks(unsigned) {}
#else
constexpr bool kSparse = true;
constexpr Sizes kManyBatches{64529, 20, 26};  // the same, as a grid has at most 65,535 of them
using emulator::run_last_blocks;
#endif
// The last head's steps 2 and 4, and its only step, begin beyond elements 2^31 and 2^32.
constexpr Sizes kManyHeads{1, 5, (1 << 24) + 1}, kManyColumns{1, 1, (1 << 26) + 1};
constexpr Sizes one_of(Sizes many) {
  return many.B > 1 ? Sizes{1, many.T, many.H} : Sizes{1, many.T, 1};
}

// An array of both problems. The last batch, head (of each step) or row is also computed alone.
struct Array {
  std::string name;
  bool output = false;
  std::size_t rows = 1;
  std::size_t bytes = 0, all_count = 0, alone_count = 0;  // of an element; elements
  char *all = nullptr, *alone = nullptr;

  std::size_t row_bytes() const { return alone_count / rows * bytes; }
  char* last(std::size_t row) const {
    return all + (row + 1) * (all_count / rows) * bytes - row_bytes();
  }
};

template <typename Op>
bool is_taken(const std::string& name, ladder::Presence presence) {
  const bool is_wkv = std::is_same_v<Op, ladder::Wkv> || std::is_same_v<Op, ladder::WkvBackward>;
  return presence == ladder::Presence::kRequired || (is_wkv && (name == "u" || name == "du"));
}

template <typename Op, typename Args, typename Use>
void each_array(Args& args, const Use& use) {
  Args::arrays(args, [&](const char* name, auto& pointer, const ladder::Axes& axes,
                         ladder::Presence presence = ladder::Presence::kRequired) {
    if (!is_taken<Op>(name, presence)) return;
    std::size_t count = 1;
    for (const ladder::Axis& axis : axes)
      count *= static_cast<std::size_t>(axis.size);
    use(name, pointer, count, axes);
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

std::vector<float> read(const Array& array, const char* from, std::size_t count) {
  return array.bytes == sizeof(float) ? read<float>(from, count) : read<bfloat16>(from, count);
}

template <typename Args>
const auto& forward_of(const Args& args) {
  if constexpr (requires { args.forward; }) {
    return args.forward;
  } else {
    return args;
  }
}

template <typename Args>
bool has_as_many_batches(const Args& all, const Args& alone) {
  if constexpr (requires { forward_of(all).B; }) {
    return forward_of(all).B == forward_of(alone).B;
  } else {
    return false;
  }
}

// Kernels whose last blocks read the results of blocks of other rows or steps, or loop over all
// sequences. The last blocks of kernels that add by atomics add only part of a batch to an o that
// is zeroed before.
bool needs_other_blocks(const std::string& name, bool of_heads) {
  const std::vector<std::string> names = {
      "wkv_chunkwise_time_parallel", "wkv_segments",   "linear_attention_chunk_states",
      "attention_backward_scalar",   "attention_sm90", "best_attention"};
  const bool adds = name == "wkv_atomic" || name == "causal_dot_product";
  return kSparse && ((adds && !of_heads) || std::count(names.begin(), names.end(), name) > 0);
}

template <typename Op, typename Args>
class Problem {
 public:
  // `last_blocks` along each extent of a grid; 0 runs all.
  Problem(const Args& all, const Args& alone, unsigned last_blocks)
      : all_(all), alone_(alone), last_blocks_(last_blocks) {
    std::mt19937 random(1);
    run_last_blocks(last_blocks_);
    const bool of_heads = has_as_many_batches(all, alone);
    each_array<Op>(
        all_, [&](const char* name, auto& pointer, std::size_t count, const ladder::Axes& axes) {
          using Element = std::remove_reference_t<decltype(*pointer)>;
          std::size_t rows = 1;
          for (const ladder::Axis& axis : axes) {
            if (of_heads && axis.name == std::string("t"))
              rows = static_cast<std::size_t>(axis.size);
          }
          arrays_.push_back({name, !std::is_const_v<Element>, rows, sizeof(Element), count});
        });
    std::size_t at = 0;
    each_array<Op>(alone_, [&](const char* name, auto& pointer, std::size_t count, auto&) {
      using Element = std::remove_const_t<std::remove_reference_t<decltype(*pointer)>>;
      Array& array = arrays_[at++];
      array.alone_count = count;
      CUDA_CHECK(cudaMalloc(&array.all, array.all_count * array.bytes));
      CUDA_CHECK(cudaMalloc(&array.alone, count * array.bytes));
      pointer = reinterpret_cast<Element*>(array.alone);
      if (array.output) return;
      CUDA_CHECK(cudaMemset(array.all, 0, array.all_count * array.bytes));
      const auto values = values_for<Element>(name, count, random);
      CUDA_CHECK(
          cudaMemcpy(array.alone, values.data(), count * array.bytes, cudaMemcpyHostToDevice));
      for (std::size_t row = 0; row < array.rows; ++row)
        CUDA_CHECK(cudaMemcpy(array.last(row), array.alone + row * array.row_bytes(),
                              array.row_bytes(), cudaMemcpyDeviceToDevice));
    });
    at = 0;
    each_array<Op>(all_, [&](const char*, auto& pointer, std::size_t, auto&) {
      using Element = std::remove_const_t<std::remove_reference_t<decltype(*pointer)>>;
      pointer = reinterpret_cast<Element*>(arrays_[at++].all);
    });
  }

  ~Problem() {
    for (const Array& array : arrays_) {
      cudaFree(array.all);
      cudaFree(array.alone);
    }
    run_last_blocks(0);
  }

  Problem(const Problem&) = delete;
  Problem& operator=(const Problem&) = delete;

  // The last batch or head must equal the result for it alone, and the first batch, all zeros, must
  // give zeros. If only the last blocks run, elements that they do not write are ignored.
  template <typename Launcher>
  void check(const Launcher& launcher) {
    run_last_blocks(last_blocks_);
    for (const Array& array : arrays_) {
      if (!array.output) continue;
      CUDA_CHECK(cudaMemset(array.alone, 0xff, array.alone_count * array.bytes));  // NaN
      CUDA_CHECK(cudaMemset(array.all, 0xff, array.all_count * array.bytes));
      for (std::size_t row = 0; row < array.rows; ++row)
        CUDA_CHECK(cudaMemset(array.last(row), 0xff, array.row_bytes()));
    }
    run_last_blocks(0);
    launcher(alone_);
    run_last_blocks(last_blocks_);
    launcher(all_);
    CUDA_CHECK(cudaDeviceSynchronize());
    for (const Array& array : arrays_) {
      if (!array.output) continue;
      const std::vector<float> alone = read(array, array.alone, array.alone_count);
      std::vector<float> last;
      for (std::size_t row = 0; row < array.rows; ++row) {
        const auto values = read(array, array.last(row), array.alone_count / array.rows);
        last.insert(last.end(), values.begin(), values.end());
      }
      float largest = 0.0f, difference = 0.0f;
      for (std::size_t i = 0; i < alone.size(); ++i) {
        if (kSparse && last[i] != last[i]) continue;
        largest = std::fmax(largest, std::abs(alone[i]));
        difference =
            last[i] == last[i] ? std::fmax(difference, std::abs(last[i] - alone[i])) : INFINITY;
      }
      EXPECT_GT(largest, 0.0f) << array.name;
      EXPECT_LE(difference, 0.01f * largest) << array.name << " of the last one";
      if (kSparse || array.all_count == array.alone_count || array.name == "lse") continue;
      for (const float value : read(array, array.all, array.alone_count))
        ASSERT_EQ(value, 0.0f) << array.name << " of the first batch";
    }
  }

 private:
  Args all_, alone_;
  unsigned last_blocks_;
  std::vector<Array> arrays_;
};

// Enough for a head's column tiles.
template <typename Forward>
unsigned last_blocks_of(const Forward&) {
  return requires(Forward args) {
    args.log_w;
  }
  ? 8 : 2;
}

template <typename Op, typename Args>
void all_kernels_reach(Args all, Args alone, int least) {
  std::size_t needed = 0, free = 0, total = 0;
  each_array<Op>(all, [&](const char*, auto& pointer, std::size_t count, auto&) {
    needed += count * sizeof(*pointer);
  });
  CUDA_CHECK(cudaMemGetInfo(&free, &total));
  if (!kSparse && needed + needed / 4 > free)
    GTEST_SKIP() << "needs " << needed / 1'000'000'000 << " GB of device memory and a quarter more";
  Problem<Op, Args> problem(all, alone, last_blocks_of(forward_of(all)));
  int reached = 0;
  for (const ladder::Implementation& each : ladder::implementations()) {
    const auto launcher = ladder::launcher<Op, Args>(each);
    if (launcher == nullptr || each.device != ladder::DeviceKind::kCuda ||
        needs_other_blocks(each.name, has_as_many_batches(all, alone)))
      continue;
    SCOPED_TRACE(each.name);
    try {
      problem.check(launcher);
      ++reached;
    } catch (const std::invalid_argument& refusal) {  // a grid too large, for example
      std::printf("%s: %s\n", each.name.c_str(), refusal.what());
    } catch (const ladder::CudaError& error) {  // its own scratch memory is added
      if (cudaGetLastError(), std::string(error.what()).find("out of memory") == std::string::npos)
        throw;
      std::printf("%s: its scratch memory does not fit\n", each.name.c_str());
    }
  }
  EXPECT_GE(reached, least);
}

template <typename Args>
Args recurrence(Sizes s) {
  Args args;
  args.B = s.B, args.T = s.T, args.H = s.H, args.K = args.V = kHeadSize;
  args.log_w_stride_B = s.T * s.H * kHeadSize;
  args.log_w_stride_T = s.H * kHeadSize;
  return args;
}

template <typename Args>
Args attention(Sizes s) {
  Args args;
  args.B = s.B, args.T_q = args.T_k = s.T, args.H_q = args.H_kv = s.H, args.D = kHeadSize;
  args.causal = true;
  args.scale = 0.125f;
  return args;
}

template <typename Args>
Args linear(Sizes s) {
  Args args;
  args.B = s.B, args.T_q = args.T_k = s.T, args.H = s.H, args.K = args.V = kHeadSize;
  return args;
}

#ifndef LADDER_LARGE_ARRAYS
constexpr std::int64_t kManyRows = (1 << 27) + 64;

template <typename Args>
Args rows(std::int64_t M) {
  Args args;
  args.M = M, args.N = 16;
  if constexpr (requires { args.K; }) args.K = 20;
  return args;
}

TEST(LargeArrays, RowsOfSoftmax) {
  using Args = warmup::SoftmaxArgs;
  all_kernels_reach<warmup::Softmax>(rows<Args>(kManyRows), rows<Args>(64), 2);
}

TEST(LargeArrays, RowsOfMatmul) {
  using Args = warmup::MatmulArgs;
  all_kernels_reach<warmup::Matmul>(rows<Args>(kManyRows), rows<Args>(64), 5);
}

TEST(LargeArrays, RowsOfMatmulInBf16) {
  using Args = warmup::MatmulBf16Args;
  all_kernels_reach<warmup::Matmul>(rows<Args>(kManyRows), rows<Args>(64), 5);
}
#endif

TEST(LargeArrays, Wkv) {
  all_kernels_reach<ladder::Wkv>(recurrence<ladder::WkvArgs>(kManyBatches),
                                 recurrence<ladder::WkvArgs>(one_of(kManyBatches)), 6);
}

#ifndef LADDER_LARGE_ARRAYS
TEST(LargeArrays, HeadsOfWkv) {
  all_kernels_reach<ladder::Wkv>(recurrence<ladder::WkvArgs>(kManyHeads),
                                 recurrence<ladder::WkvArgs>(one_of(kManyHeads)), 6);
}

TEST(LargeArrays, ColumnsOfWkv) {
  all_kernels_reach<ladder::Wkv>(recurrence<ladder::WkvArgs>(kManyColumns),
                                 recurrence<ladder::WkvArgs>(one_of(kManyColumns)), 6);
}

TEST(LargeArrays, HeadsOfWkvInBf16) {
  all_kernels_reach<ladder::Wkv>(recurrence<ladder::WkvBf16Args>(kManyHeads),
                                 recurrence<ladder::WkvBf16Args>(one_of(kManyHeads)), 3);
}
#endif

TEST(LargeArrays, WkvInBf16) {
  all_kernels_reach<ladder::Wkv>(recurrence<ladder::WkvBf16Args>(kManyBatches),
                                 recurrence<ladder::WkvBf16Args>(one_of(kManyBatches)), 3);
}

TEST(LargeArrays, Gla) {
  all_kernels_reach<ladder::Gla>(recurrence<ladder::WkvArgs>(kManyBatches),
                                 recurrence<ladder::WkvArgs>(one_of(kManyBatches)), 1);
}

TEST(LargeArrays, WkvBackwardInBf16) {
  ladder::BasicWkvGradArgs<bfloat16> all, alone;
  all.forward = recurrence<ladder::WkvBf16Args>(kManyBatches);
  alone.forward = recurrence<ladder::WkvBf16Args>(one_of(kManyBatches));
  all_kernels_reach<ladder::WkvBackward>(all, alone, 1);
}

// The product alone, which most kernels of chapters 03 to 07 compute.
template <typename Args>
Args causal_product(Sizes s) {
  Args args = linear<Args>(s);
  args.causal = true;
  args.normalize = false;
  args.feature_map = ladder::FeatureMap::kIdentity;
  return args;
}

TEST(LargeArrays, CausalProduct) {
  using Args = ladder::LinearAttentionArgs;
  all_kernels_reach<ladder::LinearAttention>(causal_product<Args>(kManyBatches),
                                             causal_product<Args>(one_of(kManyBatches)), 1);
}

TEST(LargeArrays, CausalProductInBf16) {
  using Args = ladder::LinearAttentionBf16Args;
  all_kernels_reach<ladder::LinearAttention>(causal_product<Args>(kManyBatches),
                                             causal_product<Args>(one_of(kManyBatches)), 1);
}

TEST(LargeArrays, LinearAttention) {
  all_kernels_reach<ladder::LinearAttention>(
      linear<ladder::LinearAttentionArgs>(kManyBatches),
      linear<ladder::LinearAttentionArgs>(one_of(kManyBatches)), 2);
}

TEST(LargeArrays, LinearAttentionInBf16) {
  all_kernels_reach<ladder::LinearAttention>(
      linear<ladder::LinearAttentionBf16Args>(kManyBatches),
      linear<ladder::LinearAttentionBf16Args>(one_of(kManyBatches)), 1);
}

#ifndef LADDER_LARGE_ARRAYS
TEST(LargeArrays, Attention) {
  all_kernels_reach<ladder::Attention>(attention<ladder::AttentionArgs>(kManyBatches),
                                       attention<ladder::AttentionArgs>(one_of(kManyBatches)), 3);
}

TEST(LargeArrays, HeadsOfAttention) {
  all_kernels_reach<ladder::Attention>(attention<ladder::AttentionArgs>(kManyHeads),
                                       attention<ladder::AttentionArgs>(one_of(kManyHeads)), 2);
}
#endif

TEST(LargeArrays, AttentionInBf16) {
  all_kernels_reach<ladder::Attention>(attention<ladder::AttentionBf16Args>(kManyBatches),
                                       attention<ladder::AttentionBf16Args>(one_of(kManyBatches)),
                                       3);
}

TEST(LargeArrays, AttentionBackwardInBf16) {
  ladder::AttentionGradBf16Args all, alone;
  all.forward = attention<ladder::AttentionBf16Args>(kManyBatches);
  alone.forward = attention<ladder::AttentionBf16Args>(one_of(kManyBatches));
  all_kernels_reach<ladder::AttentionBackward>(all, alone, 1);
}

}  // namespace
