// Runs grids on operating-system threads, one block on each, with one fiber per CUDA thread.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <numeric>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "barriers.hpp"
#include "block.hpp"
#include "copies.hpp"
#include "cuda_pipeline.h"
#include "device_memory.hpp"
#include "emulator/emulator.hpp"
#include "emulator/launch.hpp"
#include "emulator/runtime.hpp"
#include "emulator/threads.hpp"
#include "emulator/warp.hpp"
#include "facts.hpp"
#include "fiber.hpp"
#include "observed.hpp"
#include "products.hpp"
#include "state.hpp"
#include "stores.hpp"
#include "streams.hpp"

namespace emulator {
namespace detail {

std::string place(const Site& where) {
  return std::string(where.file) + ":" + std::to_string(where.line);
}

bool same_place(const Site& a, const Site& b) {
  return a.line == b.line && (a.file == b.file || std::strcmp(a.file, b.file) == 0);
}

namespace {

constexpr unsigned kWarpSize = 32;
constexpr std::size_t kSharedGuardBytes =
    128;  // a multiple of all 32 banks, so that every variable starts at bank 0
// The pattern of the widest swizzle, so that dynamic shared memory starts with a whole one.
constexpr std::size_t kDynamicAlignment = 1024;
constexpr std::size_t kArenaBytes = 1 << 20;

// Of a launch's first error, what a tool needs beside the text. A thread's "error", "deadlock" and
// "divergence" end a block; "unfinished" work and "overwritten" memory show afterwards.
struct Cause {
  const char* kind;
  Site where = {};
  uint3 block = {}, thread = {};
};

struct Launch {
  const Configuration* configuration;
  const Kernel* kernel;
  Schedule schedule;
  dim3 extents;          // of the blocks that run, the last ones along each axis
  std::uint64_t blocks;  // the number of blocks that run
  std::uint64_t stride;  // coprime to blocks: the i-th block is i * stride + offset
  std::uint64_t offset;
  unsigned threads;
  std::vector<uint3> thread_index;
  std::size_t shared_limit;

  std::atomic<std::uint64_t> next_block = 0;
  std::atomic<bool> failed = false;
  std::mutex mutex;
  cudaError_t error = cudaSuccess;
  std::string report;
  Cause cause = {"error"};
  std::size_t static_shared = 0;

  // The index in the grid of the `n`th block that runs.
  std::uint64_t block_number(std::uint64_t n) const {
    const dim3& grid = configuration->grid;
    const std::uint64_t x = n % extents.x + (grid.x - extents.x);
    const std::uint64_t y = n / extents.x % extents.y + (grid.y - extents.y);
    const std::uint64_t z = n / extents.x / extents.y + (grid.z - extents.z);
    return (z * grid.y + y) * grid.x + x;
  }

  // Only the first error of a launch is reported.
  void fail(cudaError_t code, const std::string& text, const Cause& its) {
    const std::lock_guard<std::mutex> guard(mutex);
    if (!failed.exchange(true)) {
      error = code;
      report = text;
      cause = its;
    }
  }
};

struct Random {
  std::uint64_t state;
  std::uint64_t next() {  // splitmix64
    std::uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  unsigned below(unsigned count) { return static_cast<unsigned>((next() >> 32) * count >> 32); }
};

template <typename T>
std::string triple(const T& t) {
  return std::string("(").append(std::to_string(t.x)) + ", " + std::to_string(t.y) + ", " +
         std::to_string(t.z) + ")";
}

std::string hexadecimal(unsigned mask) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%08x", mask);
  return text;
}

enum class Status : unsigned char {
  kReady,
  kInBlockOperation,
  kInWarpOperation,
  kAsleep,
  kReturned
};

struct Thread {
  Fiber* fiber = nullptr;
  Status status = Status::kReady;
  unsigned mask = 0;
  const char* operation = nullptr;
  Complete complete = nullptr;
  void* data = nullptr;
  Site where{};
};

// A thread's asynchronous copies that it has not waited for, in order of issue. Their bytes arrive
// at the wait or, in a shuffle, at the issue, because hardware may do either.
struct CopyQueue {
  struct Copy {
    void* to;
    std::size_t bytes;
    std::uint64_t group;
    bool has_arrived;
    std::array<unsigned char, 16> data;
  };
  std::vector<Copy> copies;
  std::uint64_t groups = 0;  // committed so far, so the number of the open group

