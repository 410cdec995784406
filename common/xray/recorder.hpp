// Records the accesses that compiler hooks report, one CUDA thread at a time, and reconstructs the
// warps' requests. A warp's lanes are merged as the hardware reconverges: the earliest next
// instruction in the code comes first, with every lane that is there. Therefore lanes that skip a
// branch, leave a loop early or come from another call site never shift the others. The hooks also
// report each basic block, so that lanes without an access in it are seen to pass.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "emulator/observer.hpp"
#include "model.hpp"
#include "order.hpp"
#include "play.hpp"
#include "shadow.hpp"
#include "timeline.hpp"
#include "values.hpp"

namespace emulator::xray {

// In the name of an unnamed allocation. The characters after it are not shown.
constexpr char kUnnamed = '\x1f';

// For a thread before its first basic block.
constexpr std::array<std::uint32_t, 4> kNowhere = {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX};

// The distinct words of each bank that some lanes access.
struct BankWords {
  std::array<std::vector<std::uint64_t>, kBanks> words;

  void add(std::uint64_t address, unsigned bytes);
  bool empty() const { return wavefronts() == 0; }
  // A wavefront reads one word of each bank.
  std::uint64_t wavefronts() const;
};

// The way an access moves its bytes.
enum class Through : std::uint8_t {
  kRegisters,
  kAsyncCopy,   // its shared end, which is checked but not counted
  kMatrixLoad,  // also to other lanes' registers
  // Of the async proxy, or of an mbarrier. They make no requests.
  kBulkCopy,
  kBulkStore,
  kProduct,
  kBarrier,
};

class Recorder : public Observer {
 public:
  static Recorder& instance();

  // Called by the hooks, on a CUDA thread's or the host's stack. `pc` is the hook's return address.
  void accessed(std::uintptr_t pc, std::uintptr_t address, unsigned bytes, Operation operation,
                Through through = Through::kRegisters);
  void passed(std::uintptr_t pc);  // a basic block
  void entered(std::uintptr_t call);
  void left();
  bool in_kernel() const { return in_kernel_; }

  std::vector<Kernel> take();
  void set_access_limit(std::uint64_t accesses) { access_limit_ = accesses; }
  void keep_values() { value_log_ = std::make_unique<ValueLog>(); }
  std::uint64_t take_host_bytes() { return std::exchange(host_bytes_, 0); }
  // The values since keep_values(), which ends with this call.
  Values take_values();
  void keep_play() { play_ = std::make_unique<PlayLog>(); }
  Play take_play();

  void allocated(const void* begin, std::size_t bytes) override;
  void freed(const void* begin) override;
  void written_by_host(const void* begin, std::size_t bytes) override;
  void named(const MemoryName& name) override;
  void launch_starts(const char* kernel, dim3 grid, dim3 block, std::size_t dynamic_shared,
                     AddressRange arguments) override;
  void launch_ends(std::size_t static_shared) override;
  void block_starts(std::uint64_t linear_block) override;
  void block_ends() override;
  void shared_declared(const void* begin, std::size_t bytes) override;
  void shared_named(const SharedName& name) override;
  void thread_runs(unsigned linear, AddressRange stack) override;
  bool in_kernel(bool yes) override { return std::exchange(in_kernel_, yes); }
  void copy_starts(const void* pc, const void* to, std::size_t bytes, const void* from,
                   std::size_t read) override;
  void copy_arrives(const void* to, std::size_t bytes, Site where) override;
  void matrix_row_loaded(const void* pc, const void* row, std::size_t bytes) override;
  void matrix_row_stored(const void* pc, const void* row, std::size_t bytes) override;
  void matrices_multiplied(unsigned multiply_adds) override;
  void bulk_stored(const std::vector<AddressRange>& rows) override;
  void happened(const Happening& what) override;
  void block_met() override;
  void lanes_met(unsigned warp, unsigned lanes, const char* name) override;
  void lane_takes(const void* pc, unsigned source) override;
  void barrier_begins(unsigned barrier, const void* at, Site where) override;
  void barriers_fenced() override;
  void barrier_arrived(unsigned barrier, Site where) override;
  void barrier_waited(unsigned barrier, Site where) override;
  void phase_ended(unsigned barrier) override;
  void named_reached(unsigned name) override;
  void named_taken(unsigned name, unsigned warp) override;
  void named_complete(unsigned name, std::uint32_t waiting_warps) override;
  void proxies_fenced(bool of_global) override;
  void bulk_copy_starts(std::uint64_t copy, unsigned barrier, const void* to, std::size_t bytes,
                        const std::vector<AddressRange>& from, Site where) override;
  void bulk_copied(std::uint64_t copy, unsigned barrier, const void* to,
                   std::size_t bytes) override;
  void bulk_store_starts(std::uint64_t group, const void* from, std::size_t bytes,
                         const std::vector<AddressRange>& to, Site where) override;
  void bulk_stores_waited(std::uint64_t end, bool only_read) override;
  void warp_issues_product(unsigned warpgroup, unsigned warp, std::uint64_t number) override;
  void product_starts(unsigned warpgroup, std::uint64_t number,
                      const std::vector<OperandPart>& parts, Site where) override;
  void products_waited(std::uint64_t end) override;
  void registers_lent(const void* begin, std::size_t bytes) override;
  std::string registers_returned(const void* begin) override;
  void results_arrive(const void* d, std::size_t bytes, Site where) override;
  void pinned(const void* d, std::size_t bytes) override;
  void forget() override;
  std::string source_of(const std::vector<const void*>& calls) override;

