#include "order.hpp"

#include <algorithm>

#include "model.hpp"

namespace emulator::xray {
namespace {

constexpr unsigned kWarpgroupWarps = 4;

std::uint32_t at(const Clock& clock, unsigned entry) {
  return entry < clock.size() ? clock[entry] : 0;
}

void raise(Clock& clock, unsigned entry, std::uint32_t to) {
  if (clock.size() <= entry) clock.resize(entry + 1);
  clock[entry] = std::max(clock[entry], to);
}

void join_clocks(Clock& to, const Clock& from) {
  if (to.size() < from.size()) to.resize(from.size());
  for (std::size_t i = 0; i < from.size(); ++i)
    to[i] = std::max(to[i], from[i]);
}

void meet_clocks(Clock& to, const Clock& from) {
  if (to.size() > from.size()) to.resize(from.size());
  for (std::size_t i = 0; i < to.size(); ++i)
    to[i] = std::min(to[i], from[i]);
}

bool has_happened(const Stamp& access, const Clock& clock) {
  return !access.pending && at(clock, access.thread) >= access.clock;
}

// The bytes of a unit from `where` on that this access touched.
std::uint64_t bytes_in_unit(Shadow& shadow, const Stamp& access, std::uint64_t where) {
  return shadow.bytes_of(access, where, (where / Order::kUnit + 1) * Order::kUnit);
}

}  // namespace

void Known::join(const Known& other) {
  join_clocks(happened, other.happened);
  join_clocks(fenced, other.fenced);
  join_clocks(fenced_global, other.fenced_global);
}

bool Rows::touch(std::uint64_t offset, std::uint64_t of) const {
  if (offset + of <= begin || offset >= begin + (count - 1) * stride + bytes) return false;
  if (count == 1 || offset < begin) return true;
  const std::uint64_t row = std::min((offset - begin) / stride, count - 1);
  return offset < begin + row * stride + bytes ||
         (row + 1 < count && offset + of > begin + (row + 1) * stride);
}

void Order::begin_block(unsigned threads) {
  followed_ = false;
  threads_ = threads;
}

void Order::follow(const std::vector<std::uint32_t>& lanes, const Clock& met) {
  followed_ = true;
  agents_ = 0;
  known_.assign(threads_, {});
  for (unsigned thread = 0; thread < threads_; ++thread) {
    Clock& clock = known_[thread].happened;
    clock = met;
    const unsigned first = thread / kWarpSize * kWarpSize;
    for (unsigned lane = 0; lane < std::min(kWarpSize, threads_ - first); ++lane)
      raise(clock, first + lane, lanes[thread * kWarpSize + lane]);
  }
  warps_.assign((threads_ + kWarpSize - 1) / kWarpSize, {});
  barriers_.clear();
  named_ = {};
  warpgroup_agents_.clear();
  issuers_.clear();
  store_agents_.clear();
  operations_.assign(1, {});
  copies_.clear();
  units_.clear();
}

void Order::learn(unsigned thread, const Known& from) {
  known_[thread].join(from);
  ++warps_[thread / kWarpSize].changes;
}

void Order::release(unsigned thread, Known& to) {
  to.join(known_[thread]);
  ++known_[thread].happened[thread];
}

void Order::all_met() {
  Known all;
  for (const Known& each : known_)
    all.join(each);
  for (unsigned thread = 0; thread < threads_; ++thread) {
    learn(thread, all);
    ++known_[thread].happened[thread];
  }
}

void Order::lanes_met(unsigned warp, std::uint32_t lanes) {
  Known all;
  const unsigned first = warp * kWarpSize, end = std::min(first + kWarpSize, threads_);
  for (unsigned thread = first; thread < end; ++thread)
    if ((lanes >> (thread - first) & 1u) != 0) all.join(known_[thread]);
  for (unsigned thread = first; thread < end; ++thread) {
    if ((lanes >> (thread - first) & 1u) == 0) continue;
    learn(thread, all);
    ++known_[thread].happened[thread];
  }
}

// The fence covers everything that happened before it in the thread's order.
void Order::proxies_fenced(unsigned thread, bool of_global) {
  Known& own = known_[thread];
  (of_global ? own.fenced_global : own.fenced) = own.happened;
  ++own.happened[thread];
  ++warps_[thread / kWarpSize].changes;
}

// ---- mbarriers ----

void Order::barrier_begins(unsigned barrier, const Stamp& by) {
  barriers_.resize(std::max<std::size_t>(barriers_.size(), barrier + 1));
  BarrierInMemory& each = barriers_[barrier];
  each = {};
  each.agent = threads_ + agents_++;
  each.begun = by;
}

void Order::barriers_fenced(unsigned thread) {
  for (BarrierInMemory& each : barriers_)
    each.fenced = each.fenced || each.begun.thread == thread;
}

std::optional<Stamp> Order::unordered_begin(unsigned barrier, unsigned thread) const {
  const Stamp& begun = barriers_[barrier].begun;
  if (begun.thread == thread || at(known_[thread].happened, begun.thread) >= begun.clock) return {};
  return begun;
}

std::optional<Stamp> Order::unfenced_begin(unsigned barrier, unsigned thread) {
  BarrierInMemory& each = barriers_[barrier];
  if (each.fenced || each.said || each.begun.thread == thread) return {};
  each.said = true;
  return each.begun;
}

void Order::barrier_arrived(unsigned barrier, unsigned thread) {
  release(thread, barriers_[barrier].arriving);
}

// The next phase's arrivals are kept apart, because a wait for this phase does not order them.
void Order::phase_ended(unsigned barrier) {
  BarrierInMemory& each = barriers_[barrier];
  each.complete.join(each.arriving);
  each.arriving = {};
  ++each.phases;
}

void Order::phase_seen(unsigned barrier, unsigned thread) {
  learn(thread, barriers_[barrier].complete);
}

// ---- Named barriers ----

void Order::named_reached(unsigned name, unsigned thread) {
  release(thread, named_[name].by_warp[thread / kWarpSize]);
}

void Order::named_taken(unsigned name, unsigned warp) {
  NamedBarrier& barrier = named_[name];
  barrier.arriving.join(barrier.by_warp[warp]);
  barrier.by_warp.erase(warp);
}

void Order::named_complete(unsigned name, std::uint32_t waiting_warps) {
  NamedBarrier& barrier = named_[name];
  for (unsigned thread = 0; thread < threads_; ++thread)
    if ((waiting_warps >> thread / kWarpSize & 1u) != 0) learn(thread, barrier.arriving);
  barrier.arriving = {};
}

// ---- The asynchronous proxy ----

bool Order::knows(const Clock& happened, const Operation& operation) const {
  return operation.clock != 0 && at(happened, operation.agent) >= operation.clock;
}

std::shared_ptr<const Known> Order::known_by_warp(unsigned warp) {
  OfWarp& of = warps_[warp];
  if (of.met_at == of.changes) return of.met;
  const unsigned first = warp * kWarpSize, end = std::min(first + kWarpSize, threads_);
  auto met = std::make_shared<Known>(known_[first]);
  for (unsigned thread = first + 1; thread < end; ++thread) {
    meet_clocks(met->happened, known_[thread].happened);
    meet_clocks(met->fenced, known_[thread].fenced);
  }
  of.met = std::move(met);
  of.met_at = of.changes;
  return of.met;
}

Order::Unit& Order::unit(std::uint64_t offset) {
  const std::uint64_t number = offset / kUnit;
  if (units_.size() <= number) units_.resize(std::max<std::size_t>(number + 1, 2 * units_.size()));
  return units_[number];
}

std::uint32_t Order::add(Operation&& operation) {
  operations_.push_back(std::move(operation));
  return static_cast<std::uint32_t>(operations_.size() - 1);
}

std::optional<Conflict> Order::accessed(unsigned thread, std::uint64_t offset, unsigned bytes,
                                        bool stores) {
  const Clock& happened = known_[thread].happened;
  std::optional<Conflict> conflict;
  for (std::uint64_t first = offset / kUnit * kUnit; first < offset + bytes; first += kUnit) {
    const std::uint64_t begin = std::max(first, offset);
    const std::uint64_t end = std::min(first + kUnit, offset + bytes);
    const auto check = [&](std::uint32_t number) {
      const Operation& operation = operations_[number];
      if (!knows(happened, operation))
        conflict = {operation.by, begin, end - begin, thread, false, true};
    };
    Unit& each = unit(first);
    each.touched = true;
    if (each.write != 0) check(each.write);
    if (!stores) continue;
    for (const std::uint32_t read : each.reads)
      check(read);
  }
  return conflict;
}

std::uint32_t Order::copy_starts(std::uint64_t copy, unsigned thread, std::uint64_t offset,
                                 std::uint64_t bytes, const Stamp& by, Shadow& shadow,
                                 const Report& report) {
  const Known& known = known_[thread];
  const std::uint32_t number = add({0, 0, by, known});
  copies_[copy] = number;
  Stamp last;
  for (std::uint64_t first = offset; first < offset + bytes; first += kUnit) {
    Unit& each = unit(first);
    const auto against = [&](const Stamp& other, std::uint64_t where, bool unfinished) {
      const bool happened = !unfinished && has_happened(other, known.happened);
      if (happened && has_happened(other, known.fenced)) return;
      if (!is_same_access(last, other)) {
        const std::uint64_t both = unfinished ? kUnit : bytes_in_unit(shadow, other, where);
        report({other, where, both, thread, happened, unfinished});
      }
      last = other;
    };
    if (each.write != 0 && !knows(known.happened, operations_[each.write]))
      against(operations_[each.write].by, first, true);
    for (const std::uint32_t read : each.reads)
      if (!knows(known.happened, operations_[read])) against(operations_[read].by, first, true);
    if (each.touched) {
      shadow.visit(first, kUnit, true,
                   [&](const Stamp& other, std::uint64_t where) { against(other, where, false); });
      shadow.forget(first, kUnit);
    }
    each.write = number;
    each.reads.clear();
    each.touched = false;
  }
  return number;
}

void Order::copy_complete(std::uint64_t copy, unsigned barrier) {
  const auto found = copies_.find(copy);
  if (found == copies_.end()) return;
  Operation& operation = operations_[found->second];
  copies_.erase(found);
  BarrierInMemory& its = barriers_[barrier];
  operation.agent = its.agent;
  operation.clock = its.phases + 1;
  its.arriving.join(operation.issuer);
  raise(its.arriving.happened, its.agent, operation.clock);
  operation.issuer = {};
}

// An agent's newest read replaces its earlier ones, because they complete in order.
void Order::read_by(std::uint32_t operation, Unit& unit) {
  const auto same = std::find_if(unit.reads.begin(), unit.reads.end(), [&](std::uint32_t read) {
    return operations_[read].agent == operations_[operation].agent;
  });
  if (same == unit.reads.end())
    unit.reads.push_back(operation);
  else
    *same = operation;
}

std::uint32_t Order::store_starts(std::uint64_t group, unsigned thread, std::uint64_t offset,
                                  std::uint64_t bytes, const Stamp& by, Shadow& shadow,
                                  const Report& report) {
  const auto [agent, is_new] = store_agents_.try_emplace(thread, threads_ + agents_);
  agents_ += is_new ? 2 : 0;
  const auto clock = static_cast<std::uint32_t>(group + 1);
  const std::uint32_t operation = add({agent->second, clock, by});
  const Known& known = known_[thread];
  Stamp last;
  for (std::uint64_t first = offset; first < offset + bytes; first += kUnit) {
    Unit& each = unit(first);
    const auto say = [&](const Stamp& other, std::uint64_t where, bool unfenced, bool unfinished) {
      if (!is_same_access(last, other)) {
        const std::uint64_t both = unfinished ? kUnit : bytes_in_unit(shadow, other, where);
        report({other, where, both, thread, unfenced, unfinished});
      }
      last = other;
    };
    if (each.write != 0 && !knows(known.happened, operations_[each.write]))
      say(operations_[each.write].by, first, false, true);
    if (each.touched) {
      shadow.visit(first, kUnit, false, [&](const Stamp& other, std::uint64_t where) {
        const bool happened = has_happened(other, known.happened);
        if (!happened || !has_happened(other, known.fenced)) say(other, where, happened, false);
      });
    }
    read_by(operation, each);
  }
  return add({agent->second + 1, clock, by});
}

void Order::stores_waited(unsigned thread, std::uint64_t end, bool only_read) {
  const auto agent = store_agents_.find(thread);
  if (agent == store_agents_.end()) return;
  raise(known_[thread].happened, agent->second, static_cast<std::uint32_t>(end));
  if (!only_read)
    raise(known_[thread].happened, agent->second + 1, static_cast<std::uint32_t>(end));
}

// Whether the access happened before `now`. Nothing orders different blocks.
bool Order::knows(const Stamp& now, const AsyncInArray::Access& access) const {
  return access.by.block == now.block &&
         knows(known_[now.thread].happened, operations_[access.operation]);
}

void Order::starts_in_array(AsyncInArray& array, std::uint32_t operation, const Rows& rows,
                            bool writes, const Stamp& by, Shadow* shadow, const Report& report) {
  if (array.launch != by.launch) array = {by.launch};
  const Known& known = known_[by.thread];
  Stamp last;
  const auto against = [&](const Stamp& other, std::uint64_t where, bool happened,
                           bool unfinished) {
    if (!is_same_access(last, other)) {
      const std::uint64_t both = unfinished ? kUnit : bytes_in_unit(*shadow, other, where);
      report({other, where, both, by.thread, happened, unfinished});
    }
    last = other;
  };
  for (std::uint64_t row = 0; row < rows.count; ++row) {
    const std::uint64_t begin = rows.begin + row * rows.stride;
    const auto against_each = [&](const std::vector<AsyncInArray::Access>& others) {
      for (const AsyncInArray::Access& other : others)
        if (other.rows.touch(begin, rows.bytes) && !knows(by, other))
          against(other.by, begin, false, true);
    };
    against_each(array.writes);
    if (writes) against_each(array.reads);
    if (shadow == nullptr) continue;
    shadow->visit(begin, rows.bytes, writes, [&](const Stamp& other, std::uint64_t where) {
      if (other.launch != by.launch) return;
      const bool happened = other.block == by.block && has_happened(other, known.happened);
      if (!happened || !has_happened(other, known.fenced_global))
        against(other, where, happened, false);
    });
  }
  (writes ? array.writes : array.reads).push_back({rows, by, operation});
}

std::optional<Conflict> Order::accessed_in_array(const AsyncInArray& array, const Stamp& now,
                                                 std::uint64_t offset, unsigned bytes,
                                                 bool stores) const {
  std::optional<Conflict> conflict;
  const auto against_each = [&](const std::vector<AsyncInArray::Access>& others) {
    for (const AsyncInArray::Access& other : others)
      if (other.rows.touch(offset, bytes) && !knows(now, other))
        conflict = {other.by, offset, bytes, now.thread, false, true};
  };
  against_each(array.writes);
  if (stores) against_each(array.reads);
  return conflict;
}

void Order::warp_issues_product(unsigned warpgroup, unsigned warp, std::uint64_t number) {
  issuers_[{warpgroup, number}][warp] = known_by_warp(warpgroup * kWarpgroupWarps + warp);
}

void Order::product_starts(unsigned warpgroup, std::uint64_t number,
                           const std::vector<OperandUnit>& units, const Stamp& by, Shadow& shadow,
                           const Report& report) {
  while (warpgroup_agents_.size() <= warpgroup)
    warpgroup_agents_.push_back(threads_ + agents_++);
  const unsigned agent = warpgroup_agents_[warpgroup];
  const std::uint32_t operation = add({agent, static_cast<std::uint32_t>(number + 1), by});
  const Issuers known = issuers_[{warpgroup, number}];
  issuers_.erase({warpgroup, number});
  // A thread that lacks it now, or otherwise the warp's first.
  const auto first_without = [&](unsigned warp, const auto& has) {
    const unsigned first = (warpgroup * kWarpgroupWarps + warp) * kWarpSize;
    for (unsigned thread = first; thread < first + kWarpSize; ++thread)
      if (!has(known_[thread])) return thread;
    return first;
  };
  Stamp last;
  const auto say = [&](const Conflict& conflict) {
    if (!is_same_access(last, conflict.other)) report(conflict);
    last = conflict.other;
  };
  for (const OperandUnit& each : units) {
    Unit& here = unit(each.offset);
    const auto for_its_warps = [&](const auto& visit) {
      for (unsigned warp = 0; warp < kWarpgroupWarps; ++warp)
        if ((each.warps >> warp & 1u) != 0) visit(warp);
    };
    if (here.write != 0) {
      const Operation& written = operations_[here.write];
      const auto happened = [&](const Known& of) { return knows(of.happened, written); };
      for_its_warps([&](unsigned warp) {
        if (!happened(*known[warp]))
          say({written.by, each.offset, kUnit, first_without(warp, happened), false, true});
      });
    }
    if (here.touched) {
      shadow.visit(each.offset, kUnit, false, [&](const Stamp& other, std::uint64_t where) {
        const auto happened = [&](const Known& of) { return has_happened(other, of.happened); };
        const auto fenced = [&](const Known& of) { return has_happened(other, of.fenced); };
        const auto both = [&] { return bytes_in_unit(shadow, other, where); };
        for_its_warps([&](unsigned warp) {
          if (!happened(*known[warp]))
            say({other, where, both(), first_without(warp, happened), false, false});
          else if (!fenced(*known[warp]))
            say({other, where, both(), first_without(warp, fenced), true, false});
        });
      });
    }
    read_by(operation, here);
  }
}

void Order::products_waited(unsigned thread, std::uint64_t end) {
  const unsigned warpgroup = thread / kWarpSize / kWarpgroupWarps;
  if (warpgroup >= warpgroup_agents_.size()) return;
  raise(known_[thread].happened, warpgroup_agents_[warpgroup], static_cast<std::uint32_t>(end));
  ++warps_[thread / kWarpSize].changes;
}

}  // namespace emulator::xray
