// Each instruction of hopper.hpp on its own, under every schedule of the emulator or on a GPU. The
// expected numbers are calculated by the host or written here. Copies, stores and products of small
// integers (exact in any order) must be equal bit for bit. Other sums must be within a limit that
// is counted from their roundings.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <type_traits>
#include <vector>

#include "common/core/bfloat16.hpp"
#include "common/core/float16.hpp"
#include "common/cuda/hopper.hpp"

#ifndef __CUDACC__
#include "emulator/emulator.hpp"
#endif

namespace {

namespace hopper = ladder::cuda::hopper;
using hopper::Major;
using ladder::bfloat16;
using ladder::float16;

constexpr int kRows = 64, kTerms = 16, kPanel = hopper::kPanel;

template <typename Body>
void expect_no_error(const Body& body) {
  body();
  const cudaError_t error = cudaGetLastError();
  EXPECT_EQ(error, cudaSuccess) << cudaGetErrorString(error);
}

#ifdef __CUDACC__

template <typename Body>
void under_each_schedule(const Body& body) {
  expect_no_error(body);
}

#else

// Each schedule has another timing: asynchronous work completes at once, late, or by the seed.
template <typename Body>
void under_each_schedule(const Body& body) {
  using emulator::Schedule;
  for (const Schedule& schedule : {Schedule{Schedule::forward, 0}, Schedule{Schedule::reverse, 0},
                                   Schedule{Schedule::shuffle, 1}, Schedule{Schedule::shuffle, 2},
                                   Schedule{Schedule::shuffle, 3}}) {
    emulator::reset();
    emulator::set_schedule(schedule);
    SCOPED_TRACE(testing::Message() << "schedule " << schedule.order << ", " << schedule.seed);
    expect_no_error(body);
  }
  emulator::reset();
}

#endif

// Device memory with a copy on the host.
template <typename T>
class Array {
 public:
  explicit Array(const std::vector<T>& values) : values_(values) {
    EXPECT_EQ(cudaMalloc(&data_, bytes()), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(data_, values_.data(), bytes(), cudaMemcpyHostToDevice), cudaSuccess);
  }
  explicit Array(std::size_t size) : Array(std::vector<T>(size)) {}
  ~Array() { cudaFree(data_); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  T* data() const { return data_; }
  const std::vector<T>& host() {
    EXPECT_EQ(cudaMemcpy(values_.data(), data_, bytes(), cudaMemcpyDeviceToHost), cudaSuccess)
        << cudaGetErrorString(cudaPeekAtLastError());
    return values_;
  }

 private:
  std::size_t bytes() const { return values_.size() * sizeof(T); }
  std::vector<T> values_;
  T* data_ = nullptr;
};

std::uint32_t mixed(int i) {
  return static_cast<std::uint32_t>(i) * 2654435761u;
}

// Integers from -3 to 3 that differ from their neighbours.
float integer(int i) {
  return static_cast<float>((mixed(i) >> 13) % 7) - 3;
}

// From 1/64 to 2, of either sign.
float fraction(int i) {
  const std::uint32_t bits = mixed(i) ^ mixed(i) >> 15;
  const auto mantissa = 1 + static_cast<float>(bits >> 4 & 0xfff) / 0x1000;
  return std::ldexp((bits & 1) != 0 ? -mantissa : mantissa,
                    -static_cast<int>(bits >> 16 & 0xff) % 7);
}
template <typename Element>
Element element(float x) {
  if constexpr (std::is_same_v<Element, bfloat16>)
    return ladder::to_bfloat16(x);
  else
    return ladder::to_float16(x);
}

// ---- Copies ----

// Writes a box of 64 rows and columns to `out` in the order of shared memory.
__global__ void copy_box(const __grid_constant__ CUtensorMap map, int column, int head, int row,
                         std::uint16_t* out) {
  extern __shared__ __align__(1024) unsigned char bytes_smem[];
  auto* const panel_smem = reinterpret_cast<std::uint16_t*>(bytes_smem);
  auto* const here = reinterpret_cast<hopper::Barrier*>(bytes_smem + kRows * kPanel * 2);
  if (threadIdx.x == 0) {
    hopper::init(here, 1);
    hopper::fence_barrier_init();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    hopper::arrive_expect_tx(here, kRows * kPanel * 2);
    hopper::tma_load(panel_smem, &map, here, column, head, row);
  }
  hopper::wait(here, 0);
  for (unsigned i = threadIdx.x; i < kRows * kPanel; i += blockDim.x)
    out[i] = panel_smem[i];
}

// A tensor of 100 rows, 4 heads and 96 columns; element i is i mod 2^16. Byte offsets by hand.
TEST(HopperCopies, BringABoxSwizzledWithZerosBeyondTheEdge) {
  constexpr int kColumns = 96, kHeads = 4, kTensorRows = 100;
  std::vector<std::uint16_t> tensor(kColumns * kHeads * kTensorRows);
  for (std::size_t i = 0; i < tensor.size(); ++i)
    tensor[i] = static_cast<std::uint16_t>(i);
  const Array<std::uint16_t> in(tensor);
  const auto map = hopper::make_tensor_map(reinterpret_cast<const bfloat16*>(in.data()),
                                           kTensorRows, kHeads, kColumns, kRows);
  const auto at = [&](int row, int head, int column) {
    return tensor[static_cast<std::size_t>((row * kHeads + head) * kColumns + column)];
  };
  struct {
    int column, head, row;  // of the box
    int byte;
    int expected;  // element, or -1 for a zero
  } const table[] = {
      {64, 2, 40, 0, at(40, 2, 64)},
      {64, 2, 40, 62, at(40, 2, 95)},  // row 0: vectors in order
      {64, 2, 40, 64, -1},
      {64, 2, 40, 126, -1},
      {64, 2, 40, 128, at(41, 2, 72)},  // row 1: vector 1 is at index 0
      {64, 2, 40, 144, at(41, 2, 64)},
      {0, 3, 80, 2468, at(99, 3, 10)},
      {0, 3, 80, 20 * 128, -1},
      {0, 3, 80, 63 * 128 + 126, -1},
      {-8, 0, 0, 0, -1},
      {-8, 0, 0, 14, -1},
      {-8, 0, 0, 16, at(0, 0, 0)},
      {96, 0, 0, 0, -1},
      {0, 4, 0, 0, -1},
      {0, 0, -1, 0, -1},
      {0, 0, -1, 128, at(0, 0, 8)},
      {0, 0, 100, 0, -1},
  };
  under_each_schedule([&] {
    for (const auto& [column, head, row, byte, expected] : table) {
      Array<std::uint16_t> out(kRows * kPanel);
      copy_box<<<1, 64, kRows * kPanel * 2 + 8>>>(map, column, head, row, out.data());
      EXPECT_EQ(out.host()[static_cast<std::size_t>(byte / 2)], expected < 0 ? 0 : expected)
          << column << ", " << head << ", " << row << ", byte " << byte;
    }
  });
}

// Two batches of 100 rows. Zeros follow the rows of the first, not the rows of the second.
TEST(HopperCopies, BringZerosBehindTheRowsOfABatch) {
  constexpr int kColumns = 128, kBatchRows = 100;
  std::vector<std::uint16_t> tensor(2 * kColumns * kBatchRows);
  for (std::size_t i = 0; i < tensor.size(); ++i)
    tensor[i] = static_cast<std::uint16_t>(i + 1);
  const Array<std::uint16_t> in(tensor);
  const auto map = hopper::make_tensor_map_of_batches(reinterpret_cast<const bfloat16*>(in.data()),
                                                      2, kBatchRows, kColumns, kRows);
  under_each_schedule([&] {
    for (const int batch : {0, 1}) {
      Array<std::uint16_t> out(kRows * kPanel);
      copy_box<<<1, 64, kRows * kPanel * 2 + 8>>>(map, kPanel, 80, batch, out.data());
      const std::vector<std::uint16_t> panel = out.host();
      for (std::size_t row = 0; row < kRows; ++row) {  // the row's first element
        const std::size_t from = (batch * kBatchRows + 80 + row) * kColumns + kPanel;
        EXPECT_EQ(panel[row * kPanel + row % 8 * 8], row < 20 ? tensor[from] : 0)
            << "batch " << batch << ", row " << row;
      }
    }
  });
}

// Index of a panel's 16-bit element. Vectors of 8 elements are swizzled over 8 rows.
std::size_t place_in_panel(int row, int column) {
  return static_cast<std::size_t>(row * kPanel + ((column / 8) ^ row % 8) * 8 + column % 8);
}

std::vector<std::uint16_t> random_words(std::size_t size, int seed) {
  std::vector<std::uint16_t> words(size);
  for (std::size_t i = 0; i < size; ++i)
    words[i] = static_cast<std::uint16_t>(mixed(seed + static_cast<int>(i)) >> 12);
  return words;
}

// A tensor (rows, heads, columns) and boxes of it: inside, across each edge, and before it.
constexpr int kTensor[] = {100, 4, 96};
constexpr struct {
  int column, head, row;
} kBoxes[] = {{0, 0, 0}, {8, 3, 17}, {24, 1, 36}, {64, 2, 50}, {16, 1, 99}, {88, 3, 99}, {0, 4, 0}};

bool is_in_tensor(int row, int head, int column) {
  return row >= 0 && row < kTensor[0] && head >= 0 && head < kTensor[1] && column >= 0 &&
         column < kTensor[2];
}
std::size_t place_in_tensor(int row, int head, int column) {
  return static_cast<std::size_t>((row * kTensor[1] + head) * kTensor[2] + column);
}

TEST(HopperCopies, BringEveryBitOfABox) {
  const std::vector<std::uint16_t> tensor =
      random_words(static_cast<std::size_t>(kTensor[0] * kTensor[1] * kTensor[2]), 1);
  const Array<std::uint16_t> in(tensor);
  const auto map = hopper::make_tensor_map(reinterpret_cast<const float16*>(in.data()), kTensor[0],
                                           kTensor[1], kTensor[2], kRows);
  under_each_schedule([&] {
    for (const auto& box : kBoxes) {
      for (const int sign : {1, -1}) {  // a copy may begin before the tensor
        const int first_column = sign * box.column, first_row = sign * box.row;
        Array<std::uint16_t> out(kRows * kPanel);
        copy_box<<<1, 64, kRows * kPanel * 2 + 8>>>(map, first_column, box.head, first_row,
                                                    out.data());
        std::vector<std::uint16_t> expected(kRows * kPanel);
        for (int row = 0; row < kRows; ++row) {
          for (int column = 0; column < kPanel; ++column) {
            const int r = first_row + row, c = first_column + column;
            if (is_in_tensor(r, box.head, c))
              expected[place_in_panel(row, column)] = tensor[place_in_tensor(r, box.head, c)];
          }
        }
        EXPECT_EQ(out.host(), expected) << first_column << ", " << box.head << ", " << first_row;
      }
    }
  });
}

__global__ void copy_linear(const float* from, float* to) {
  __shared__ alignas(128) float tile_smem[64];
  __shared__ hopper::Barrier here_smem;
  if (threadIdx.x == 0) {
    hopper::init(&here_smem, 1);
    hopper::fence_barrier_init();
    hopper::arrive_expect_tx(&here_smem, sizeof tile_smem);
    hopper::bulk_copy(tile_smem, from, sizeof tile_smem, &here_smem);
  }
  __syncthreads();
  hopper::wait(&here_smem, 0);
  to[threadIdx.x] = tile_smem[threadIdx.x];
}

TEST(HopperCopies, BringBytesThatLieOneBehindTheOther) {
  std::vector<float> values(64);
  for (int i = 0; i < 64; ++i)
    values[static_cast<std::size_t>(i)] = integer(i);
  const Array<float> in(values);
  under_each_schedule([&] {
    Array<float> out(64);
    copy_linear<<<1, 64>>>(in.data(), out.data());
    EXPECT_EQ(out.host(), values);
  });
}

// ---- Stores ----

// Fills the panel so that its word i is i, and stores its box.
__global__ void store_box(const __grid_constant__ CUtensorMap map, int column, int head, int row) {
  extern __shared__ __align__(1024) unsigned char bytes_smem[];
  auto* const panel_smem = reinterpret_cast<std::uint16_t*>(bytes_smem);
  for (unsigned i = threadIdx.x; i < kRows * kPanel; i += blockDim.x)
    panel_smem[i] = static_cast<std::uint16_t>(i);
  hopper::fence_proxy_async();
  __syncthreads();
  if (threadIdx.x != 0) return;
  hopper::tma_store(&map, panel_smem, column, head, row);
  hopper::tma_store_commit();
  hopper::tma_store_wait_read<0>();
}

// The tensor of above, filled with 0xffff. Vector u of the box's row r is at index u ^ (r % 8).
TEST(HopperStores, WriteABoxAndNothingBeyondTheEdge) {
  constexpr int kColumns = 96, kHeads = 4, kTensorRows = 100, kNothing = 0xffff;
  struct {
    int column, head, row;  // of the box
    int to_row, to_head, to_column;
    int expected;
    int written;  // elements in all
  } const table[] = {
      {0, 1, 0, 0, 1, 0, 0, 64 * 64},
      {0, 1, 0, 1, 1, 0, 64 + 8, 64 * 64},  // row 1: vector 0 is at index 1
      {0, 1, 0, 63, 1, 63, 63 * 64 + 7, 64 * 64},
      {0, 1, 0, 63, 1, 64, kNothing, 64 * 64},
      {0, 1, 0, 64, 1, 0, kNothing, 64 * 64},
      {0, 1, 0, 0, 2, 0, kNothing, 64 * 64},
      {64, 3, 90, 90, 3, 64, 0, 10 * 32},
      {64, 3, 90, 99, 3, 95, 9 * 64 + 16 + 7, 10 * 32},  // row 9: vector 3 is at index 2
      {64, 3, 90, 99, 3, 63, kNothing, 10 * 32},
      {96, 0, 0, 0, 1, 0, kNothing, 0},
      {0, 4, 0, 1, 0, 0, kNothing, 0},
  };
  under_each_schedule([&] {
    for (const auto& [column, head, row, to_row, to_head, to_column, expected, written] : table) {
      Array<std::uint16_t> out(
          std::vector<std::uint16_t>(kColumns * kHeads * kTensorRows, kNothing));
      const auto map = hopper::make_tensor_map(reinterpret_cast<const bfloat16*>(out.data()),
                                               kTensorRows, kHeads, kColumns, kRows);
      store_box<<<1, 64, kRows * kPanel * 2>>>(map, column, head, row);
      const std::vector<std::uint16_t>& all = out.host();
      EXPECT_EQ(all[static_cast<std::size_t>((to_row * kHeads + to_head) * kColumns + to_column)],
                expected)
          << column << ", " << head << ", " << row;
      EXPECT_EQ(std::ranges::count(all, kNothing), std::ssize(all) - written);
    }
  });
}

// Stores a panel that the host has filled.
__global__ void store_box_of(const __grid_constant__ CUtensorMap map, const std::uint16_t* panel,
                             int column, int head, int row) {
  extern __shared__ __align__(1024) unsigned char bytes_smem[];
  auto* const panel_smem = reinterpret_cast<std::uint16_t*>(bytes_smem);
  for (unsigned i = threadIdx.x; i < kRows * kPanel; i += blockDim.x)
    panel_smem[i] = panel[i];
  hopper::fence_proxy_async();
  __syncthreads();
  if (threadIdx.x != 0) return;
  hopper::tma_store(&map, panel_smem, column, head, row);
  hopper::tma_store_commit();
  hopper::tma_store_wait_read<0>();
}

TEST(HopperStores, WriteEveryBitOfABox) {
  const std::vector<std::uint16_t> tensor =
      random_words(static_cast<std::size_t>(kTensor[0] * kTensor[1] * kTensor[2]), 1);
  const std::vector<std::uint16_t> panel = random_words(kRows * kPanel, 2);
  const Array<std::uint16_t> in(panel);
  under_each_schedule([&] {
    for (const auto& box : kBoxes) {
      Array<std::uint16_t> out(tensor);
      const auto map = hopper::make_tensor_map(reinterpret_cast<const bfloat16*>(out.data()),
                                               kTensor[0], kTensor[1], kTensor[2], kRows);
      store_box_of<<<1, 64, kRows * kPanel * 2>>>(map, in.data(), box.column, box.head, box.row);
      std::vector<std::uint16_t> expected = tensor;
      for (int row = 0; row < kRows; ++row) {
        for (int column = 0; column < kPanel; ++column) {
          const int r = box.row + row, c = box.column + column;
          if (is_in_tensor(r, box.head, c))
            expected[place_in_tensor(r, box.head, c)] = panel[place_in_panel(row, column)];
        }
      }
      EXPECT_EQ(out.host(), expected) << box.column << ", " << box.head << ", " << box.row;
    }
  });
}

// Threads store, a bulk copy loads that, a bulk store writes it elsewhere, another copy loads that,
// and after a second bulk store another warp's threads read the result.
__global__ void go_round(int* first, int* second, int* third, int* seen) {
  __shared__ alignas(128) int stages_smem[2][64];
  __shared__ hopper::Barrier here_smem[2];
  if (threadIdx.x == 0) {
    hopper::init(&here_smem[0], 1);
    hopper::init(&here_smem[1], 1);
    hopper::fence_barrier_init();
  }
  first[threadIdx.x] = 3 * static_cast<int>(threadIdx.x) + 1;
  hopper::fence_proxy_async_global();
  __syncthreads();
  if (threadIdx.x == 0) {
    const int bytes = static_cast<int>(sizeof stages_smem[0]);
    hopper::arrive_expect_tx(&here_smem[0], bytes);
    hopper::bulk_copy(stages_smem[0], first, bytes, &here_smem[0]);
    hopper::wait(&here_smem[0], 0);
    hopper::store_bytes(second, stages_smem[0], bytes);
    hopper::tma_store_commit();
    hopper::tma_store_wait<0>();
    hopper::arrive_expect_tx(&here_smem[1], bytes);
    hopper::bulk_copy(stages_smem[1], second, bytes, &here_smem[1]);
    hopper::wait(&here_smem[1], 0);
    hopper::store_bytes(third, stages_smem[1], bytes);
    hopper::tma_store_commit();
    hopper::tma_store_wait<0>();
  }
  __syncthreads();
  seen[threadIdx.x] = third[63 - threadIdx.x];
}

TEST(HopperStores, AndCopiesPassNumbersOnThroughGlobalMemory) {
  std::vector<int> expected;
  for (int i = 0; i < 64; ++i)
    expected.push_back(3 * (63 - i) + 1);
  under_each_schedule([&] {
    Array<int> first(64), second(64), third(64), seen(64);
    go_round<<<1, 64>>>(first.data(), second.data(), third.data(), seen.data());
    EXPECT_EQ(seen.host(), expected);
  });
}

// Two buffers alternate. One is overwritten when all groups but the last have read theirs. At the
// end the thread reads the elements that it has stored.
__global__ void store_in_turn(int* out, int* seen, int count) {
  __shared__ alignas(128) int stages_smem[2][32];
  for (int n = 0; n < count; ++n) {
    if (threadIdx.x == 0) hopper::tma_store_wait_read<1>();
    __syncthreads();
    stages_smem[n % 2][threadIdx.x] = 100 * n + static_cast<int>(threadIdx.x);
    hopper::fence_proxy_async();
    __syncthreads();
    if (threadIdx.x != 0) continue;
    hopper::store_bytes(out + 32 * n, stages_smem[n % 2], 64);
    hopper::store_bytes(out + 32 * n + 16, stages_smem[n % 2] + 16, 64);
    hopper::tma_store_commit();
  }
  if (threadIdx.x != 0) return;
  hopper::tma_store_wait<0>();
  for (int i = 0; i < 32 * count; ++i)
    seen[i] = out[i];
}

TEST(HopperStores, OfGroupsLetTheirStagesBeWrittenAgain) {
  constexpr int kCount = 5;
  std::vector<int> expected;
  for (int i = 0; i < 32 * kCount; ++i)
    expected.push_back(100 * (i / 32) + i % 32);
  under_each_schedule([&] {
    Array<int> out(32 * kCount), seen(32 * kCount);
    store_in_turn<<<1, 32>>>(out.data(), seen.data(), kCount);
    EXPECT_EQ(out.host(), expected);
    EXPECT_EQ(seen.host(), expected);
  });
}

// ---- Products ----

// Index of element (outer, term) in panels of 64 columns; the order decides which is the row.
__host__ __device__ int place_of_element(Major order, int outer, int term, int rows) {
  const int row = order == Major::kK ? outer : term, column = order == Major::kK ? term : outer;
  const int panel = column / kPanel, unit = column % kPanel / 8;
  return panel * rows * kPanel + row * kPanel + (unit ^ row % 8) * 8 + column % 8;
}

// d = a b, then d += a b, for a (64 x 16) and b (16 x n) that the host has arranged as panels.
template <typename Element, int kN, Major kA, Major kB, bool kRegisters>
__global__ void multiply(const Element* a_panels, int a_elements, const Element* b_panels,
                         int b_elements, const std::uint32_t* a_registers, float* out) {
  extern __shared__ __align__(1024) unsigned char bytes_smem[];
  auto* const a_smem = reinterpret_cast<Element*>(bytes_smem);
  auto* const b_smem = a_smem + kRows * kPanel;
  for (int i = static_cast<int>(threadIdx.x); i < a_elements; i += 128)
    a_smem[i] = a_panels[i];
  for (int i = static_cast<int>(threadIdx.x); i < b_elements; i += 128)
    b_smem[i] = b_panels[i];
  hopper::fence_proxy_async();
  __syncthreads();
  const std::uint64_t a = hopper::matrix_descriptor(a_smem);
  const std::uint64_t b =
      hopper::matrix_descriptor(b_smem, kTerms * kPanel * 2);  // panels of 16 rows
  float d[kN / 2];
  std::uint32_t words[4];
  for (int j = 0; j < 4; ++j)
    words[j] = a_registers[threadIdx.x * 4 + static_cast<unsigned>(j)];
  hopper::wgmma_fence();
  for (int i = 0; i < 2; ++i) {
    if constexpr (kRegisters)
      hopper::wgmma<Element, kN, kB>(d, words, b, i > 0);
    else
      hopper::wgmma<Element, kN, kA, kB>(d, a, b, i > 0);
  }
  hopper::wgmma_commit_group();
  hopper::wgmma_wait_group<0>();
  hopper::pin(d);
  for (int i = 0; i < kN / 2; ++i)
    out[static_cast<int>(threadIdx.x) * (kN / 2) + i] = d[i];
}

template <typename Element, int kN, Major kA, Major kB, bool kRegisters>
void expect_product() {
  std::vector<Element> a(kRows * kPanel, element<Element>(77)),
      b(kTerms * 256 + kN * kPanel, element<Element>(77));
  std::vector<std::uint32_t> words(128 * 4);
  const auto a_of = [](int row, int term) { return integer(row * kTerms + term); };
  const auto b_of = [](int column, int term) { return integer(5000 + column * kTerms + term); };
  for (int term = 0; term < kTerms; ++term) {
    for (int row = 0; row < kRows; ++row)
      a[static_cast<std::size_t>(place_of_element(
          kA, row, term, kA == Major::kK ? kRows : kTerms))] = element<Element>(a_of(row, term));
    for (int column = 0; column < kN; ++column)
      b[static_cast<std::size_t>(place_of_element(
          kB, column, term, kB == Major::kK ? kN : kTerms))] = element<Element>(b_of(column, term));
  }
  for (int t = 0; t < 128; ++t) {
    for (int j = 0; j < 4; ++j) {
      const int row = 16 * (t / 32) + t % 32 / 4 + 8 * (j % 2), term = 8 * (j / 2) + 2 * (t % 4);
      const Element pair[] = {element<Element>(a_of(row, term)),
                              element<Element>(a_of(row, term + 1))};
      std::memcpy(&words[static_cast<std::size_t>(4 * t + j)], pair, 4);
    }
  }
  const Array<Element> a_in(a), b_in(b);
  const Array<std::uint32_t> words_in(words);
  under_each_schedule([&] {
    Array<float> out(kRows * kN);
    const auto bytes = static_cast<unsigned>((a.size() + b.size()) * sizeof(Element));
    const auto kernel = multiply<Element, kN, kA, kB, kRegisters>;
    ASSERT_EQ(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   static_cast<int>(bytes)),
              cudaSuccess);
    kernel<<<1, 128, bytes>>>(a_in.data(), static_cast<int>(a.size()), b_in.data(),
                              static_cast<int>(b.size()), words_in.data(), out.data());
    const std::vector<float>& d = out.host();
    for (int t = 0; t < 128; ++t) {
      for (int i = 0; i < kN / 2; ++i) {
        const int row = 16 * (t / 32) + t % 32 / 4 + 8 * (i / 2 % 2),
                  column = 8 * (i / 4) + 2 * (t % 4) + i % 2;
        float expected = 0;
        for (int term = 0; term < kTerms; ++term)
          expected += 2 * a_of(row, term) * b_of(column, term);
        ASSERT_EQ(d[static_cast<std::size_t>(t * kN / 2 + i)], expected)
            << "n " << kN << ", row " << row << ", column " << column;
      }
    }
  });
}

template <typename Element, int kN>
void expect_products() {
  expect_product<Element, kN, Major::kK, Major::kK, false>();
  expect_product<Element, kN, Major::kK, Major::kMN, false>();
  expect_product<Element, kN, Major::kMN, Major::kK, false>();
  expect_product<Element, kN, Major::kMN, Major::kMN, false>();
  expect_product<Element, kN, Major::kK, Major::kK, true>();
  expect_product<Element, kN, Major::kK, Major::kMN, true>();
}

TEST(HopperProducts, OfBf16AreExactInEveryOrderOfTheOperands) {
  expect_products<bfloat16, 32>();
  expect_products<bfloat16, 64>();
  expect_products<bfloat16, 128>();
  expect_products<bfloat16, 256>();
}

TEST(HopperProducts, OfFp16AreExactInEveryOrderOfTheOperands) {
  expect_products<float16, 32>();
  expect_products<float16, 64>();
  expect_products<float16, 128>();
  expect_products<float16, 256>();
}

// d (64 x 64) = a (64 x kLongSum) b (kLongSum x 64), in panels of 64 terms.
constexpr int kLongSum = 256;

template <typename Element, Major kMajor>
__global__ void multiply_long(const Element* a_panels, const Element* b_panels, float* out) {
  extern __shared__ __align__(1024) unsigned char bytes_smem[];
  auto* const a_smem = reinterpret_cast<Element*>(bytes_smem);
  auto* const b_smem = a_smem + kRows * kLongSum;
  for (int i = static_cast<int>(threadIdx.x); i < kRows * kLongSum; i += 128) {
    a_smem[i] = a_panels[i];
    b_smem[i] = b_panels[i];
  }
  hopper::fence_proxy_async();
  __syncthreads();
  constexpr int kNext = kMajor == Major::kK ? hopper::kNextK : hopper::kNextMN;
  float d[32];
  hopper::wgmma_fence();
  for (int panel = 0; panel < kLongSum / kPanel; ++panel) {
    const std::uint64_t a = hopper::matrix_descriptor(a_smem + panel * kRows * kPanel),
                        b = hopper::matrix_descriptor(b_smem + panel * kRows * kPanel);
    for (int s = 0; s < kPanel / kTerms; ++s)
      hopper::wgmma<Element, 64, kMajor, kMajor>(d, hopper::advance(a, s * kNext),
                                                 hopper::advance(b, s * kNext), panel + s > 0);
  }
  hopper::wgmma_commit_group();
  hopper::wgmma_wait_group<0>();
  hopper::pin(d);
  for (int i = 0; i < 32; ++i)
    out[static_cast<int>(threadIdx.x) * 32 + i] = d[i];
}

// The largest |d - exact| relative to the sum of |a b|, for elements value(0), value(1), ...
template <typename Element, Major kMajor>
double error_of_long_sums(float (*value)(int)) {
  std::vector<Element> a(kRows * kLongSum), b(kRows * kLongSum);
  const auto of = [&](std::vector<Element>& panels, int outer, int term) -> Element& {
    const int within = place_of_element(kMajor, outer, term % kPanel, kRows);
    return panels[static_cast<std::size_t>(term / kPanel * kRows * kPanel + within)];
  };
  for (int outer = 0; outer < kRows; ++outer) {
    for (int term = 0; term < kLongSum; ++term) {
      of(a, outer, term) = element<Element>(value(outer * kLongSum + term));
      of(b, outer, term) = element<Element>(value(100000 + outer * kLongSum + term));
    }
  }
  const Array<Element> a_in(a), b_in(b);
  double largest = 0;
  under_each_schedule([&] {
    Array<float> out(kRows * 64);
    constexpr int kBytes = 2 * kRows * kLongSum * static_cast<int>(sizeof(Element));
    const auto kernel = multiply_long<Element, kMajor>;
    ASSERT_EQ(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes),
              cudaSuccess);
    kernel<<<1, 128, kBytes>>>(a_in.data(), b_in.data(), out.data());
    const std::vector<float>& d = out.host();
    for (int t = 0; t < 128; ++t) {
      for (int i = 0; i < 32; ++i) {
        const int row = 16 * (t / 32) + t % 32 / 4 + 8 * (i / 2 % 2),
                  column = 8 * (i / 4) + 2 * (t % 4) + i % 2;
        double exact = 0, of_sizes = 0;  // products have 22 bits at most
        for (int term = 0; term < kLongSum; ++term) {
          const double product = double{ladder::to_float(of(a, row, term))} *
                                 double{ladder::to_float(of(b, column, term))};
          exact += product;
          of_sizes += std::abs(product);
        }
        largest = std::max(
            largest, std::abs(double{d[static_cast<std::size_t>(t * 32 + i)]} - exact) / of_sizes);
      }
    }
  });
  return largest;
}

