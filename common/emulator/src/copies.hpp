// Tensor maps, and a block's bulk copies to shared memory: those on their way, and where the complete ones have put what.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "block.hpp"
#include "cuda.h"
#include "emulator/barriers.hpp"
#include "emulator/emulator.hpp"

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
  // What a box in shared memory is aligned to.
  std::size_t alignment() const { return swizzle == 0 ? 128 : std::size_t{8} * swizzle; }
};

inline constexpr std::size_t kCopyUnit = 16;  // bytes: what bulk copies move

// A box's first element, a coordinate for each dimension.
using First = std::array<int, kMostDimensions>;

// What the errors of a copy begin with, and where it stands.
struct Call {
  Block& block;
  const char* operation;
  Site where;
};

// The map that `map` points to. It is one, and of so many dimensions.
Map map_at(const Call& call, const CUtensorMap* map, const int* first, unsigned dimensions);
// Where in shared memory `begin` is: there, and aligned. `end` says which end of the copy this is.
std::uint32_t shared_end(const Call& call, const char* end, const void* begin, std::size_t bytes,
                         std::size_t alignment);
// How many bytes one behind the other: a multiple of 16, and so is the address of the end in global memory.
std::size_t checked_bytes(const Call& call, const char* end, const void* global, int bytes);
// The other end lies in an allocation.
void check_global_end(const Call& call, const void* begin, std::size_t bytes, bool written);
void check_global_end(const Call& call, const Map& map, const First& first, bool written);

// Calls part(place in the box, place in the tensor, bytes) for that of each of the box's rows that lies in the tensor.
template <typename Part>
void for_each_row(const Map& map, const First& first, const Part& part) {
  const std::int64_t column = first[0];
  const std::int64_t begin = std::max<std::int64_t>(0, -column);
  const std::int64_t end =
      std::min<std::int64_t>(map.box[0], static_cast<std::int64_t>(map.sizes[0]) - column);
  std::array<unsigned, kMostDimensions> at{};
  const std::size_t rows = map.box_bytes() / map.row_bytes();
  for (std::size_t row = 0; row < rows && begin < end; ++row) {
    const unsigned char* in_tensor = map.begin + (column + begin) * map.element_bytes;
    bool inside = true;
    for (unsigned i = 1; i < map.rank; ++i) {
      const std::int64_t coordinate = std::int64_t{first[i]} + at[i];
      inside = inside && coordinate >= 0 && coordinate < static_cast<std::int64_t>(map.sizes[i]);
      in_tensor += coordinate * static_cast<std::int64_t>(map.strides[i - 1]);
    }
    if (inside)
      part(row * map.row_bytes() + static_cast<std::size_t>(begin) * map.element_bytes, in_tensor,
           static_cast<std::size_t>(end - begin) * map.element_bytes);
    for (unsigned i = 1; i < map.rank && ++at[i] == map.box[i]; ++i)
      at[i] = 0;
  }
}

// The same, as addresses; and of bytes that lie one behind the other.
std::vector<AddressRange> rows_of(const Map& map, const First& first);
std::vector<AddressRange> rows_of(const void* begin, std::size_t bytes);

// Where a byte at `address` lies whose place without swizzle is there, and back: PTX's "Swizzling modes". The 16-byte units of a row take
// turns by the row's number in the pattern, that is by the address bits from 7 on.
inline std::uint32_t swizzled(std::uint32_t address, unsigned width) {
  return width == 0 ? address : address ^ ((address >> 7 & (width / 16 - 1)) << 4);
}

// What a tensor copy has put into shared memory: bytes from `address` on, as they are without swizzle.
struct Tile {
  std::uint32_t address;
  Map map;
  First first;
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
    std::uint64_t number = 0;  // of the block's copies
  };

  void issue(OnTheWay&& copy);
  void complete(OnTheWay& copy);
  void forget_tiles(std::uint32_t address, std::size_t bytes);

  Block& block_;
  std::vector<OnTheWay> on_the_way_;
  std::uint64_t issued_ = 0;
  std::vector<Tile> tiles_;
};

}  // namespace emulator::detail