  void clear() {
    copies.clear();
    groups = 0;
  }
};

void enter_fiber(boost::context::detail::transfer_t from);

// The state of an operating-system thread that runs blocks, kept between launches.
class Worker final : public Block {
 public:
  Worker() {
    void* const arena = mmap(nullptr, kArenaBytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (arena == MAP_FAILED) throw std::bad_alloc();
    arena_ = static_cast<unsigned char*>(arena);
  }
  ~Worker() { munmap(arena_, kArenaBytes); }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  static Worker* running();

  void work(Launch& launch);

  [[noreturn]] void run_fiber() {
    Fiber* const fiber = threads_[current_].fiber;
    while (true) {
      if (observer() != nullptr) observer()->in_kernel(true);
      launch_->kernel->invoke(launch_->kernel->body);
      if (observer() != nullptr) observer()->in_kernel(false);
      finish_copies(~std::uint64_t{0}, {});
      threads_[current_].status = Status::kReturned;
      fiber->suspend();
    }
  }
  void fiber_entered(boost::context::detail::transfer_t from) {
    threads_[current_].fiber->entered(from);
  }

  void block_collective(const char* name, Complete complete, void* data, Site where) {
    wait(Status::kInBlockOperation, name, 0, complete, data, where);
  }

  void warp_collective(const char* name, unsigned mask, Complete complete, void* data, Site where) {
    if ((mask >> lane() & 1u) == 0) fail_left_out(name, mask, where);
    wait(Status::kInWarpOperation, name, mask, complete, data, where);
  }

  void copy_async(const void* pc, void* to, const void* from, std::size_t bytes, std::size_t zeros,
                  Site where) {
    if (const char* const wrong = wrong_copy(to, from, bytes, zeros)) {
      fail(std::string("__pipeline_memcpy_async: ") + wrong, where);
    }
    const std::size_t read = bytes - zeros;
    if (observer() != nullptr) observer()->copy_starts(pc, to, bytes, from, read);
    CopyQueue& queue = copies_[current_];
    const bool arrives_at_once = launch_->schedule.order == Schedule::shuffle;
    queue.copies.push_back({to, bytes, queue.groups, arrives_at_once, {}});
    CopyQueue::Copy& copy = queue.copies.back();
    if (read > 0) std::memcpy(copy.data.data(), from, read);
    if (arrives_at_once) std::memcpy(to, copy.data.data(), bytes);
  }
  void commit_copies() { ++copies_[current_].groups; }
  void wait_for_copies(std::size_t newest_left_out, Site where) {
    const std::uint64_t groups = copies_[current_].groups;
    if (newest_left_out < groups) finish_copies(groups - newest_left_out, where);
  }

  // Frees the text before the switch, because nothing on this fiber's stack is destroyed after it.
  [[noreturn]] void fail(std::string&& sentence, Site where, cudaError_t code) {
    launch_->fail(code,
                  place(where) + ": " + sentence + ", in " + kernel_and_block() + ", thread " +
                      triple(threadIdx),
                  {"error", where, blockIdx, threadIdx});
    abandon(std::move(sentence));
  }

  [[noreturn]] void fail_observed(cudaError_t error, std::string&& report) {
    launch_->fail(error, report, {error == cudaErrorLaunchTimeout ? "stopped" : "finding"});
    abandon(std::move(report));
  }

  // ---- Block ----

  unsigned thread() const override { return current_; }
  unsigned threads() const override { return launch_->threads; }
  unsigned living_lanes(unsigned warp) const override { return living_[warp]; }
  bool knows_its_bounds() const override { return knows_its_bounds_; }
  unsigned char* window() const override { return arena_; }
  std::size_t window_bytes() const override { return arena_used_; }
  void sleep(const char* operation, Site where) override {
    Thread& self = threads_[current_];
    self.status = Status::kAsleep;
    self.operation = operation;
    self.where = where;
    suspend();
  }
  void wake(unsigned thread) override {
    const Schedule::Order order = launch_->schedule.order;
    make_ready(thread,
               order == Schedule::reverse || (order == Schedule::shuffle && random_.below(2) == 0));
  }
  [[noreturn]] void fail(std::string&& sentence, Site where) override {
    fail(std::move(sentence), where, cudaErrorLaunchFailure);
  }
  bool chance() override {
    const Schedule::Order order = launch_->schedule.order;
    return launch_->schedule.late || order == Schedule::reverse ||
           (order == Schedule::shuffle && random_.below(2) == 0);
  }
  unsigned below(unsigned count) override {
    return launch_->schedule.order == Schedule::shuffle ? random_.below(count) : 0;
  }
  std::uint64_t meetings() const override { return epoch_ + partial_meetings_; }
  void met() override { ++partial_meetings_; }
  Barriers& barriers() override { return barriers_; }
  Copies& copies() override { return bulk_copies_; }
  Products& products() override { return products_; }
  Stores& stores() override { return stores_; }
  uint3 index_of(unsigned thread) const override { return launch_->thread_index[thread]; }

  void bounds_are_known() { knows_its_bounds_ = true; }

  unsigned lane() const { return current_ % kWarpSize; }
  unsigned living_lanes() const { return living_[current_ / kWarpSize]; }

  void* static_shared(const void* site, std::size_t bytes, std::size_t alignment, Site where) {
    for (const SharedSite& each : sites_) {
      if (each.key == site) return each.begin;
    }
    const std::size_t dynamic = launch_->configuration->dynamic_shared;
    const std::size_t sum = (static_shared_ + alignment - 1) / alignment * alignment + bytes;
    if (sum > kDefaultShared || sum + dynamic > launch_->shared_limit) {
      fail("too much shared memory: " + std::to_string(sum) +
               " bytes of __shared__ variables and " + std::to_string(dynamic) +
               " dynamic bytes; allowed: " + std::to_string(kDefaultShared) + " of the former, " +
               std::to_string(launch_->shared_limit) + " together",
           where, cudaErrorInvalidValue);
    }
    static_shared_ = sum;
    const std::size_t step = std::max(alignment, kSharedGuardBytes);
    unsigned char* const begin = arena_ + (arena_used_ + step - 1) / step * step;
    if (begin + bytes + kSharedGuardBytes > arena_ + kArenaBytes) {
      fail("too many separate __shared__ declarations for the emulator", where);
    }
    add_site(site, begin, bytes, where);
    return begin;
  }

  void* dynamic_shared(std::size_t alignment, Site where) {
    if (alignment > kDynamicAlignment)
      fail("dynamic shared memory is aligned to 1024 bytes", where);
    return sites_.front().begin;
  }

  ThreadIdentity identity() const {
    return {launch_->kernel->name, blockIdx, threadIdx, current_, block_, epoch_};
  }
  AddressRange shared_range() const { return {arena_, arena_ + arena_used_}; }

 private:
  struct SharedSite {
    const void* key;
    unsigned char* begin;
    std::size_t bytes;
    Site where{};
  };

  // The error in a copy's arguments, or null.
  const char* wrong_copy(const void* to, const void* from, std::size_t bytes,
                         std::size_t zeros) const {
    const auto misaligned = [&](const void* address) {
      return reinterpret_cast<std::uintptr_t>(address) % bytes != 0;
    };
    const auto within = [&](const void* address, const void* begin, const void* end) {
      return address >= begin && static_cast<const unsigned char*>(address) + bytes <= end;
    };
    const unsigned char* const arena_end = arena_ + arena_used_;
    const Fiber& fiber = *threads_[current_].fiber;
    if (bytes != 4 && bytes != 8 && bytes != 16) return "the size must be 4, 8 or 16 bytes";
    if (zeros > bytes) return "zfill is above the size";
    if (misaligned(to)) return "the destination is not aligned to the size";
    if (misaligned(from)) return "the source is not aligned to the size";
    if (!within(to, arena_, arena_end))
      return "the destination is not in the block's shared memory";
    if (zeros == bytes) return nullptr;  // the source is not read, so any address is allowed
    if (within(from, arena_, arena_end) || within(from, fiber.stack_begin(), fiber.stack_end()))
      return "the source is not in global memory";
    return nullptr;
  }

  // Completes the calling thread's copies of groups before `end`, at its wait `where` (or empty).
  void finish_copies(std::uint64_t end, Site where) {
    std::vector<CopyQueue::Copy>& copies = copies_[current_].copies;
    if (copies.empty()) return;
    auto copy = copies.begin();
    for (; copy != copies.end() && copy->group < end; ++copy) {
      if (!copy->has_arrived) std::memcpy(copy->to, copy->data.data(), copy->bytes);
      if (observer() != nullptr) observer()->copy_arrives(copy->to, copy->bytes, where);
    }
    copies.erase(copies.begin(), copy);
  }

  [[noreturn, gnu::noinline]] void fail_left_out(const char* name, unsigned mask, Site where) {
    fail(std::string(name) + " with mask " + hexadecimal(mask) +
             ", which leaves out the calling lane " + std::to_string(lane()),
         where);
  }

  [[noreturn]] void abandon(std::string&& text) {
    std::string().swap(text);
    abandoned_ = true;
    threads_[current_].fiber->suspend();
    std::abort();  // abandoned fibers are never resumed
  }

  std::string kernel_and_block() const {
    return std::string("kernel ") + launch_->kernel->name + ", block " + triple(blockIdx);
  }

  void add_site(const void* key, unsigned char* begin, std::size_t bytes, Site where) {
    std::memset(arena_ + arena_used_, kGuard,
                static_cast<std::size_t>(begin - arena_) - arena_used_);
    std::memset(begin, kPoison, bytes);
    std::memset(begin + bytes, kGuard, kSharedGuardBytes);
    arena_used_ = static_cast<std::size_t>(begin - arena_) + bytes + kSharedGuardBytes;
    sites_.push_back({key, begin, bytes, where});
    if (observer() != nullptr) observer()->shared_declared(begin, bytes);
  }

  void wait(Status status, const char* name, unsigned mask, Complete complete, void* data,
            Site where) {
    Thread& self = threads_[current_];
    self.status = status;
    self.operation = name;
    self.mask = mask;
    self.complete = complete;
    self.data = data;
    self.where = where;
    if (status == Status::kInBlockOperation) {
      if (++in_block_operation_ == launch_->threads) complete_block_operation();
    } else {
      in_warp_operation_[current_ / kWarpSize] |= 1u << lane();
      try_warp_operation(current_ / kWarpSize, mask);
    }
    suspend();
  }

  // Suspends the calling thread. The next one continues, through the scheduler only if that has
  // work.
  void suspend() {
    Fiber& own = *threads_[current_].fiber;
    const bool scheduler_is_asked =
        ready_count_ == 0 || observer() != nullptr || next_ready() == nullptr ||
        (launch_->schedule.order == Schedule::shuffle && anything_on_the_way());
    if (scheduler_is_asked) return own.suspend();
    Fiber& next = *threads_[take_ready()].fiber;
    if (ready_count_ > 0 && next_ready() != nullptr) next_ready()->prefetch();
    if (&next != &own) own.hand_over(next);
  }

  // Null if it has not started.
  const Fiber* next_ready() const { return threads_[ready_[ready_first_]].fiber; }

  // The thread that runs from now on.
  unsigned take_ready() {
    current_ = ready_[ready_first_];
    ready_first_ = (ready_first_ + 1) % kMaxThreads;
    --ready_count_;
    threadIdx = launch_->thread_index[current_];
    return current_;
  }

  void run_block(std::uint64_t block);
  void run_next_thread();
  void complete_block_operation();
  void try_warp_operation(unsigned warp, unsigned mask);
  void retry_warp_operations(unsigned warp);
  void make_ready(unsigned index, bool before_others = false);
  void make_all_ready();
  bool anything_on_the_way() const;
  void complete_something();
  std::string awaited_by(unsigned thread) const;
  void report_stuck();
  void check_shared_guards();

  Launch* launch_ = nullptr;
  std::uint64_t block_ = 0;
  unsigned current_ = 0;
  bool abandoned_ = false;
  std::uint64_t epoch_ = 0;
  unsigned in_block_operation_ = 0;
  Random random_{0};
  std::vector<Thread> threads_;
  std::vector<CopyQueue> copies_;            // by thread; may be longer
  std::vector<unsigned> living_;             // lane masks by warp
  std::vector<unsigned> in_warp_operation_;  // lanes that wait in a warp operation
  std::vector<void*> block_data_;

  std::array<unsigned short, kMaxThreads> ready_{};  // a ring; each thread is in it at most once
  unsigned ready_first_ = 0;
  unsigned ready_count_ = 0;

  Scheduler scheduler_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> idle_fibers_;

  unsigned char* arena_ = nullptr;
  std::size_t arena_used_ = 0;
  std::size_t static_shared_ = 0;
  std::vector<SharedSite> sites_;

  bool knows_its_bounds_ = false;  // __launch_bounds__
  std::uint64_t partial_meetings_ = 0;
  Barriers barriers_{*this};
  Copies bulk_copies_{*this};
  Products products_{*this};
  Stores stores_{*this};
};

constinit thread_local Worker* running_worker = nullptr;

Worker* Worker::running() {
  return running_worker;
}

void enter_fiber(boost::context::detail::transfer_t from) {
  running_worker->fiber_entered(from);
  running_worker->run_fiber();
}

void Worker::make_ready(unsigned index, bool before_others) {
  threads_[index].status = Status::kReady;
  if (before_others) ready_first_ = (ready_first_ + kMaxThreads - 1) % kMaxThreads;
  const unsigned place = before_others ? ready_first_ : ready_first_ + ready_count_;
  ready_[place % kMaxThreads] = static_cast<unsigned short>(index);
  ++ready_count_;
}

void Worker::make_all_ready() {
  const unsigned n = launch_->threads;
  const unsigned first = (ready_first_ + ready_count_) % kMaxThreads;
  for (unsigned i = 0; i < n; ++i) {
    make_ready(launch_->schedule.order == Schedule::reverse ? n - 1 - i : i);
  }
  if (launch_->schedule.order != Schedule::shuffle) return;
  for (unsigned i = n - 1; i > 0; --i) {
    std::swap(ready_[(first + i) % kMaxThreads],
              ready_[(first + random_.below(i + 1)) % kMaxThreads]);
  }
}

void Worker::complete_block_operation() {
  const unsigned n = launch_->threads;
  for (unsigned i = 1; i < n; ++i) {
    if (threads_[i].complete != threads_[0].complete ||
        !same_place(threads_[i].where, threads_[0].where)) {
      return;  // report_stuck() reports the different lines
    }
  }
  block_data_.resize(n);
  for (unsigned i = 0; i < n; ++i)
    block_data_[i] = threads_[i].data;
  threads_[0].complete(block_data_.data(), n);
  in_block_operation_ = 0;
  ++epoch_;
  if (observer() != nullptr) observer()->block_met();
  make_all_ready();
}

void Worker::try_warp_operation(unsigned warp, unsigned mask) {
  const unsigned base = warp * kWarpSize;
  const unsigned wanted = mask & living_[warp];
  if ((wanted & ~in_warp_operation_[warp]) != 0) return;
  const unsigned first = static_cast<unsigned>(std::countr_zero(wanted));
  std::array<void*, kWarpSize> data{};
  for (unsigned rest = wanted; rest != 0; rest &= rest - 1) {
    const unsigned lane = static_cast<unsigned>(std::countr_zero(rest));
    const Thread& thread = threads_[base + lane];
    const bool arrived = thread.status == Status::kInWarpOperation && thread.mask == mask &&
                         thread.operation == threads_[base + first].operation &&
                         thread.complete == threads_[base + first].complete;
    if (!arrived) return;
    data[lane] = thread.data;
  }
  in_warp_operation_[warp] &= ~wanted;
  // __syncwarp passes no data, so its lanes look absent here, but its completion reads none.
  threads_[base + first].complete(data.data(), kWarpSize);
  if (observer() != nullptr) observer()->lanes_met(warp, wanted, threads_[base + first].operation);

  std::array<unsigned, kWarpSize> lanes;
  unsigned count = 0;
  for (unsigned rest = wanted; rest != 0; rest &= rest - 1) {
    lanes[count++] = static_cast<unsigned>(std::countr_zero(rest));
  }
  if (launch_->schedule.order == Schedule::reverse) {
    // Before other threads, so that a warp runs ahead, as on a GPU, until it waits for its block.
    for (unsigned i = 0; i < count; ++i)
      make_ready(base + lanes[i], true);
    return;
  }
  if (launch_->schedule.order == Schedule::shuffle) {
    for (unsigned i = count - 1; i > 0; --i)
      std::swap(lanes[i], lanes[random_.below(i + 1)]);
  }
  for (unsigned i = 0; i < count; ++i)
    make_ready(base + lanes[i]);
}

// After a lane has returned, operations that waited only for it can complete.
void Worker::retry_warp_operations(unsigned warp) {
  const unsigned base = warp * kWarpSize;
  for (unsigned rest = living_[warp]; rest != 0; rest &= rest - 1) {
    const unsigned lane = static_cast<unsigned>(std::countr_zero(rest));
    if (threads_[base + lane].status == Status::kInWarpOperation) {
      try_warp_operation(warp, threads_[base + lane].mask);
    }
  }
}

void Worker::run_next_thread() {
  const unsigned first = take_ready();
  Fiber*& fiber = threads_[first].fiber;
  if (fiber == nullptr) {
    if (idle_fibers_.empty()) {
      fibers_.push_back(std::make_unique<Fiber>(fibers_.size(), scheduler_, enter_fiber));
      idle_fibers_.push_back(fibers_.back().get());
    }
    fiber = idle_fibers_.back();
    idle_fibers_.pop_back();
  }
  if (observer() != nullptr)
    observer()->thread_runs(first, {fiber->stack_begin(), fiber->stack_end()});
  fiber->resume();
  if (observer() != nullptr) observer()->in_kernel(false);
  Thread& last = threads_[current_];  // possibly another thread
  if (last.status != Status::kReturned) return;
  idle_fibers_.push_back(last.fiber);
  last.fiber = nullptr;
  const unsigned warp = current_ / kWarpSize;
  living_[warp] &= ~(1u << lane());
  retry_warp_operations(warp);
}

// Asynchronous operations that can complete without any thread.
bool Worker::anything_on_the_way() const {
  return bulk_copies_.any_on_the_way() || products_.any_on_the_way() || stores_.any_on_the_way();
}

// Copies first, so that late products and stores read overwritten operands. In a shuffle any kind.
void Worker::complete_something() {
  const std::array on_the_way = {bulk_copies_.any_on_the_way(), products_.any_on_the_way(),
                                 stores_.any_on_the_way()};
  const auto kinds = static_cast<unsigned>(std::ranges::count(on_the_way, true));
  unsigned chosen = kinds > 1 ? below(kinds) : 0;
  if (on_the_way[0] && chosen-- == 0) return bulk_copies_.complete_one();
  if (on_the_way[1] && chosen-- == 0) return products_.complete_one();
  stores_.do_one_step();
}

std::string Worker::awaited_by(unsigned thread) const {
  const std::string text = barriers_.awaited_by(thread);
  return text.empty() ? products_.awaited_by(thread) : text;
}

void Worker::report_stuck() {
  struct Group {
    unsigned first;
    unsigned count;
  };
  std::vector<Group> groups;
  for (unsigned i = 0; i < launch_->threads; ++i) {
    const auto same = [&](const Group& group) {
      const Thread& a = threads_[group.first];
      const Thread& b = threads_[i];
      if (a.status != b.status) return false;
      if (a.status == Status::kReturned) return true;
      return a.operation == b.operation && a.mask == b.mask && same_place(a.where, b.where) &&
             (a.status != Status::kAsleep || awaited_by(group.first) == awaited_by(i));
    };
    const auto found = std::find_if(groups.begin(), groups.end(), same);
    if (found == groups.end()) {
      groups.push_back({i, 1});
    } else {
      ++found->count;
    }
  }
  const bool asleep = std::any_of(threads_.begin(), threads_.end(), [](const Thread& thread) {
    return thread.status == Status::kAsleep;
  });
  const bool barrier = in_block_operation_ > 0;
  const auto stands_for_all = [&](const Group& group) {
    return threads_[group.first].status == (asleep    ? Status::kAsleep
                                            : barrier ? Status::kInBlockOperation
                                                      : Status::kInWarpOperation);
  };
  // A thread that waits for registers is the cause, because it does not wait for the others.
  const auto wants_registers = [&](const Group& group) {
    const Thread& thread = threads_[group.first];
    return thread.status == Status::kAsleep && std::strcmp(thread.operation, "setmaxnreg_inc") == 0;
  };
  auto culprit = std::find_if(groups.begin(), groups.end(), wants_registers);
  if (culprit == groups.end()) culprit = std::find_if(groups.begin(), groups.end(), stands_for_all);
  std::string text = place(threads_[culprit->first].where) + ": " +
                     (asleep    ? "deadlock: nobody ends this "
                      : barrier ? "divergent "
                                : "deadlock: not all lanes of the mask reach ") +
                     threads_[culprit->first].operation + " in " + kernel_and_block() + " of " +
                     std::to_string(launch_->threads) + " threads";
  for (const Group& group : groups) {
    const Thread& thread = threads_[group.first];
    text += "\n  " + std::to_string(group.count) + (group.count == 1 ? " thread " : " threads ");
    if (thread.status == Status::kReturned) {
      text += group.count == 1 ? "has returned" : "have returned";
    } else {
      text += std::string(group.count == 1 ? "waits in " : "wait in ") + thread.operation;
      if (thread.status == Status::kInWarpOperation)
        text += " with mask " + hexadecimal(thread.mask);
      text += " at " + place(thread.where);
      if (thread.status == Status::kAsleep) text += awaited_by(group.first);
    }
    text += group.count == 1
                ? ". It is thread "
                : ". The first of these " + std::to_string(group.count) + " is thread ";
    text += triple(launch_->thread_index[group.first]);
  }
  launch_->fail(cudaErrorLaunchFailure, text,
                {!asleep && barrier ? "divergence" : "deadlock", threads_[culprit->first].where,
                 blockIdx, launch_->thread_index[culprit->first]});
  abandoned_ = true;
}

void Worker::check_shared_guards() {
  for (const SharedSite& site : sites_) {
    const auto intact = [](const unsigned char* zone) {
      return std::all_of(zone, zone + kSharedGuardBytes,
                         [](unsigned char byte) { return byte == kGuard; });
    };
    const bool before = intact(site.begin - kSharedGuardBytes);
    if (before && intact(site.begin + site.bytes)) continue;
    launch_->fail(cudaErrorIllegalAddress,
                  place(site.where) + ": shared memory " + (before ? "behind" : "in front of") +
                      " the " + std::to_string(site.bytes) + " bytes " +
                      (site.key == nullptr ? "of dynamic shared memory" : "declared here") +
                      " was overwritten, in " + kernel_and_block() + ", some thread",
                  {"overwritten"});
  }
}

void Worker::run_block(std::uint64_t block) {
  const dim3 grid = launch_->configuration->grid;
  block_ = block;
  blockIdx = {static_cast<unsigned>(block % grid.x), static_cast<unsigned>(block / grid.x % grid.y),
              static_cast<unsigned>(block / grid.x / grid.y)};
  random_.state = launch_->schedule.seed * 0x9e3779b97f4a7c15u + block;
  epoch_ = 0;
  in_block_operation_ = 0;
  abandoned_ = false;
  const unsigned n = launch_->threads;
  threads_.assign(n, Thread{});
  copies_.resize(std::max<std::size_t>(copies_.size(), n));
  for (CopyQueue& queue : copies_)
    queue.clear();  // left by an abandoned block
  living_.assign((n + kWarpSize - 1) / kWarpSize, ~0u);
  if (n % kWarpSize != 0) living_.back() = (1u << n % kWarpSize) - 1;
  in_warp_operation_.assign(living_.size(), 0);

  if (observer() != nullptr) observer()->block_starts(block);
  sites_.clear();
  static_shared_ = 0;
  arena_used_ = 0;
  add_site(nullptr, arena_ + kDynamicAlignment, launch_->configuration->dynamic_shared,
           launch_->configuration->where);
  knows_its_bounds_ = false;
  partial_meetings_ = 0;
  barriers_.begin_block();
  bulk_copies_.begin_block();
  products_.begin_block();
  stores_.begin_block();

  ready_first_ = ready_count_ = 0;
  make_all_ready();
  const bool shuffled = launch_->schedule.order == Schedule::shuffle;
  while (!abandoned_ && (ready_count_ > 0 || anything_on_the_way())) {
    // Late operations complete when no thread can continue without them, or earlier at random.
    constexpr unsigned kSometimes = 64;
    if (ready_count_ == 0 && bulk_copies_.any_on_the_way() &&
        std::all_of(threads_.begin(), threads_.end(),
                    [](const Thread& t) { return t.status == Status::kReturned; })) {
      launch_->fail(cudaErrorLaunchFailure, bulk_copies_.left_over() + ", in " + kernel_and_block(),
                    {"unfinished"});
      abandoned_ = true;
      break;
    }
    if (ready_count_ == 0 ||
        (shuffled && anything_on_the_way() && random_.below(kSometimes) == 0)) {
      complete_something();
      continue;
    }
    run_next_thread();
  }
  if (!abandoned_ && std::any_of(threads_.begin(), threads_.end(),
                                 [](const Thread& t) { return t.status != Status::kReturned; })) {
    report_stuck();
  }
  for (const std::string& text :
       {abandoned_ ? "" : stores_.left_over(), abandoned_ ? "" : barriers_.left_out()}) {
    if (!text.empty())
      launch_->fail(cudaErrorLaunchFailure, text + ", in " + kernel_and_block(), {"unfinished"});
  }
  check_shared_guards();
  if (observer() != nullptr) observer()->block_ends();
  if (abandoned_) {
    for (Thread& thread : threads_) {
      if (thread.fiber == nullptr) continue;
      thread.fiber->restart();
      idle_fibers_.push_back(thread.fiber);
    }
  }
}

void Worker::work(Launch& launch) {
  launch_ = &launch;
  running_worker = this;
  blockDim = launch.configuration->block;
  gridDim = launch.configuration->grid;
  std::size_t static_shared = 0;
  while (!launch.failed.load(std::memory_order_relaxed)) {
    const std::uint64_t i = launch.next_block.fetch_add(1, std::memory_order_relaxed);
    if (i >= launch.blocks) break;
    // The product exceeds 64 bits for the largest grids.
    run_block(launch.block_number(static_cast<std::uint64_t>(
        (static_cast<unsigned __int128>(i) * launch.stride + launch.offset) % launch.blocks)));
    static_shared = std::max(static_shared, static_shared_);
  }
  running_worker = nullptr;
  const std::lock_guard<std::mutex> guard(launch.mutex);
  launch.static_shared = std::max(launch.static_shared, static_shared);
}

Worker& worker_of_this_thread() {
  thread_local Worker worker;
  return worker;
}

class Pool {
 public:
  // Never destroyed, because its threads may outlive main().
  static Pool& instance() {
    static Pool& pool = *new Pool;
    return pool;
  }

