// The events that the emulator reports to an X-ray. With an observer, one block runs at a time, on
// the thread that launched the kernel. An observer only listens and changes nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "emulator/emulator.hpp"
#include "emulator/errors.hpp"
#include "emulator/site.hpp"
#include "emulator/threads.hpp"

namespace emulator {

// An event for the picture of a block over time.
struct Happening {
  enum Kind : unsigned char {
    kCopyStarts,  // to shared memory; `number` is the destination
    kCopyEnds,
    kStoreStarts,  // from shared memory; `number` is the source
    kStoreEnds,
    kProductStarts,  // issued by all threads; reads `number` bytes of shared memory
    kProductEnds,
    kWaitStarts,  // wgmma_wait_group; `number` of the thread's products may stay pending
    kWaitEnds,
    kPasses  // arrives at a named barrier without waiting
  };
  Kind kind;
  const char* operation;  // function of hopper.hpp
  unsigned thread;        // linear; for a product, any thread of its warpgroup
  Site where;
  std::uint64_t number = 0;
};

class Observer {
 public:
  virtual ~Observer() = default;

  // Device memory. Freed memory is not reused, so that late accesses are recognised.
  virtual void allocated(const void* begin, std::size_t bytes) = 0;
  virtual void freed(const void* begin) = 0;
  virtual void written_by_host(const void* begin, std::size_t bytes) = 0;
  virtual void named(const MemoryName& name) = 0;

  // `arguments` is the range of the host's copy of the kernel's arguments.
  virtual void launch_starts(const char* kernel, dim3 grid, dim3 block, std::size_t dynamic_shared,
                             AddressRange arguments) = 0;
  virtual void launch_ends(std::size_t static_shared) = 0;
  virtual void block_starts(std::uint64_t linear_block) = 0;
  virtual void block_ends() = 0;

  // The bytes of one __shared__ declaration, or of the block's dynamic shared memory.
  virtual void shared_declared(const void* begin, std::size_t bytes) = 0;
  // A variable in these bytes. Every thread that reaches its declaration reports it.
  virtual void shared_named(const SharedName& name) = 0;

  // From now on thread `linear` runs, on its own stack.
  virtual void thread_runs(unsigned linear, AddressRange stack) = 0;
  // Whether the kernel's code runs from now on, or the emulator's, which shares inline functions of
  // the standard library with it. Returns the previous state.
  virtual bool in_kernel(bool yes) = 0;

  // The running thread's asynchronous copy at `pc` has read `read` bytes. `bytes` go to `to`.
  virtual void copy_starts(const void* pc, const void* to, std::size_t bytes, const void* from,
                           std::size_t read) = 0;
  // The running thread has waited for its oldest copy at `where`, or it returns (line 0).
  virtual void copy_arrives(const void* to, std::size_t bytes, Site where) = 0;

  // The running thread's address in a warp's matrix load at `pc`, which is one row.
  virtual void matrix_row_loaded(const void* pc, const void* row, std::size_t bytes) = 0;
  // The same for a matrix store.
  virtual void matrix_row_stored(const void* pc, const void* row, std::size_t bytes) = 0;

  // A warp's tensor-core instruction has executed this many FMAs.
  virtual void matrices_multiplied(unsigned multiply_adds) = 0;

  // A bulk store has written these rows of global memory.
  virtual void bulk_stored(const std::vector<AddressRange>& rows) = 0;

  // All threads of the block have reached a block-wide barrier.
  virtual void block_met() = 0;
  // These lanes of a warp have synchronized in operation `name`.
  virtual void lanes_met(unsigned warp, unsigned lanes, const char* name) = 0;

  // The running thread reads the value of lane `source` by a shuffle called at `pc`.
  virtual void lane_takes(const void* pc, unsigned source) = 0;

  // ---- Order within a block, and the async proxy; mbarriers and bulk copies have numbers ----

  // The running thread initialises an mbarrier, fences its initialised ones, arrives, has waited.
  virtual void barrier_begins(unsigned barrier, const void* at, Site where) = 0;
  virtual void barriers_fenced() = 0;
  virtual void barrier_arrived(unsigned barrier, Site where) = 0;
  virtual void barrier_waited(unsigned barrier, Site where) = 0;
  // The phase of an mbarrier is complete, whichever arrival or copy was the last.
  virtual void phase_ended(unsigned barrier) = 0;

  // The running thread has reached a named barrier; all lanes of a warp have reached it; the
  // barrier is complete, and the warps in this bit set wait at it.
  virtual void named_reached(unsigned name) = 0;
  virtual void named_taken(unsigned name, unsigned warp) = 0;
  virtual void named_complete(unsigned name, std::uint32_t waiting_warps) = 0;

  // The running thread's fence.proxy.async for shared or global memory.
  virtual void proxies_fenced(bool of_global) = 0;

  // The running thread issues a copy of these rows to shared memory, which completes bytes of an
  // mbarrier. Later the copy is complete.
  virtual void bulk_copy_starts(std::uint64_t copy, unsigned barrier, const void* to,
                                std::size_t bytes, const std::vector<AddressRange>& from,
                                Site where) = 0;
  virtual void bulk_copied(std::uint64_t copy, unsigned barrier, const void* to,
                           std::size_t bytes) = 0;

  // The running thread stores from shared memory to these rows, in its group `group`. Later it has
  // waited until groups before `end` have read or, without only_read, have also written.
  virtual void bulk_store_starts(std::uint64_t group, const void* from, std::size_t bytes,
                                 const std::vector<AddressRange>& to, Site where) = 0;
  virtual void bulk_stores_waited(std::uint64_t end, bool only_read) = 0;

  // All lanes of one of the warpgroup's four warps have issued product `number`, from 0 on.
  virtual void warp_issues_product(unsigned warpgroup, unsigned warp, std::uint64_t number) = 0;
  // All threads have issued it. A part is 16 bytes of shared memory that these warps (bits) read.
  struct OperandPart {
    const void* at;
    unsigned warps;
  };
  virtual void product_starts(unsigned warpgroup, std::uint64_t number,
                              const std::vector<OperandPart>& parts, Site where) = 0;
  // The running thread has waited for all products of its warpgroup before number `end`.
  virtual void products_waited(std::uint64_t end) = 0;

  // A product reads these registers of the running thread until its wait. The return value names
  // the thread's store to them meanwhile, or is empty.
  virtual void registers_lent(const void* begin, std::size_t bytes) = 0;
  virtual std::string registers_returned(const void* begin) = 0;

  // These registers of the running thread hold results of products that were waited for at `where`.
  // Until they are pinned, a compiler may move their uses before the wait.
  virtual void results_arrive(const void* d, std::size_t bytes, Site where) = 0;
  virtual void pinned(const void* d, std::size_t bytes) = 0;

  // Only for the picture. It orders nothing.
  virtual void happened(const Happening& what) = 0;

  // The recording so far is no longer needed.
  virtual void forget() = 0;

  // "file:line" of the first of these return addresses that is in the program's source, or empty.
  virtual std::string source_of(const std::vector<const void*>& calls) = 0;
};

// The observer receives all events from now on.
void install(Observer& observer);

// Ends the calling CUDA thread's block and launch with this error. For errors found in a compiler's
// hook, because exceptions cannot pass through instrumented code.
[[noreturn]] void abandon_block(cudaError_t error, std::string&& report);

}  // namespace emulator
