// Tensor-core instructions. The last lane to arrive computes for all.
#include "emulator/tensor_core.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "emulator/emulator.hpp"
#include "emulator/float16.hpp"
#include "emulator/threads.hpp"
#include "observed.hpp"

namespace emulator {
namespace {

using detail::Bfloat16;
using detail::Binary16;

constexpr unsigned kLanes = 32;
constexpr unsigned kRows = 16;
constexpr unsigned kColumns = 8;
constexpr std::size_t kRowBytes = 16;  // per row of an 8 x 8 matrix

// The data that each lane passes for any instruction.
struct Lane {
  Site where;
  enum : unsigned char { kRight, kLaneMissing, kLaneElsewhere } found = kRight;
  unsigned other_lane = 0;  // the lane that is missing or elsewhere
  Site elsewhere{};
};

bool same_place(const Site& a, const Site& b) {
  return a.line == b.line && (a.file == b.file || std::strcmp(a.file, b.file) == 0);
}

template <typename Operands>
Operands& at(void* const* lanes, unsigned lane) {
  return *static_cast<Operands*>(lanes[lane]);
}

// Whether all lanes called from one line. If not, each gets the error and fails when it continues.
template <typename Operands>
bool together(void* const* lanes) {
  unsigned first = 0;
  while (lanes[first] == nullptr)
    ++first;
  const Lane& one = at<Operands>(lanes, first);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const bool missing = lanes[lane] == nullptr;
    if (!missing && same_place(at<Operands>(lanes, lane).where, one.where)) continue;
    for (unsigned each = 0; each < kLanes; ++each) {
      if (lanes[each] == nullptr) continue;
      Lane& told = at<Operands>(lanes, each);
      told.found = missing ? Lane::kLaneMissing : Lane::kLaneElsewhere;
      told.other_lane = lane;
      if (!missing) told.elsewhere = at<Operands>(lanes, lane).where;
    }
    return false;
  }
  return true;
}

// A separate function, so that waiting lanes need small stacks.
[[gnu::noinline]] void fail_apart(const char* name, const Lane& lane) {
  std::array<char, 512> text;  // no heap, because nothing is destroyed after an error in a kernel
  if (lane.found == Lane::kLaneMissing) {
    std::snprintf(text.data(), text.size(),
                  "%s needs all 32 lanes of the warp: lane %u has returned or never was", name,
                  lane.other_lane);
  } else {
    std::snprintf(text.data(), text.size(),
                  "%s needs all 32 lanes of the warp at one place: lane %u is at %s:%d", name,
                  lane.other_lane, lane.elsewhere.file, lane.elsewhere.line);
  }
  fail_in_kernel(text.data(), lane.where);
}

void meet(const char* name, Complete complete, const Lane& lane, void* data) {
  const detail::Unobserved unobserved;
  warp_collective(name, ~0u, complete, data, lane.where);
  if (lane.found != Lane::kRight) fail_apart(name, lane);
}

struct Product : Lane {
  float* d;
  const std::uint32_t* a;
  const std::uint32_t* b;
};

// A register holds two elements, number `pair` in a group of eight of A's row or B's column.
template <typename Format>
struct Operand16 {
  static constexpr unsigned kDepth = 16;
  static constexpr unsigned kInRegister = 2;
  static constexpr unsigned kGroup = 8;
  static float element(std::uint32_t bits, unsigned i) {
    return Format::decode(static_cast<std::uint16_t>(bits >> 16 * i));
  }
};

struct Tf32Operand {
  static constexpr unsigned kDepth = 8;
  static constexpr unsigned kInRegister = 1;
  static constexpr unsigned kGroup = 4;
  static float element(std::uint32_t bits, unsigned) {
    return std::bit_cast<float>(bits & ~0x1fffu);
  }
};

template <typename Operand>
void complete_product(void* const* lanes, unsigned) {
  if (!together<Product>(lanes)) return;
  float a[kRows][Operand::kDepth], b[Operand::kDepth][kColumns], d[kRows][kColumns];
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const Product& own = at<Product>(lanes, lane);
    const unsigned row = lane / 4, pair = lane % 4;
    for (unsigned i = 0; i < Operand::kInRegister; ++i) {
      const unsigned k = pair * Operand::kInRegister + i;
      for (unsigned half = 0; half < 2; ++half) {
        a[row][k + half * Operand::kGroup] = Operand::element(own.a[2 * half], i);
        a[row + 8][k + half * Operand::kGroup] = Operand::element(own.a[2 * half + 1], i);
        b[k + half * Operand::kGroup][row] = Operand::element(own.b[half], i);
      }
    }
    for (unsigned i = 0; i < 4; ++i)
      d[row + i / 2 * 8][2 * pair + i % 2] = own.d[i];
  }
  for (unsigned row = 0; row < kRows; ++row) {
    for (unsigned k = 0; k < Operand::kDepth; ++k) {
      for (unsigned column = 0; column < kColumns; ++column)
        d[row][column] += a[row][k] * b[k][column];
    }
  }
  if (detail::observer() != nullptr)
    detail::observer()->matrices_multiplied(kRows * kColumns * Operand::kDepth);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const unsigned row = lane / 4, pair = lane % 4;
    for (unsigned i = 0; i < 4; ++i)
      at<Product>(lanes, lane).d[i] = d[row + i / 2 * 8][2 * pair + i % 2];
  }
}

