#include "library/best/rules.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <type_traits>

namespace ladder::best {
namespace {

// The subject of a line of costs.inc: a kernel, or a kernel that cuts time into segments.
enum class Line {
  kTimeTiles,
  kChunkwiseFused,
  kSegments,  // of kChunkwise
  kStrips,    // at most kStripSteps steps
  kPacked,
  kPackedShort,  // one tile
  kPrefix,
  kPrefixShort,
  kChunkStates,
  kLinearChunkwise,
  kLinearSegments,
};

// The properties of the data that change a kernel's cost.
enum class Form { kFp32, kFp32Odd, kBf16, kBf16Words, kBf16Odd, kPlain, kGeneral };

struct Cost {
  Line line;
  Form form;
  int rows;    // for K up to this many
  int blocks;  // column blocks of all heads
  double coefficients[3];
};

#include "costs.inc"

constexpr double kNever = std::numeric_limits<double>::infinity();

// The strips of chapter 03 start quickly but take long per step.
constexpr std::int64_t kStripSteps = 2;

// The most key rows of the kernels with costs, and of chapter 07's chunks.
constexpr std::int64_t kMostRows = 256, kMostRowsOfChunks = 512;

// The number of steps from which chapter 07's chunks are faster if K is above 256: the first of 16,
// 64, 128, 256 and 1,024, measured with 4 and 32 heads.
constexpr std::int64_t kFewestStepsOfChunks16 = 16, kFewestStepsOfChunks32 = 64;

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

int width_class(std::int64_t K) {
  for (const int rows : {32, 64, 128})
    if (K <= rows) return rows;
  return kMostRows;
}

// Microseconds, interpolated linearly between the nearest measured numbers of blocks. `time`
// computes them from coefficients.
template <typename Time>
double interpolate(Line line, Form form, int rows, double blocks, const Time& time) {
  const Cost *below = nullptr, *above = nullptr;
  for (const Cost& cost : kCosts) {  // sorted by blocks
    if (cost.line != line || cost.form != form || cost.rows != rows) continue;
    if (above != nullptr && above->blocks >= blocks) break;
    below = above;
    above = &cost;
  }
  if (above == nullptr) return kNever;
  const double last = time(above->coefficients);
  if (below == nullptr) return last;
  const double first = time(below->coefficients);
  const double share = (blocks - below->blocks) / (above->blocks - below->blocks);
  return std::max(first + share * (last - first), 0.0);
}

double line_at(const double (&coefficients)[3], double a, double b) {
  return coefficients[0] + coefficients[1] * a + coefficients[2] * b;
}

// The chunks of the longest segment and the number of segments, if a kernel cuts time into at most
// `most`.
struct Segments {
  double chunks, count;
};
Segments longest_segment(std::int64_t chunks, std::int64_t places, std::int64_t blocks,
                         std::int64_t most) {
  const std::int64_t count =
      std::max<std::int64_t>(1, std::min(places / std::max<std::int64_t>(blocks, 1), most));
  return {static_cast<double>(ceil_div(chunks, count)), static_cast<double>(count)};
}

// The corresponding number of blocks on the measured GPU, in proportion to its SMs.
double measured_blocks(double blocks, int multiprocessors) {
  return blocks * kMeasuredMultiprocessors / multiprocessors;
}

// Chapter 06's tiles are wider if more of a GPU has a block, so their time jumps there. The
// measured points are a little below half of the SMs, all of them, twice as many, and so on.
double in_tilings(double blocks) {
  if (blocks <= kMeasuredMultiprocessors / 4) return blocks;
  for (const double share : {0.5, 1.0})
    if (blocks <= share * kMeasuredMultiprocessors) return 0.97 * share * kMeasuredMultiprocessors;
  return 0.97 * 2 * kMeasuredMultiprocessors * std::ceil(blocks / (2 * kMeasuredMultiprocessors));
}

// Kernels that walk step by step process whole groups of this many steps.
std::int64_t whole_steps(std::int64_t T) {
  return ceil_div(T, 8) * 8;
}

Choice fastest(std::initializer_list<Choice::Time> times) {
  Choice choice{.rule = "the smallest time, by lines fitted to the measured times"};
  std::copy(times.begin(), times.end(), choice.compared.begin());
  choice.times = times.size();
  choice.kernel = std::min_element(times.begin(), times.end(),
                                   [](const Choice::Time& a, const Choice::Time& b) {
                                     return a.microseconds < b.microseconds;
                                   })
                      ->kernel;
  return choice;
}

Form form_of(const RecurrenceShape& s) {
  if (s.words == Words::kSingle) return s.bf16 ? Form::kBf16Odd : Form::kFp32Odd;
  if (!s.bf16) return Form::kFp32;
  return s.words == Words::kPieces ? Form::kBf16 : Form::kBf16Words;
}

// A block of 64 columns is half empty, which matters if there are many blocks.
bool is_small(const RecurrenceShape& s, int multiprocessors) {
  return s.K <= 32 && s.V <= 32 && s.heads > (s.K <= 16 ? 3 : 4) * multiprocessors;
}

constexpr const char* kSmallAndMany =
    "one step or two, K and V up to 32, more than 4 heads per SM (K up to 16: more than 3)";

// With one step, the state is read and written once. Chapter 06 has kernels for that.
Choice choose_for_one_step(const RecurrenceShape& s, int multiprocessors) {
  if (s.gla) return {Kernel::kTimeTiles, "GLA, one step"};
  if (s.fp16) return {Kernel::kTimeTiles, "fp16, one step"};
  // A block of a single step has 64 columns and all of K. If there are few blocks, smaller ones
  // fill the GPU.
  if (s.K > 128 && 2 * s.heads * ceil_div(s.V, 64) <= multiprocessors)
    return {Kernel::kFusedRecurrent,
            "one step, K above 128, column blocks of 64 for at most half of the SMs"};
  // If there are many, and rows are read in more words, smaller blocks hide more latency.
  if (s.K > 128 && s.words != Words::kPieces && s.heads > 2 * multiprocessors)
    return {
        Kernel::kFusedRecurrent,
        "one step, K above 128, rows that are not whole 16-byte vectors, more than 2 heads per SM"};
  if (is_small(s, multiprocessors)) return {Kernel::kSharedMem, kSmallAndMany};
  return {Kernel::kTimeTiles, "one step"};
}

}  // namespace

const char* name_of(Kernel kernel) {
  switch (kernel) {
    case Kernel::kSharedMem: return "wkv_shared_mem";
    case Kernel::kFusedRecurrent: return "wkv_fused_recurrent";
    case Kernel::kTimeTiles: return "wkv_time_tiles";
    case Kernel::kChunkwise: return "wkv_chunkwise";
    case Kernel::kChunkwiseFused: return "wkv_chunkwise_fused";
    case Kernel::kStrips: return "causal_dot_product";
    case Kernel::kPacked: return "packed_causal_product";
    case Kernel::kPrefix: return "prefix_causal_product";
    case Kernel::kChunkStates: return "linear_attention_chunk_states";
    case Kernel::kLinearChunkwise: return "linear_attention_chunkwise";
    case Kernel::kScalarTiles: return "attention_scalar_tiles";
    case Kernel::kPipelined: return "attention_pipelined";
    case Kernel::kHopper: return "attention_sm90";
    case Kernel::kSplitKeys: return "attention_split_keys";
    case Kernel::kSlidingWindow: return "attention_sliding_window";
    case Kernel::kGradientsScalar: return "attention_backward_scalar";
    case Kernel::kGradientsTwoKernels: return "attention_backward_two_kernels";
    case Kernel::kGradients: return "attention_backward";
    case Kernel::kGradientsHopper: return "attention_backward_sm90";
  }
  return "";
}

Choice explain(const RecurrenceShape& s, int multiprocessors) {
  if (s.packed) return {Kernel::kChunkwise, "packed sequences: the only kernel that accepts them"};
  if (s.K > kMostRows && (s.gla || s.fp16))
    return {Kernel::kChunkwise,
            s.K <= kMostRowsOfChunks
                ? "K above 256: the only kernel that accepts it"
                : "K above 512: no kernel accepts it, and this one reports that"};
  if (s.K > kMostRowsOfChunks)
    return {Kernel::kFusedRecurrent, "K above 512: the only kernel that accepts it"};
  if (s.K > kMostRows && s.T >= (s.bf16 ? kFewestStepsOfChunks16 : kFewestStepsOfChunks32))
    return {Kernel::kChunkwise, "K above 256, 16 steps or more (fp32: 64)"};
  if (s.K > kMostRows)
    return {Kernel::kFusedRecurrent, "K above 256, less than 16 steps (fp32: 64)"};
  if (s.T <= 1) return choose_for_one_step(s, multiprocessors);
  // No tile is shorter than eight steps.
  if (s.T == 2 && !s.gla && !s.fp16) {
    if (is_small(s, multiprocessors)) return {Kernel::kSharedMem, kSmallAndMany};
    if (s.K > 64 && s.heads > 8 * multiprocessors)
      return {Kernel::kFusedRecurrent, "two steps, K above 64, more than 8 heads per SM"};
  }

  const Form form = form_of(s);
  const int rows = width_class(s.K);
  const double steps = static_cast<double>(whole_steps(s.T));
  const double tiles = measured_blocks(s.heads * ceil_div(s.V, 64), multiprocessors);
  const double time_tiles = interpolate(Line::kTimeTiles, form, rows, in_tilings(tiles),
                                        [&](const auto& c) { return line_at(c, steps, 0); });

  // Chapter 07's tokens per chunk, columns per block, and blocks per SM.
  const int chunk = s.bf16 ? (rows <= 128 ? 64 : 32) : (rows <= 128 ? 48 : 16);
  const int columns = rows == 128 ? 128 : 64;
  const int places = rows <= 64 ? 2 : 1;  // blocks per SM
  const double room = kMeasuredMultiprocessors * places;
  const std::int64_t chunks = ceil_div(s.T, chunk);
  const bool full = s.K == rows && s.V % columns == 0;
  // Rows that are not whole 16-byte vectors are copied element by element, so every token counts.
  // Otherwise only a partial chunk costs more.
  const double extra = s.words != Words::kPieces || form == Form::kFp32Odd
                           ? static_cast<double>(s.T)
                           : static_cast<double>(full ? s.T % chunk != 0 : chunks);
  const double blocks = measured_blocks(s.heads * ceil_div(s.V, columns), multiprocessors);
  // With more than one block per SM there are whole waves. The measured points are a little below a
  // whole number.
  const double in_waves =
      blocks <= kMeasuredMultiprocessors
          ? blocks
          : 0.97 * room *
                static_cast<double>(ceil_div(static_cast<std::int64_t>(blocks + 0.5),
                                             static_cast<std::int64_t>(room)));
  const double fused = interpolate(Line::kChunkwiseFused, form, rows, in_waves, [&](const auto& c) {
    return line_at(c, static_cast<double>(chunks), extra);
  });
  const bool segments = s.T >= 4 * chunk && 2 * blocks <= kMeasuredMultiprocessors;
  double in_segments = kNever;
  if (segments) {
    const Segments longest = longest_segment(chunks, std::int64_t{multiprocessors} * places,
                                             s.heads * ceil_div(s.V, columns), s.T / (2 * chunk));
    in_segments = interpolate(Line::kSegments, form, rows, blocks, [&](const auto& c) {
      return line_at(c, longest.chunks, longest.count);
    });
  }
  Choice choice = fastest({{Kernel::kTimeTiles, time_tiles},
                           {Kernel::kChunkwiseFused, fused},
                           {Kernel::kChunkwise, in_segments}});
  if (s.fp16)
    choice.rule = "the smallest time in bf16, which has as many bytes; fp16 was not measured";
  return choice;
}

Choice explain(const LinearAttentionShape& s, int multiprocessors) {
  const bool strips = s.strips && !s.bf16;
  if (s.K > kMostRows)
    return {strips ? Kernel::kStrips : Kernel::kLinearChunkwise,
            strips ? "K above 256, plain causal product in fp32: the only kernel that accepts it"
                   : "K above 256: no kernel accepts it, and this one reports that"};
  // Chapter 06 reads fp32 only in 16-byte words.
  if (s.bf16 || s.words != Words::kPieces)
    return {Kernel::kLinearChunkwise,
            "bf16, or rows that are not whole 16-byte vectors: the only kernel that accepts them"};
  const std::int64_t strips_of_8 = s.heads * ceil_div(s.V, 8);

  const Form form = s.plain ? Form::kPlain : Form::kGeneral;
  const int rows = width_class(s.K);
  const bool one_tile = s.T <= (rows <= 64 ? 32 : 16);
  const auto walk = [&](Line line, double blocks) {
    const double steps = static_cast<double>(one_tile ? s.T : ceil_div(s.T, 32) * 32);
    return interpolate(line, form, rows, blocks,
                       [&](const auto& c) { return line_at(c, steps, one_tile && s.T > 1); });
  };
  // Faster as soon as each SM has one. The measured point is a little below twice as many.
  double blocks_of_strips = measured_blocks(strips_of_8, multiprocessors);
  if (strips_of_8 > multiprocessors)
    blocks_of_strips = std::max(blocks_of_strips, 0.97 * 2 * kMeasuredMultiprocessors);
  const double in_strips = strips && s.T <= kStripSteps
                               ? interpolate(Line::kStrips, form, rows, blocks_of_strips,
                                             [&](const auto& c) { return line_at(c, s.T, 0); })
                               : kNever;
  const double packed = walk(one_tile ? Line::kPackedShort : Line::kPacked,
                             measured_blocks(s.heads * ceil_div(s.V, 16), multiprocessors));
  // Each block has an SM of its own; with more blocks there are whole waves.
  const double in_waves =
      strips_of_8 <= multiprocessors
          ? measured_blocks(strips_of_8, multiprocessors)
          : static_cast<double>(ceil_div(strips_of_8, multiprocessors) * kMeasuredMultiprocessors);
  const double prefix = walk(one_tile ? Line::kPrefixShort : Line::kPrefix, in_waves);
  const double chunk_states = interpolate(
      Line::kChunkStates, form, rows,
      measured_blocks(s.heads * s.K * s.V / 1024.0, multiprocessors),
      [&](const auto& c) { return line_at(c, static_cast<double>(whole_steps(s.T)), 0); });
  const std::int64_t tiles = s.heads * ceil_div(s.V, 64);
  const double blocks = measured_blocks(tiles, multiprocessors);
  const std::int64_t chunks = ceil_div(s.T, rows <= 64 ? 32 : 16);
  const bool segments = chunks >= 8 && blocks <= kMeasuredMultiprocessors;
  const Segments longest =
      longest_segment(chunks, std::int64_t{2} * multiprocessors, tiles, chunks / 4);
  const double chunkwise = interpolate(
      segments ? Line::kLinearSegments : Line::kLinearChunkwise, form, rows, blocks,
      [&](const auto& c) { return line_at(c, longest.chunks, segments ? longest.count : s.T); });
  return fastest({{Kernel::kStrips, in_strips},
                  {Kernel::kPacked, packed},
                  {Kernel::kPrefix, prefix},
                  {Kernel::kChunkStates, chunk_states},
                  {Kernel::kLinearChunkwise, chunkwise}});
}

namespace {

// Up to this many rows of queries, decoding has one tile. Measured points are 1 and 4 rows below
// the limit and 512 above it, none in between.
constexpr std::int64_t kDecodedRows = 16;
constexpr std::int64_t kMostGradientsHopper = 128;  // channels

bool has_other_values(const AttentionShape& s) {
  return s.D_v != 0 && s.D_v != s.D;
}

// v has another width than q and k.
Choice explain_other_values(const AttentionShape& s) {
  const bool is_decoding = s.rows <= kDecodedRows && (!s.packed || s.one_query);
  if (s.hopper && (s.repeatable || !is_decoding))
    return {Kernel::kHopper,
            "D_v unlike D on a Hopper GPU: the kernel for many queries that accepts it (not "
            "measured)"};
  if (s.repeatable)
    return {Kernel::kSlidingWindow,
            "D_v unlike D, repeatable: no kernel accepts it here, and this one reports that"};
  return {Kernel::kSplitKeys,
          "D_v unlike D, few queries or no Hopper GPU: the only kernel that accepts it"};
}

Choice explain_gradients(const AttentionShape& s) {
  if (s.fp32) return {Kernel::kGradientsScalar, "gradients in fp32: the only kernel for them"};
  if (s.D % 8 != 0 && !has_other_values(s))
    return {Kernel::kGradientsScalar,
            "gradients, D is not a multiple of 8: the only kernel that accepts it"};
  if (s.repeatable)
    return {Kernel::kGradientsTwoKernels,
            "gradients that must be repeatable: the only kernel in 16 bits without atomics"};
  const std::int64_t columns = std::max(s.D, s.D_v);
  if (s.hopper && columns <= kMostGradientsHopper)
    return {Kernel::kGradientsHopper,
            "gradients on a Hopper GPU, D up to 128: the faster one in every record, with a window "
            "or a softcap too"};
  if (s.hopper)
    return {Kernel::kGradients,
            "gradients, D or D_v above 128: the Hopper kernel does not accept it"};
  if (s.extra || s.negative_scale || has_other_values(s))
    return {Kernel::kGradients,
            "gradients with a window, a softcap, a scale of 0 and below or D_v unlike D: the "
            "faster one without them (not measured with them)"};
  return {Kernel::kGradients, "gradients, no Hopper GPU: the faster one in every record"};
}

}  // namespace

Choice explain(const AttentionShape& s) {
  if (s.gradients) return explain_gradients(s);
  if (s.fp32) return {Kernel::kScalarTiles, "fp32: the only kernel with tiles for it"};
  if (has_other_values(s)) return explain_other_values(s);
  const bool options_on_hopper = s.hopper && s.D % 8 == 0 && s.D <= 256 &&
                                 (s.negative_scale || s.extra) && s.rows > kDecodedRows;
  if (options_on_hopper)
    return {Kernel::kHopper,
            "a window, a softcap, or a scale of 0 and below on a Hopper GPU: the faster one in "
            "both records"};
  if (s.extra)
    return {Kernel::kSlidingWindow,
            s.rows <= kDecodedRows
                ? "a window, a softcap or a scale of 0, few queries: attention_split_keys accepts "
                  "them too, but was not measured with them"
                : "a window, a softcap or a scale of 0: the only kernel that accepts it"};
  if (s.rows <= kDecodedRows && !s.repeatable && !s.packed)
    return {
        Kernel::kSplitKeys,
        "up to 16 rows of queries for a key head, which is decoding (borders not measured yet)"};
  if (s.rows <= kDecodedRows && !s.repeatable && s.one_query)
    return {Kernel::kSplitKeys,
            "packed sequences of one query in the mean, which is decoding (not measured yet)"};
  if (s.D % 8 != 0 || s.D > 256)
    return {Kernel::kSlidingWindow,
            "D is not a multiple of 8 up to 256: no kernel accepts it, and this one reports that"};
  if (s.negative_scale)
    return {Kernel::kSlidingWindow,
            "a scale below 0: the only kernel for many queries that accepts it"};
  if (!is_usual_D(s.D)) {
    if (s.hopper)
      return {Kernel::kHopper,
              "D other than 32, 64, 96, 128, 256 on a Hopper GPU: both kernels that accept it work "
              "as for the next of these, where this one is faster (not measured itself)"};
    return {Kernel::kSlidingWindow,
            "D other than 32, 64, 96, 128, 256: the only kernel for many queries that accepts it"};
  }
  if (s.hopper) return {Kernel::kHopper, "a Hopper GPU: the faster one in every record"};
  return {Kernel::kPipelined, "no Hopper GPU: the faster one in every record"};
}

namespace {

// The widest words of arrays that begin at `pointers` (null ones do not count) and have rows of K
// and V elements.
template <typename Element>
Words words_of(std::initializer_list<const void*> pointers, std::int64_t K, std::int64_t V) {
  const auto consist_of = [&](std::uintptr_t bytes) {
    return K * sizeof(Element) % bytes == 0 && V * sizeof(Element) % bytes == 0 &&
           std::all_of(pointers.begin(), pointers.end(), [&](const void* pointer) {
             return reinterpret_cast<std::uintptr_t>(pointer) % bytes == 0;
           });
  };
  if (consist_of(16)) return Words::kPieces;
  return consist_of(4 * sizeof(Element)) ? Words::kFour : Words::kSingle;
}

}  // namespace

template <typename Element, typename LogW>
RecurrenceShape shape_of(const BasicWkvArgs<Element, LogW>& args, Recurrence recurrence) {
  return {.T = args.T,
          .heads = args.B * args.H,
          .K = args.K,
          .V = args.V,
          .bf16 = sizeof(Element) == sizeof(bfloat16),
          .fp16 = std::is_same_v<Element, float16>,
          .words = words_of<Element>({args.q, args.k, args.v, args.log_w, args.o}, args.K, args.V),
          .packed = args.cu_seqlens != nullptr,
          .gla = recurrence == Recurrence::kGla};
}

template <typename Element>
LinearAttentionShape shape_of(const BasicLinearAttentionArgs<Element>& args) {
  const bool plain = args.feature_map == FeatureMap::kIdentity && !args.normalize;
  constexpr std::int64_t kMostColumns = 1024;  // threads of chapter 03's block
  return {.T = args.causal ? args.T_q : args.T_k + args.T_q,
          .heads = args.B * args.H,
          .K = args.K,
          .V = args.V,
          .bf16 = sizeof(Element) == sizeof(bfloat16),
          .words = words_of<Element>({args.q, args.k, args.v, args.o}, args.K, args.V),
          .plain = plain,
          .strips = plain && args.causal && args.T_q == args.T_k && args.key_lengths == nullptr &&
                    args.V <= kMostColumns};
}

template <typename Element>
AttentionShape shape_of(const FullAttentionArgs<Element>& args) {
  const std::int64_t group = args.H_kv > 0 ? args.H_q / args.H_kv : 1;
  const bool packed = args.cu_seqlens_q != nullptr;
  const std::int64_t of_each =
      packed ? ceil_div(args.T_q, std::max<std::int64_t>(args.sequences, 1)) : args.T_q;
  return {.rows = of_each * group,
          .D = args.D,
          .D_v = args.channels_of_v(),
          .fp32 = std::is_same_v<Element, float>,
          .packed = packed,
          .one_query = of_each <= 1,
          .negative_scale = args.scale < 0.0f,
          .extra = args.window != 0 || args.softcap != 0.0f || args.scale == 0.0f};
}

template <typename Element>
AttentionShape shape_of(const FullAttentionGradArgs<Element>& args) {
  AttentionShape shape = shape_of(args.forward);
  shape.gradients = true;
  return shape;
}

template RecurrenceShape shape_of(const WkvArgs&, Recurrence);
template RecurrenceShape shape_of(const WkvBf16Args&, Recurrence);
template RecurrenceShape shape_of(const WkvBf16Fp32DecayArgs&, Recurrence);
template RecurrenceShape shape_of(const WkvFp16Args&, Recurrence);
template LinearAttentionShape shape_of(const LinearAttentionArgs&);
template LinearAttentionShape shape_of(const LinearAttentionBf16Args&);
template AttentionShape shape_of(const AttentionArgs&);
template AttentionShape shape_of(const AttentionBf16Args&);
template AttentionShape shape_of(const AttentionFp16Args&);
template AttentionShape shape_of(const AttentionGradArgs&);
template AttentionShape shape_of(const AttentionGradBf16Args&);
template AttentionShape shape_of(const AttentionGradFp16Args&);

}  // namespace ladder::best