TEST(HopperProducts, OfManyTermsAreExactWhereTheirSumsAre) {
  EXPECT_EQ((error_of_long_sums<bfloat16, Major::kK>(integer)), 0);
  EXPECT_EQ((error_of_long_sums<bfloat16, Major::kMN>(integer)), 0);
  EXPECT_EQ((error_of_long_sums<float16, Major::kK>(integer)), 0);
  EXPECT_EQ((error_of_long_sums<float16, Major::kMN>(integer)), 0);
}

// The manual leaves the order and the rounding of the additions open. The emulator adds
// sequentially and rounds to nearest. Each of 16 terms, their sum and D may lose a unit in the last
// digit of the largest: 18 roundings of 2^-23. Missing or repeated terms cost far more.
TEST(HopperProducts, OfFractionsAreWithinTheirRoundings) {
  const double limit = kLongSum / kTerms * (kTerms + 2) * std::ldexp(1.0, -23);
  const auto expect = [&](const char* name, double error) {
    EXPECT_LT(error, limit) << name;
    EXPECT_GT(error, 0) << name << ": nothing was rounded";
    testing::Test::RecordProperty(name, std::to_string(error / std::ldexp(1.0, -24)));
  };
  expect("bf16_sums", error_of_long_sums<bfloat16, Major::kK>(fraction));
  expect("bf16_outputs", error_of_long_sums<bfloat16, Major::kMN>(fraction));
  expect("fp16_sums", error_of_long_sums<float16, Major::kK>(fraction));
  expect("fp16_outputs", error_of_long_sums<float16, Major::kMN>(fraction));
}