 private:
  // An instruction, as reached by one chain of calls.
  struct Region;
  struct Place {
    std::vector<std::uintptr_t> calls_and_pc;  // compares as code order
    bool is_access = false;
    Operation operation = Operation::kLoad;
    unsigned bytes = 0;
    Through through = Through::kRegisters;
    Site where{};                     // of an emulator function; line 0: use the program counter
    const char* happening = nullptr;  // an operation that makes no request
    bool ends_wait = false;           // the end of `happening`
    std::optional<std::size_t> site = {};  // index into shared_sites_ of the array accessed
    bool several_sites = false;            // it has accessed others, too
    std::uint32_t launch = 0;              // of its last access to device memory
    const Region* region = nullptr;        // the array of that access
    bool several_regions = false;          // it has accessed others in this launch, too
  };
  struct Event {
    std::uint32_t place;
    std::uint64_t address;
  };
  struct Thread {
    std::uint32_t path = 0;  // index into paths_
    std::vector<Event> events;
    std::array<std::uint32_t, 4> last_places = kNowhere;  // basic blocks, newest first
    std::uint64_t work = 0;                               // accesses except by copies, and products
    struct Copy {
      std::uint64_t work;   // at its start
      std::uint32_t epoch;  // at its start
    };
    std::deque<Copy> copies;  // pending, oldest first
    struct Result {
      std::uintptr_t begin, end;
      Site waited;
    };
    std::vector<Result> results;  // of products, waited for and not pinned
    struct Lent {
      std::uintptr_t begin, end;
      unsigned products;
      std::uintptr_t stored_by;  // pc of a store to them; 0: none
    };
    std::vector<Lent> lent;  // registers that products read
  };
  struct Path {
    std::uint32_t parent;
    std::uintptr_t call;
  };

  // Bytes that a kernel may access under one name.
  struct Region {
    std::uint64_t age;  // regions are shown in order of naming
    std::uintptr_t begin, end;
    std::string name;
    std::size_t element_bytes;
    Shadow shadow;
    std::string axes = {};
    std::vector<std::uintptr_t> allocated_by = {};  // return addresses, until it is named
    std::uint32_t touched = 0;                      // the last launch in which threads accessed it
    AsyncInArray by_async = {};
  };
  struct ByAge {
    bool operator()(const Region* a, const Region* b) const { return a->age < b->age; }
  };
  struct Allocation {
    std::uintptr_t end;
    bool freed = false;
    std::unique_ptr<Region> region;
  };

