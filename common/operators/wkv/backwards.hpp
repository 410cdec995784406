// The states of a recurrence from last to first, for a backward pass, without keeping all of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace ladder {

// `advance(state, n)` applies step n. `visit(n, state)` is called with the state before step n,
// from n = steps - 1 down to 0. One state per kApart steps is kept, and the others are recomputed.
template <typename State, typename Advance, typename Visit>
void visit_states_backwards(const State& initial, std::int64_t steps, const Advance& advance,
                            const Visit& visit) {
  constexpr std::int64_t kApart = 32;
  std::vector<State> kept;
  State state = initial;
  for (std::int64_t n = 0; n < steps; ++n) {
    if (n % kApart == 0) kept.push_back(state);
    advance(state, n);
  }
  for (; !kept.empty(); kept.pop_back()) {
    const std::int64_t first = (static_cast<std::int64_t>(kept.size()) - 1) * kApart;
    const std::int64_t end = std::min(first + kApart, steps);
    std::vector<State> states = {kept.back()};
    for (std::int64_t n = first; n + 1 < end; ++n) {
      states.push_back(states.back());
      advance(states.back(), n);
    }
    for (std::int64_t n = end - 1; n >= first; --n)
      visit(n, states[n - first]);
  }
}

}  // namespace ladder
