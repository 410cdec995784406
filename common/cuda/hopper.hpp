// Hopper (sm_90a) beyond the older tensor-core instructions: TMA (bulk tensor copies, which
// complete on mbarriers) and wgmma (products that a warpgroup of 128 threads issues and the tensor
// cores execute asynchronously). One instruction per function, compiled by nvcc for sm_90a and
// elsewhere run by the emulator (common/emulator/include/emulator/barriers.hpp, tensor_copies.hpp
// and products.hpp). Kernels that use it are named *_sm90.cu.
//
// A tile in shared memory. A row of a panel is 64 elements of 16 bits, 128 bytes, and rows are
// contiguous. A tile of more than 64 columns has several panels. In a panel the 16-byte vectors of
// row r are swizzled: vector u is stored at index u ^ (r % 8), the 128-byte swizzle. Therefore the
// vectors of one column in 8 rows are in 8 different groups of banks, and a tile can be read by
// rows and by columns without conflicts. TMA writes this order and wgmma reads it, both by address
// bits, so a panel begins at a multiple of 1024 bytes (8 rows, after which the pattern repeats).
//
// A product D += A B has D (64 x N) in the registers of a warpgroup. A (64 x 16) comes from
// registers or from shared memory, B (16 x N) from shared memory. A descriptor of 64 bits describes
// a shared-memory operand (addresses and strides divided by 16 bytes):
//
//     bits  0-13   its start
//     bits 16-29   from one panel to the next, if the operand spans several
//     bits 32-45   from 8 rows of a panel to the next 8: 1024 bytes
//     bits 62-63   1: the 128-byte swizzle
//
// wgmma reads a tile in either order. Major::kK ("K-major"): the index of the sum is contiguous
// in shared memory, and the next 16 terms are 32 bytes later. Major::kMN ("MN-major", PTX's
// transpose bit, 16-bit types only): rows of A (columns of B) are contiguous, and the next 16 terms
// are 16 rows later.
//
// Registers are as in tensor_core.hpp, and each warp has 16 rows. With row = 16 (warp % 4) + lane /
// 4 and pair = lane % 4, d[4 j], d[4 j + 1] are D[row][8 j + 2 pair, +1], and d[4 j + 2], d[4 j +
// 3] are the same of row + 8. Therefore d[8 s] to d[8 s + 7], packed in pairs, are the A of a next
// product's terms 16 s to 16 s + 15.
//
// Source: PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions", "Tensor copies", "mbarrier",
// "setmaxnreg".
#pragma once

#include <cuda.h>
#include <cudaTypedefs.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <string>
#include <type_traits>

#include "common/core/bfloat16.hpp"
#include "common/core/errors.hpp"
#include "common/core/float16.hpp"
#include "common/cuda/check.hpp"

#ifndef __CUDACC__
#include "emulator/barriers.hpp"
#include "emulator/products.hpp"
#include "emulator/tensor_copies.hpp"
#include "emulator/tensor_core.hpp"
#endif

namespace ladder::cuda::hopper {

constexpr int kWarpgroup = 128;   // threads
constexpr int kPanel = 64;        // columns of 16 bits, 128 bytes
constexpr int kTileAlign = 1024;  // of every panel, in bytes

inline __device__ std::uint32_t shared_address(const void* pointer_smem) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer_smem));
}

// ---- Barriers in shared memory ----
//
// An mbarrier counts arrivals, and the bytes of copies in flight. When both are complete its phase
// ends, and the next begins with the same count. Phases are distinguished by their parity, 0, 1, 0,
// ...: wait(barrier, parity) returns when the phase of that parity is complete. On a fresh barrier
// a wait for parity 1 returns at once, as for "the phase before the first".

using Barrier = std::uint64_t;

