// Compares the helpers of tiles/ with plain loops, in the emulator or on a GPU (nvcc).
#include <cuda_pipeline.h>
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <set>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/core/bfloat16.hpp"
#include "common/core/float16.hpp"
#include "common/cuda/storage.hpp"
#include "common/cuda/tiles/fragment.hpp"
#include "common/cuda/tiles/load.hpp"
#include "common/cuda/tiles/product.hpp"
#include "common/cuda/tiles/rows.hpp"
#include "common/cuda/tiles/swizzle.hpp"
#include "common/cuda/warp.hpp"
#include "common/emulator/test/device_vector.hpp"
#include "common/emulator/test/matrices.hpp"

namespace {

using ladder::bfloat16;
using ladder::float16;
using ladder::cuda::kWarpSize;
using namespace ladder::cuda::tiles;

// ---- Numbers ----

constexpr int kMost = 4;  // whole numbers up to this, and their sums, are exact in all types

// a (rows, depth) times b (depth, columns), and the same with absolute values, to which errors are
// relative.
struct Product {
  std::vector<double> value, magnitude;
};
Product plain_product(const Matrix& a, const Matrix& b, int depth, int columns) {
  Product product;
  const int rows = static_cast<int>(a.size()) / depth;
  for (int i = 0; i < rows * columns; ++i) {
    double value = 0, magnitude = 0;
    for (int k = 0; k < depth; ++k) {
      const double term = double{a[static_cast<std::size_t>(i / columns * depth + k)]} *
                          b[static_cast<std::size_t>(k * columns + i % columns)];
      value += term, magnitude += std::fabs(term);
    }
    product.value.push_back(value), product.magnitude.push_back(magnitude);
  }
  return product;
}

Matrix transposed(const Matrix& matrix, int columns) {
  const std::size_t width = static_cast<std::size_t>(columns), height = matrix.size() / width;
  Matrix result(matrix.size());
  for (std::size_t i = 0; i < matrix.size(); ++i)
    result[i % width * height + i / width] = matrix[i];
  return result;
}

// ---- Where elements are ----

template <typename Fragment>
void expect_every_element_once(int neighbours_down, int neighbours_right) {
  std::set<std::pair<int, int>> seen;
  Fragment fragment;
  const int registers = sizeof(fragment.x) / sizeof(fragment.x[0]);
  for (int lane = 0; lane < kWarpSize; ++lane) {
    for (int i = 0; i < registers; ++i) {
      const Place first = Fragment::place(lane, i);
      seen.insert({first.row, first.column});
      seen.insert({first.row + neighbours_down, first.column + neighbours_right});
    }
  }
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(Fragment::kRows * Fragment::kColumns));
  EXPECT_EQ(*seen.rbegin(), std::pair(Fragment::kRows - 1, Fragment::kColumns - 1));
}

TEST(Tiles, FragmentsHoldEachElementOnce) {
  expect_every_element_once<FragmentA<bfloat16>>(0, 1);
  expect_every_element_once<FragmentB<bfloat16>>(1, 0);
  expect_every_element_once<FragmentA<float>>(0, 1);
  expect_every_element_once<FragmentB<float>>(1, 0);
  expect_every_element_once<FragmentA<Tf32>>(0, 0);
  expect_every_element_once<FragmentB<Tf32>>(0, 0);
  std::set<std::pair<int, int>> sums;
  for (int lane = 0; lane < kWarpSize; ++lane) {
    for (int i = 0; i < 4; ++i)
      sums.insert({accumulator_place(lane, i).row, accumulator_place(lane, i).column});
  }
  EXPECT_EQ(sums.size(), 16u * 8u);
}

// The number of different 4-byte banks that an access of `bytes` per lane touches.
template <typename Tile, typename Row, typename Column>
std::size_t words_in_different_banks(int lanes, int bytes, Row row, Column column) {
  std::set<unsigned> banks;
  for (int lane = 0; lane < lanes; ++lane) {
    const unsigned first =
        Tile::place(static_cast<unsigned>(row(lane)), static_cast<unsigned>(column(lane))) *
        static_cast<unsigned>(sizeof(typename Tile::Element)) / 4;
    for (unsigned word = 0; word < static_cast<unsigned>(bytes) / 4; ++word)
      banks.insert((first + word) % 32);
  }
  return banks.size();
}

