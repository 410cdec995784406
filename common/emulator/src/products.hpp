// A block's warpgroup products, issued and pending, and their accumulators.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "block.hpp"
#include "emulator/products.hpp"

namespace emulator::detail {

inline constexpr unsigned kWarpgroup = 128;  // threads
inline constexpr unsigned kProductRows = 64, kProductTerms = 16;

// A shared-memory operand: PTX's "Matrix Descriptor Format".
struct Descriptor {
  std::uint32_t begin, leading,
      stride;        // bytes: start address, leading and stride dimension byte offset
  unsigned base;     // "base offset"
  unsigned swizzle;  // bytes of a row; 0 for none

  explicit Descriptor(std::uint64_t bits);
};

// The address of eight contiguous 16-bit elements from (row of A or column of B, term) on: eight
// terms or, if by_outputs, eight outputs. PTX's "Strides", "Canonical Layouts".
std::uint32_t unit_address(const Descriptor& descriptor, bool by_outputs, unsigned outer,
                           unsigned term);

class Products {
 public:
  explicit Products(Block& block) : block_(block) {}

  void begin_block();
  void fence(Site where);
  void wgmma(const ProductForm& form, float* d, const std::uint32_t* a_registers, std::uint64_t a,
             std::uint64_t b, bool add, Site where);
  void commit(Site where);
  void wait(unsigned pending, Site where);

  // Whether a product that all 128 threads have issued has not run.
  bool any_on_the_way() const { return ready_ > 0; }
  void complete_one();

  std::string awaited_by(unsigned thread) const;

 private:
  // D of a warpgroup, from its first product until its threads have waited.
  struct Sums {
    unsigned n;
    std::uint64_t first, last;         // products
    std::array<float*, kWarpgroup> d;  // null: not issued yet, or waited for
    unsigned taken;
    std::vector<float> values;  // 64 x n
  };
  struct Product {
    ProductForm form;
    std::uint64_t a, b;
    bool add, a_in_registers;
    Party party;
    unsigned issued, released;  // threads
    std::array<unsigned, kWarpgroup / kLanes> issued_by_warp;
    Sums* sums;
    std::array<const std::uint32_t*, kWarpgroup> a_from;
    std::array<std::uint32_t, 4 * kWarpgroup> a_registers;
  };
  struct Group {
    std::uint64_t end;  // the number after its last product
    Party party;
  };
  struct OfThread {
    std::uint64_t issued = 0, released = 0, groups = 0;
    bool fenced = false;
    std::uint64_t waits_for = 0;  // products; 0 if it does not sleep
  };
  struct Warpgroup {
    std::deque<Product> products;
    std::uint64_t first = 0;  // number of products.front()
    std::uint64_t ready = 0;  // the number of products that all threads have issued
    std::uint64_t done = 0;
    std::vector<Group> groups;
    std::vector<std::unique_ptr<Sums>> sums;
    std::array<OfThread, kWarpgroup> threads{};
    std::vector<unsigned> sleeping;
  };

  Warpgroup& own(const char* operation, Site where);
  Product& add_product(Warpgroup& group, const Product& asked, float* d);
  void join(Warpgroup& group, Product& product, std::uint64_t number, float* d);
  void check_operand(const Product& product, const char* which, std::uint64_t bits, bool by_outputs,
                     unsigned outer, Site where);
  void tell_observer(const Product& product, std::uint64_t number, Site where);
  void run_next(Warpgroup& group);
  void take_back(Warpgroup& group, std::uint64_t end, Site where);

  Block& block_;
  std::deque<Warpgroup> groups_;
  std::vector<std::unique_ptr<Sums>> unused_;
  unsigned ready_ = 0;
};

}  // namespace emulator::detail