// The stage and the round's parity of the n-th use of a ring of kLength stages. If n is unsigned
// and kLength a power of two, both are a few of its bits.
template <int kLength, typename Count>
__device__ int stage_of(Count n) {
  return static_cast<int>(n % kLength);
}
template <int kLength, typename Count>
__device__ std::uint32_t phase_of(Count n) {
  return static_cast<std::uint32_t>(n / kLength % 2);
}

#ifdef __CUDACC__

// By one thread, then fence_barrier_init and a __syncthreads before any thread uses the barrier.
inline __device__ void init(Barrier* barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;"
               :
               : "r"(shared_address(barrier)), "r"(arrivals)
               : "memory");
}

inline __device__ void fence_barrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" : : : "memory");
}

inline __device__ void arrive(Barrier* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];"
               :
               : "r"(shared_address(barrier))
               : "memory");
}

// Arrives, and adds `bytes` to the copies that this phase waits for (arrive.expect_tx).
inline __device__ void arrive_expect_tx(Barrier* barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
               :
               : "r"(shared_address(barrier)), "r"(bytes)
               : "memory");
}

inline __device__ void wait(Barrier* barrier, std::uint32_t parity) {
  asm volatile(
      "{\n"
      ".reg .pred over;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 over, [%0], %1;\n"
      "@!over bra again;\n"
      "}"
      :
      : "r"(shared_address(barrier)), "r"(parity)
      : "memory");
}

// ---- Named barriers: some of a block's threads ----
//
// Barrier 0 is __syncthreads, 1 to 15 are free. `threads` counts waiting and arriving ones.

inline __device__ void named_barrier_sync(int name, int threads) {
  asm volatile("bar.sync %0, %1;" : : "r"(name), "r"(threads) : "memory");
}

inline __device__ void named_barrier_arrive(int name, int threads) {
  asm volatile("bar.arrive %0, %1;" : : "r"(name), "r"(threads) : "memory");
}

// ---- Registers (setmaxnreg) ----
//
// A kernel starts with the same number of registers for every thread. A warpgroup that only copies
// releases most of its own (dec), and those that compute take them (inc). All four warps call.
// Needs __launch_bounds__(threads, 1).

template <int kRegisters>
__device__ void setmaxnreg_dec() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" : : "n"(kRegisters));
}

template <int kRegisters>
__device__ void setmaxnreg_inc() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" : : "n"(kRegisters));
}

// ---- TMA: bulk tensor copies ----

// One thread loads a box, which is one panel of a tile. Out-of-bounds elements arrive as zeros, and
// all of the box's bytes count. Column, head and row are the box's first, the column a multiple of
// 8 (16 bytes). For a map by make_tensor_map_of_batches they are column, row and batch. `map` is
// in a __grid_constant__ parameter.
inline __device__ void tma_load(void* panel_smem, const CUtensorMap* map, Barrier* barrier,
                                int column, int head, int row) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%3, %4, %5}], [%2];"
      :
      : "r"(shared_address(panel_smem)), "l"(map), "r"(shared_address(barrier)), "r"(column),
        "r"(head), "r"(row)
      : "memory");
}

// One thread stores the box from shared memory. Out-of-bounds elements are not written. The panel
// must not change until this thread has waited, and no other thread can wait for it. Stores since
// the last tma_store_commit are a group.
inline __device__ void tma_store(const CUtensorMap* map, const void* panel_smem, int column,
                                 int head, int row) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%2, %3, %4}], [%1];"
               :
               : "l"(map), "r"(shared_address(panel_smem)), "r"(column), "r"(head), "r"(row)
               : "memory");
}

inline __device__ void tma_store_commit() {
  asm volatile("cp.async.bulk.commit_group;" : : : "memory");
}

// Waits until all but the last kPending groups have read shared memory, which may then be
// overwritten. Their writes may still be in flight.
template <int kPending>
__device__ void tma_store_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" : : "n"(kPending) : "memory");
}

// Waits until they are written too, so that this thread can read the result.
template <int kPending>
__device__ void tma_store_wait() {
  asm volatile("cp.async.bulk.wait_group %0;" : : "n"(kPending) : "memory");
}

