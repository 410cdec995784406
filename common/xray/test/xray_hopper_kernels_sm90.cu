// Kernels with Hopper's instructions, in known numbers, to compare the X-ray with Nsight Compute.
#include <cuda_runtime.h>

#include <cstdint>
#include <stdexcept>

#include "common/core/bfloat16.hpp"
#include "common/cuda/hopper.hpp"
#include "common/cuda/storage.hpp"
#include "xray_kernels.hpp"

namespace xray_kernels {
namespace {

namespace hopper = ladder::cuda::hopper;
using hopper::Major;
using ladder::bfloat16;

constexpr int kRows = 64, kPanels = 4, kHopperThreads = 256;
constexpr int kPanelBytes = kRows * hopper::kPanel * static_cast<int>(sizeof(bfloat16));

// Whole panels of a tensor (64, 1, 256).
struct Maps {
  CUtensorMap in, out;
  const unsigned char* from;
  unsigned char* to;
};
using Kernel = void (*)(const Maps maps, float* out);

struct alignas(1024) Shared {
  alignas(1024) bfloat16 panels[kPanels][kRows * hopper::kPanel];
  hopper::Barrier here;
};

__device__ Shared& begin(unsigned char* bytes_smem) {
  Shared& smem = *reinterpret_cast<Shared*>(bytes_smem);
  if (threadIdx.x == 0) {
    hopper::init(&smem.here, 1);
    hopper::fence_barrier_init();
  }
  __syncthreads();
  return smem;
}

template <int kCopies>
__global__ void panels_copied(const __grid_constant__ Maps maps, float* out) {
  extern __shared__ __align__(1024) unsigned char bytes_smem[];
  Shared& smem = begin(bytes_smem);
  if (threadIdx.x == 0) {
    hopper::arrive_expect_tx(&smem.here, kCopies * kPanelBytes);
    for (int i = 0; i < kCopies; ++i)
      hopper::tma_load(smem.panels[i], &maps.in, &smem.here, i * hopper::kPanel, 0, 0);
  }
  hopper::wait(&smem.here, 0);
  out[blockIdx.x * blockDim.x + threadIdx.x] = ladder::cuda::load(&smem.panels[0][threadIdx.x]);
}

template <int kBytes, int kCopies>
__global__ void bytes_copied(const __grid_constant__ Maps maps, float* out) {
  extern __shared__ __align__(1024) unsigned char bytes_smem[];
  Shared& smem = begin(bytes_smem);
  if (threadIdx.x == 0) {
    hopper::arrive_expect_tx(&smem.here, kCopies * kBytes);
    for (int i = 0; i < kCopies; ++i)
      hopper::bulk_copy(smem.panels[i], maps.from + i * kBytes, kBytes, &smem.here);
  }
  hopper::wait(&smem.here, 0);
  out[blockIdx.x * blockDim.x + threadIdx.x] =
      ladder::cuda::load(&smem.panels[0][threadIdx.x % 32]);
}

// By one block.
template <int kStores, int kBytes>
__global__ void stored(const __grid_constant__ Maps maps, float* out) {
  extern __shared__ __align__(1024) unsigned char bytes_smem[];
  Shared& smem = begin(bytes_smem);
  for (unsigned i = threadIdx.x; i < kRows * hopper::kPanel; i += blockDim.x)
    ladder::cuda::store(&smem.panels[0][i], 0.0f);
  hopper::fence_proxy_async();
  __syncthreads();
  if (threadIdx.x == 0 && blockIdx.x == 0) {
    for (int i = 0; i < kStores; ++i) {
      if constexpr (kBytes == 0)
        hopper::tma_store(&maps.out, smem.panels[0], i * hopper::kPanel, 0, 0);
      else
        hopper::store_bytes(maps.to + i * kBytes, smem.panels[0], kBytes);
    }
    hopper::tma_store_commit();
    hopper::tma_store_wait<0>();
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = 0;
}

template <int kN, int kCount, bool kRegisters>
__global__ void __launch_bounds__(kHopperThreads)
    products(const __grid_constant__ Maps, float* out) {
  extern __shared__ __align__(1024) unsigned char bytes_smem[];
  Shared& smem = begin(bytes_smem);
  for (unsigned i = threadIdx.x; i < kPanels * kRows * hopper::kPanel; i += blockDim.x)
    ladder::cuda::store(&smem.panels[0][i], 1.0f);
  hopper::fence_proxy_async();
  __syncthreads();
  const std::uint64_t tile = hopper::matrix_descriptor(smem.panels[0]);
  float d[kN / 2];
  for (float& x : d)
    x = 0;
  hopper::wgmma_fence();
  for (int i = 0; i < kCount; ++i) {
    if constexpr (kRegisters) {
      const std::uint32_t a[4] = {};
      hopper::wgmma<bfloat16, kN, Major::kK>(d, a, tile);
    } else {
      hopper::wgmma<bfloat16, kN, Major::kK, Major::kK>(d, tile, tile);
    }
  }
  hopper::wgmma_commit_group();
  hopper::wgmma_wait_group<0>();
  hopper::pin(d);
  float sum = 0;
  for (const float x : d)
    sum += x;
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// Two warps synchronize three times, and one arrives once more before the other continues.
__global__ void warps_met(const __grid_constant__ Maps, float* out) {
  __shared__ float number_smem;
  const unsigned warp = threadIdx.x / 32;
  if (threadIdx.x == 0) number_smem = 1.0f;
  for (int i = 0; i < 3 && warp < 2; ++i)
    hopper::named_barrier_sync(1, 64);
  if (warp == 0) hopper::named_barrier_arrive(2, 64);
  if (warp == 1) hopper::named_barrier_sync(2, 64);
  if (warp == 1) out[blockIdx.x * blockDim.x + threadIdx.x] = number_smem;
}

constexpr struct {
  const char* name;
  Kernel kernel;
} kKernels[] = {
    {"panels_copied<1>", panels_copied<1>},
    {"panels_copied<4>", panels_copied<4>},
    {"bytes_copied<512, 2>", bytes_copied<512, 2>},
    {"bytes_copied<4096, 3>", bytes_copied<4096, 3>},
    {"panels_stored<3>", stored<3, 0>},
    {"bytes_stored<1024, 2>", stored<2, 1024>},
    {"products<64, 1>", products<64, 1, false>},
    {"products<64, 5>", products<64, 5, false>},
    {"products<256, 3>", products<256, 3, false>},
    {"products_of_registers<128, 4>", products<128, 4, true>},
    {"warps_met", warps_met},
};

}  // namespace

std::vector<std::string> names() {
  std::vector<std::string> result;
  for (const auto& each : kKernels)
    result.push_back(each.name);
  return result;
}

void run(const std::string& name, float*, const float* in) {
  static_assert(kIn * sizeof(float) == kPanels * kPanelBytes);
  static float* sums = nullptr;  // one per thread
  static bfloat16* stored_to = nullptr;
  if (sums == nullptr) {
    cudaMalloc(&sums, kBlocks * kHopperThreads * sizeof(float));
    cudaMalloc(&stored_to, kPanels * kPanelBytes);
  }
  const auto* const panels = reinterpret_cast<const bfloat16*>(in);
  const Maps maps{hopper::make_tensor_map(panels, kRows, 1, kPanels * hopper::kPanel, kRows),
                  hopper::make_tensor_map(stored_to, kRows, 1, kPanels * hopper::kPanel, kRows),
                  reinterpret_cast<const unsigned char*>(in),
                  reinterpret_cast<unsigned char*>(stored_to)};
  for (const auto& each : kKernels) {
    if (each.name != name) continue;
    cudaFuncSetAttribute(each.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Shared));
    each.kernel<<<kBlocks, kHopperThreads, sizeof(Shared)>>>(maps, sums);
    return;
  }
  throw std::invalid_argument("no kernel " + name);
}

}  // namespace xray_kernels