template <typename Element, int kColumns>
void expect_swizzled() {
  using T = Tile<Element, kColumns>;
  constexpr unsigned kRows = 64, kUnit = T::kUnit;
  std::vector<Element> elements(kRows * kColumns);
  const T tile{elements.data()};
  std::set<unsigned> places;
  for (unsigned row = 0; row < kRows; ++row) {
    for (unsigned column = 0; column < kColumns; ++column) {
      const unsigned place = T::place(row, column), among = column % (2 * kUnit);
      places.insert(place);
      EXPECT_LT(place, kRows * kColumns);
      EXPECT_EQ(place % kUnit, column % kUnit) << "a unit stays together";
      const int rows = static_cast<int>(row / 8 * 8), columns = static_cast<int>(column - among);
      EXPECT_EQ(moved(tile, T::place(row % 8, among), rows, columns) - tile.smem, place);
    }
  }
  EXPECT_EQ(places.size(), kRows * kColumns);
  // Eight vectors of a column, and eight along a row (of two rows if a row has only four).
  for (int unit = 0; unit < T::kUnits; ++unit) {
    const auto rows = [](int i) { return 8 + i; };
    const auto here = [&](int) { return unit * T::kUnit; };
    if (sizeof(Element) == 2) {
      EXPECT_EQ(words_in_different_banks<T>(8, 16, rows, here), 32u);
    }
    if (unit % T::kGroupUnits != 0) continue;
    const auto along = [&](int i) { return (unit + i % T::kGroupUnits) * T::kUnit; };
    const auto one_or_two = [](int i) { return 10 + i / T::kGroupUnits; };
    EXPECT_EQ(words_in_different_banks<T>(8, 16, one_or_two, along), 32u);
  }
}

// Floats are loaded in pairs from four rows at once, or singly from every other row.
template <int kColumns>
void expect_swizzled_floats() {
  using T = Tile<float, kColumns>;
  expect_swizzled<float, kColumns>();
  for (int block = 0; block < kColumns; block += 8) {
    const auto pair = [&](int lane) { return block + lane % 4 * 2; };
    const auto single = [&](int lane) { return block + lane / 4; };
    for (int first = 0; first < 16; first += 4) {
      const auto row = [&](int lane) { return first + lane / 4; };
      EXPECT_EQ(words_in_different_banks<T>(16, 8, row, pair), 32u);
    }
    for (int first = 0; first < 2; ++first) {
      const auto row = [&](int lane) { return first + lane % 4 * 2; };
      EXPECT_EQ(words_in_different_banks<T>(32, 4, row, single), 32u);
    }
  }
}

TEST(Tiles, SwizzledLanesMeetInNoBankAndNoElementIsLost) {
  expect_swizzled<bfloat16, 32>();
  expect_swizzled<bfloat16, 64>();
  expect_swizzled<bfloat16, 96>();
  expect_swizzled<bfloat16, 128>();
  expect_swizzled<bfloat16, 256>();
  expect_swizzled_floats<32>();
  expect_swizzled_floats<64>();
  expect_swizzled_floats<256>();
}

TEST(Tiles, AStraightTileIsRowAfterRow) {
  using T = Tile<bfloat16, 64, Layout::kStraight>;
  EXPECT_EQ(T::place(3, 5), 3u * 64 + 5);
}

// ---- Products ----

constexpr int kSide = 64;  // of the tiles

enum class AIs { kMk, kKm };
enum class BIs { kNk, kKn };

// d (16, 16) = a (16, kSide) b (kSide, 16), by one warp, from tiles whose operands begin at (row,
// 16), in either order.
template <typename Element, Layout kLayout, AIs kA, BIs kB, Split kSplit>
__global__ void multiplies(float* d, const float* a, const float* b) {
  using Operand = Tile<Element, kSide + 64, kLayout>;
  extern __shared__ __align__(128) unsigned char smem[];
  const Operand a_tile{reinterpret_cast<Element*>(smem)};
  const Operand b_tile{a_tile.smem + (kSide + 16) * Operand::kColumns};
  const int lane = static_cast<int>(threadIdx.x);
  for (int i = lane; i < 16 * kSide; i += kWarpSize) {
    const int m = i / kSide, k = i % kSide, n = m;
    ladder::cuda::store(kA == AIs::kMk ? a_tile.at(8 + m, 16 + k) : a_tile.at(8 + k, 16 + m),
                        a[m * kSide + k]);
    ladder::cuda::store(kB == BIs::kNk ? b_tile.at(8 + n, 16 + k) : b_tile.at(8 + k, 16 + n),
                        b[k * 16 + n]);
  }
  __syncwarp();
  Accumulator sum[2] = {};
  for (int k = 0; k < kSide; k += 16) {
    FragmentA<Element> of_a;
    FragmentB<Element> of_b[2];
    if constexpr (kA == AIs::kMk) {
      of_a = load_a_mk(a_tile, 8, 16 + k, lane);
    } else {
      of_a = load_a_km(a_tile, 8 + k, 16, lane);
    }
    if constexpr (kB == BIs::kNk) {
      load_b_nk(of_b, b_tile, 8, 16 + k, lane);
    } else {
      load_b_kn(of_b, b_tile, 8 + k, 16, lane);
    }
    multiply<kSplit>(sum, of_a, of_b);
  }
  for (int half = 0; half < 2; ++half) {
    for (int i = 0; i < 4; ++i) {
      const Place at = accumulator_place(lane, i);
      d[at.row * 16 + half * 8 + at.column] = sum[half][i];
    }
  }
}

