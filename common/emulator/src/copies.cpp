// Source: PTX ISA, "Tensors", "Swizzling modes", "cp.async.bulk", "cp.async.bulk.tensor"; CUDA
// driver API, cuTensorMapEncodeTiled.
#include "copies.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "barriers.hpp"
#include "emulator/runtime.hpp"
#include "emulator/tensor_copies.hpp"
#include "state.hpp"

namespace emulator {
namespace detail {
namespace {

constexpr std::uint64_t kMark = 0x70616d726f736e65;

unsigned bytes_of(CUtensorMapDataType type) {
  switch (type) {
    case CU_TENSOR_MAP_DATA_TYPE_UINT8: return 1;
    case CU_TENSOR_MAP_DATA_TYPE_UINT16:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT16:
    case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16: return 2;
    case CU_TENSOR_MAP_DATA_TYPE_UINT64:
    case CU_TENSOR_MAP_DATA_TYPE_INT64:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT64: return 8;
    default: return 4;
  }
}

unsigned width_of(CUtensorMapSwizzle swizzle) {
  switch (swizzle) {
    case CU_TENSOR_MAP_SWIZZLE_32B: return 32;
    case CU_TENSOR_MAP_SWIZZLE_64B: return 64;
    case CU_TENSOR_MAP_SWIZZLE_128B: return 128;
    default: return 0;
  }
}

}  // namespace

std::size_t Map::box_bytes() const {
  std::size_t bytes = element_bytes;
  for (unsigned i = 0; i < rank; ++i)
    bytes *= box[i];
  return bytes;
}

Map map_at(const Call& call, const CUtensorMap* map, const int* first, unsigned dimensions) {
  Map found;
  std::memcpy(&found, map, sizeof found);
  if (found.mark != kMark)
    call.block.fails(call.where, [&] {
      return std::string(call.operation) +
             ": there is no tensor map: cuTensorMapEncodeTiled has not made it";
    });
  if (found.rank != dimensions)
    call.block.fails(call.where, [&] {
      return std::string(call.operation) + ": " + std::to_string(dimensions) +
             " coordinates for a map of " + std::to_string(found.rank) + " dimensions";
    });
  const std::int64_t offset = std::int64_t{first[0]} * std::int64_t{found.element_bytes};
  if (offset % std::int64_t{kCopyUnit} != 0)
    call.block.fails(call.where, [&] {
      return std::string(call.operation) + ": coordinate 0 is " + std::to_string(first[0]) +
             ", byte " + std::to_string(offset) + " of a row; allowed: multiples of 16 bytes";
    });
  return found;
}

std::uint32_t shared_end(const Call& call, const char* end, const void* begin, std::size_t bytes,
                         std::size_t alignment) {
  const unsigned char* const window = call.block.window();
  const auto* const first = static_cast<const unsigned char*>(begin);
  if (first < window || first + bytes > window + call.block.window_bytes())
    call.block.fails(call.where, [&] {
      return std::string(call.operation) + ": the " + std::to_string(bytes) + " bytes of the " +
             end + " are not in the block's shared memory";
    });
  const auto address = static_cast<std::uint32_t>(first - window);
  if (address % alignment != 0)
    call.block.fails(call.where, [&] {
      return std::string(call.operation) + ": the " + end + ", shared byte " +
             std::to_string(address) + ", is not aligned to " + std::to_string(alignment) +
             " bytes" + (alignment > 128 ? ", where the swizzle's pattern begins" : "");
    });
  return address;
}

void check_global_end(const Call& call, const void* begin, std::size_t bytes, bool written) {
  if (wrong_access(begin, bytes, written).empty()) return;
  call.block.fails(call.where, [&] {
    return std::string(call.operation) + " " + wrong_access(begin, bytes, written);
  });
}

// Checks the range from the box's first element in the tensor to its last.
void check_global_end(const Call& call, const Map& map, const First& first, bool written) {
  const unsigned char* begin = map.begin;
  std::size_t span = map.element_bytes;
  for (unsigned i = 0; i < map.rank; ++i) {
    const std::int64_t low = std::max<std::int64_t>(0, first[i]);
    const std::int64_t high = std::min<std::int64_t>(std::int64_t{first[i]} + map.box[i],
                                                     static_cast<std::int64_t>(map.sizes[i]));
    if (low >= high) return;
    const std::size_t stride = i == 0 ? map.element_bytes : map.strides[i - 1];
    begin += static_cast<std::size_t>(low) * stride;
    span += static_cast<std::size_t>(high - 1 - low) * stride;
  }
  check_global_end(call, begin, span, written);
}

std::vector<AddressRange> rows_of(const Map& map, const First& first) {
  std::vector<AddressRange> rows;
  for_each_row(map, first, [&](std::size_t, const unsigned char* begin, std::size_t bytes) {
    rows.push_back({begin, begin + bytes});
  });
  return rows;
}

std::vector<AddressRange> rows_of(const void* begin, std::size_t bytes) {
  return {{begin, static_cast<const unsigned char*>(begin) + bytes}};
}

std::size_t checked_bytes(const Call& call, const char* end, const void* global, int bytes) {
  if (bytes <= 0 || static_cast<std::size_t>(bytes) % kCopyUnit != 0)
    call.block.fails(call.where, [&] {
      return std::string(call.operation) + ": " + std::to_string(bytes) +
             " bytes; allowed: multiples of 16";
    });
  if (reinterpret_cast<std::uintptr_t>(global) % kCopyUnit != 0)
    call.block.fails(call.where, [&] {
      return std::string(call.operation) + ": the " + end + " is not aligned to 16 bytes";
    });
  return static_cast<std::size_t>(bytes);
}

void Copies::begin_block() {
  on_the_way_.clear();
  issued_ = 0;
  tiles_.clear();
}

void Copies::copy_box(void* to, const CUtensorMap* from, Barrier* barrier, const int* first,
                      unsigned dimensions, Site where) {
  const Call call{block_, "tma_load", where};
  const Map map = map_at(call, from, first, dimensions);
  const std::size_t bytes = map.box_bytes();
  const std::uint32_t address = shared_end(call, "destination", to, bytes, map.alignment());
  const unsigned number = block_.barriers().take_for_copy(call.operation, barrier, bytes, where);
  Tile tile{address, map, {}, {where, block_.thread()}, {}};
  std::copy_n(first, dimensions, tile.first.begin());
  check_global_end(call, map, tile.first, false);
  issue({std::move(tile), nullptr, bytes, number});
}

void Copies::bulk_copy(void* to, const void* from, int bytes, Barrier* barrier, Site where) {
  const Call call{block_, "bulk_copy", where};
  const std::size_t count = checked_bytes(call, "source", from, bytes);
  check_global_end(call, from, count, false);
  const std::uint32_t address = shared_end(call, "destination", to, count, kCopyUnit);
  const unsigned number = block_.barriers().take_for_copy(call.operation, barrier, count, where);
  issue({{address, {}, {}, {where, block_.thread()}, {}},
         static_cast<const unsigned char*>(from),
         count,
         number});
}

void Copies::issue(OnTheWay&& copy) {
  copy.number = issued_++;
  if (observer() != nullptr)
    observer()->bulk_copy_starts(copy.number, copy.barrier, block_.window() + copy.tile.address,
                                 copy.bytes,
                                 copy.from == nullptr ? rows_of(copy.tile.map, copy.tile.first)
                                                      : rows_of(copy.from, copy.bytes),
                                 copy.tile.party.where);
  tell({Happening::kCopyStarts, copy.from == nullptr ? "tma_load" : "bulk_copy",
        copy.tile.party.thread, copy.tile.party.where, copy.tile.address});
  if (block_.chance()) {
    on_the_way_.push_back(std::move(copy));
  } else {
    complete(copy);
  }
}

// Pending copies complete in any order, in reverse the newest first.
void Copies::complete_one() {
  const std::size_t last = on_the_way_.size() - 1;
  std::swap(on_the_way_[last - block_.below(static_cast<unsigned>(last + 1))], on_the_way_[last]);
  OnTheWay copy = std::move(on_the_way_[last]);
  on_the_way_.pop_back();
  complete(copy);
}

void Copies::complete(OnTheWay& copy) {
  Tile& tile = copy.tile;
  unsigned char* const window = block_.window();
  tell({Happening::kCopyEnds, "", tile.party.thread, tile.party.where, tile.address});
  forget_tiles(tile.address, copy.bytes);
  if (copy.from != nullptr) {
    std::memcpy(window + tile.address, copy.from, copy.bytes);
  } else {
    tile.bytes.assign(copy.bytes, 0);
    for_each_row(tile.map, tile.first,
                 [&](std::size_t in_box, const unsigned char* from, std::size_t bytes) {
                   std::memcpy(tile.bytes.data() + in_box, from, bytes);
                 });
    for (std::size_t unit = 0; unit < copy.bytes; unit += kCopyUnit) {
      const std::uint32_t address =
          swizzled(tile.address + static_cast<std::uint32_t>(unit), tile.map.swizzle);
      std::memcpy(window + address, tile.bytes.data() + unit, kCopyUnit);
    }
  }
  if (observer() != nullptr)
    observer()->bulk_copied(copy.number, copy.barrier, window + tile.address, copy.bytes);
  if (copy.from == nullptr) tiles_.push_back(std::move(tile));
  block_.barriers().complete_bytes(copy.barrier, copy.bytes);
}

void Copies::forget_tiles(std::uint32_t address, std::size_t bytes) {
  const auto overlaps = [&](const Tile& tile) {
    return tile.address < address + bytes && address < tile.address + tile.bytes.size();
  };
  tiles_.erase(std::remove_if(tiles_.begin(), tiles_.end(), overlaps), tiles_.end());
}

const Tile* Copies::tile_at(std::uint32_t address) const {
  const auto found = std::find_if(tiles_.begin(), tiles_.end(),
                                  [&](const Tile& tile) { return tile.holds(address); });
  return found == tiles_.end() ? nullptr : &*found;
}

std::string Copies::left_over() const {
  if (on_the_way_.empty()) return {};
  const OnTheWay& copy = on_the_way_.front();
  return place(copy.tile.party.where) + ": the block ends while the copy of " +
         std::to_string(copy.bytes) + " bytes that " + block_.name_of(copy.tile.party.thread) +
         " began here is on its way: nobody has waited for it";
}

namespace {

// The error in a map's arguments according to the driver's documentation, or empty.
std::string refused(const Map& map, cuuint32_t rank, const cuuint64_t* sizes,
                    const cuuint64_t* strides, const cuuint32_t* box) {
  constexpr std::uint64_t kMostSize = std::uint64_t{1} << 32, kMostStride = std::uint64_t{1} << 40;
  constexpr cuuint32_t kMostBox = 256;
  const auto of = [](const char* name, unsigned i, std::uint64_t value,
                     const std::string& allowed) {
    return std::string(name) + "[" + std::to_string(i) + "] is " + std::to_string(value) +
           "; allowed: " + allowed;
  };
  if (reinterpret_cast<std::uintptr_t>(map.begin) % kCopyUnit != 0)
    return "the tensor is not aligned to 16 bytes";
  for (unsigned i = 0; i < rank; ++i) {
    if (sizes[i] < 1 || sizes[i] > kMostSize)
      return of("globalDim", i, sizes[i], "1 to " + std::to_string(kMostSize));
    if (box[i] < 1 || box[i] > kMostBox) return of("boxDim", i, box[i], "1 to 256");
    if (i > 0 && (strides[i - 1] % kCopyUnit != 0 || strides[i - 1] >= kMostStride))
      return of("globalStrides", i - 1, strides[i - 1],
                "multiples of 16 below " + std::to_string(kMostStride));
  }
  const std::size_t row = std::size_t{box[0]} * map.element_bytes;
  if (row % kCopyUnit != 0)
    return "a row of the box has " + std::to_string(row) + " bytes; allowed: multiples of 16";
  if (map.swizzle != 0 && row > map.swizzle)
    return "a row of the box has " + std::to_string(row) +
           " bytes; allowed with this swizzle: up to " + std::to_string(map.swizzle);
  return {};
}

CUresult refuse(CUresult result, const std::string& why) {
  set_report(static_cast<cudaError_t>(result), "cuTensorMapEncodeTiled: " + why);
  return result;
}

}  // namespace
}  // namespace detail

void copy_box(void* to_smem, const CUtensorMap* map, Barrier* barrier, const int* first,
              unsigned dimensions, Site where) {
  detail::CalledBlock block("tma_load");
  block->copies().copy_box(to_smem, map, barrier, first, dimensions, where);
}

void fence_proxy_async() {
  const detail::CalledBlock block("fence_proxy_async");
  if (detail::observer() != nullptr) detail::observer()->proxies_fenced(false);
}

void fence_proxy_async_global() {
  const detail::CalledBlock block("fence_proxy_async_global");
  if (detail::observer() != nullptr) detail::observer()->proxies_fenced(true);
}

void bulk_copy(void* to_smem, const void* from, int bytes, Barrier* barrier, Site where) {
  detail::CalledBlock block("bulk_copy");
  block->copies().bulk_copy(to_smem, from, bytes, barrier, where);
}

}  // namespace emulator

cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult* found) {
  const bool known = std::strcmp(name, "cuTensorMapEncodeTiled") == 0;
  *function = known ? reinterpret_cast<void*>(&cuTensorMapEncodeTiled) : nullptr;
  *found = known ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}

CUresult cuTensorMapEncodeTiled(CUtensorMap* to, CUtensorMapDataType type, cuuint32_t rank,
                                void* address, const cuuint64_t* sizes, const cuuint64_t* strides,
                                const cuuint32_t* box, const cuuint32_t* steps,
                                CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion, CUtensorMapFloatOOBfill fill) {
  using namespace emulator::detail;
  static_assert(sizeof(Map) <= sizeof(CUtensorMap));
  if (to == nullptr || address == nullptr || sizes == nullptr || box == nullptr ||
      steps == nullptr || (rank > 1 && strides == nullptr))
    return refuse(CUDA_ERROR_INVALID_VALUE, "a null pointer");
  if (reinterpret_cast<std::uintptr_t>(to) % alignof(CUtensorMap) != 0)
    return refuse(CUDA_ERROR_INVALID_VALUE, "the map is not aligned to 64 bytes");
  if (rank < 1 || rank > kMostDimensions)
    return refuse(CUDA_ERROR_INVALID_VALUE, std::to_string(rank) + " dimensions; allowed: 1 to 5");
  if (interleave != CU_TENSOR_MAP_INTERLEAVE_NONE || fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE)
    return refuse(CUDA_ERROR_NOT_SUPPORTED,
                  "interleaved layouts and NaN beyond the edge are not emulated");
  Map map{};
  map.mark = kMark;
  map.begin = static_cast<const unsigned char*>(address);
  map.rank = static_cast<std::uint8_t>(rank);
  map.element_bytes = static_cast<std::uint8_t>(bytes_of(type));
  map.swizzle = static_cast<std::uint8_t>(width_of(swizzle));
  if (const std::string why = refused(map, rank, sizes, strides, box); !why.empty())
    return refuse(CUDA_ERROR_INVALID_VALUE, why);
  for (unsigned i = 0; i < rank; ++i) {
    if (steps[i] != 1)
      return refuse(
          steps[i] == 0 || steps[i] > 8 ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_SUPPORTED,
          "elementStrides[" + std::to_string(i) + "] is " + std::to_string(steps[i]) +
              "; emulated: 1");
    map.sizes[i] = sizes[i];
    map.box[i] = static_cast<std::uint16_t>(box[i]);
    if (i > 0) map.strides[i - 1] = strides[i - 1];
  }
  std::memset(to, 0, sizeof *to);
  std::memcpy(to, &map, sizeof map);
  return CUDA_SUCCESS;
}