  struct Touches {
    std::vector<std::uint32_t> accesses_of, requests, last_request;  // by element
    std::uint64_t accesses = 0, request_count = 0, sectors = 0, bytes_asked = 0;
  };
  struct PlaceCounts {
    Space space = Space::kGlobal;
    std::vector<const Region*> regions;
    std::uint64_t requests = 0, sectors = 0, wavefronts = 0, bank_conflicts = 0;
  };
  struct Sample {
    std::uint32_t place;
    std::uint64_t block;
    unsigned warp;
    std::string buffer;  // empty for shared memory, or none
    std::array<std::int64_t, kWarpSize> offset;
    std::uint64_t sectors, wavefronts, bank_conflicts;
  };
  // A step of the block that is played.
  struct Played {
    Sample sample;
    std::uint64_t order = 0;  // between two barriers
    std::vector<std::size_t> findings = {};
    std::size_t barrier = SIZE_MAX;  // index into PlayLog::barriers; SIZE_MAX: of a warp
  };
  struct PlayedBlock {
    std::uint64_t block = 0;
    std::vector<Played> steps = {};
    std::map<std::int64_t, SharedName> shared_names = {};
    bool is_wrong = false;
  };
  struct PlayLog {
    PlayedBlock running;
    std::size_t since_barrier = 0;            // the first step after the last one
    std::vector<std::uint64_t> of_warp = {};  // steps since then
    std::uint64_t turn = 0;                   // of the scheduler
    std::vector<std::vector<std::pair<std::size_t, std::uint64_t>>> turns =
        {};                                                  // of threads, by event
    std::vector<std::vector<std::uintptr_t>> barriers = {};  // their distinct chains of calls
    std::uint64_t requests = 0;                              // of the kernel in `best`
    Play best = {};
  };
  // An access's target in reports.
  struct Target {
    Space space;
    const std::string& buffer;
    std::int64_t offset;
    unsigned bytes;
    std::uint64_t size;             // of the buffer
    std::uint64_t counts_from = 0;  // in shared memory: the address of offset 0
    bool meant = true;              // false: another array may be meant
    bool in_registers = false;
  };
  struct Finding {
    std::string kind;
    Space space;
    std::string buffer, element;
    std::int64_t offset;
    unsigned bytes;
    std::uint64_t size;
    std::uint64_t count;
    bool meant;
    Stamp party, other;        // other.launch = 0: no other access
    std::string missing = {};  // what would order them; empty: missing_between
    int sample = -1;           // the request of its first occurrence
  };
  // A finding whose request is not merged yet.
  struct Unmerged {
    std::size_t finding;
    unsigned thread;
    std::size_t event;  // of the thread
  };
  // The distance of a race's parties, which decides what can order them.
  enum class Relation : std::uint8_t { kSameWarp, kSameBlock, kOtherBlock };
  static Relation relation_of(const Stamp& a, const Stamp& b);
  static std::string missing_between(const Stamp& party, const Stamp& other);
  static bool is_of_one_line(const Error& error);
  static std::string missing_in(const Error& error, const Finding& finding,
                                const std::set<std::string>& changed_by_several);
  static std::set<std::string> changed_by_several(const std::vector<Error>& errors);

  struct Recording {
    Kernel kernel;
    std::map<const Region*, std::array<Touches, 3>, ByAge> touches;
    std::map<std::uint32_t, PlaceCounts> places;
    std::vector<Sample> samples;
    std::vector<Finding> findings;
    std::map<std::pair<const char*, int>, std::uint64_t> at_once;  // by file and line of the wait
    std::map<std::pair<std::string, int>, std::string> notes;      // by file and line
    std::unique_ptr<PlayedBlock> played = {};
  };
  struct SharedSite {
    std::uintptr_t begin, end;
    std::uint64_t offset;  // as shown: without the emulator's gaps, each array at bank 0
  };

  // The lanes of one request.
  struct Request {
    std::uint32_t place;
    unsigned lanes = 0;  // number of lanes
    std::array<unsigned, kWarpSize> lane;
    std::array<std::uint64_t, kWarpSize> address;
    std::vector<std::size_t> findings;
    std::uint64_t turn = 0;  // in which its last lane made it, if a block is played
    // The lane whose access ended the launch. It is drawn, but not counted.
    std::optional<unsigned> stopped_lane = {};
    std::uint64_t stopped_address = 0;
  };