template <typename Element, Layout kLayout, AIs kA, BIs kB, Split kSplit>
Matrix multiplied(const Matrix& a, const Matrix& b) {
  const DeviceVector<float> d(16 * 16), of_a(a), of_b(b);
  constexpr int kBytes = 2 * (kSide + 16) * (kSide + 64) * static_cast<int>(sizeof(Element));
  const auto kernel = multiplies<Element, kLayout, kA, kB, kSplit>;
  EXPECT_EQ(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes),
            cudaSuccess);
  kernel<<<1, kWarpSize, kBytes>>>(d.data(), of_a.data(), of_b.data());
  return d.host();
}

template <typename Element, Layout kLayout, AIs kA, BIs kB>
void expect_exact() {
  const Matrix a = whole_numbers(16 * kSide, 1, kMost), b = whole_numbers(kSide * 16, 2, kMost);
  const Product expected = plain_product(a, b, kSide, 16);
  const Matrix d = multiplied<Element, kLayout, kA, kB, Split::kNearest>(a, b);
  for (std::size_t i = 0; i < d.size(); ++i)
    EXPECT_EQ(d[i], expected.value[i]) << i;
}

template <typename Element, Layout kLayout>
void expect_exact_both_ways() {
  expect_exact<Element, kLayout, AIs::kMk, BIs::kNk>();
  expect_exact<Element, kLayout, AIs::kMk, BIs::kKn>();
  expect_exact<Element, kLayout, AIs::kKm, BIs::kNk>();
  expect_exact<Element, kLayout, AIs::kKm, BIs::kKn>();
}

TEST(Tiles, ProductsOfWholeNumbersAreExact) {
  expect_exact_both_ways<bfloat16, Layout::kStraight>();
  expect_exact_both_ways<bfloat16, Layout::kSwizzled>();
  expect_exact_both_ways<float16, Layout::kSwizzled>();
  expect_exact_both_ways<float, Layout::kStraight>();
  expect_exact_both_ways<float, Layout::kSwizzled>();
}

// d (16, 8) = a (16, 8) b (8, 8), with fragments filled by hand.
__global__ void multiplies_tf32(float* d, const float* a, const float* b) {
  const int lane = static_cast<int>(threadIdx.x);
  FragmentA<Tf32> of_a;
  FragmentB<Tf32> of_b;
  for (int i = 0; i < 4; ++i) {
    const Place at = of_a.place(lane, i);
    of_a.x[i] = ladder::cuda::to_tf32(a[at.row * 8 + at.column]);
  }
  for (int i = 0; i < 2; ++i) {
    const Place at = of_b.place(lane, i);
    of_b.x[i] = ladder::cuda::to_tf32(b[at.row * 8 + at.column]);
  }
  Accumulator sum = {};
  multiply(sum, of_a, of_b);
  for (int i = 0; i < 4; ++i) {
    const Place at = accumulator_place(lane, i);
    d[at.row * 8 + at.column] = sum[i];
  }
}

double worst_error(const Matrix& d, const Product& expected) {
  double worst = 0;
  for (std::size_t i = 0; i < d.size(); ++i)
    worst = std::fmax(worst, std::fabs(d[i] - expected.value[i]) / expected.magnitude[i]);
  return worst;
}