// Makes this thread's shared-memory stores visible to the async proxy (TMA, wgmma). A barrier must
// follow before another thread uses them.
inline __device__ void fence_proxy_async() {
  asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
}

// The same for global memory that threads of this launch accessed and a copy then reads or writes.
inline __device__ void fence_proxy_async_global() {
  asm volatile("fence.proxy.async.global;" : : : "memory");
}

// ---- Products of a warpgroup (wgmma) ----
//
// All 128 threads together: wgmma_fence, some wgmma, wgmma_commit_group, then wgmma_wait_group.
// From the first product to the wait no thread may touch D, nor the registers that hold A. Products
// of one D need no fence between them.

// Registers written before this fence may be operands after it.
inline __device__ void wgmma_fence() {
  asm volatile("wgmma.fence.sync.aligned;" : : : "memory");
}

// Makes the products issued so far a group (wgmma.commit_group).
inline __device__ void wgmma_commit_group() {
  asm volatile("wgmma.commit_group.sync.aligned;" : : : "memory");
}

// Waits until all but the last kPending groups are complete (wgmma.wait_group).
template <int kPending>
__device__ void wgmma_wait_group() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" : : "n"(kPending) : "memory");
}

// A compiler fence. The compiler does not see that registers are in use until the wait. `pin` keeps
// its accesses in their order: uses of D after the wait, and writes of D and A before
// wgmma_fence. It generates no instruction.
template <int kCount>
__device__ void pin(float (&d)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i)
    asm volatile("" : "+f"(d[i]) : : "memory");
}
template <int kCount>
__device__ void pin(std::uint32_t (&a)[kCount][4]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j)
      asm volatile("" : "+r"(a[i][j]) : : "memory");
  }
}

#else  // the same functions, which also record their call sites

using emulator::arrive;
using emulator::arrive_expect_tx;
using emulator::fence_barrier_init;
using emulator::fence_proxy_async;
using emulator::fence_proxy_async_global;
using emulator::init;
using emulator::named_barrier_arrive;
using emulator::named_barrier_sync;
using emulator::setmaxnreg_dec;
using emulator::setmaxnreg_inc;
using emulator::tma_load;
using emulator::tma_store;
using emulator::tma_store_commit;
using emulator::tma_store_wait;
using emulator::tma_store_wait_read;
using emulator::wait;
using emulator::wgmma_commit_group;
using emulator::wgmma_fence;
using emulator::wgmma_wait_group;

template <int kCount>
void pin(float (&d)[kCount]) {
  emulator::pin(d, kCount);
}
template <int kCount>
void pin(std::uint32_t (&)[kCount][4]) {}

#endif

enum class Major {
  kK,   // the terms of the sum are contiguous
  kMN,  // rows of A, or columns of B, are contiguous
};

// Descriptor of an operand that begins at `begin_smem`, where `panel_bytes`, from one panel to the
// next, matters for Major::kMN only.
inline __device__ std::uint64_t matrix_descriptor(const void* begin_smem, int panel_bytes = 16) {
  constexpr std::uint64_t kSwizzle128 = 1, kEightRows = 1024;
  const auto units = [](std::uint64_t bytes) { return (bytes & 0x3ffff) >> 4; };
  return units(shared_address(begin_smem)) | units(static_cast<std::uint64_t>(panel_bytes)) << 16 |
         units(kEightRows) << 32 | kSwizzle128 << 62;
}

// The descriptor of an operand that begins `bytes` later.
inline __device__ std::uint64_t advance(std::uint64_t descriptor, int bytes) {
  return descriptor + static_cast<std::uint64_t>(bytes >> 4);
}

// Offset of the next 16 terms of the sum, inside the panel (kK) or down the rows (kMN).
constexpr int kNextK = 32, kNextMN = 16 * 2 * kPanel;  // bytes