  void run(Launch& launch, unsigned workers) {
    const auto helpers = static_cast<unsigned>(std::min<std::uint64_t>(workers, launch.blocks) - 1);
    if (helpers > 0) {
      std::unique_lock<std::mutex> guard(mutex_);
      while (threads_ < helpers) {
        std::thread([this] { help(); }).detach();
        ++threads_;
      }
      launch_ = &launch;
      wanted_ = helpers;
      guard.unlock();
      wake_.notify_all();
    }
    worker_of_this_thread().work(launch);
    if (helpers > 0) {
      std::unique_lock<std::mutex> guard(mutex_);
      wanted_ = 0;
      done_.wait(guard, [this] { return active_ == 0; });
    }
  }

 private:
  void help() {
    std::unique_lock<std::mutex> guard(mutex_);
    while (true) {
      wake_.wait(guard, [this] { return wanted_ > 0; });
      --wanted_;
      ++active_;
      Launch* const launch = launch_;
      guard.unlock();
      worker_of_this_thread().work(*launch);
      guard.lock();
      if (--active_ == 0) done_.notify_one();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  Launch* launch_ = nullptr;
  unsigned wanted_ = 0;
  unsigned active_ = 0;
  unsigned threads_ = 0;
};

// EMULATOR_SCHEDULE: forward, reverse, or a seed to shuffle by.
Schedule asked_schedule() {
  const char* const asked = std::getenv("EMULATOR_SCHEDULE");
  if (asked == nullptr || std::strcmp(asked, "forward") == 0) return {};
  if (std::strcmp(asked, "reverse") == 0) return {Schedule::reverse, 0};
  return {Schedule::shuffle, std::strtoull(asked, nullptr, 10)};
}

struct Settings {
  std::mutex mutex;  // also serialises launches
  Schedule schedule = asked_schedule();
  unsigned workers = 0;
  LaunchSummary last;
  std::vector<NotedLaunch>* noted = nullptr;   // set while launches are noted instead of run
  std::vector<const void*>* copies = nullptr;  // and the streams of copies
};

Settings& settings() {
  static Settings& instance = *new Settings;
  return instance;
}

void choose_block_order(Launch& launch) {
  const std::uint64_t n = launch.blocks;
  launch.stride = 1;
  launch.offset = 0;
  if (n == 1 || launch.schedule.order == Schedule::forward) return;
  if (launch.schedule.order == Schedule::reverse) {
    launch.stride = launch.offset = n - 1;
    return;
  }
  Random random{~launch.schedule.seed};
  do {
    launch.stride = 1 + random.next() % (n - 1);
  } while (std::gcd(launch.stride, n) != 1);
  launch.offset = random.next() % n;
}

// The error in the extents, or empty.
std::string impossible_extents(const dim3& grid, const dim3& block) {
  if (grid.x == 0 || grid.y == 0 || grid.z == 0) return "an extent of the grid is 0";
  if (block.x == 0 || block.y == 0 || block.z == 0) return "an extent of the block is 0";
  if (grid.x > kMaxGridX) return "grid.x is above 2147483647";
  if (grid.y > kMaxGridYZ || grid.z > kMaxGridYZ) return "grid.y or grid.z is above 65535";
  if (block.z > kMaxBlockZ) return "block.z is above 64";
  if (block.x > kMaxThreads || block.y > kMaxThreads ||
      std::uint64_t{block.x} * block.y * block.z > kMaxThreads) {
    return "the block has more than 1024 threads";
  }
  return {};
}

// The worker whose kernel has called the emulator, during the call.
class Called {
 public:
  explicit Called(const char* operation) : worker_(Worker::running()) {
    if (worker_ != nullptr) return;
    std::fprintf(stderr, "emulator: %s called outside a kernel\n", operation);
    std::abort();
  }
  Worker* operator->() const { return worker_; }

 private:
  Unobserved unobserved_;
  Worker* worker_;
};

// During its lifetime the file EMULATOR_PRINTF receives a kernel's output, too.
class PrintedToo {
 public:
  PrintedToo() {
    const char* const path = std::getenv("EMULATOR_PRINTF");
    if (path == nullptr) return;
    file_ = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (file_ < 0) {
      std::fprintf(stderr, "emulator: EMULATOR_PRINTF is \"%s\", which cannot be written\n", path);
      std::exit(2);
    }
    std::fflush(stdout);
    begin_ = lseek(file_, 0, SEEK_END);
    stdout_ = dup(STDOUT_FILENO);
    dup2(file_, STDOUT_FILENO);
  }
  ~PrintedToo() {
    if (file_ < 0) return;
    std::fflush(stdout);
    dup2(stdout_, STDOUT_FILENO);
    lseek(file_, begin_, SEEK_SET);
    std::array<char, 4096> text;
    for (ssize_t count; (count = read(file_, text.data(), text.size())) > 0;)
      std::fwrite(text.data(), 1, static_cast<std::size_t>(count), stdout);
    close(stdout_);
    close(file_);
  }
  PrintedToo(const PrintedToo&) = delete;
  PrintedToo& operator=(const PrintedToo&) = delete;

 private:
  int file_ = -1;
  int stdout_ = -1;
  off_t begin_ = 0;
};

}  // namespace

namespace {

// Whether the launch is valid. If not, records the error.
bool can_start(const Configuration& configuration, const Kernel& kernel,
               std::size_t dynamic_limit) {
  const dim3& grid = configuration.grid;
  const dim3& block = configuration.block;
  if (Worker* const worker = Worker::running()) {
    worker->fail("a kernel launched by a kernel is not emulated", configuration.where,
                 cudaErrorNotSupported);
  }
  const std::string start = place(configuration.where) + ": launch of kernel " + kernel.name +
                            " with grid " + triple(grid) + " and block " + triple(block) + ": ";
  if (const std::string wrong = impossible_extents(grid, block); !wrong.empty()) {
    set_launch_error(cudaErrorInvalidConfiguration, start + wrong);
    return false;
  }
  if (configuration.dynamic_shared > dynamic_limit) {
    set_launch_error(
        cudaErrorInvalidValue,
        start + std::to_string(configuration.dynamic_shared) +
            " bytes of dynamic shared memory; allowed: " + std::to_string(dynamic_limit) +
            " (cudaFuncSetAttribute with cudaFuncAttributeMaxDynamicSharedMemorySize raises it up "
            "to " +
            std::to_string(max_shared()) +
            (kernel.address == nullptr
                 ? "; write the kernel's template arguments in the launch, or it is not found)"
                 : ")"));
    return false;
  }

  // An observer reports the access with its line instead.
  for (std::size_t i = 0; i < kernel.arguments && observer() == nullptr; ++i) {
    if (kernel.pointers[i] == nullptr || !is_host_memory(kernel.pointers[i])) continue;
    set_launch_error(cudaErrorIllegalAddress,
                     start + "argument " + std::to_string(i + 1) +
                         " points to host memory; a kernel needs device memory: cudaMalloc and "
                         "cudaMemcpy");
    return false;
  }
  return true;
}

nlohmann::json fact_of(const Launch& launch) {
  const auto& [kind, where, block, thread] = launch.cause;
  nlohmann::json fact = {{"fact", "failed launch"},
                         {"kind", kind},
                         {"error", cudaGetErrorName(launch.error)},
                         {"kernel", launch.kernel->name},
                         {"message", launch.report}};
  if (where.file != nullptr) {
    fact["place"] = place(where);
    fact["block"] = {block.x, block.y, block.z};
    fact["thread"] = {thread.x, thread.y, thread.z};
  }
  return fact;
}

// False if launches are not noted.
bool note(const Configuration& configuration, const Kernel& kernel) {
  if (settings().noted == nullptr) return false;
  settings().noted->push_back({kernel.name, kernel.address, configuration.grid, configuration.block,
                               configuration.dynamic_shared, configuration.stream});
  return true;
}

}  // namespace

bool notes_launches() {
  return settings().noted != nullptr;
}

bool note_copy(const void* stream) {
  if (settings().copies == nullptr) return false;
  settings().copies->push_back(stream);
  return true;
}

void run_in_stream(const Configuration& configuration, const Kernel& kernel,
                   std::function<void()> later) {
  if (!can_start(configuration, kernel, max_dynamic_shared(kernel.address))) return;
  if (note(configuration, kernel)) return;
  put_kernel(configuration.stream, std::move(later));
}

void run(const Configuration& configuration, const Kernel& kernel) {
  const dim3& grid = configuration.grid;
  const dim3& block = configuration.block;
  const std::size_t dynamic_limit = max_dynamic_shared(kernel.address);
  if (!can_start(configuration, kernel, dynamic_limit)) return;
  if (note(configuration, kernel)) return;

  const std::lock_guard<std::mutex> guard(settings().mutex);
  const DeviceMemoryOpen open;
  const PrintedToo printed;
  Launch launch;
  launch.configuration = &configuration;
  launch.kernel = &kernel;
  launch.schedule = settings().schedule;
  const auto runs = [last = last_blocks()](unsigned extent) {
    return last > 0 ? std::min(extent, last) : extent;
  };
  launch.extents = {runs(grid.x), runs(grid.y), runs(grid.z)};
  launch.blocks = std::uint64_t{launch.extents.x} * launch.extents.y * launch.extents.z;
  launch.threads = block.x * block.y * block.z;
  launch.shared_limit = dynamic_limit > kDefaultShared ? max_shared() : kDefaultShared;
  for (unsigned z = 0; z < block.z; ++z) {
    for (unsigned y = 0; y < block.y; ++y) {
      for (unsigned x = 0; x < block.x; ++x)
        launch.thread_index.push_back({x, y, z});
    }
  }
  choose_block_order(launch);
  const unsigned workers = observer() != nullptr ? 1
                           : settings().workers != 0
                               ? settings().workers
                               : std::max(1u, std::thread::hardware_concurrency());
  if (observer() != nullptr) {
    observer()->launch_starts(
        kernel.name, grid, block, configuration.dynamic_shared,
        {kernel.body, static_cast<const unsigned char*>(kernel.body) + kernel.body_bytes});
  }
  Pool::instance().run(launch, workers);
  if (observer() != nullptr) observer()->launch_ends(launch.static_shared);

  settings().last = {kernel.name, grid, block, launch.static_shared, configuration.dynamic_shared};
  if (!launch.failed) {
    if (const std::string damage = check_allocation_guards(); !damage.empty()) {
      launch.fail(cudaErrorIllegalAddress,
                  damage + ", by kernel " + kernel.name + ", some block and thread",
                  {"overwritten"});
    }
  }
  if (launch.failed) {
    write_fact(fact_of(launch));
    set_launch_error(launch.error, launch.report + "\n  launched at " + place(configuration.where));
  }
}

Block& Block::running(const char* operation) {
  if (Worker* const worker = Worker::running()) return *worker;
  std::fprintf(stderr, "emulator: %s called outside a kernel\n", operation);
  std::abort();
}

std::string Block::name_of(unsigned thread) const {
  return "thread " + triple(index_of(thread)) + " of warp " + std::to_string(thread / kLanes);
}

std::string Block::name_of(const Party& party) const {
  return name_of(party.thread) + " at " + place(party.where);
}

void copy_async(void* to, const void* from, std::size_t bytes, std::size_t zeros, Site where) {
  Called("__pipeline_memcpy_async")
      ->copy_async(__builtin_return_address(0), to, from, bytes, zeros, where);
}
void commit_copies() {
  Called("__pipeline_commit")->commit_copies();
}
void wait_for_copies(std::size_t newest_left_out, Site where) {
  Called("__pipeline_wait_prior")->wait_for_copies(newest_left_out, where);
}

void reset_schedule() {
  const std::lock_guard<std::mutex> guard(settings().mutex);
  settings().schedule = {};
  settings().workers = 0;
  settings().last = {};
}

unsigned lane() {
  return Called("a warp operation")->lane();
}

void* static_shared(const void* site, std::size_t bytes, std::size_t alignment, Site where) {
  return Called("a function with __shared__ variables")
      ->static_shared(site, bytes, alignment, where);
}

void* dynamic_shared(std::size_t alignment, Site where) {
  return Called("a function with extern __shared__ memory")->dynamic_shared(alignment, where);
}

void name_shared(const SharedName& name) {
  if (observer() == nullptr) return;
  const Unobserved unobserved;
  observer()->shared_named(name);
}

void check_launch_bounds(unsigned threads, unsigned /*blocks*/, unsigned /*cluster*/, Site where) {
  const unsigned block = blockDim.x * blockDim.y * blockDim.z;
  if (Worker* const worker = Worker::running(); worker != nullptr) worker->bounds_are_known();
  if (block <= threads) return;
  const Unobserved unobserved;  // the text is built by the emulator's code
  Called("a kernel")
      ->fail("the block has " + std::to_string(block) +
                 " threads; the kernel's __launch_bounds__ allows " + std::to_string(threads),
             where, cudaErrorInvalidValue);
}

void no_result(void* const*, unsigned) {}

void count_votes(void* const* votes, unsigned count) {
  int total = 0;
  for (unsigned i = 0; i < count; ++i)
    total += static_cast<Vote*>(votes[i])->predicate;
  for (unsigned i = 0; i < count; ++i)
    static_cast<Vote*>(votes[i])->result = total;
}

// A fact for tools, once per source line with a shuffle.
void note_absent(const Shuffle& shuffle, unsigned lane) {
  if (std::getenv("EMULATOR_FACTS") == nullptr) return;
  static std::mutex mutex;
  static std::set<std::string> noted;
  const std::lock_guard<std::mutex> guard(mutex);
  if (!noted.insert(place(shuffle.where)).second) return;
  const std::string source = std::to_string(shuffle.source);
  write_fact({{"fact", "absent lane"},
              {"place", place(shuffle.where)},
              {"message", place(shuffle.where) + ": lane " + std::to_string(lane) +
                              " takes the value of lane " + source + " by " + shuffle.name +
                              ", and lane " + source +
                              ((shuffle.mask >> shuffle.source & 1u) == 0
                                   ? " is not in the mask " + hexadecimal(shuffle.mask)
                                   : " has returned, or the block has no such thread")}});
}

void complete_shuffle(void* const* lanes, unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    if (lanes[i] == nullptr) continue;
    auto* const self = static_cast<Shuffle*>(lanes[i]);
    const auto* const source = static_cast<const Shuffle*>(lanes[self->source]);
    self->result = source == nullptr ? ~std::uint64_t{0} : source->value;
    if (source == nullptr) note_absent(*self, i);
  }
}

void complete_ballot(void* const* lanes, unsigned count) {
  unsigned votes = 0;
  for (unsigned i = 0; i < count; ++i) {
    if (lanes[i] != nullptr && static_cast<Ballot*>(lanes[i])->predicate) votes |= 1u << i;
  }
  for (unsigned i = 0; i < count; ++i) {
    if (lanes[i] != nullptr) static_cast<Ballot*>(lanes[i])->result = votes;
  }
}

}  // namespace detail

void warp_collective(const char* name, unsigned mask, Complete complete, void* data, Site where) {
  const detail::Called called(name);
  if (detail::observer() != nullptr && complete == detail::complete_shuffle) {
    detail::observer()->lane_takes(__builtin_return_address(0),
                                   static_cast<const detail::Shuffle*>(data)->source);
  }
  called->warp_collective(name, mask, complete, data, where);
}

void block_collective(const char* name, Complete complete, void* data, Site where) {
  detail::Called(name)->block_collective(name, complete, data, where);
}

unsigned living_lanes() {
  return detail::Called("living_lanes")->living_lanes();
}

void fail_in_kernel(const char* sentence, Site where) {
  detail::Called(sentence)->fail(sentence, where);
}

void set_schedule(Schedule schedule) {
  const std::lock_guard<std::mutex> guard(detail::settings().mutex);
  detail::settings().schedule = schedule;
}

Schedule schedule() {
  const std::lock_guard<std::mutex> guard(detail::settings().mutex);
  return detail::settings().schedule;
}

void set_workers(unsigned count) {
  const std::lock_guard<std::mutex> guard(detail::settings().mutex);
  detail::settings().workers = count;
}

void install(Observer& observer) {
  detail::installed_observer = &observer;
}

void abandon_block(cudaError_t error, std::string&& report) {
  detail::Worker::running()->fail_observed(error, std::move(report));
}

void name_memory(const MemoryName& name) {
  if (detail::observer() != nullptr) detail::observer()->named(name);
}

void forget_recorded() {
  if (detail::observer() != nullptr) detail::observer()->forget();
}

std::vector<NotedLaunch> launches_of(const std::function<void()>& work,
                                     std::vector<const void*>* copies) {
  std::vector<NotedLaunch> noted;
  struct Noting {
    Noting(std::vector<NotedLaunch>* noted, std::vector<const void*>* copies) {
      detail::settings().noted = noted, detail::settings().copies = copies;
    }
    ~Noting() { detail::settings().noted = nullptr, detail::settings().copies = nullptr; }
  } const noting(&noted, copies);
  work();
  cudaDeviceSynchronize();  // the work that remains in streams
  return noted;
}

LaunchSummary last_launch() {
  const std::lock_guard<std::mutex> guard(detail::settings().mutex);
  return detail::settings().last;
}

bool current_thread(ThreadIdentity* identity) {
  const detail::Worker* const worker = detail::Worker::running();
  if (worker == nullptr) return false;
  *identity = worker->identity();
  return true;
}

AddressRange shared_memory() {
  const detail::Worker* const worker = detail::Worker::running();
  return worker == nullptr ? AddressRange{} : worker->shared_range();
}

}  // namespace emulator