// Three tf32 products are about as precise as fp32; one alone is off by 2^-11.
TEST(Tiles, ThreeProductsOfTf32AreOneOfFloat) {
  const Matrix a = ragged_numbers(16 * kSide, 3), b = ragged_numbers(kSide * 16, 4);
  const Product expected = plain_product(a, b, kSide, 16);
  constexpr Layout kLayout = Layout::kSwizzled;
  EXPECT_LT(
      worst_error(multiplied<float, kLayout, AIs::kMk, BIs::kNk, Split::kNearest>(a, b), expected),
      0x1p-21);
  EXPECT_LT(
      worst_error(multiplied<float, kLayout, AIs::kMk, BIs::kNk, Split::kCheap>(a, b), expected),
      0x1p-21);
  const Matrix a8(a.begin(), a.begin() + 16 * 8), b8(b.begin(), b.begin() + 8 * 8);
  const DeviceVector<float> d(16 * 8), of_a(a8), of_b(b8);
  multiplies_tf32<<<1, kWarpSize>>>(d.data(), of_a.data(), of_b.data());
  const double of_tf32 = worst_error(d.host(), plain_product(a8, b8, 8, 8));
  EXPECT_LT(of_tf32, 0x1p-10);
  EXPECT_GT(of_tf32, 0x1p-14);
}

template <Split kSplit>
__global__ void splits(float* rest, const float* x) {
  const Parts parts = split<kSplit>(x[threadIdx.x]);
  const float big = __uint_as_float(parts.big), small = __uint_as_float(parts.small);
  const bool are_tf32 = (parts.big | parts.small) % (1u << 13) == 0;
  rest[threadIdx.x] = are_tf32 ? (x[threadIdx.x] - big) - small : NAN;
}

TEST(Tiles, AFloatIsTheSumOfItsPartsUpToItsLastBits) {
  Matrix numbers = ragged_numbers(128, 5);
  numbers[0] = 0.0f, numbers[1] = -1.0f - 0x1p-11f, numbers[2] = 0x1.fffffep100f;
  const DeviceVector<float> x(numbers), rest(numbers.size());
  splits<Split::kNearest><<<1, 128>>>(rest.data(), x.data());
  const Matrix nearest = rest.host();
  splits<Split::kCheap><<<1, 128>>>(rest.data(), x.data());
  const Matrix cheap = rest.host();
  bool loses = false;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    EXPECT_LE(std::fabs(nearest[i]), 0x1p-23f * std::fabs(numbers[i])) << numbers[i];
    EXPECT_LE(std::fabs(cheap[i]), 0x1p-23f * std::fabs(numbers[i])) << numbers[i];
    loses |= nearest[i] != 0.0f && cheap[i] != 0.0f;
  }
  EXPECT_TRUE(loses) << "the last bit sometimes fits into neither part";
}

// d (16, 16) = (x y) (x y)^T for x, y (16, 16). The first product stays in registers; the second is
// rounded into a tile before it is written.
template <typename Element>
__global__ void multiplies_twice(float* d, const float* x, const float* y) {
  using Operand = Tile<Element, 64>;
  __shared__ __align__(128) Element smem[2 * 16 * Operand::kColumns];
  const Operand x_tile{smem}, y_tile{smem + 16 * Operand::kColumns};
  const int lane = static_cast<int>(threadIdx.x);
  for (int i = lane; i < 256; i += kWarpSize) {
    ladder::cuda::store(x_tile.at(i / 16, i % 16), x[i]);
    ladder::cuda::store(y_tile.at(i / 16, i % 16), y[i]);
  }
  __syncwarp();
  FragmentB<Element> b[2];
  KnToB(y_tile, 0, lane).load(b, 0, 0);
  Accumulator first[2] = {}, second[2] = {};
  multiply(first[0], first[1], MkToA(x_tile, 0, lane).load(0, 0), b);
  const FragmentA<Element> a = as_a<Element>(first[0], first[1]);
  as_b(b, a);
  multiply(second[0], second[1], a, b);
  __syncwarp();
  for (int half = 0; half < 2; ++half)
    store_c(x_tile, 0, 8 * half, second[half], lane);
  __syncwarp();
  for (int i = lane; i < 256; i += kWarpSize)
    d[i] = ladder::cuda::load(x_tile.at(i / 16, i % 16));
}