// Two groups in flight: D of the first is used while the second runs, and is accumulated again.
__global__ void two_groups(const bfloat16* ones, float* out) {
  __shared__ alignas(1024) bfloat16 tile_smem[kRows * kPanel];
  for (unsigned i = threadIdx.x; i < kRows * kPanel; i += 128)
    tile_smem[i] = ones[i];
  hopper::fence_proxy_async();
  __syncthreads();
  const std::uint64_t tile = hopper::matrix_descriptor(tile_smem);
  const auto multiply_add = [&](float(&d)[32], bool add) {
    hopper::wgmma_fence();
    hopper::wgmma<bfloat16, 64, Major::kK, Major::kK>(d, tile, tile, add);
    hopper::wgmma_commit_group();
  };
  float first[32], second[32];
  multiply_add(first, false);
  multiply_add(second, false);
  hopper::wgmma_wait_group<1>();
  hopper::pin(first);
  for (float& x : first)
    x *= 10;
  multiply_add(first, true);
  hopper::wgmma_wait_group<1>();
  hopper::pin(second);
  out[threadIdx.x] = second[0];
  hopper::wgmma_wait_group<0>();
  hopper::pin(first);
  out[threadIdx.x + 128] = first[31];
}

TEST(HopperProducts, OfSeveralGroupsAreWaitedForOneByOne) {
  const Array<bfloat16> ones(std::vector<bfloat16>(kRows * kPanel, element<bfloat16>(1)));
  under_each_schedule([&] {
    Array<float> out(256);
    two_groups<<<1, 128>>>(ones.data(), out.data());
    for (std::size_t t = 0; t < 128; ++t) {
      EXPECT_EQ(out.host()[t], 16.0f);
      EXPECT_EQ(out.host()[t + 128], 176.0f);
    }
  });
}

