// Runtime calls that the course's launchers do not use and other people's programs do.
#pragma once

#include <cstddef>

#include "emulator/emulator.hpp"
#include "emulator/runtime.hpp"

#define CUDART_VERSION 12000
// Headers of other people ask for these guards before they declare what needs the runtime.
#define __DRIVER_TYPES_H__
#define __CUDA_RUNTIME_H__

constexpr unsigned cudaMemAttachGlobal = 1, cudaMemAttachHost = 2;
constexpr unsigned cudaHostAllocDefault = 0, cudaHostAllocPortable = 1, cudaHostAllocMapped = 2,
                   cudaHostAllocWriteCombined = 4;
constexpr unsigned cudaDeviceMapHost = 8, cudaDeviceScheduleAuto = 0;
constexpr int cudaCpuDeviceId = -1;

// Memory that both the host and kernels access. The host may write any of it, so all of it counts
// as initialised.
template <typename Element>
cudaError_t cudaMallocManaged(Element** pointer, std::size_t bytes,
                              unsigned = cudaMemAttachGlobal) {
  const cudaError_t error = cudaMallocHost(reinterpret_cast<void**>(pointer), bytes);
  if (error == cudaSuccess) emulator::name_memory({*pointer, bytes, "managed memory", 1, true});
  return error;
}
template <typename Element>
cudaError_t cudaHostAlloc(Element** pointer, std::size_t bytes, unsigned) {
  const cudaError_t error = cudaMallocHost(reinterpret_cast<void**>(pointer), bytes);
  if (error == cudaSuccess) emulator::name_memory({*pointer, bytes, "pinned memory", 1, true});
  return error;
}
constexpr unsigned cudaHostRegisterDefault = 0, cudaHostRegisterPortable = 1,
                   cudaHostRegisterMapped = 2;
// Kernels may access host memory only if cudaHostAlloc has allocated it.
inline cudaError_t cudaHostRegister(void*, std::size_t, unsigned) {
  return cudaErrorNotSupported;
}
inline cudaError_t cudaHostUnregister(void*) {
  return cudaErrorNotSupported;
}
template <typename Element>
cudaError_t cudaHostGetDevicePointer(Element** device, void* host, unsigned) {
  *device = static_cast<Element*>(host);
  return cudaSuccess;
}
template <typename Location>
cudaError_t cudaMemPrefetchAsync(const void*, std::size_t, Location, cudaStream_t = nullptr) {
  return cudaSuccess;
}
enum cudaMemoryAdvise : int {
  cudaMemAdviseSetReadMostly = 1,
  cudaMemAdviseUnsetReadMostly,
  cudaMemAdviseSetPreferredLocation,
  cudaMemAdviseUnsetPreferredLocation,
  cudaMemAdviseSetAccessedBy,
  cudaMemAdviseUnsetAccessedBy,
};
template <typename Location>
cudaError_t cudaMemAdvise(const void*, std::size_t, cudaMemoryAdvise, Location) {
  return cudaSuccess;
}

// Blocks that wait for each other are not emulated.
template <typename Kernel>
cudaError_t cudaLaunchCooperativeKernel(Kernel, dim3, dim3, void**, std::size_t = 0,
                                        cudaStream_t = nullptr) {
  return cudaErrorNotSupported;
}

// ---- Rows with a pitch ----

