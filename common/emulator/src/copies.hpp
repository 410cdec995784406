// A block's bulk copies: those on their way, and where the complete ones have put what.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "block.hpp"
#include "cuda.h"
#include "emulator/barriers.hpp"

namespace emulator::detail {

inline constexpr unsigned kMostDimensions = 5;

// What lies in a CUtensorMap here.
struct Map {
  std::uint64_t mark;
  const unsigned char* begin;
  std::uint64_t sizes[kMostDimensions];        // elements
  std::uint64_t strides[kMostDimensions - 1];  // bytes, from dimension 1 on
  std::uint16_t box[kMostDimensions];          // elements
  std::uint8_t rank;
  std::uint8_t element_bytes;
  std::uint8_t swizzle;  // bytes of a row that is swizzled: 32, 64, 128; 0: none

  std::size_t row_bytes() const { return std::size_t{box[0]} * element_bytes; }
  std::size_t box_bytes() const;
};

// Where a byte at `address` lies whose place without swizzle is there, and back: PTX's "Swizzling modes". The 16-byte units of a row take
// turns by the row's number in the pattern, that is by the address bits from 7 on.
inline std::uint32_t swizzled(std::uint32_t address, unsigned width) {
  return width == 0 ? address : address ^ ((address >> 7 & (width / 16 - 1)) << 4);
}

// What a tensor copy has put into shared memory: bytes from `address` on, as they are without swizzle.
struct Tile {
  std::uint32_t address;
  Map map;
  std::array<int, kMostDimensions> first;
  Party party;
  std::vector<unsigned char> bytes;

  bool holds(std::uint32_t at) const { return at >= address && at - address < bytes.size(); }
};

class Copies {
 public:
  explicit Copies(Block& block) : block_(block) {}

  void begin_block();
  void copy_box(void* to, const CUtensorMap* map, Barrier* barrier, const int* first,
                unsigned dimensions, Site where);
  void copy_bytes(void* to, const void* from, int bytes, Barrier* barrier, Site where);

  bool any_on_the_way() const { return !on_the_way_.empty(); }
  // One that is on its way is complete.
  void complete_one();
  // Which would never have arrived: the sentence, or empty.
  std::string left_over() const;

  const Tile* tile_at(std::uint32_t address) const;

 private:
  struct OnTheWay {
    Tile tile;  // its bytes still to be read; no map: bytes one behind the other
    const unsigned char* from;
    std::size_t bytes;
    unsigned barrier;
  };

  std::uint32_t shared_end(const char* operation, const void* to, std::size_t bytes,
                           std::size_t alignment, Site where);
  void check_source(const char* operation, const void* from, std::size_t bytes, Site where);
  void issue(OnTheWay&& copy);
  void complete(OnTheWay& copy);
  void forget_tiles(std::uint32_t address, std::size_t bytes);

  Block& block_;
  std::vector<OnTheWay> on_the_way_;
  std::vector<Tile> tiles_;
};

}  // namespace emulator::detail