// ---- Barriers, registers ----

// Two warps pass numbers through a ring of two stages.
__global__ void ring(int* out) {
  constexpr int kStages = 2, kRounds = 7;
  __shared__ int tile_smem[kStages][32];
  __shared__ hopper::Barrier here_smem[kStages], read_smem[kStages];
  const unsigned lane = threadIdx.x % 32;
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < kStages; ++stage) {
      hopper::init(&here_smem[stage], 32);
      hopper::init(&read_smem[stage], 1);
    }
    hopper::fence_barrier_init();
  }
  __syncthreads();
  for (int n = 0; n < kRounds; ++n) {
    const int stage = hopper::stage_of<kStages>(n);
    const std::uint32_t parity = hopper::phase_of<kStages>(n);
    if (threadIdx.x < 32) {
      hopper::wait(&read_smem[stage], parity ^ 1);
      tile_smem[stage][lane] = 100 * n + static_cast<int>(lane);
      hopper::arrive(&here_smem[stage]);
    } else {
      hopper::wait(&here_smem[stage], parity);
      out[n * 32 + static_cast<int>(lane)] = tile_smem[stage][31 - lane];
      __syncwarp();
      if (lane == 0) hopper::arrive(&read_smem[stage]);
    }
  }
}

TEST(HopperBarriers, PassARingOn) {
  under_each_schedule([&] {
    Array<int> out(7 * 32);
    ring<<<1, 64>>>(out.data());
    for (int i = 0; i < 7 * 32; ++i)
      EXPECT_EQ(out.host()[static_cast<std::size_t>(i)], i / 32 * 100 + 31 - i % 32);
  });
}