#ifdef __CUDACC__

template <int kN>
struct Products;

// D += A B, or D = A B if `add` is false. N is 32, 64, 128 or 256. The instruction's text must name
// all its registers, so there is one text per N, and only the preprocessor can build it.
template <typename Element, int kN, Major kA, Major kB>
__device__ void wgmma(float (&d)[kN / 2], std::uint64_t a, std::uint64_t b, bool add = true) {
  Products<kN>::template of<Element, kA == Major::kMN, kB == Major::kMN>(d, a, b, add);
}

// With A in registers.
template <typename Element, int kN, Major kB>
__device__ void wgmma(float (&d)[kN / 2], const std::uint32_t (&a)[4], std::uint64_t b,
                      bool add = true) {
  Products<kN>::template of<Element, kB == Major::kMN>(d, a, b, add);
}

// clang-format off
#define LADDER_NAMES_16 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define LADDER_NAMES_32 LADDER_NAMES_16 ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define LADDER_NAMES_64 LADDER_NAMES_32 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47" \
                        ", %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define LADDER_NAMES_128 LADDER_NAMES_64 ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79" \
                         ", %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95" \
                         ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111" \
                         ", %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"

#define LADDER_8(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), \
                    "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
#define LADDER_16 LADDER_8(0), LADDER_8(8)
#define LADDER_32 LADDER_16, LADDER_8(16), LADDER_8(24)
#define LADDER_64 LADDER_32, LADDER_8(32), LADDER_8(40), LADDER_8(48), LADDER_8(56)
#define LADDER_128 LADDER_64, LADDER_8(64), LADDER_8(72), LADDER_8(80), LADDER_8(88), \
                   LADDER_8(96), LADDER_8(104), LADDER_8(112), LADDER_8(120)

// X0 to X6 are the numbers of the operands after D's registers, which are the last arguments.
#define LADDER_SHARED_A(N, TYPE, REGISTERS, X0, X1, X2, X3, X4, ...)                        \
  asm volatile(                                                                             \
      "{\n.reg .pred add;\nsetp.ne.b32 add, " X2 ", 0;\n"                                   \
      "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." TYPE "." TYPE " {" REGISTERS "}, "  \
      X0 ", " X1 ", add, 1, 1, " X3 ", " X4 ";\n}"                                          \
      : __VA_ARGS__                                                                         \
      : "l"(a), "l"(b), "r"(static_cast<int>(add)), "n"(kTransposedA), "n"(kTransposedB))

#define LADDER_REGISTERS_A(N, TYPE, REGISTERS, X0, X1, X2, X3, X4, X5, X6, ...)             \
  asm volatile(                                                                             \
      "{\n.reg .pred add;\nsetp.ne.b32 add, " X5 ", 0;\n"                                   \
      "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." TYPE "." TYPE " {" REGISTERS "}, {" \
      X0 ", " X1 ", " X2 ", " X3 "}, " X4 ", add, 1, 1, " X6 ";\n}"                         \
      : __VA_ARGS__                                                                         \
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<int>(add)),     \
        "n"(kTransposedB))

#define LADDER_PRODUCTS(N, REGISTERS, X0, X1, X2, X3, X4, X5, X6, ...)                         \
  template <>                                                                                  \
  struct Products<N> {                                                                         \
    template <typename Element, int kTransposedA, int kTransposedB>                            \
    static __device__ void of(float (&d)[N / 2], std::uint64_t a, std::uint64_t b, bool add) { \
      if constexpr (std::is_same_v<Element, bfloat16>)                                         \
        LADDER_SHARED_A(N, "bf16", REGISTERS, X0, X1, X2, X3, X4, __VA_ARGS__);                \
      else                                                                                     \
        LADDER_SHARED_A(N, "f16", REGISTERS, X0, X1, X2, X3, X4, __VA_ARGS__);                 \
    }                                                                                          \
    template <typename Element, int kTransposedB>                                              \
    static __device__ void of(float (&d)[N / 2], const std::uint32_t (&a)[4], std::uint64_t b, \
                              bool add) {                                                      \
      if constexpr (std::is_same_v<Element, bfloat16>)                                         \
        LADDER_REGISTERS_A(N, "bf16", REGISTERS, X0, X1, X2, X3, X4, X5, X6, __VA_ARGS__);     \
      else                                                                                     \
        LADDER_REGISTERS_A(N, "f16", REGISTERS, X0, X1, X2, X3, X4, X5, X6, __VA_ARGS__);      \
    }                                                                                          \
  };

