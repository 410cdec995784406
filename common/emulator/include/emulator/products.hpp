// wgmma.mma_async.m64nNk16 for bf16 and fp16 with fp32 accumulators, called through
// common/cuda/hopper.hpp. The 128 threads of a warpgroup issue a product one by one, and none waits
// before wgmma_wait_group. The last one's call runs the product, at once or as late as allowed
// (tensor_copies.hpp). Until a thread has waited, its D is NaN. Terms are exact and added in order
// in fp32, each sum rounded to nearest. The manual does not define an H200's last bits.
// Source: PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions": "Register Fragments",
// "Shared Memory Matrix Layout", "Matrix Descriptor Format", "wgmma.mma_async", "wgmma.fence",
// "wgmma.commit_group", "wgmma.wait_group".
#pragma once

#include <cstdint>

#include "emulator/site.hpp"

namespace emulator {

struct ProductForm {
  unsigned n;         // columns of B and D: multiples of 8 up to 256
  bool bf16;          // otherwise fp16
  bool a_by_outputs;  // rows of A are contiguous ("MN-major"), not terms ("K-major")
  bool b_by_outputs;
};

void wgmma_fence(Site where = Site::current());
// a_registers: this thread's four registers of A, or null if A is in shared memory at `a`.
void wgmma(const ProductForm& form, float* d, const std::uint32_t* a_registers, std::uint64_t a,
           std::uint64_t b, bool add, Site where);
void wgmma_commit_group(Site where = Site::current());
void wgmma_wait_group(unsigned pending, Site where);

template <int kPending>
void wgmma_wait_group(Site where = Site::current()) {
  wgmma_wait_group(static_cast<unsigned>(kPending), where);
}

// A compiler fence on a GPU. Here it only lets the X-ray find uses that are not fenced.
void pin(const float* d, unsigned count);

}  // namespace emulator