// Two warps alternate in updating one number.
__global__ void take_turns(int* out) {
  __shared__ int sum_smem;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  if (threadIdx.x == 0) sum_smem = 1;
  if (warp == 1) hopper::named_barrier_arrive(1, 64);  // the first warp begins
  for (int n = 0; n < 5; ++n) {
    hopper::named_barrier_sync(1 + warp, 64);
    if (threadIdx.x % 32 == 0) sum_smem = sum_smem * 2 + warp;
    hopper::named_barrier_arrive(2 - warp, 64);
  }
  if (warp == 0) hopper::named_barrier_sync(1, 64);
  if (threadIdx.x == 0) *out = sum_smem;
}

TEST(HopperBarriers, WithNamesLetWarpsTakeTurns) {
  under_each_schedule([&] {
    Array<int> out(1);
    take_turns<<<1, 64>>>(out.data());
    EXPECT_EQ(out.host().front(), 0b10101010101);
  });
}

// 65536 registers for 384 threads are 168 each; one warpgroup releases some for the others.
__global__ void __launch_bounds__(384, 1) exchange_registers(int* out) {
  if (threadIdx.x < 128)
    hopper::setmaxnreg_dec<24>();
  else
    hopper::setmaxnreg_inc<240>();
  out[threadIdx.x] = 1;
}