LADDER_PRODUCTS(32, LADDER_NAMES_16, "%16", "%17", "%18", "%19", "%20", "%21", "%22", LADDER_16)
LADDER_PRODUCTS(64, LADDER_NAMES_32, "%32", "%33", "%34", "%35", "%36", "%37", "%38", LADDER_32)
LADDER_PRODUCTS(128, LADDER_NAMES_64, "%64", "%65", "%66", "%67", "%68", "%69", "%70", LADDER_64)
LADDER_PRODUCTS(256, LADDER_NAMES_128, "%128", "%129", "%130", "%131", "%132", "%133", "%134", LADDER_128)
#undef LADDER_PRODUCTS
#undef LADDER_REGISTERS_A
#undef LADDER_SHARED_A
#undef LADDER_128
#undef LADDER_64
#undef LADDER_32
#undef LADDER_16
#undef LADDER_8
#undef LADDER_NAMES_128
#undef LADDER_NAMES_64
#undef LADDER_NAMES_32
#undef LADDER_NAMES_16
// clang-format on

#else

template <typename Element, int kN, Major kA, Major kB>
void wgmma(float (&d)[kN / 2], std::uint64_t a, std::uint64_t b, bool add = true,
           emulator::Site where = emulator::Site::current()) {
  static_assert(kN == 32 || kN == 64 || kN == 128 || kN == 256);
  emulator::wgmma({kN, std::is_same_v<Element, bfloat16>, kA == Major::kMN, kB == Major::kMN}, d,
                  nullptr, a, b, add, where);
}

template <typename Element, int kN, Major kB>
void wgmma(float (&d)[kN / 2], const std::uint32_t (&a)[4], std::uint64_t b, bool add = true,
           emulator::Site where = emulator::Site::current()) {
  static_assert(kN == 32 || kN == 64 || kN == 128 || kN == 256);
  emulator::wgmma({kN, std::is_same_v<Element, bfloat16>, false, kB == Major::kMN}, d, a, 0, b, add,
                  where);
}

#endif

// ---- On the host ----

// Throws NotOnThisDevice in the name of `who` unless the current device is a Hopper GPU.
inline void require_hopper(const char* who) {
  int device = 0, major = 0, minor = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  CUDA_CHECK(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device));
  if (major == 9 && minor == 0) return;
  throw NotOnThisDevice(std::string(who) +
                        " needs a GPU of compute capability 9.0 (Hopper); this is " +
                        std::to_string(major) + "." + std::to_string(minor));
}