template <typename Element>
cudaError_t cudaMallocPitch(Element** pointer, std::size_t* pitch, std::size_t width,
                            std::size_t height) {
  constexpr std::size_t kPitch = 512;
  *pitch = (width + kPitch - 1) / kPitch * kPitch;
  return cudaMalloc(reinterpret_cast<void**>(pointer), *pitch * height);
}
inline cudaError_t cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from,
                                std::size_t from_pitch, std::size_t width, std::size_t height,
                                cudaMemcpyKind kind) {
  if (width > to_pitch || width > from_pitch) return cudaErrorInvalidValue;
  for (std::size_t row = 0; row < height; ++row) {
    const cudaError_t error =
        cudaMemcpy(static_cast<char*>(to) + row * to_pitch,
                   static_cast<const char*>(from) + row * from_pitch, width, kind);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}
inline cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from,
                                     std::size_t from_pitch, std::size_t width, std::size_t height,
                                     cudaMemcpyKind kind, cudaStream_t stream = nullptr) {
  const cudaError_t error = cudaStreamSynchronize(stream);
  return error != cudaSuccess ? error
                              : cudaMemcpy2D(to, to_pitch, from, from_pitch, width, height, kind);
}
inline cudaError_t cudaMemset2D(void* to, std::size_t pitch, int value, std::size_t width,
                                std::size_t height) {
  for (std::size_t row = 0; row < height; ++row) {
    const cudaError_t error = cudaMemset(static_cast<char*>(to) + row * pitch, value, width);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

// ---- Old names, and settings without a meaning here ----

inline cudaError_t cudaThreadSynchronize() {
  return cudaDeviceSynchronize();
}
inline cudaError_t cudaThreadExit() {
  return cudaDeviceReset();
}
inline cudaError_t cudaProfilerStart() {
  return cudaSuccess;
}
inline cudaError_t cudaProfilerStop() {
  return cudaSuccess;
}
inline cudaError_t cudaSetDeviceFlags(unsigned) {
  return cudaSuccess;
}
enum cudaFuncCache : int {
  cudaFuncCachePreferNone,
  cudaFuncCachePreferShared,
  cudaFuncCachePreferL1,
  cudaFuncCachePreferEqual,
};
inline cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) {
  return cudaSuccess;
}
inline cudaError_t cudaThreadSetCacheConfig(cudaFuncCache) {
  return cudaSuccess;
}
template <typename Kernel>
cudaError_t cudaFuncSetCacheConfig(Kernel, cudaFuncCache) {
  return cudaSuccess;
}
enum cudaLimit : int { cudaLimitStackSize, cudaLimitPrintfFifoSize, cudaLimitMallocHeapSize };
inline cudaError_t cudaDeviceSetLimit(cudaLimit, std::size_t) {
  return cudaSuccess;
}
inline cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return cudaStreamSynchronize(stream);
}
enum cudaComputeMode : int {
  cudaComputeModeDefault,
  cudaComputeModeExclusive,
  cudaComputeModeProhibited,
};

// All members that programs print.
struct CheckedDeviceProp : cudaDeviceProp {
  std::size_t totalConstMem = 65536, memPitch = 2147483647, textureAlignment = 512,
              surfaceAlignment = 512;
  int clockRate = 1980000, memoryClockRate = 2619000, memoryBusWidth = 5120, canMapHostMemory = 1,
      integrated = 0, concurrentKernels = 1, ECCEnabled = 1, pciBusID = 0, pciDeviceID = 0,
      pciDomainID = 0, tccDriver = 0, asyncEngineCount = 3, unifiedAddressing = 1,
      managedMemory = 1, concurrentManagedAccess = 1, pageableMemoryAccess = 0, deviceOverlap = 1,
      cooperativeLaunch = 0, kernelExecTimeoutEnabled = 0, computeMode = 0,
      streamPrioritiesSupported = 1, isMultiGpuBoard = 0, hostNativeAtomicSupported = 0,
      maxTexture1D = 131072, maxTexture2D[2] = {131072, 65536},
      maxTexture3D[3] = {16384, 16384, 16384};
};
inline cudaError_t cudaGetDeviceProperties(CheckedDeviceProp* properties, int device) {
  *properties = {};
  return cudaGetDeviceProperties(static_cast<cudaDeviceProp*>(properties), device);
}
#define cudaDeviceProp CheckedDeviceProp

// Attributes that programs ask for besides.
constexpr auto cudaDevAttrClockRate = static_cast<cudaDeviceAttr>(13),
               cudaDevAttrIntegrated = static_cast<cudaDeviceAttr>(18),
               cudaDevAttrCanMapHostMemory = static_cast<cudaDeviceAttr>(19),
               cudaDevAttrComputeMode = static_cast<cudaDeviceAttr>(20),
               cudaDevAttrConcurrentKernels = static_cast<cudaDeviceAttr>(31),
               cudaDevAttrManagedMemory = static_cast<cudaDeviceAttr>(83),
               cudaDevAttrConcurrentManagedAccess = static_cast<cudaDeviceAttr>(89),
               cudaDevAttrCooperativeLaunch = static_cast<cudaDeviceAttr>(95);
inline cudaError_t checked_device_attribute(int* value, cudaDeviceAttr attribute, int device) {
  const CheckedDeviceProp usual{};
  switch (static_cast<int>(attribute)) {
    case cudaDevAttrClockRate: *value = usual.clockRate; break;
    case cudaDevAttrIntegrated: *value = usual.integrated; break;
    case cudaDevAttrCanMapHostMemory: *value = usual.canMapHostMemory; break;
    case cudaDevAttrComputeMode: *value = usual.computeMode; break;
    case cudaDevAttrConcurrentKernels: *value = usual.concurrentKernels; break;
    case cudaDevAttrManagedMemory: *value = usual.managedMemory; break;
    case cudaDevAttrConcurrentManagedAccess: *value = usual.concurrentManagedAccess; break;
    case cudaDevAttrCooperativeLaunch: *value = usual.cooperativeLaunch; break;
    default: return cudaDeviceGetAttribute(value, attribute, device);
  }
  return cudaSuccess;
}
#define cudaDeviceGetAttribute checked_device_attribute
