#include "streams.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "emulator/emulator.hpp"

namespace emulator {
namespace detail {
namespace {

constexpr std::size_t kLongestLog = 1 << 16;

struct Streams {
  std::recursive_mutex mutex;
  std::vector<CUstream_st*> all;  // in order of creation
  std::string log;
  std::uint64_t random = 0;
};

// Never destroyed, because objects with static storage may use streams at exit.
Streams& streams() {
  static Streams& instance = *new Streams;
  return instance;
}

void log(char letter) {
  if (streams().log.size() == kLongestLog) streams().log.erase(0, kLongestLog / 2);
  streams().log += letter;
}

// Runs a stream's first entry. False if that must wait, or if the stream is empty.
bool step(CUstream_st* stream) {
  if (stream->entries.empty()) return false;
  if (const Entry& first = stream->entries.front(); first.awaits && !first.awaits->reached)
    return false;
  const Entry entry = std::move(stream->entries.front());
  stream->entries.pop_front();
  if (entry.work) entry.work();
  if (entry.sets) {
    entry.sets->reached = true;
    entry.sets->at = std::chrono::steady_clock::now();
  }
  if (entry.letter != 0) log(entry.letter);
  return true;
}

bool coin() {
  streams().random = streams().random * 6364136223846793005u + schedule().seed * 2 + 1;
  return (streams().random >> 33 & 1) != 0;
}

// The progress of other streams is undefined whenever a stream continues: none of their work is
// done (forward), all that is possible (reverse), or some (shuffle).
void let_others_go_on(const CUstream_st* stream) {
  const Schedule::Order order = schedule().order;
  for (bool moved = order != Schedule::forward; moved;) {
    moved = false;
    for (CUstream_st* const other : std::vector<CUstream_st*>(streams().all)) {
      while (other != stream && (order == Schedule::reverse || coin()) && step(other))
        moved = true;
    }
  }
}

// Runs a stream until the mark is reached or, without a mark, until it is empty.
void work(CUstream_st* stream, const Mark* mark) {
  while (mark != nullptr ? !mark->reached : !stream->entries.empty()) {
    let_others_go_on(stream);
    if (stream->entries.empty()) continue;
    const std::shared_ptr<Mark> awaits = stream->entries.front().awaits;
    if (awaits && !awaits->reached) {
      work(awaits->stream, awaits.get());
    } else {
      step(stream);
    }
  }
}

}  // namespace

std::lock_guard<std::recursive_mutex> lock_streams() {
  return std::lock_guard<std::recursive_mutex>(streams().mutex);
}

void open_stream(CUstream_st* stream) {
  streams().all.push_back(stream);
}

void close_stream(CUstream_st* stream) {
  stream->closed = true;
}

void put(CUstream_st* stream, Entry entry) {
  stream->entries.push_back(std::move(entry));
}

std::shared_ptr<Mark> put_mark(CUstream_st* stream) {
  auto mark = std::make_shared<Mark>();
  if (stream == nullptr) {
    mark->reached = true;
    mark->at = std::chrono::steady_clock::now();
    log('d');
  } else {
    mark->stream = stream;
    const bool idle = stream->entries.empty();
    put(stream, {.letter = 'e', .sets = mark});
    if (idle) step(stream);
  }
  return mark;
}

void finish_stream(CUstream_st* stream) {
  if (stream != nullptr) work(stream, nullptr);
}

void finish_to(const Mark& mark) {
  if (!mark.reached) work(mark.stream, &mark);
}

void finish_streams() {
  const auto guard = lock_streams();
  for (CUstream_st* const stream : std::vector<CUstream_st*>(streams().all))
    work(stream, nullptr);
  const auto closed = std::partition(streams().all.begin(), streams().all.end(),
                                     [](const CUstream_st* each) { return !each->closed; });
  std::for_each(closed, streams().all.end(), [](CUstream_st* each) { delete each; });
  streams().all.erase(closed, streams().all.end());
}

void forget_stream_log() {
  const auto guard = lock_streams();
  streams().log.clear();
}

}  // namespace detail

std::string stream_log() {
  const auto guard = detail::lock_streams();
  return detail::streams().log;
}

}  // namespace emulator
