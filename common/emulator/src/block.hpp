// The running block: calling thread, shared memory, sleeping and waking, errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "emulator/emulator.hpp"
#include "emulator/site.hpp"
#include "emulator/vector_types.hpp"
#include "observed.hpp"

namespace emulator::detail {

class Barriers;
class Copies;
class Products;
class Stores;

inline constexpr unsigned kLanes = 32;

std::string place(const Site& where);
bool same_place(const Site& a, const Site& b);

// A thread and its call site.
struct Party {
  Site where{};
  unsigned thread = 0;  // linear
};

class Block {
 public:
  // The calling operating-system thread's block. Outside a kernel the program ends with an error.
  static Block& running(const char* operation);

  virtual unsigned thread() const = 0;   // the calling one, linear
  virtual unsigned threads() const = 0;  // of the block
  virtual unsigned living_lanes(unsigned warp) const = 0;
  virtual bool knows_its_bounds() const = 0;  // __launch_bounds__

  // 32-bit shared-memory addresses are offsets in bytes from the block's window.
  virtual unsigned char* window() const = 0;
  virtual std::size_t window_bytes() const = 0;

  // Suspends the calling thread until another wakes it. Reports show `operation`.
  virtual void sleep(const char* operation, Site where) = 0;
  virtual void wake(unsigned thread) = 0;

  // Ends the launch with an error. `say` builds the text, as the stack's objects are never
  // destroyed.
  template <typename Say>
  [[noreturn]] void fails(Site where, const Say& say) {
    fail(say(), where);
    std::abort();  // fail() does not return, but a virtual function cannot promise that
  }

  // Never in forward order, always in reverse, and by the seed in a shuffle.
  virtual bool chance() = 0;
  virtual unsigned below(unsigned count) = 0;

  // The number of synchronizations that may have ordered one thread before others.
  virtual std::uint64_t meetings() const = 0;
  virtual void met() = 0;

  std::string name_of(unsigned thread) const;     // "thread (5, 0, 0) of warp 0"
  std::string name_of(const Party& party) const;  // the same, with "at file:line"

  virtual Barriers& barriers() = 0;
  virtual Copies& copies() = 0;
  virtual Products& products() = 0;
  virtual Stores& stores() = 0;

 protected:
  ~Block() = default;
  virtual void fail(std::string&& sentence, Site where) = 0;
  virtual uint3 index_of(unsigned thread) const = 0;
};

// For the picture of a block over time.
inline void tell(const Happening& what) {
  if (observer() != nullptr) observer()->happened(what);
}

// The block whose kernel has called the emulator, during the call.
class CalledBlock {
 public:
  explicit CalledBlock(const char* operation) : block_(Block::running(operation)) {}
  Block* operator->() const { return &block_; }
  Block& operator*() const { return block_; }

 private:
  Unobserved unobserved_;
  Block& block_;
};

}  // namespace emulator::detail
