// Source: PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions".
#include "products.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "copies.hpp"
#include "emulator/float16.hpp"

namespace emulator {
namespace detail {
namespace {

// A thread's D until its wait. Arithmetic changes a signalling NaN, so its use is noticed.
constexpr std::uint32_t kInUse = 0x7fa5a5a5;
constexpr unsigned kUnit = 8;  // elements in 16 bytes
constexpr unsigned kMostColumns = 256;

// Row and column in D of register i of thread t: PTX's "Register Fragments".
constexpr unsigned row_of(unsigned t, unsigned i) {
  return 16 * (t / 32) + t % 32 / 4 + 8 * (i / 2 % 2);
}
constexpr unsigned column_of(unsigned t, unsigned i) {
  return 8 * (i / 4) + 2 * (t % 4) + i % 2;
}

void decode(bool bf16, const void* from, float* to, unsigned step) {
  std::uint16_t bits[kUnit];
  std::memcpy(bits, from, sizeof bits);
  if (bf16) {
    for (unsigned i = 0; i < kUnit; ++i)
      to[i * step] = std::bit_cast<float>(std::uint32_t{bits[i]} << 16);
  } else {
    for (unsigned i = 0; i < kUnit; ++i)
      to[i * step] = Binary16::decode(bits[i]);
  }
}

// to[term][outer] or, if by_rows, to[outer][term].
void load_operand(const unsigned char* window, const Descriptor& descriptor, bool by_outputs,
                  bool bf16, unsigned outers, bool by_rows, float* to) {
  const unsigned outer_step = by_rows ? kProductTerms : 1, term_step = by_rows ? 1 : outers;
  const unsigned next_outer = by_outputs ? kUnit : 1, next_term = by_outputs ? 1 : kUnit;
  for (unsigned outer = 0; outer < outers; outer += next_outer) {
    for (unsigned term = 0; term < kProductTerms; term += next_term)
      decode(bf16, window + unit_address(descriptor, by_outputs, outer, term),
             to + outer * outer_step + term * term_step, by_outputs ? outer_step : term_step);
  }
}

// kWidth columns of a row of D, enough to hide an addition's latency without spilling.
template <std::size_t kWidth>
void multiply_row(float* to, const float* a, const float* b, std::size_t n) {
  float sum[kWidth];
  for (std::size_t i = 0; i < kWidth; ++i)
    sum[i] = to[i];
  for (std::size_t term = 0; term < kProductTerms; ++term) {
    const float factor = a[term];
    const float* const row = b + term * n;
    for (std::size_t i = 0; i < kWidth; ++i)
      sum[i] += factor * row[i];
  }
  for (std::size_t i = 0; i < kWidth; ++i)
    to[i] = sum[i];
}

// sums (64 x n) += a (64 x 16) b (16 x n), term by term.
void multiply(float* sums, const float* a, const float* b, std::size_t n) {
  constexpr std::size_t kWide = 32;
  for (std::size_t row = 0; row < kProductRows; ++row) {
    std::size_t column = 0;
    for (; column + kWide <= n; column += kWide)
      multiply_row<kWide>(sums + row * n + column, a + row * kProductTerms, b + column, n);
    for (; column < n; column += kUnit)
      multiply_row<kUnit>(sums + row * n + column, a + row * kProductTerms, b + column, n);
  }
}

std::string form_of(const ProductForm& form) {
  return "m64n" + std::to_string(form.n) + "k16";
}

std::string width_words(unsigned width) {
  return width == 0 ? "no swizzle" : "the " + std::to_string(width) + "-byte swizzle";
}

}  // namespace

Descriptor::Descriptor(std::uint64_t bits) {
  const auto field = [&](unsigned from) {
    return static_cast<std::uint32_t>(bits >> from & 0x3fff) << 4;
  };
  constexpr unsigned kWidths[] = {0, 128, 64, 32};
  begin = field(0);
  leading = field(16);
  stride = field(32);
  base = static_cast<unsigned>(bits >> 49 & 7);
  swizzle = kWidths[bits >> 62];
}

std::uint32_t unit_address(const Descriptor& descriptor, bool by_outputs, unsigned outer,
                           unsigned term) {
  const auto& [begin, leading, stride, base, width] = descriptor;
  if (width == 0) {
    return by_outputs ? begin + outer / 8 * stride + term / 8 * leading + 16 * (term % 8)
                      : begin + outer / 8 * stride + term / 8 * leading + 16 * (outer % 8);
  }
  const unsigned across = width / 2;  // elements per row
  const std::uint32_t address = by_outputs
                                    ? begin + outer / across * leading + term / 8 * stride +
                                          term % 8 * width + 2 * (outer % across)
                                    : begin + outer / 8 * stride + outer % 8 * width + 2 * term;
  return swizzled(address, width);
}

void Products::begin_block() {
  for (Warpgroup& group : groups_) {
    for (auto& sums : group.sums)
      unused_.push_back(std::move(sums));
  }
  groups_.clear();
  ready_ = 0;
}

Products::Warpgroup& Products::own(const char* operation, Site where) {
  const unsigned number = block_.thread() / kWarpgroup;
  if ((number + 1) * kWarpgroup > block_.threads())
    block_.fails(where, [&] {
      return std::string(operation) + " needs four whole warps: the block's " +
             std::to_string(block_.threads()) + " threads end inside of warpgroup " +
             std::to_string(number);
    });
  if (groups_.empty()) groups_.resize(block_.threads() / kWarpgroup);
  return groups_[number];
}

// ---- wgmma.fence ----

void Products::fence(Site where) {
  own("wgmma_fence", where).threads[block_.thread() % kWarpgroup].fenced = true;
}

// ---- wgmma.mma_async ----

// The first thread that issues a product defines it.
Products::Product& Products::add_product(Warpgroup& group, const Product& asked, float* d) {
  const unsigned t = block_.thread() % kWarpgroup;
  const std::uint64_t number = group.first + group.products.size();
  group.products.push_back(asked);
  Product& product = group.products.back();
  const auto same = std::find_if(group.sums.begin(), group.sums.end(),
                                 [&](const auto& each) { return each->d[t] == d; });
  if (same != group.sums.end()) {
    product.sums = same->get();
  } else {
    if (unused_.empty()) unused_.push_back(std::make_unique<Sums>());
    group.sums.push_back(std::move(unused_.back()));
    unused_.pop_back();
    Sums& sums = *group.sums.back();
    sums.n = asked.form.n;
    sums.first = number;
    sums.d.fill(nullptr);
    sums.taken = 0;
    sums.values.resize(kProductRows * kMostColumns);
    product.sums = &sums;
  }
  product.sums->last = number;
  return product;
}

// The calling thread adds its part of D, once for consecutive products with the same D.
void Products::join(Warpgroup& group, Product& product, std::uint64_t number, float* d) {
  const unsigned t = block_.thread() % kWarpgroup;
  const unsigned n = product.form.n;
  Sums& sums = *product.sums;
  const Site where = product.party.where;
  if (sums.n != n)
    block_.fails(where, [&] {
      return "wgmma: a product " + form_of(product.form) +
             " takes registers of D that a product with n = " + std::to_string(sums.n) +
             " is still using; wgmma_wait_group lies between products of different shapes";
    });
  if (sums.d[t] == d) return;
  if (sums.first != number || sums.d[t] != nullptr)
    block_.fails(where, [&] {
      return std::string(
                 "wgmma: the registers of D are others than those that the product of "
                 "the same warpgroup had as ") +
             block_.name_of(product.party) + " issued it";
    });
  if (!group.threads[t].fenced)
    block_.fails(where, [&] {
      return std::string(
          "wgmma: no wgmma_fence since the registers of D were last the "
          "program's own (the thread's beginning, or its last wgmma_wait_group)");
    });
  sums.d[t] = d;
  for (unsigned i = 0; i < n / 2; ++i)
    sums.values[row_of(t, i) * n + column_of(t, i)] = d[i];
  for (unsigned i = 0; i < n / 2; ++i)
    std::memcpy(d + i, &kInUse, sizeof kInUse);
}

void Products::wgmma(const ProductForm& form, float* d, const std::uint32_t* a_registers,
                     std::uint64_t a, std::uint64_t b, bool add, Site where) {
  Warpgroup& group = own("wgmma", where);
  const unsigned t = block_.thread() % kWarpgroup;
  OfThread& thread = group.threads[t];
  const std::uint64_t number = thread.issued++;
  const bool first = number == group.first + group.products.size();
  if (first) {
    Product asked{};
    asked.form = form;
    asked.a = a;
    asked.b = b;
    asked.add = add;
    asked.a_in_registers = a_registers != nullptr;
    asked.party = {where, block_.thread()};
    add_product(group, asked, d);
  }
  Product& product = group.products[number - group.first];
  const ProductForm& its = product.form;
  if (!first &&
      (!same_place(where, product.party.where) || its.n != form.n || its.bf16 != form.bf16 ||
       product.add != add || product.a_in_registers != (a_registers != nullptr) || product.b != b ||
       (a_registers == nullptr && product.a != a)))
    block_.fails(where, [&] {
      return "wgmma: the threads of a warpgroup must issue the same product, and " +
             block_.name_of(product.party) + " issued " +
             (same_place(where, product.party.where) ? "one with another shape, descriptor or add"
                                                     : "another one");
    });
  join(group, product, number, d);
  if (a_registers != nullptr) {
    product.a_from[t] = a_registers;
    std::copy_n(a_registers, 4, product.a_registers.begin() + 4 * t);
    if (observer() != nullptr) observer()->registers_lent(a_registers, 4 * sizeof *a_registers);
  }
  if (++product.issued_by_warp[t / kLanes] == kLanes && observer() != nullptr)
    observer()->warp_issues_product(block_.thread() / kWarpgroup, t / kLanes, number);
  if (++product.issued < kWarpgroup) return;

  if (!product.a_in_registers)
    check_operand(product, "A", product.a, form.a_by_outputs, kProductRows, where);
  check_operand(product, "B", product.b, form.b_by_outputs, form.n, where);
  const unsigned rows = (product.a_in_registers ? 0 : kProductRows) + form.n;
  tell({Happening::kProductStarts, "wgmma", block_.thread(), where,
        std::uint64_t{rows} * kProductTerms * sizeof(std::uint16_t)});
  if (observer() != nullptr) tell_observer(product, number, where);
  ++group.ready;
  ++ready_;
  if (group.ready == group.done + 1 && !block_.chance()) run_next(group);
}

// A warp reads its own 16 rows of A, and all of B.
void Products::tell_observer(const Product& product, std::uint64_t number, Site where) {
  thread_local std::vector<Observer::OperandPart> parts;
  parts.clear();
  const auto add = [&](std::uint64_t bits, bool by_outputs, unsigned outers, bool is_a) {
    const Descriptor descriptor(bits);
    constexpr unsigned kWarpRows = 16, kAllWarps = 0xf;
    for (unsigned outer = 0; outer < outers; outer += by_outputs ? kUnit : 1) {
      for (unsigned term = 0; term < kProductTerms; term += by_outputs ? 1 : kUnit)
        parts.push_back({block_.window() + unit_address(descriptor, by_outputs, outer, term),
                         is_a ? 1u << outer / kWarpRows : kAllWarps});
    }
  };
  if (!product.a_in_registers) add(product.a, product.form.a_by_outputs, kProductRows, true);
  add(product.b, product.form.b_by_outputs, product.form.n, false);
  observer()->product_starts(block_.thread() / kWarpgroup, number, parts, where);
}

// Checks the operand's address, and its elements against copied tiles: the next term or output must
// be the tile's next column or row.
void Products::check_operand(const Product& product, const char* which, std::uint64_t bits,
                             bool by_outputs, unsigned outers, Site where) {
  const Descriptor descriptor(bits);
  const auto words = [&] {
    return form_of(product.form) + ": the descriptor of " + which + " (begins at shared byte " +
           std::to_string(descriptor.begin) + ", leading " + std::to_string(descriptor.leading) +
           ", stride " + std::to_string(descriptor.stride) + ", " +
           width_words(descriptor.swizzle) + ")";
  };
  if (descriptor.swizzle != 0 &&
      (descriptor.begin >> 7 & (descriptor.swizzle / 16 - 1)) != descriptor.base)
    block_.fails(where, [&] {
      return words() + " begins inside of the swizzle's pattern: the operand is not aligned to " +
             std::to_string(8 * descriptor.swizzle) + " bytes, and the base offset is " +
             std::to_string(descriptor.base);
    });

  struct Position {
    const Tile* tile = nullptr;
    std::int64_t column = 0, row = 0;
  };
  // The element of the tensor that a copy has stored at this address.
  const auto position_of = [&](const Tile& tile, std::uint32_t address) {
    const std::uint32_t within = swizzled(address, tile.map.swizzle) - tile.address;
    const auto row_bytes = static_cast<std::uint32_t>(tile.map.row_bytes());
    std::int64_t row = within / row_bytes;
    // Rows of two boxes are comparable only if a single dimension has several rows.
    unsigned many = 0, dimension = 0;
    for (unsigned i = 1; i < tile.map.rank; ++i) {
      if (tile.map.box[i] == 1) continue;
      ++many;
      dimension = i;
    }
    if (many == 1) row += tile.first[dimension];
    return Position{&tile, tile.first[0] + within % row_bytes / tile.map.element_bytes, row};
  };

  Position first;
  const unsigned next_outer = by_outputs ? kUnit : 1, next_term = by_outputs ? 1 : kUnit;
  const Tile* tile = nullptr;
  for (unsigned outer = 0; outer < outers; outer += next_outer) {
    for (unsigned term = 0; term < kProductTerms; term += next_term) {
      const std::uint32_t address = unit_address(descriptor, by_outputs, outer, term);
      if (address + 2 * kUnit > block_.window_bytes())
        block_.fails(where, [&] {
          return words() + " reaches beyond the block's shared memory, to byte " +
                 std::to_string(address);
        });
      if (tile == nullptr || !tile->holds(address)) tile = block_.copies().tile_at(address);
      if (tile == nullptr || tile->map.element_bytes != 2) {
        if (first.tile == nullptr) return;  // not from a copy
        continue;
      }
      const Position here = position_of(*tile, address);
      if (first.tile == nullptr) {
        if (outer != 0 || term != 0) return;
        first = here;
      }
      const bool same_tensor = tile->map.begin == first.tile->map.begin;
      const std::int64_t down = by_outputs ? term : outer, right = by_outputs ? outer : term;
      const bool right_layout =
          tile->map.swizzle == descriptor.swizzle &&
          (!same_tensor || (here.column == first.column + right && here.row == first.row + down));
      if (right_layout) continue;
      // Other bytes have been stored there since the copy.
      const std::uint32_t within = swizzled(address, tile->map.swizzle) - tile->address;
      if (std::memcmp(block_.window() + address, tile->bytes.data() + within, 2 * kUnit) != 0)
        continue;
      block_.fails(where, [&] {
        if (tile->map.swizzle != descriptor.swizzle)
          return words() + " is not of the tile's layout: " + width_words(tile->map.swizzle) +
                 " in the map of the copy by " + block_.name_of(tile->party);
        return words() + " does not fit the tile: its " + (by_outputs ? "output " : "row ") +
               std::to_string(outer) + ", term " + std::to_string(term) + " is row " +
               std::to_string(here.row - first.row) + ", column " +
               std::to_string(here.column - first.column) + " from where it begins, not row " +
               std::to_string(down) + ", column " + std::to_string(right) + "; copied by " +
               block_.name_of(tile->party);
      });
    }
  }
}

void Products::run_next(Warpgroup& group) {
  Product& product = group.products[group.done - group.first];
  const ProductForm& form = product.form;
  thread_local std::array<float, kProductRows * kProductTerms> a;
  thread_local std::array<float, kProductTerms * kMostColumns> b;
  if (product.a_in_registers) {
    for (unsigned t = 0; t < kWarpgroup; ++t) {
      for (unsigned j = 0; j < 4; ++j) {
        const std::uint32_t bits = product.a_registers[4 * t + j];
        for (unsigned e = 0; e < 2; ++e) {
          const auto element = static_cast<std::uint16_t>(bits >> 16 * e);
          const unsigned row = 16 * (t / 32) + t % 32 / 4 + 8 * (j % 2);
          const unsigned term = 8 * (j / 2) + 2 * (t % 4) + e;
          a[row * kProductTerms + term] =
              form.bf16 ? Bfloat16::decode(element) : Binary16::decode(element);
        }
      }
    }
  } else {
    load_operand(block_.window(), Descriptor(product.a), form.a_by_outputs, form.bf16, kProductRows,
                 true, a.data());
  }
  load_operand(block_.window(), Descriptor(product.b), form.b_by_outputs, form.bf16, form.n, false,
               b.data());
  float* const sums = product.sums->values.data();
  if (!product.add) std::fill_n(sums, kProductRows * form.n, 0.0f);
  multiply(sums, a.data(), b.data(), form.n);
  if (observer() != nullptr) observer()->matrices_multiplied(kProductRows * form.n * kProductTerms);
  tell({Happening::kProductEnds, "", product.party.thread, product.party.where});
  ++group.done;
  --ready_;
  std::erase_if(group.sleeping, [&](unsigned thread) {
    if (group.threads[thread % kWarpgroup].waits_for > group.done) return false;
    block_.wake(thread);
    return true;
  });
}

// A warpgroup's oldest product, because products run in order.
void Products::complete_one() {
  const auto count = static_cast<unsigned>(groups_.size());
  const unsigned begin = block_.below(count);
  for (unsigned i = 0; i < count; ++i) {
    Warpgroup& group = groups_[(begin + i) % count];
    if (group.ready == group.done) continue;
    return run_next(group);
  }
}

// ---- wgmma.commit_group ----

void Products::commit(Site where) {
  Warpgroup& group = own("wgmma_commit_group", where);
  OfThread& thread = group.threads[block_.thread() % kWarpgroup];
  const std::uint64_t number = thread.groups++;
  if (number == group.groups.size())
    group.groups.push_back({thread.issued, {where, block_.thread()}});
  const Group& its = group.groups[number];
  if (its.end != thread.issued)
    block_.fails(where, [&] {
      return "wgmma_commit_group after " + std::to_string(thread.issued) +
             " products of this thread, but after " + std::to_string(its.end) + " of " +
             block_.name_of(its.party) + " in the same warpgroup";
    });
}

// ---- wgmma.wait_group ----

namespace {

struct AtWait {
  Site where;
  bool alone = false;  // a lane is missing or elsewhere
};

void complete_wait(void* const* lanes, unsigned count) {
  const auto at = [&](unsigned lane) { return static_cast<AtWait*>(lanes[lane]); };
  bool alone = false;
  for (unsigned lane = 0; lane < count; ++lane)
    alone = alone || lanes[lane] == nullptr || !same_place(at(lane)->where, at(0)->where);
  for (unsigned lane = 0; lane < count && alone; ++lane) {
    if (lanes[lane] != nullptr) at(lane)->alone = true;
  }
}

}  // namespace

void Products::wait(unsigned pending, Site where) {
  Warpgroup& group = own("wgmma_wait_group", where);
  AtWait here{where};
  warp_collective("wgmma_wait_group", ~0u, complete_wait, &here, where);
  if (here.alone)
    block_.fails(where, [&] {
      return std::string("wgmma_wait_group needs all 32 lanes of the warp at one place");
    });
  const unsigned t = block_.thread() % kWarpgroup;
  OfThread& thread = group.threads[t];
  const std::uint64_t end =
      thread.groups > pending ? group.groups[thread.groups - pending - 1].end : 0;
  tell({Happening::kWaitStarts, "wgmma_wait_group", block_.thread(), where, thread.issued - end});
  while (group.done < end) {
    thread.waits_for = end;
    group.sleeping.push_back(block_.thread());
    block_.sleep("wgmma_wait_group", where);
  }
  thread.waits_for = 0;
  thread.fenced = false;
  tell({Happening::kWaitEnds, "wgmma_wait_group", block_.thread(), where});
  if (observer() != nullptr) observer()->products_waited(end);
  take_back(group, end, where);
}

// The thread receives its part of the complete sums.
void Products::take_back(Warpgroup& group, std::uint64_t end, Site where) {
  const unsigned t = block_.thread() % kWarpgroup;
  OfThread& thread = group.threads[t];
  for (; thread.released < end; ++thread.released) {
    Product& product = group.products[thread.released - group.first];
    const std::string stored = product.a_in_registers && observer() != nullptr
                                   ? observer()->registers_returned(product.a_from[t])
                                   : "";
    if (product.a_in_registers &&
        !std::equal(product.a_from[t], product.a_from[t] + 4, product.a_registers.begin() + 4 * t))
      block_.fails(where, [&] {
        return "wgmma_wait_group: registers of A were changed before it" +
               (stored.empty() ? "" : ", at " + stored) + ", while the product " +
               form_of(product.form) + " that " + block_.name_of(product.party) +
               " issued with the others may have been reading them";
      });
    ++product.released;
  }
  for (std::size_t i = 0; i < group.sums.size(); ++i) {
    Sums& sums = *group.sums[i];
    if (sums.d[t] == nullptr || sums.last >= end) continue;
    float* const d = sums.d[t];
    for (unsigned j = 0; j < sums.n / 2; ++j) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, d + j, sizeof bits);
      if (bits == kInUse) continue;
      block_.fails(where, [&] {
        const Product& product = group.products[sums.last - group.first];
        return "wgmma_wait_group: register " + std::to_string(j) +
               " of D was changed before it, while the product " + form_of(product.form) +
               " that " + block_.name_of(product.party) +
               " issued with the others was on its way: by a store, or because its variable ended "
               "or began anew";
      });
    }
    for (unsigned j = 0; j < sums.n / 2; ++j)
      d[j] = sums.values[row_of(t, j) * sums.n + column_of(t, j)];
    if (observer() != nullptr) observer()->results_arrive(d, sums.n / 2 * sizeof(float), where);
    sums.d[t] = nullptr;
    if (++sums.taken == kWarpgroup) {
      unused_.push_back(std::move(group.sums[i]));
      group.sums.erase(group.sums.begin() + static_cast<std::ptrdiff_t>(i--));
    }
  }
  while (!group.products.empty() && group.products.front().released == kWarpgroup) {
    group.products.pop_front();
    ++group.first;
  }
}