struct Load : Lane {
  std::uint32_t* r;
  const void* row;
};

template <bool kTransposed>
void complete_load(void* const* lanes, unsigned) {
  if (!together<Load>(lanes)) return;
  std::uint16_t elements[4][8][8];  // matrix, row, column
  for (unsigned lane = 0; lane < kLanes; ++lane)
    std::memcpy(elements[lane / 8][lane % 8], at<Load>(lanes, lane).row, kRowBytes);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const unsigned one = lane / 4, two = 2 * (lane % 4);
    for (unsigned i = 0; i < 4; ++i) {
      const auto& matrix = elements[i];
      const std::uint32_t low = kTransposed ? matrix[two][one] : matrix[one][two];
      const std::uint32_t high = kTransposed ? matrix[two + 1][one] : matrix[one][two + 1];
      at<Load>(lanes, lane).r[i] = low | high << 16;
    }
  }
}

struct Store : Lane {
  const std::uint32_t* r;
  void* row;
};

void complete_store(void* const* lanes, unsigned) {
  if (!together<Store>(lanes)) return;
  std::uint16_t elements[4][8][8];  // matrix, row, column
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    for (unsigned i = 0; i < 4; ++i)
      std::memcpy(&elements[i][lane / 4][2 * (lane % 4)], at<Store>(lanes, lane).r + i, 4);
  }
  for (unsigned lane = 0; lane < kLanes; ++lane)
    std::memcpy(at<Store>(lanes, lane).row, elements[lane / 8][lane % 8], kRowBytes);
}

enum class Access { kLoad, kStore };

void check_row(const char* name, const void* pc, const void* row, Site where,
               Access access = Access::kLoad) {
  const detail::Unobserved unobserved;
  const AddressRange shared = shared_memory();
  const auto fail = [&](const char* what) {
    std::array<char, 128> text;
    std::snprintf(text.data(), text.size(), "%s: the row %s", name, what);
    fail_in_kernel(text.data(), where);
  };
  const auto* const first = static_cast<const unsigned char*>(row);
  if (first < shared.begin || first + kRowBytes > shared.end)
    fail("is not in the block's shared memory");
  if (reinterpret_cast<std::uintptr_t>(row) % kRowBytes != 0) fail("is not aligned to 16 bytes");
  if (detail::observer() == nullptr) return;
  if (access == Access::kLoad)
    detail::observer()->matrix_row_loaded(pc, row, kRowBytes);
  else
    detail::observer()->matrix_row_stored(pc, row, kRowBytes);
}

}  // namespace

std::uint32_t pack_bf16(float low, float high) {
  return std::uint32_t{Bfloat16::encode(low)} | std::uint32_t{Bfloat16::encode(high)} << 16;
}

std::uint32_t pack_fp16(float low, float high) {
  return std::uint32_t{Binary16::encode(low)} | std::uint32_t{Binary16::encode(high)} << 16;
}

std::uint32_t to_tf32(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const bool is_finite = (bits & 0x7f800000u) != 0x7f800000u;
  if (!is_finite) return (bits & 0x007fffffu) == 0 ? bits : 0x7fffffffu;
  return (bits + 0x1000u) & ~0x1fffu;  // a carry increments the exponent, as intended
}

void mma_bf16(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2], Site where) {
  Product product{{where}, d, a, b};
  meet("mma_bf16", complete_product<Operand16<Bfloat16>>, product, &product);
}

void mma_fp16(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2], Site where) {
  Product product{{where}, d, a, b};
  meet("mma_fp16", complete_product<Operand16<Binary16>>, product, &product);
}

void mma_tf32(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2], Site where) {
  Product product{{where}, d, a, b};
  meet("mma_tf32", complete_product<Tf32Operand>, product, &product);
}

void load_matrices(std::uint32_t (&r)[4], const void* row_smem, Site where) {
  check_row("load_matrices", __builtin_return_address(0), row_smem, where);
  Load load{{where}, r, row_smem};
  meet("load_matrices", complete_load<false>, load, &load);
}

void load_matrices_transposed(std::uint32_t (&r)[4], const void* row_smem, Site where) {
  check_row("load_matrices_transposed", __builtin_return_address(0), row_smem, where);
  Load load{{where}, r, row_smem};
  meet("load_matrices_transposed", complete_load<true>, load, &load);
}

void store_matrices(void* row_smem, const std::uint32_t (&r)[4], Site where) {
  check_row("store_matrices", __builtin_return_address(0), row_smem, where, Access::kStore);
  Store store{{where}, r, row_smem};
  meet("store_matrices", complete_store, store, &store);
}

}  // namespace emulator