  void count_event();
  void settle_values() {
    if (value_log_) value_log_->settle();
  }
  void log_value(std::uint32_t place, std::uintptr_t address, unsigned bytes, const Region* region);
  void hold(const Event& event);
  void retire(std::unique_ptr<Region> region);
  [[noreturn]] void stop_too_large(const std::string& why);
  std::uint32_t place_of(std::uintptr_t pc, bool is_access, Operation operation, unsigned bytes);
  bool before(std::uint32_t a, std::uint32_t b) const;
  Region* region_at(std::uintptr_t address, unsigned bytes);
  bool is_private(std::uintptr_t address) const;
  [[noreturn]] void stray(const Stamp& now, std::uintptr_t address, unsigned bytes);
  [[noreturn]] void stop_at(const Event& access, const std::string& kind);
  void note(const char* kind, const Target& target, const Stamp& party, const Stamp& other = {},
            const std::string& missing = {});
  std::int64_t shared_offset(std::uintptr_t address) const;
  std::string shared_element(std::int64_t offset) const;
  std::string shared_element(std::int64_t offset, std::int64_t in) const;
  bool is_shared(std::uintptr_t address) const;
  std::uint64_t in_window(const void* address) const {
    return reinterpret_cast<std::uintptr_t>(address) - shared_sites_.front().begin;
  }
  bool was_read_by_product(std::uint64_t unit) const {
    return unit < read_by_products_.size() && read_by_products_[unit];
  }
  void follow_order();
  std::uint32_t clock_of(unsigned thread) const {
    return order_.is_followed() ? order_.now(thread)
                                : clocks_[thread * kWarpSize + thread % kWarpSize];
  }
  Seen seen_by(unsigned thread) const;
  std::uint32_t place_of(Site where, Through through, Operation operation, unsigned bytes);
  Stamp stamp_of(std::uint32_t place) const;
  void note_conflict(const Stamp& party, const Conflict& conflict);
  void use_register(std::uintptr_t pc, std::uintptr_t address, unsigned bytes, Operation operation);
  void note_conflict(const Region& region, const Stamp& party, const Conflict& conflict);
  void starts_in_global(std::uint32_t operation, const std::vector<AddressRange>& rows, bool writes,
                        const Stamp& by);
  void use_barrier(unsigned barrier, Site where);
  std::string missing_between(const Stamp& party, const Conflict& conflict) const;
  std::string missing_in_global(const Stamp& party, const Conflict& conflict) const;
  void check(Shadow& shadow, std::uint64_t offset, const Event& access, const Target& target,
             const Stamp& now);

  void mark_written(const void* begin, std::size_t bytes);
  void merge_warps();
  void merge_warp(unsigned warp);
  void count(const Request& request, unsigned warp);
  void keep(const Request& request, Sample&& sample);
  void locate(const Request& request, Sample& sample, bool shared);
  void play(const Request& request, const Sample& sample);
  void play_barrier();
  void play_happening(const Happening& what);
  bool happens(const Event& event) const { return places_[event.place].happening != nullptr; }
  std::uint64_t turn_of(unsigned thread, std::size_t event) const;
  void sort_played();
  void keep_played_block();
  void keep_play_of(const Recording& recording, const Kernel& kernel);
  Play play_of(const Recording& recording, const Kernel& kernel) const;
  static Source source_of(const std::vector<std::uintptr_t>& calls);
  void count_global(const Request& request, PlaceCounts& counts, Sample& sample);
  void count_shared(const Request& request, PlaceCounts& counts, Sample& sample);
  std::vector<BankWords> served_together(const Request& request) const;
  static BankWords words_of_lanes(const Request& request, unsigned begin, unsigned end,
                                  unsigned bytes, std::uintptr_t base);
  static bool lanes_pair_up(const Request& request, unsigned begin, unsigned count);
  std::uint64_t sectors_of(const Request& request) const;
  void touch(const Request& request, std::uint64_t sectors);