TEST(HopperRegisters, AreTakenAfterTheyWereGiven) {
  under_each_schedule([&] {
    Array<int> out(384);
    exchange_registers<<<1, 384>>>(out.data());
    EXPECT_EQ(out.host(), std::vector<int>(384, 1));
  });
}

// Lanes 8 i to 8 i + 7 have the addresses of matrix i's rows.
__global__ void store_four(std::uint16_t* out) {
  __shared__ alignas(16) std::uint16_t rows_smem[32][8];
  const unsigned lane = threadIdx.x;
  std::uint32_t r[4];
  for (unsigned i = 0; i < 4; ++i)  // elements 1000 matrix + 10 row + column
    r[i] = (1000 * i + 10 * (lane / 4) + 2 * (lane % 4)) * 0x10001u + 0x10000u;
  hopper::store_matrices(rows_smem[lane], r);
  __syncwarp();
  for (unsigned i = 0; i < 8; ++i)
    out[lane * 8 + i] = rows_smem[lane][i];
}

TEST(HopperStores, PutEachLanesPairsIntoTheRows) {
  under_each_schedule([&] {
    Array<std::uint16_t> out(32 * 8);
    store_four<<<1, 32>>>(out.data());
    for (unsigned row = 0; row < 32; ++row) {
      for (unsigned column = 0; column < 8; ++column)
        EXPECT_EQ(out.host()[row * 8 + column], 1000 * (row / 8) + 10 * (row % 8) + column);
    }
  });
}

}  // namespace