std::string Products::awaited_by(unsigned thread) const {
  if (thread / kWarpgroup >= groups_.size()) return {};
  const Warpgroup& group = groups_[thread / kWarpgroup];
  const OfThread& own = group.threads[thread % kWarpgroup];
  if (own.waits_for <= group.done) return {};
  const Product& product = group.products[group.ready - group.first];
  unsigned missing = 0;
  const unsigned first = thread / kWarpgroup * kWarpgroup;
  while (missing < kWarpgroup && group.threads[missing].issued > group.ready)
    ++missing;
  return " for the product " + form_of(product.form) + " of " + place(product.party.where) + ": " +
         std::to_string(product.issued) + " of 128 threads have issued it, " +
         block_.name_of(first + missing) + " has not";
}

}  // namespace detail

void wgmma_fence(Site where) {
  detail::CalledBlock block("wgmma_fence");
  block->products().fence(where);
}

void wgmma(const ProductForm& form, float* d, const std::uint32_t* a_registers, std::uint64_t a,
           std::uint64_t b, bool add, Site where) {
  detail::CalledBlock block("wgmma");
  block->products().wgmma(form, d, a_registers, a, b, add, where);
}

void wgmma_commit_group(Site where) {
  detail::CalledBlock block("wgmma_commit_group");
  block->products().commit(where);
}

void wgmma_wait_group(unsigned pending, Site where) {
  detail::CalledBlock block("wgmma_wait_group");
  block->products().wait(pending, where);
}

void pin(const float* d, unsigned count) {
  if (detail::observer() != nullptr) detail::observer()->pinned(d, count * sizeof(float));
}

}  // namespace emulator
