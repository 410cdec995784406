// What an X-ray says of kernels, as plain data: counters, buffers, accesses, errors.
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
  const char* nsight;  // Nsight Compute's metric, or the difference of two; empty where it has none
};
const CounterInfo& info(Counter counter);

enum class Operation : std::uint8_t { kLoad, kStore, kAtomic };
enum class Space : std::uint8_t { kGlobal, kShared };

constexpr unsigned kWarpSize = 32;
constexpr unsigned kBanks = 32;
constexpr unsigned kBankBytes = 4;
constexpr unsigned kSectorBytes = 32;

struct Source {
  std::string file;  // as the compiler was given it
  int line = 0;
  std::string text() const { return file + ":" + std::to_string(line); }
};

// Over the elements of a buffer.
struct Spread {
  std::uint64_t least = 0, most = 0;
  double mean = 0;
};
struct Traffic {
  std::uint64_t accesses = 0;  // of single threads
  std::uint64_t requests = 0;  // of warps
  std::uint64_t sectors = 0, bytes_asked = 0;
  Spread accesses_per_element, requests_per_element;  // how many of each touched it
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

// One source line's accesses of one kind.
struct Access {
  Source where;
  std::string code;  // the line itself
  Operation operation;
  Space space;
  unsigned bytes = 0;                // per lane
  std::vector<std::string> buffers;  // of global memory
  std::uint64_t requests = 0, sectors = 0, wavefronts = 0, bank_conflicts = 0;
};

// One source line's waits for asynchronous copies.
struct Wait {
  Source where;
  std::uint64_t at_once = 0;  // copies between whose start and this wait their thread did nothing
};

// One request of a warp: where each lane reached.
struct Step {
  static constexpr std::int64_t kIdle = INT64_MIN;
  std::size_t access = 0;  // index into Kernel::accesses
  uint3 block{};
  unsigned warp = 0;  // of the block
  std::string buffer;
  std::array<std::int64_t, kWarpSize>
      offset;  // bytes from the buffer's (or shared memory's) start, or kIdle
  std::uint64_t sectors = 0, wavefronts = 0, bank_conflicts = 0;
};

// What some of a block's threads did, or had done for them, over time. Moments are counted, one for whatever begins or ends.
struct Span {
  enum Kind : std::uint8_t { kCopy, kStore, kProduct, kWait, kPass };
  Kind kind;
  std::string operation;  // "copy_panel", "sync_named 1"
  Source where;
  unsigned row = 0;           // whose
  unsigned count = 1;         // products, of one line and not waited for in between
  unsigned from = 0, to = 0;  // moments
  bool ended = false;         // or it was on its way when the block ended
};
// The first block of a kernel with mbarriers, bulk copies or products: the first kMostSpans of it.
struct Timeline {
  static constexpr std::size_t kMostSpans = 600;
  unsigned row_threads = 0;  // 128 where the block has more, else 32
  std::vector<Span> spans;
};

struct Party {
  Operation operation;
  Source where;
  uint3 block, thread;
  bool asynchronous = false;  // the shared end of an asynchronous copy
  // What touched the bytes for the thread, "bulk copy", "product"; or what it did to an mbarrier there. Empty: its own access.
  std::string by = {};
  // The kernel file's own lines that `where` was called at, the innermost first: by a helper's
  // caller, by the caller of a lambda.
  std::vector<Source> called_at = {};
};

struct Error {
  // "race", "out of bounds", "use after free", "host memory", "uninitialised read", "misaligned
  // access" or "unpinned result"
  std::string kind;
  std::string message;         // one sentence that says it all
  std::string without_places;  // it without the lines of the source
  std::string missing;         // of a race: what would have ordered the two
  Space space = Space::kGlobal;
  std::string buffer, element;  // element: of shared memory, "kv_smem[1]"
  bool meant = true;  // false: in no array, and another one may be meant than this, the nearest
  std::int64_t offset = 0;
  unsigned bytes = 0;
  std::uint64_t size = 0;   // of the buffer
  std::uint64_t count = 0;  // how often this pair of places was seen
  int step = -1;  // index into Kernel::steps: where it was seen first; -1: in none of them
  bool has_other = false;
  Party party{}, other{};
};

// What is no error here, and is one elsewhere.
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
  // Of the asynchronous copies those whose place their block has read before: what orders the two is seen only there.
  std::uint64_t copies_to_used_places = 0;
  // The first warp's first ones, and its first of each line. All warps' with an error, and the
  // first of each line with a bank conflict.
  std::vector<Step> steps;
  std::array<std::uint64_t, kBanks> bank_accesses{}, bank_conflicts{};
  Timeline timeline;          // no spans: it has nothing that takes its time
  std::vector<Error> errors;  // what lies outside of arrays first, then races
  std::vector<Note> notes;
  bool too_large = false;  // beyond the limit: everything above is of a part of the run
  std::uint64_t largest_launch =
      0;  // accesses and basic blocks of threads, as the limit counts them

  std::uint64_t operator[](Counter counter) const { return counters[counter]; }
  const Buffer& buffer(const std::string& name) const;  // std::out_of_range if it was not touched
};

// A launch that makes more accesses and passes more basic blocks than this (of single threads) is
// stopped, because recording it would take too long. So is one in which a block holds more than
// kMostHeld of them between two barriers: they take memory.
constexpr std::uint64_t kDefaultAccessLimit = 200'000'000;
constexpr std::uint64_t kMostHeld = 64'000'000;

const char* to_string(Operation operation);
const char* to_string(Space space);
const char* to_string(Span::Kind kind);

}  // namespace emulator::xray