// The tensor map of x (outer, middle, inner) of 16-bit elements, in which tma_load's coordinates
// are (inner, middle, outer). A box is kPanel elements of the innermost axis, `box_middle` and
// `box_outer` (1 to 256) of the others. Elements out of bounds of an axis arrive as zeros. x is
// aligned to 16 bytes, `inner` is a multiple of 8, and no axis is empty.
template <typename Element>
CUtensorMap make_tensor_map_of_boxes(const Element* x, std::int64_t outer, std::int64_t middle,
                                     std::int64_t inner, int box_outer, int box_middle) {
  static_assert(sizeof(Element) == 2);
  // The driver's function is found by name, so that no program links against the driver.
  static const auto encode = [] {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult found{};
    CUDA_CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000,
                                                cudaEnableDefault, &found));
    if (found != cudaDriverEntryPointSuccess)
      throw CudaError("this driver has no cuTensorMapEncodeTiled; it needs CUDA 12");
    return reinterpret_cast<PFN_cuTensorMapEncodeTiled_v12000>(function);
  }();
  constexpr bool kBf16 = std::is_same_v<Element, bfloat16>;
  const cuuint64_t sizes[] = {static_cast<cuuint64_t>(inner), static_cast<cuuint64_t>(middle),
                              static_cast<cuuint64_t>(outer)};
  const cuuint64_t strides[] = {sizes[0] * sizeof(Element), sizes[0] * sizes[1] * sizeof(Element)};
  const cuuint32_t box[] = {kPanel, static_cast<cuuint32_t>(box_middle),
                            static_cast<cuuint32_t>(box_outer)};
  const cuuint32_t steps[] = {1, 1, 1};
  CUtensorMap map;
  const CUresult result =
      encode(&map, kBf16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 3,
             const_cast<Element*>(x), sizes, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
             CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
             CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS)
    throw CudaError("cuTensorMapEncodeTiled failed with " +
                    std::to_string(static_cast<int>(result)) + ": " +
                    cudaGetErrorString(static_cast<cudaError_t>(result)));  // the same numbers
  return map;
}

// The tensor map of x (rows, H, D), whose box is `box_rows` rows of one head.
template <typename Element>
CUtensorMap make_tensor_map(const Element* x, std::int64_t rows, std::int64_t H, std::int64_t D,
                            int box_rows) {
  return make_tensor_map_of_boxes(x, rows, H, D, box_rows, 1);
}

// The tensor map of x (B, T, H, D) as (B, T, H D), whose box is `box_rows` rows of one batch, and
// rows past that batch's T arrive as zeros. If x is empty, no thread may copy from it.
template <typename Element>
CUtensorMap make_tensor_map_of_batches(const Element* x, std::int64_t B, std::int64_t T,
                                       std::int64_t row, int box_rows) {
  if (B == 0 || T == 0) return {};
  return make_tensor_map_of_boxes(x, B, T, row, 1, box_rows);
}

// ---- For the gradients ----

#ifdef __CUDACC__

// One thread's bulk copy of `bytes` contiguous bytes. Ends and size are multiples of 16.
inline __device__ void bulk_copy(void* to_smem, const void* from, int bytes, Barrier* barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
      :
      : "r"(shared_address(to_smem)), "l"(from), "r"(bytes), "r"(shared_address(barrier))
      : "memory");
}

// A bulk store, with the waits of tma_store.
inline __device__ void store_bytes(void* to, const void* from_smem, int bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
               :
               : "l"(to), "r"(shared_address(from_smem)), "r"(bytes)
               : "memory");
}

// Adds four floats to those at `to`, aligned to 16 bytes, atomically each and without a wait.
inline __device__ void add_floats(float* to, float a, float b, float c, float d) {
  asm volatile("red.global.add.v4.f32 [%0], {%1, %2, %3, %4};"
               :
               : "l"(to), "f"(a), "f"(b), "f"(c), "f"(d)
               : "memory");
}

// The inverse of load_matrices in tensor_core.hpp. r[i] is elements [lane / 4][2 (lane % 4), +1] of
// the 8 x 8 matrix whose rows lanes 8 i to 8 i + 7 point to.
inline __device__ void store_matrices(void* row_smem, const std::uint32_t (&r)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
               :
               : "r"(shared_address(row_smem)), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
               : "memory");
}

#else

using emulator::bulk_copy;
using emulator::store_bytes;
using emulator::store_matrices;

inline void add_floats(float* to, float a, float b, float c, float d) {
  atomicAdd(to, a);
  atomicAdd(to + 1, b);
  atomicAdd(to + 2, c);
  atomicAdd(to + 3, d);
}

#endif

}  // namespace ladder::cuda::hopper