template <typename Element>
void expect_product_of_sums() {
  Matrix x(256), y(256);
  for (std::size_t i = 0; i < 256; ++i) {
    x[i] = i % 5 == 0 ? 1.0f : 0.0f;
    y[i] = i % 7 == 0 ? 2.0f : i % 11 == 0 ? -1.0f : 0.0f;
  }
  const Product once = plain_product(x, y, 16, 16);
  const Matrix sums(once.value.begin(), once.value.end());
  const Product twice = plain_product(sums, transposed(sums, 16), 16, 16);
  const DeviceVector<float> d(256), of_x(x), of_y(y);
  multiplies_twice<Element><<<1, kWarpSize>>>(d.data(), of_x.data(), of_y.data());
  const Matrix result = d.host();
  for (std::size_t i = 0; i < 256; ++i)
    EXPECT_EQ(result[i], twice.value[i]) << i;
}

TEST(Tiles, ASumIsAFactorOfTheNextProductOnEitherSide) {
  expect_product_of_sums<bfloat16>();
  expect_product_of_sums<float16>();
  expect_product_of_sums<float>();
}

__global__ void reduces_quads(float* largest, float* sum, const float* x) {
  largest[threadIdx.x] = quad_max(x[threadIdx.x]);
  sum[threadIdx.x] = quad_sum(x[threadIdx.x]);
}

TEST(Tiles, AQuadsLanesGetItsLargestAndItsSum) {
  const Matrix numbers = whole_numbers(kWarpSize, 6, kMost);
  const DeviceVector<float> x(numbers), largest(numbers.size()), sum(numbers.size());
  reduces_quads<<<1, kWarpSize>>>(largest.data(), sum.data(), x.data());
  const Matrix most = largest.host(), total = sum.host();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const float* const quad = &numbers[i / 4 * 4];
    EXPECT_EQ(most[i], std::fmax(std::fmax(quad[0], quad[1]), std::fmax(quad[2], quad[3])));
    EXPECT_EQ(total[i], quad[0] + quad[1] + quad[2] + quad[3]);
  }
}

// ---- Rows ----

constexpr int kTileRows = 32, kTileColumns = 64, kThreads = 64;

// Copies rows of `columns` elements to a tile, the whole tile to `tile` (kTileRows, kTileColumns),
// and the tile's rows to `back`.
template <Copy kCopy, typename Element, typename Aligned>
__global__ void copies(float* tile, Element* back, const Element* from, int stride, int rows,
                       int columns, Aligned aligned) {
  using T = Tile<Element, kTileColumns>;
  __shared__ __align__(128) Element smem[kTileRows * T::kColumns];
  const T x{smem};
  const int tid = static_cast<int>(threadIdx.x);
  if constexpr (kCopy == Copy::kAsync) {
    copy_rows_async<kTileRows, kThreads>(x, from, stride, rows, columns, aligned, tid);
  } else {
    copy_rows<kTileRows, kThreads>(x, from, stride, rows, columns, aligned, tid);
  }
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  for (int i = tid; i < kTileRows * kTileColumns; i += kThreads)
    tile[i] = ladder::cuda::load(x.at(i / kTileColumns, i % kTileColumns));
  write_rows<kTileRows, kThreads>(back, x, stride, rows, columns, aligned, tid);
}

template <Copy kCopy, typename Element, typename Aligned>
void expect_copied(int stride, int rows, int columns, Aligned aligned) {
  SCOPED_TRACE(testing::Message() << "stride " << stride << ", " << rows << " rows of " << columns
                                  << ", aligned: " << static_cast<int>(aligned));
  const int exist = std::max(0, std::min(rows, kTileRows));
  // The array ends with the last row, so that the emulator reports an access past it.
  const int size = std::max(1, (exist - 1) * stride + columns);
  const Matrix numbers = whole_numbers(size, 7, kMost);
  std::vector<Element> elements, untouched(static_cast<std::size_t>(size));
  for (const float x : numbers) {
    Element element;
    if constexpr (std::is_same_v<Element, float>) {
      element = x;
    } else {
      element = ladder::to_bfloat16(x);
    }
    elements.push_back(element);
  }
  const DeviceVector<Element> from(elements), back(untouched);
  const DeviceVector<float> tile(kTileRows * kTileColumns);
  copies<kCopy>
      <<<1, kThreads>>>(tile.data(), back.data(), from.data(), stride, rows, columns, aligned);
  const Matrix copied = tile.host();
  const std::vector<Element> returned = back.host();
  for (int row = 0; row < kTileRows; ++row) {
    for (int column = 0; column < kTileColumns; ++column) {
      const std::size_t at = static_cast<std::size_t>(row * stride + column);
      const bool exists = row < rows && column < columns;
      const float expected = exists ? numbers[at] : 0.0f;
      EXPECT_EQ(copied[static_cast<std::size_t>(row * kTileColumns + column)], expected)
          << row << " " << column;
      if (!exists) continue;
      if constexpr (std::is_same_v<Element, float>) {
        EXPECT_EQ(returned[at], expected) << row << " " << column;
      } else {
        EXPECT_EQ(ladder::to_float(returned[at]), expected) << row << " " << column;
      }
    }
  }
  int written = 0;  // outside of the rows
  for (int i = 0; i < size; ++i) {
    const bool beside = i % stride >= columns;
    if constexpr (std::is_same_v<Element, float>) {
      written += beside && returned[static_cast<std::size_t>(i)] != 0.0f;
    } else {
      written += beside && returned[static_cast<std::size_t>(i)].bits != 0;
    }
  }
  EXPECT_EQ(written, 0);
}

