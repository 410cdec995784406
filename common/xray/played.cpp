// The Recorder's part that plays a block: collects its steps while it runs, and finds their lines.
#include "play.hpp"

#include <execinfo.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "recorder.hpp"

namespace emulator::xray {
namespace {

constexpr std::size_t kMostHeldSteps = 200'000;  // of a block that runs
constexpr std::size_t kMostBarrierCalls = 24;    // frames from a barrier up to the kernel
// Steps that are shown after the first error, if it is not among a block's first ones.
constexpr std::size_t kStepsAfterError = 200;

const char* name_of(Happening::Kind kind) {
  switch (kind) {
    case Happening::kWaitEnds: return "end of ";
    case Happening::kCopyEnds:
    case Happening::kStoreEnds:
    case Happening::kProductEnds: return nullptr;  // moments of no thread
    default: return "";
  }
}

}  // namespace

// In which turn of the scheduler a thread's event took place.
std::uint64_t Recorder::turn_of(unsigned thread, std::size_t event) const {
  std::uint64_t turn = 0;
  for (const auto& [first, number] : play_->turns[thread]) {
    if (first > event) break;
    turn = number;
  }
  return turn;
}

void Recorder::play(const Request& request, const Sample& sample) {
  std::vector<std::uint64_t>& of_warp = play_->of_warp;
  of_warp.resize(std::max<std::size_t>(of_warp.size(), sample.warp + 1));
  const std::uint64_t order = order_.is_followed() ? request.turn : of_warp[sample.warp]++;
  if (play_->running.steps.size() >= kMostHeldSteps && request.findings.empty()) return;
  play_->running.steps.push_back({sample, order, request.findings});
}

// Puts the steps since the last barrier in order, once all warps have reached the next one.
void Recorder::sort_played() {
  std::vector<Played>& steps = play_->running.steps;
  std::stable_sort(steps.begin() + static_cast<std::ptrdiff_t>(play_->since_barrier), steps.end(),
                   [](const Played& a, const Played& b) { return a.order < b.order; });
  play_->since_barrier = steps.size();
  play_->of_warp.clear();
  for (auto& of_thread : play_->turns) {
    if (of_thread.empty()) continue;
    of_thread = {{0, of_thread.back().second}};
  }
}

// Called by the last thread that reaches the barrier, so its calls name the line.
void Recorder::play_barrier() {
  std::array<void*, kMostBarrierCalls> calls{};
  const int depth = backtrace(calls.data(), kMostBarrierCalls);
  std::vector<std::uintptr_t> chain(static_cast<std::size_t>(depth));
  std::transform(calls.begin(), calls.begin() + depth, chain.begin(),
                 [](void* call) { return reinterpret_cast<std::uintptr_t>(call); });
  auto& barriers = play_->barriers;
  const auto found = std::find(barriers.begin(), barriers.end(), chain);
  const auto barrier = static_cast<std::size_t>(found - barriers.begin());
  if (found == barriers.end()) barriers.push_back(chain);
  play_->running.steps.push_back({.sample = {}, .barrier = barrier});
  play_->since_barrier = play_->running.steps.size();
}

// One thread's operation stands for its warp's, as a step between the warp's requests.
void Recorder::play_happening(const Happening& what) {
  const char* const prefix = name_of(what.kind);
  const bool of_all_lanes =
      what.kind == Happening::kWaitStarts || what.kind == Happening::kWaitEnds;
  if (prefix == nullptr || (of_all_lanes && what.thread % kWarpSize != 0)) return;
  const unsigned running = std::exchange(thread_, what.thread);
  // Its kind, in place of a number of bytes, distinguishes a wait's beginning from its end.
  const std::uint32_t number = place_of(what.where, Through::kBarrier, Operation::kLoad, what.kind);
  places_[number].is_access = false;
  places_[number].happening = what.operation;
  places_[number].ends_wait = what.kind == Happening::kWaitEnds;
  hold({number, 0});
  thread_ = running;
}

// The first block with an error replaces the first one of its kernel.
void Recorder::keep_played_block() {
  PlayedBlock& block = play_->running;
  block.block = block_;
  block.is_wrong = !recording_->findings.empty();
  std::unique_ptr<PlayedBlock>& kept = recording_->played;
  if (kept == nullptr || (block.is_wrong && !kept->is_wrong)) {
    block.shared_names = shared_names_;
    kept = std::make_unique<PlayedBlock>(std::move(block));
  }
  play_->running = {};
  play_->since_barrier = 0;
}

Play Recorder::play_of(const Recording& recording, const Kernel& kernel) const {
  const PlayedBlock& block = *recording.played;
  Play play;
  play.kernel = kernel.name;
  play.launches = kernel.launches;
  play.grid = kernel.grid, play.block = kernel.block;
  play.steps_of_block = block.steps.size();
  play.errors = kernel.errors;  // in the findings' order

  const auto wrong = std::find_if(block.steps.begin(), block.steps.end(),
                                  [](const Played& each) { return !each.findings.empty(); });
  const auto end = static_cast<std::size_t>(wrong - block.steps.begin()) + kStepsAfterError;
  if (wrong != block.steps.end() && end > Play::kMostSteps)
    play.first = std::min(end, block.steps.size()) - Play::kMostSteps;
  const std::size_t last = std::min(block.steps.size(), play.first + Play::kMostSteps);

  std::set<std::uint32_t> places;
  for (std::size_t i = play.first; i < last; ++i) {
    if (block.steps[i].barrier == SIZE_MAX) places.insert(block.steps[i].sample.place);
  }
  const Lines& lines = lines_of(places);
  for (const auto& [offset, name] : block.shared_names) {
    Play::Variable variable{name.name, offset, name.element_bytes, {}};
    for (const std::size_t extent : name.extents)
      if (extent != 0) variable.extents.push_back(extent);
    play.variables.push_back(std::move(variable));
  }

  std::map<std::pair<std::uint64_t, std::string>, std::size_t> line_of;  // place or barrier, array
  for (std::size_t i = play.first; i < last; ++i) {
    const Played& played = block.steps[i];
    const Sample& sample = played.sample;
    const bool is_barrier = played.barrier != SIZE_MAX;
    const std::uint64_t key = is_barrier ? played.barrier << 32 : sample.place;
    const auto [found, is_new] = line_of.try_emplace({key, sample.buffer}, play.lines.size());
    if (is_new && is_barrier) {
      play.lines.push_back({source_of(play_->barriers[played.barrier]), {}, "barrier"});
    } else if (is_new) {
      const Place& place = places_[sample.place];
      Stamp stamp;
      stamp.place = sample.place;
      const Party party = party_of(stamp, kernel, lines);
      Play::Line line{party.where, party.called_at, ""};
      if (place.happening != nullptr) {
        line.operation = std::string(place.ends_wait ? "end of " : "") + place.happening;
      } else {
        const Space space = recording.places.at(sample.place).space;
        line.operation = std::string(to_string(space)) + " " + to_string(place.operation);
        line.bytes = place.bytes;
        line.matrix_load = place.through == Through::kMatrixLoad;
        line.array = shown(sample.buffer);
      }
      play.lines.push_back(std::move(line));
    }
    play.steps.push_back({found->second, sample.warp, sample.offset, sample.sectors,
                          sample.wavefronts, sample.bank_conflicts, played.findings});
  }
  Stamp of_block;
  of_block.block = block.block;
  play.of_block = party_of(of_block, kernel, lines).block;
  return play;
}

// Of the kernels taken, the one with an error, or with most requests.
void Recorder::keep_play_of(const Recording& recording, const Kernel& kernel) {
  std::uint64_t requests = 0;
  for (const Access& access : kernel.accesses)
    requests += access.requests;
  const bool was_wrong = !play_->best.errors.empty(), is_wrong = !kernel.errors.empty();
  const bool is_first = play_->best.steps.empty();
  if (!is_first && (was_wrong || (!is_wrong && requests <= play_->requests))) return;
  play_->best = play_of(recording, kernel);
  play_->requests = requests;
}

Play Recorder::take_play() {
  Play play = play_ ? std::move(play_->best) : Play{};
  play_.reset();
  return play;
}

}  // namespace emulator::xray
