// Products of a warpgroup (four warps, 128 threads), wgmma.mma_async.m64nNk16 for bf16 and fp16 with sums in fp32, as
// common/cuda/hopper.hpp calls them.
//
// The 128 threads issue a product one after the other; none of them waits before wait_products. The last one's call makes it run, at
// once or as late as the model allows (tensor_copies.hpp). Until its wait a thread's D is NaN. Products are exact; they are added in
// fp32 in the order of the terms, each sum rounded to nearest. What an H200 does with the last bits, the manual does not say.
//
// Source: PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions": "Register Fragments", "Shared Memory Matrix Layout", "Matrix
// Descriptor Format", "wgmma.mma_async", "wgmma.fence", "wgmma.commit_group", "wgmma.wait_group".
#pragma once

#include <cstdint>

#include "emulator/site.hpp"

namespace emulator {

struct ProductForm {
  unsigned n;  // columns of B and D: multiples of 8 up to 256
  bool bf16;   // else fp16
  bool
      a_by_outputs;  // rows of A beside each other in shared memory ("MN-major"), else terms ("K-major")
  bool b_by_outputs;
};

void fence_operands(Site where = Site::current());
// a_registers: the A of this thread, four registers, or null where it lies in shared memory at `a`.
void multiply_add(const ProductForm& form, float* d, const std::uint32_t* a_registers,
                  std::uint64_t a, std::uint64_t b, bool add, Site where);
void commit_products(Site where = Site::current());
void wait_products(unsigned pending, Site where);

template <int kPending>
void wait_products(Site where = Site::current()) {
  wait_products(static_cast<unsigned>(kPending), where);
}

// Nothing happens here: what it keeps a compiler from, the X-ray looks for.
void pin(const float* d, unsigned count);

}  // namespace emulator
