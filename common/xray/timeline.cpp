#include "timeline.hpp"

#include <string>
#include <string_view>

namespace emulator::xray {

namespace {

constexpr unsigned kWarpgroup = 128;  // threads

std::string operation_of(const Happening& what) {
  std::string operation = what.operation;
  if (operation == "named_barrier_sync" || operation == "named_barrier_arrive")
    operation.append(" ").append(std::to_string(what.number));
  return operation;
}

}  // namespace

void TimelineWriter::begin(Timeline& timeline, unsigned threads) {
  timeline_ = timeline.spans.empty() ? &timeline : nullptr;
  timeline.row_threads = threads > kWarpgroup ? kWarpgroup : kWarpSize;
  moment_ = 0;
  threads_.assign(threads, {});
  warpgroups_.assign(threads / kWarpgroup + 1, {});
  moving_.clear();
}

int TimelineWriter::add(Span::Kind kind, const Happening& what) {
  if (timeline_->spans.size() == Timeline::kMostSpans) return -1;
  ++moment_;
  timeline_->spans.push_back({.kind = kind,
                              .operation = operation_of(what),
                              .where = {what.where.file, what.where.line},
                              .row = what.thread / timeline_->row_threads,
                              .from = moment_,
                              .to = moment_});
  return static_cast<int>(timeline_->spans.size()) - 1;
}

int TimelineWriter::join(Span::Kind kind, const Happening& what) {
  OfThread& thread = threads_[what.thread];
  const std::string operation = operation_of(what);
  const auto is_it = [&](const Span& span) {
    return span.kind == kind && span.row == what.thread / timeline_->row_threads &&
           span.operation == operation && span.where.line == what.where.line &&
           span.where.file == what.where.file;
  };
  std::size_t at = thread.next;
  while (at < timeline_->spans.size() && !is_it(timeline_->spans[at]))
    ++at;
  const int found = at < timeline_->spans.size() ? static_cast<int>(at) : add(kind, what);
  thread.next = at + 1;
  return found;
}

// A new moment, unless the current one is the span's own beginning or an earlier end of it.
void TimelineWriter::end(int number) {
  if (number < 0) return;
  Span& span = timeline_->spans[static_cast<std::size_t>(number)];
  if (span.to != moment_) span.to = ++moment_;
  span.ended = true;
}

void TimelineWriter::happened(const Happening& what) {
  if (timeline_ == nullptr) return;
  OfWarpgroup& warpgroup = warpgroups_[what.thread / kWarpgroup];
  OfThread& thread = threads_[what.thread];
  switch (what.kind) {
    case Happening::kCopyStarts:
    case Happening::kStoreStarts: {
      const bool copy = what.kind == Happening::kCopyStarts;
      moving_[{copy, what.number}].push_back(add(copy ? Span::kCopy : Span::kStore, what));
      return;
    }
    case Happening::kCopyEnds:
    case Happening::kStoreEnds: {
      std::deque<int>& spans = moving_[{what.kind == Happening::kCopyEnds, what.number}];
      end(spans.front());
      spans.pop_front();
      return;
    }
    case Happening::kProductStarts: {
      const auto is_another_line = [&](const Span& span) {
        return span.where.line != what.where.line || span.where.file != what.where.file;
      };
      int& span = warpgroup.products;
      if (span < 0 || is_another_line(timeline_->spans[static_cast<std::size_t>(span)])) {
        span = add(Span::kProduct, what);
      } else {
        ++timeline_->spans[static_cast<std::size_t>(span)].count;
      }
      warpgroup.on_the_way.push_back(span);
      return;
    }
    case Happening::kProductEnds:
      end(warpgroup.on_the_way.front());
      warpgroup.on_the_way.pop_front();
      return;
    case Happening::kWaitStarts:
      thread.waits_in = join(Span::kWait, what);
      if (std::string_view(what.operation) == "wgmma_wait_group") warpgroup.products = -1;
      return;
    case Happening::kWaitEnds:
      // The first thread's end, after which the others can continue, too.
      if (thread.waits_in >= 0 &&
          !timeline_->spans[static_cast<std::size_t>(thread.waits_in)].ended)
        end(thread.waits_in);
      thread.waits_in = -1;
      return;
    case Happening::kPasses: end(join(Span::kPass, what)); return;
  }
}

}  // namespace emulator::xray