  using Lines = std::map<std::uintptr_t, std::vector<Source>>;  // by return address
  void name_allocations() const;
  const std::string& shown(const std::string& name) const;
  Kernel finish(Recording& recording);
  const Lines& lines_of(const std::set<std::uint32_t>& places) const;
  Buffer buffer_of(const Region& region, const std::array<Touches, 3>& by_operation) const;
  void add_accesses_and_steps(Kernel& kernel, const Recording& recording, const Lines& lines) const;
  Access& access_at(std::uint32_t place, Space space, Kernel& kernel, const Lines& lines) const;
  Party party_of(const Stamp& stamp, const Kernel& kernel, const Lines& lines) const;
  Error error_of(const Finding& finding, const Kernel& kernel, const Lines& lines) const;
  std::vector<Source> sources_of(std::uint32_t place, const Lines& lines) const;

  // Instructions, kept between launches.
  std::vector<Place> places_;
  struct PlaceKey {
    std::uint32_t path;
    std::uintptr_t pc;
    Operation operation = Operation::kLoad;  // a copy's two ends share an address
    unsigned bytes = 0;                      // varies for an asynchronous copy
    bool operator==(const PlaceKey&) const = default;
  };
  struct PlaceHash {
    std::size_t operator()(const PlaceKey& key) const {
      return (key.pc * 0x9e3779b97f4a7c15u) ^ (std::size_t{key.path} << 40);
    }
  };
  std::unordered_map<PlaceKey, std::uint32_t, PlaceHash> place_index_;
  // The most recent lookups in place_index_, by some bits of the hash.
  static constexpr std::size_t kRecentPlaces = 1024;
  std::vector<std::pair<PlaceKey, std::uint32_t>> recent_places_;
  std::vector<Path> paths_{{0, 0}};
  std::unordered_map<PlaceKey, std::uint32_t, PlaceHash> path_index_;

  std::map<std::uintptr_t, Allocation> allocations_;
  std::vector<std::unique_ptr<Region>> retired_;  // recordings may point to them until take()
  Region* last_region_ = nullptr;
  std::uint64_t regions_ = 0;
  mutable std::map<std::string, std::string> shown_names_;  // by Region::name

  std::vector<Recording> recordings_;
  std::unique_ptr<ValueLog> value_log_;  // null if values are not kept
  std::unique_ptr<PlayLog> play_;        // null if no block is played
  std::uint64_t host_bytes_ = 0;         // written by cudaMemset and cudaMemcpy
  std::uint64_t access_limit_ = kDefaultAccessLimit;

  // The running launch.
  Recording* recording_ = nullptr;
  std::uint32_t launch_ = 0;
  std::uint64_t events_ = 0;  // accesses and basic blocks
  std::uint32_t request_ = 0;
  unsigned threads_in_block_ = 0;
  AddressRange arguments_;

  // The running block.
  bool in_kernel_ = false;
  std::uint64_t block_ = 0;
  std::uint32_t epoch_ = 0;
  std::uint64_t held_ = 0;  // events of all threads since the last barrier
  std::vector<Thread> threads_;
  std::vector<Unmerged> unmerged_;
  bool stopped_ = false;                           // the last recorded access did not happen
  std::vector<std::uint32_t> clocks_;              // (threads, lanes of the thread's warp)
  Clock met_;                                      // threads' clocks at the last block-wide barrier
  Order order_;                                    // replaces clocks_ in blocks that need it
  std::map<unsigned, std::uint64_t> barriers_at_;  // in shared memory
  std::vector<OperandUnit> operand_units_;         // of the product that starts
  std::vector<bool> read_by_products_;             // 16-byte vectors of the window, in this block
  std::vector<SharedSite> shared_sites_;
  std::map<std::int64_t, SharedName> shared_names_;  // by offset
  std::map<std::uintptr_t, std::uint32_t> copies_;   // of asynchronous copies, by destination
  std::unique_ptr<Shadow> shared_shadow_;
  TimelineWriter timeline_;

  // The running thread.
  unsigned thread_ = 0;
  std::uintptr_t stack_begin_ = 0, stack_end_ = 0;
  std::map<std::uintptr_t, std::uintptr_t> stacks_;
};

}  // namespace emulator::xray
