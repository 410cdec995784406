// Tensor maps, and a block's pending and complete bulk copies to shared memory.
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

// The emulator's contents of a CUtensorMap.
struct Map {
  std::uint64_t mark;
  const unsigned char* begin;
  std::uint64_t sizes[kMostDimensions];        // elements
  std::uint64_t strides[kMostDimensions - 1];  // bytes, from dimension 1 on
  std::uint16_t box[kMostDimensions];          // elements
  std::uint8_t rank;
  std::uint8_t element_bytes;
  std::uint8_t swizzle;  // the swizzled width in bytes: 32, 64 or 128; 0 without swizzle

  std::size_t row_bytes() const { return std::size_t{box[0]} * element_bytes; }
  std::size_t box_bytes() const;
  // The alignment of a box in shared memory.
  std::size_t alignment() const { return swizzle == 0 ? 128 : std::size_t{8} * swizzle; }
};

inline constexpr std::size_t kCopyUnit = 16;  // bytes: the unit of bulk copies

// The coordinates of a box's first element.
using First = std::array<int, kMostDimensions>;

// The call that an error of a copy names.
struct Call {
  Block& block;
  const char* operation;
  Site where;
};

// The contents of `map`, which must be a map with this number of dimensions.
Map map_at(const Call& call, const CUtensorMap* map, const int* first, unsigned dimensions);
// Checks `begin` and returns its shared-memory address. `end` names this end of the copy in errors.
std::uint32_t shared_end(const Call& call, const char* end, const void* begin, std::size_t bytes,
                         std::size_t alignment);
// Checks that `bytes` and the address in global memory are multiples of 16.
std::size_t checked_bytes(const Call& call, const char* end, const void* global, int bytes);
// Checks that this end is inside an allocation.
void check_global_end(const Call& call, const void* begin, std::size_t bytes, bool written);
void check_global_end(const Call& call, const Map& map, const First& first, bool written);

// Calls part(offset in the box, address in the tensor, bytes) for each row's in-bounds part.
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

// The same parts as address ranges, and the range of contiguous bytes.
std::vector<AddressRange> rows_of(const Map& map, const First& first);
std::vector<AddressRange> rows_of(const void* begin, std::size_t bytes);

// Converts an unswizzled address to a swizzled one and back: PTX's "Swizzling modes". Bits from 7
// on, the row's number in the pattern, permute the row's 16-byte vectors.
inline std::uint32_t swizzled(std::uint32_t address, unsigned width) {
  return width == 0 ? address : address ^ ((address >> 7 & (width / 16 - 1)) << 4);
}

// A complete tensor copy in shared memory, with its bytes in unswizzled order from `address` on.
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
  void bulk_copy(void* to, const void* from, int bytes, Barrier* barrier, Site where);

  bool any_on_the_way() const { return !on_the_way_.empty(); }
  // Completes a pending copy.
  void complete_one();
  // The error for a copy that is still pending when the block ends, or empty.
  std::string left_over() const;

  const Tile* tile_at(std::uint32_t address) const;

 private:
  struct OnTheWay {
    Tile tile;  // without bytes so far; without a map if the bytes are contiguous
    const unsigned char* from;
    std::size_t bytes;
    unsigned barrier;
    std::uint64_t number = 0;  // counts the block's copies
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