template <Copy kCopy>
void expect_edges() {
  for (const int rows : {0, 1, 31, 32, 40}) {
    for (const int columns : {8, 56, 64}) {
      expect_copied<kCopy, bfloat16>(columns, rows, columns, true);
      expect_copied<kCopy, bfloat16>(columns + 8, rows, columns, true);
      expect_copied<kCopy, float>(columns + 8, rows, columns, true);
    }
    for (const int columns : {1, 37, 63, 64}) {
      expect_copied<kCopy, bfloat16>(columns + 1, rows, columns, false);
      expect_copied<kCopy, float>(columns + 3, rows, columns, false);
    }
  }
}

TEST(Tiles, RowsAreCopiedWithTheirEdges) {
  expect_edges<Copy::kPlain>();
  expect_edges<Copy::kAsync>();
}

// A row may end in the middle of a vector, where the next row begins.
TEST(Tiles, RowsThatConsistOfHalfUnitsAreCopiedByHalves) {
  constexpr Copy kAsync = Copy::kAsync;
  for (const int rows : {0, 1, 31, 32, 40}) {
    for (const int columns : {4, 8, 12, 60, 64}) {
      expect_copied<kAsync, bfloat16>(columns, rows, columns, Width::kHalf);
      expect_copied<kAsync, bfloat16>(columns + 4, rows, columns, Width::kHalf);
    }
    for (const int columns : {2, 4, 6, 62, 64})
      expect_copied<kAsync, float>(columns + 2, rows, columns, Width::kHalf);
    expect_copied<kAsync, bfloat16>(64, rows, 56, Width::kUnit);
    expect_copied<kAsync, bfloat16>(37, rows, 37, Width::kElement);
  }
}

template <bool kAligned, typename Element>
__global__ void moves_neighbours(Element* to, float* reg, const Element* from, int count) {
  alignas(16) float x[4] = {-1.0f, -1.0f, -1.0f, -1.0f};
  load<4, kAligned>(x, from, count);
  for (int i = 0; i < 4; ++i)
    reg[i] = x[i];
  store<4, kAligned>(to, x, count);
}

template <bool kAligned>
void expect_neighbours(int count) {
  const DeviceVector<float> from(Matrix{1, 2, 3, 4}), to(Matrix{9, 9, 9, 9}), reg(4);
  moves_neighbours<kAligned><<<1, 1>>>(to.data(), reg.data(), from.data(), count);
  std::vector<bfloat16> elements;
  for (const float x : {1.0f, 2.0f, 3.0f, 4.0f})
    elements.push_back(ladder::to_bfloat16(x));
  const DeviceVector<bfloat16> from16(elements), to16(std::vector<bfloat16>(4));
  const DeviceVector<float> reg16(4);
  moves_neighbours<kAligned><<<1, 1>>>(to16.data(), reg16.data(), from16.data(), count);
  for (int i = 0; i < 4; ++i) {
    const std::size_t at = static_cast<std::size_t>(i);
    const float expected = i < count ? static_cast<float>(i + 1) : -1.0f;
    EXPECT_EQ(reg.host()[at], expected);
    EXPECT_EQ(reg16.host()[at], expected);
    EXPECT_EQ(to.host()[at], i < count ? expected : 9.0f);
    EXPECT_EQ(ladder::to_float(to16.host()[at]), i < count ? expected : 0.0f);
  }
}

TEST(Tiles, NeighboursGoToRegistersAndBack) {
  expect_neighbours<true>(4);
  expect_neighbours<true>(0);
  for (int count = 0; count <= 4; ++count)
    expect_neighbours<false>(count);
}

}  // namespace
