// Source: PTX ISA, "cp.async.bulk", "cp.async.bulk.tensor", "cp.async.bulk.commit_group",
// "cp.async.bulk.wait_group", "Tensors".
#include "stores.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "emulator/tensor_copies.hpp"

namespace emulator {
namespace detail {

void Stores::begin_block() {
  stores_.clear();
  threads_.clear();
  steps_ = 0;
}

Stores::OfThread& Stores::own() {
  if (threads_.empty()) threads_.resize(block_.threads());
  return threads_[block_.thread()];
}

void Stores::store_box(const CUtensorMap* to, const void* from, const int* first,
                       unsigned dimensions, Site where) {
  const Call call{block_, "tma_store", where};
  const Map map = map_at(call, to, first, dimensions);
  for (unsigned i = 0; i < dimensions; ++i) {
    if (first[i] >= 0) continue;
    block_.fails(where, [&] {
      return "tma_store: coordinate " + std::to_string(i) + " is " + std::to_string(first[i]) +
             "; a store's box begins inside of the tensor or behind it";
    });
  }
  const std::size_t bytes = map.box_bytes();
  const std::uint32_t address = shared_end(call, "source", from, bytes, map.alignment());
  Store store{address, bytes, nullptr, map, {}, {where, block_.thread()}, own().groups};
  std::copy_n(first, dimensions, store.first.begin());
  check_global_end(call, map, store.first, true);
  issue(std::move(store));
}

void Stores::store_bytes(void* to, const void* from, int bytes, Site where) {
  const Call call{block_, "store_bytes", where};
  const std::size_t count = checked_bytes(call, "destination", to, bytes);
  check_global_end(call, to, count, true);
  const std::uint32_t address = shared_end(call, "source", from, count, kCopyUnit);
  issue({address,
         count,
         static_cast<unsigned char*>(to),
         {},
         {},
         {where, block_.thread()},
         own().groups});
}

void Stores::issue(Store&& store) {
  if (observer() != nullptr)
    observer()->bulk_store_starts(
        store.group, block_.window() + store.address, store.bytes,
        store.to == nullptr ? rows_of(store.map, store.first) : rows_of(store.to, store.bytes),
        store.party.where);
  tell({Happening::kStoreStarts, store.to == nullptr ? "tma_store" : "store_bytes",
        store.party.thread, store.party.where, store.address});
  stores_.push_back(std::move(store));
  steps_ += 2;
  while (stores_.back().next != Step::kNone && !block_.chance())
    do_step(stores_.back());
}

void Stores::do_step(Store& store) {
  --steps_;
  const unsigned char* const window = block_.window();
  if (store.next == Step::kRead) {
    store.next = Step::kWrite;
    store.data.resize(store.bytes);
    for (std::size_t unit = 0; unit < store.bytes; unit += kCopyUnit)
      std::memcpy(
          store.data.data() + unit,
          window + swizzled(store.address + static_cast<std::uint32_t>(unit), store.map.swizzle),
          kCopyUnit);
    return;
  }
  store.next = Step::kNone;
  tell({Happening::kStoreEnds, "", store.party.thread, store.party.where, store.address});
  if (store.to != nullptr) {
    std::memcpy(store.to, store.data.data(), store.bytes);
  } else {
    for_each_row(store.map, store.first,
                 [&](std::size_t in_box, const unsigned char* to, std::size_t bytes) {
                   std::memcpy(const_cast<unsigned char*>(to), store.data.data() + in_box, bytes);
                 });
  }
  if (observer() != nullptr)
    observer()->bulk_stored(store.to == nullptr ? rows_of(store.map, store.first)
                                                : rows_of(store.to, store.bytes));
}

// Whether the store's thread waits for its next step.
bool Stores::holds_back(const Store& store) const {
  const OfThread& thread = threads_[store.party.thread];
  return store.group < thread.awaited &&
         (store.next == Step::kRead || (store.next == Step::kWrite && !thread.only_read));
}

bool Stores::waits(unsigned thread) const {
  return std::any_of(stores_.begin(), stores_.end(), [&](const Store& store) {
    return store.party.thread == thread && holds_back(store);
  });
}

// As late as possible: the oldest store that a thread waits for comes first. In a shuffle, any.
void Stores::do_one_step() {
  std::vector<Store*> left;
  for (Store& store : stores_) {
    if (store.next != Step::kNone) left.push_back(&store);
  }
  std::stable_partition(left.begin(), left.end(),
                        [&](const Store* store) { return holds_back(*store); });
  Store& store = *left[block_.below(static_cast<unsigned>(left.size()))];
  const bool awaited = holds_back(store);
  do_step(store);
  if (awaited && !waits(store.party.thread)) block_.wake(store.party.thread);
}

void Stores::commit() {
  ++own().groups;
}

void Stores::wait(unsigned pending, bool only_read, Site where) {
  OfThread& self = own();
  const std::uint64_t end = self.groups > pending ? self.groups - pending : 0;
  self.awaited = end;
  self.only_read = only_read;
  const char* const operation = only_read ? "tma_store_wait_read" : "tma_store_wait";
  tell({Happening::kWaitStarts, operation, block_.thread(), where});
  if (waits(block_.thread())) block_.sleep(operation, where);
  tell({Happening::kWaitEnds, operation, block_.thread(), where});
  self.awaited = 0;
  if (observer() != nullptr) observer()->bulk_stores_waited(end, only_read);
  for (Store& store : stores_) {
    if (store.party.thread == block_.thread() && store.group < end) store.was_awaited = true;
  }
  std::erase_if(stores_,
                [](const Store& store) { return store.next == Step::kNone && store.was_awaited; });
}

std::string Stores::left_over() const {
  const auto found = std::find_if(stores_.begin(), stores_.end(),
                                  [](const Store& store) { return !store.was_awaited; });
  if (found == stores_.end()) return {};
  return place(found->party.where) + ": the block ends while the store of " +
         std::to_string(found->bytes) + " bytes that " + block_.name_of(found->party.thread) +
         " began here may be reading them from shared memory: no tma_store_wait or "
         "tma_store_wait_read "
         "of that thread ends after it" +
         (threads_[found->party.thread].groups == found->group ? " (it is in no group)" : "");
}

}  // namespace detail

void store_box(const CUtensorMap* map, const void* from_smem, const int* first, unsigned dimensions,
               Site where) {
  detail::CalledBlock block("tma_store");
  block->stores().store_box(map, from_smem, first, dimensions, where);
}

void store_bytes(void* to, const void* from_smem, int bytes, Site where) {
  detail::CalledBlock block("store_bytes");
  block->stores().store_bytes(to, from_smem, bytes, where);
}

void tma_store_commit() {
  detail::CalledBlock block("tma_store_commit");
  block->stores().commit();
}

void tma_store_wait(unsigned pending, bool only_read, Site where) {
  detail::CalledBlock block(only_read ? "tma_store_wait_read" : "tma_store_wait");
  block->stores().wait(pending, only_read, where);
}

}  // namespace emulator
