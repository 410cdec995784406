// The program's function as an implementation. It is not in kernel.cu because nvcc compiles that
// program without the rest of this repository.
#pragma once

#include <cstdint>

#include "00_warmup/vector_add.hpp"
#include "common/core/device.hpp"
#include "common/core/errors.hpp"
#include "common/core/lists.hpp"
#include "common/core/registry.hpp"

// kernel.cu's functions, which are in no namespace. Tests call all of them, and the kernel only in
// the emulator, where it is a function like any other.
void add_first_kernel(const float* a, const float* b, float* c, std::int64_t N);
void launch_add(const float* a, const float* b, float* c, std::int64_t N);
void add_on_gpu(const float* a, const float* b, float* c, std::int64_t N);

namespace warmup {

inline void vector_add_first(const VectorAddArgs& args) {
  ladder::validate_lists(args);
  const std::string missing = ladder::why_unavailable(ladder::DeviceKind::kCuda);
  if (!missing.empty()) throw ladder::NotOnThisDevice(missing);
  add_on_gpu(args.a, args.b, args.c, args.N);
}

// Its arrays are in host memory, and the program copies them. Inline, because two test files
// include it.
inline const ladder::Registration vector_add_first_registration{
    {.name = "vector_add_first",
     .device = ladder::DeviceKind::kCpu,
     .launchers = ladder::launchers<VectorAdd>(vector_add_first)}};

}  // namespace warmup
