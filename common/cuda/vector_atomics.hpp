// Atomic additions of four floats in global memory.
#pragma once

#include <cuda_runtime.h>

namespace ladder::cuda {

// to[i] += x[i] for i = 0 .. 3, each atomically. `to` is aligned to 16 bytes. One instruction since
// Hopper, four before.
// Source: PTX ISA, "Parallel Synchronization and Communication Instructions: red", .v4.f32.
inline __device__ void atomic_add(float4* to, float4 x) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};"
               :
               : "l"(__cvta_generic_to_global(to)), "f"(x.x), "f"(x.y), "f"(x.z), "f"(x.w)
               : "memory");
#else
  atomicAdd(&to->x, x.x);
  atomicAdd(&to->y, x.y);
  atomicAdd(&to->z, x.z);
  atomicAdd(&to->w, x.w);
#endif
}

}  // namespace ladder::cuda
