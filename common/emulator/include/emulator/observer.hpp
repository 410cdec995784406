// What an X-ray is told while kernels run. One block runs at a time where an observer is installed,
// on the thread that launched the kernel. Everything but these calls stays as it is: an observer
// sees, it decides nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "emulator/emulator.hpp"
#include "emulator/site.hpp"
#include "emulator/threads.hpp"

namespace emulator {

// What is worth a place in a picture of a block over time.
struct Happening {
  enum Kind : unsigned char {
    kCopyStarts,  // to shared memory: `number` is where to
    kCopyEnds,
    kStoreStarts,  // from shared memory: `number` is where from
    kStoreEnds,
    kProductStarts,  // a warpgroup's: all threads have issued it. `number`: bytes that it reads from shared memory
    kProductEnds,
    kWaitStarts,  // of wait_products, `number`: of the thread's products, those that it does not wait for
    kWaitEnds,
    kPasses  // a named barrier, without waiting
  };
  Kind kind;
  const char* operation;  // hopper.hpp's function
  unsigned thread;        // linear; of a product, one of its warpgroup
  Site where;
  std::uint64_t number = 0;
};

class Observer {
 public:
  virtual ~Observer() = default;

  // Device memory. Freed memory is kept from reuse, so that a late access can be told from a new
  // allocation's.
  virtual void allocated(const void* begin, std::size_t bytes) = 0;
  virtual void freed(const void* begin) = 0;
  virtual void written_by_host(const void* begin, std::size_t bytes) = 0;
  virtual void named(const MemoryName& name) = 0;

  // The host's copy of the kernel's arguments lies in `arguments`.
  virtual void launch_starts(const char* kernel, dim3 grid, dim3 block, std::size_t dynamic_shared,
                             AddressRange arguments) = 0;
  virtual void launch_ends(std::size_t static_shared) = 0;
  virtual void block_starts(std::uint64_t linear_block) = 0;
  virtual void block_ends() = 0;

  // The bytes of one __shared__ declaration, or of the block's dynamic shared memory.
  virtual void shared_declared(const void* begin, std::size_t bytes) = 0;
  // A variable in them. Said by every thread that comes to it.
  virtual void shared_named(const SharedName& name) = 0;

  // From now on thread `linear` runs, on a stack of its own.
  virtual void thread_runs(unsigned linear, AddressRange stack) = 0;
  // What runs now is the kernel's code (true) or the emulator's: the two share inline functions of
  // the standard library. Returns what ran before.
  virtual bool in_kernel(bool yes) = 0;

  // The running thread's asynchronous copy, issued at `pc`, has read `read` bytes; `bytes` are on
  // their way to `to`.
  virtual void copy_starts(const void* pc, const void* to, std::size_t bytes, const void* from,
                           std::size_t read) = 0;
  // The running thread has waited for its oldest copy at `where`, or returns (line 0).
  virtual void copy_arrives(const void* to, std::size_t bytes, Site where) = 0;

  // The running thread's part of a warp's matrix load at `pc`: its address, the row of some lanes.
  virtual void matrix_row_loaded(const void* pc, const void* row, std::size_t bytes) = 0;
  // The same of a matrix store.
  virtual void matrix_row_stored(const void* pc, const void* row, std::size_t bytes) = 0;

  // A warp's tensor-core instruction has made this many multiplications and additions.
  virtual void matrices_multiplied(unsigned multiply_adds) = 0;

  // A bulk store has written to global memory: these are its rows.
  virtual void bulk_stored(const std::vector<AddressRange>& rows) = 0;

  // All threads of the block have met.
  virtual void block_met() = 0;
  // These lanes of a warp have met in operation `name`.
  virtual void lanes_met(unsigned warp, unsigned lanes, const char* name) = 0;

  // The running thread asks, by a shuffle called at `pc`, for the value of its warp's lane `source`.
  virtual void lane_takes(const void* pc, unsigned source) = 0;

