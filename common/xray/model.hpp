// The X-ray's results for kernels as plain data: counters, buffers, accesses, errors.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "emulator/vector_types.hpp"

namespace emulator::xray {

enum Counter : unsigned {
  kGlobalLoadRequests,
  kGlobalLoadSectors,
  kGlobalLoadBytesAsked,
  kGlobalLoadBytesMoved,
  kGlobalStoreRequests,
  kGlobalStoreSectors,
  kGlobalStoreBytesAsked,
  kGlobalStoreBytesMoved,
  kAtomics,
  kAtomicRequests,
  kAtomicSectors,
  kAtomicCollisions,
  kSharedLoadRequests,
  kSharedMatrixLoadRequests,
  kSharedLoadWavefronts,
  kSharedLoadBankConflicts,
  kSharedStoreRequests,
  kSharedStoreWavefronts,
  kSharedStoreBankConflicts,
  kSharedAtomics,
  kSharedBytes,
  kBarriers,
  kShuffles,
  kAsyncCopies,
  kAsyncCopiesAtOnce,
  kAsyncCopiesBeforeBarrier,
  kBulkCopies,
  kBulkCopyBytes,
  kBulkStores,
  kBulkStoreBytes,
  kBarrierWaits,
  kNamedBarriers,
  kProductWaits,
  kProductWaitsForAll,
  kProductBytes,
  kTensorOperations,
  kTensorMultiplyAdds,
  kCounters
};

struct CounterInfo {
  const char* name;    // "global_load_requests"
  const char* words;   // "global loads"
  const char* unit;    // "requests of a warp"
  const char* nsight;  // Nsight Compute's metric, or a difference of two; empty if none
};
const CounterInfo& info(Counter counter);

enum class Operation : std::uint8_t { kLoad, kStore, kAtomic };
enum class Space : std::uint8_t { kGlobal, kShared };

constexpr unsigned kWarpSize = 32;
constexpr unsigned kBanks = 32;
constexpr unsigned kBankBytes = 4;
constexpr unsigned kSectorBytes = 32;

struct Source {
  std::string file;  // as passed to the compiler
  int line = 0;
  std::string text() const { return file + ":" + std::to_string(line); }
};

// Over the elements of a buffer.
struct Spread {
  std::uint64_t least = 0, most = 0;
  double mean = 0;
};
struct Traffic {
  std::uint64_t accesses = 0;  // of threads
  std::uint64_t requests = 0;  // of warps
  std::uint64_t sectors = 0, bytes_asked = 0;
  Spread accesses_per_element, requests_per_element;  // number of each per element
};

struct Buffer {
  std::string name;
  std::uint64_t elements = 0;
  std::size_t element_bytes = 0;
  std::array<Traffic, 3> traffic;  // by Operation
  const Traffic& loads() const { return traffic[0]; }
  const Traffic& stores() const { return traffic[1]; }
  const Traffic& atomics() const { return traffic[2]; }
};

// The accesses of one kind in one source line.
struct Access {
  Source where;
  std::string code;  // the source text
  Operation operation;
  Space space;
  unsigned bytes = 0;                // per lane
  std::vector<std::string> buffers;  // in global memory
  std::uint64_t requests = 0, sectors = 0, wavefronts = 0, bank_conflicts = 0;
};

// The waits for asynchronous copies in one source line.
struct Wait {
  Source where;
  std::uint64_t at_once = 0;  // copies whose thread did nothing between their start and this wait
};

// One request of a warp, with each lane's address.
struct Step {
  static constexpr std::int64_t kIdle = INT64_MIN;
  std::size_t access = 0;  // index into Kernel::accesses
  uint3 block{};
  unsigned warp = 0;  // of the block
  std::string buffer;
  std::array<std::int64_t, kWarpSize>
      offset;  // bytes from the start of the buffer or of shared memory, or kIdle
  std::uint64_t sectors = 0, wavefronts = 0, bank_conflicts = 0;
};

// An operation of some of a block's threads over time. Each beginning or end is one moment.
struct Span {
  enum Kind : std::uint8_t { kCopy, kStore, kProduct, kWait, kPass };
  Kind kind;
  std::string operation;  // "tma_load", "named_barrier_sync 1"
  Source where;
  unsigned row = 0;           // row of the picture
  unsigned count = 1;         // products of one line without a wait between them
  unsigned from = 0, to = 0;  // moments
  bool ended = false;         // false if it was pending at the block's end
};
// The first kMostSpans operations of the first block that uses mbarriers, bulk copies or products.
struct Timeline {
  static constexpr std::size_t kMostSpans = 600;
  unsigned row_threads = 0;  // 128 in blocks of more threads, otherwise 32
  std::vector<Span> spans;
};

struct Party {
  Operation operation;
  Source where;
  uint3 block, thread;
  bool asynchronous = false;  // the shared-memory end of an asynchronous copy
  // "bulk copy", "product" or an mbarrier operation; empty for the thread's own access.
  std::string by = {};
  // Lines of the kernel's file that called `where`, by helpers or lambdas, innermost first.
  std::vector<Source> called_at = {};
};

struct Error {
  // "race", "out of bounds", "use after free", "host memory", "uninitialised read", "misaligned
  // access" or "unpinned result"
  std::string kind;
  std::string message;         // one complete sentence
  std::string without_places;  // the message without source lines
  std::string missing;         // what would order the parties of a race
  Space space = Space::kGlobal;
  std::string buffer, element;  // of shared memory, such as "kv_smem[1]"
  bool meant = true;            // false outside of all arrays, where `buffer` is only the nearest
  std::int64_t offset = 0;
  unsigned bytes = 0;
  std::uint64_t size = 0;   // of the buffer
  std::uint64_t count = 0;  // occurrences of this pair of lines
  int step = -1;            // index into Kernel::steps of the first occurrence, or -1
  bool has_other = false;
  Party party{}, other{};
};

// Harmless here, but an error elsewhere.
struct Note {
  std::string message;
  Source where;
};

// All launches of one kernel since the last take().
struct Kernel {
  std::string name;  // as launched: "wkv_atomic<kHeadSize>"
  std::uint64_t launches = 0;
  dim3 grid, block;  // of the last launch
  std::size_t static_shared_bytes = 0, dynamic_shared_bytes = 0;
  std::array<std::uint64_t, kCounters> counters{};
  std::vector<Buffer> buffers;
  std::vector<Access> accesses;
  std::vector<Wait> waits;
  // Asynchronous copies to memory that the block has read before. Only they can show a missing
  // order.
  std::uint64_t copies_to_used_places = 0;
  // The first warp's first requests and its first of each line; in all warps the requests with an
  // error, and each line's first with a bank conflict.
  std::vector<Step> steps;
  std::array<std::uint64_t, kBanks> bank_accesses{}, bank_conflicts{};
  Timeline timeline;          // without spans if nothing takes time
  std::vector<Error> errors;  // out-of-bounds accesses first, then races
  std::vector<Note> notes;
  bool too_large = false;            // stopped at the limit, so the results cover part of the run
  std::uint64_t largest_launch = 0;  // accesses and basic blocks of threads, as the limit counts

  std::uint64_t operator[](Counter counter) const { return counters[counter]; }
  const Buffer& buffer(const std::string& name) const;  // std::out_of_range if not touched
};

// A launch with more accesses and basic blocks of single threads than this is stopped, because
// recording it takes too long. A block with more than kMostHeld of them between two barriers is
// stopped because of their memory.
constexpr std::uint64_t kDefaultAccessLimit = 200'000'000;
constexpr std::uint64_t kMostHeld = 64'000'000;

const char* to_string(Operation operation);
const char* to_string(Space space);
const char* to_string(Span::Kind kind);

}  // namespace emulator::xray