  // ---- What orders some of a block's threads, and the asynchronous proxy. mbarriers and bulk copies have numbers in their block ----

  // The running thread initialises an mbarrier; fences those that it has initialised; arrives; its wait has returned.
  virtual void barrier_begins(unsigned barrier, const void* at, Site where) = 0;
  virtual void barriers_fenced() = 0;
  virtual void barrier_arrived(unsigned barrier, Site where) = 0;
  virtual void barrier_waited(unsigned barrier, Site where) = 0;
  // The phase of an mbarrier is over, by whatever came last.
  virtual void phase_ended(unsigned barrier) = 0;

  // The running thread has come to a named barrier; all lanes of a warp have; the barrier is complete, and the warps of these bits
  // wait there.
  virtual void named_reached(unsigned name) = 0;
  virtual void named_taken(unsigned name, unsigned warp) = 0;
  virtual void named_complete(unsigned name, std::uint32_t waiting_warps) = 0;

  // The running thread's fence.proxy.async, of shared or of global memory.
  virtual void proxies_fenced(bool of_global) = 0;

  // The running thread issues a copy to shared memory, of these rows, which will complete bytes of an mbarrier; the copy has put them
  // there.
  virtual void bulk_copy_starts(std::uint64_t copy, unsigned barrier, const void* to,
                                std::size_t bytes, const std::vector<AddressRange>& from,
                                Site where) = 0;
  virtual void bulk_copied(std::uint64_t copy, unsigned barrier, const void* to,
                           std::size_t bytes) = 0;

  // The running thread issues a store from shared memory to these rows, in its group-th group from 0 on; it has waited until those of
  // the groups before this one have read, or, not only_read, have written too.
  virtual void bulk_store_starts(std::uint64_t group, const void* from, std::size_t bytes,
                                 const std::vector<AddressRange>& to, Site where) = 0;
  virtual void bulk_stores_waited(std::uint64_t end, bool only_read) = 0;

  // All lanes of one of a warpgroup's four warps have issued its number-th product, from 0 on.
  virtual void warp_issues_product(unsigned warpgroup, unsigned warp, std::uint64_t number) = 0;
  // All threads have. It reads these 16 bytes of shared memory each, for some of the warps (bits).
  struct OperandPart {
    const void* at;
    unsigned warps;
  };
  virtual void product_starts(unsigned warpgroup, std::uint64_t number,
                              const std::vector<OperandPart>& parts, Site where) = 0;
  // The running thread has waited for the products of its warpgroup before this one.
  virtual void products_waited(std::uint64_t end) = 0;

  // From these registers of the running thread a product takes its operand, until the thread has waited for it. Then: where the thread has
  // stored there meanwhile; empty if that was not seen.
  virtual void registers_lent(const void* begin, std::size_t bytes) = 0;
  virtual std::string registers_returned(const void* begin) = 0;

  // In these registers of the running thread lies what products have made, which it has waited for at `where`. A compiler may still move
  // their use in front of the wait, until they are pinned. Said again of products that have added to them.
  virtual void results_arrive(const void* d, std::size_t bytes, Site where) = 0;
  virtual void pinned(const void* d, std::size_t bytes) = 0;

  // For a picture: it orders nothing.
  virtual void happened(const Happening& what) = 0;

  // What was seen so far is asked for no more.
  virtual void forget() = 0;

  // "file:line" of the first of these calls, given by their return addresses, that lies in the
  // program's source; empty if that is not known.
  virtual std::string source_of(const std::vector<const void*>& calls) = 0;
};

// It is told of everything from now on.
void install(Observer& observer);

// Ends the calling CUDA thread's block and launch with this error. For what is found inside a
// compiler's hook: nothing is thrown through instrumented code.
[[noreturn]] void abandon_block(cudaError_t error, std::string&& report);

}  // namespace emulator
