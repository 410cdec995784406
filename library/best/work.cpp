#include "library/best/work.hpp"

#include <algorithm>
#include <cmath>

namespace ladder::best {
namespace {

constexpr int kUsualKilobytes = 48;

int width_class(std::int64_t K) {
  return K <= 32 ? 32 : K <= 64 ? 64 : K <= 128 ? 128 : 256;
}

double parts(double a, double b) {
  return std::ceil(a / b);
}

// Of the columns fp32, 16 bits, and 16 bits with log_w in fp32.
int by_storage(const RecurrenceShape& s, const std::array<int, 3>& kilobytes) {
  return kilobytes[!s.bf16 ? 0 : s.fp32_decay ? 2 : 1];
}

// Chapter 06's tiles: few, many, crowd.
int tile_kilobytes(const RecurrenceShape& s, int rows, int variant) {
  using Row = std::array<int, 3>;
  switch (rows) {
    case 32: return kUsualKilobytes;
    case 64:
      return by_storage(s, std::array{Row{68, 55, 59}, Row{86, 70, 74}, Row{48, 48, 48}}[variant]);
    case 128: return by_storage(s, variant == 0 ? Row{128, 103, 111} : Row{73, 59, 63});
    default:
      return by_storage(
          s, std::array{Row{124, 100, 108}, Row{127, 102, 110}, Row{133, 107, 115}}[variant]);
  }
}

class Adder {
 public:
  explicit Adder(const Card& card) : card_(card), sms_(card.multiprocessors) {}

  // Blocks run in waves of as many as fit, `together` to an SM, and those of an SM share its units.
  // `units` are a block's steps or chunks.
  void operator()(Kernel kernel, Data data, int rows, int variant, int kilobytes, double together,
                  double blocks, const std::array<double, 5>& units,
                  const std::array<double, 3>& others) {
    if (kilobytes > card_.kilobytes) return;
    const auto& [a, b, c, d, e] = units;
    const double waves = parts(blocks, sms_ * together), each = parts(blocks, sms_);
    works_.all[works_.count++] = {
        kernel,
        data,
        rows,
        variant,
        kilobytes,
        {1, waves, each, waves * a, waves * b, waves * c, waves * d, waves * e, each * a, each * b,
         each * c, others[0], others[1], others[2]}};
  }
  // Millions of bytes that are read and written, on a GPU with the measured number of SMs.
  double megabytes(double bytes) const { return bytes * 1e-6 * kH200.multiprocessors / sms_; }
  const Works& works() const { return works_; }

 private:
  Card card_;
  double sms_;
  Works works_;
};

// Chapter 06's tiles, which are wider if more of the SMs have a block.
void add_time_tiles(Adder& add, const RecurrenceShape& s, double T, double sms, double MB) {
  const int rows = width_class(s.K);
  const double share = s.heads * parts(s.V, 64) / sms, single = s.words == Words::kSingle;
  const int few = share <= (rows <= 64 ? 0.5 : 0.25);
  const int crowd = rows > 32 && share > (rows == 64 ? 2 : 1);
  const int columns = few ? 16 : rows == 32 ? 32 : 64;
  const int steps = (few && rows < 256) || (!crowd && rows < 128) ? 32 : 16;
  const int batch = few && (rows == 64 || rows == 128) ? 16 : crowd && rows == 64 ? 4 : 8;
  double together = rows == 64 || (crowd && rows == 128) ? 2 : 1;
  if ((rows == 64 && crowd) || (rows == 32 && !few)) together = 6;
  if (rows == 256 && !few && !crowd) together = 0.5;
  const double blocks = s.heads * parts(s.V, columns), walked = parts(T, batch) * batch;
  const double tiles = parts(T, steps), narrow = s.K != rows;
  const int variant = 1 - few + crowd;
  add(Kernel::kTimeTiles, s.bf16 ? Data::kBf16 : Data::kFp32, rows, variant,
      tile_kilobytes(s, rows, variant), together, blocks,
      {walked, tiles, single * T * s.K / rows, narrow * walked},
      {blocks / sms * walked, single * tiles, MB});
}

// Chapter 07's chunks, and its segments of time.
void add_chunks(Adder& add, const RecurrenceShape& s, double T, double sms, double MB) {
  const int narrow_rows = width_class(s.K), rows = std::max(narrow_rows, 64);
  const Data data = s.bf16 ? Data::kBf16 : Data::kFp32;
  const int chunk = s.bf16 ? (rows <= 128 ? 64 : 32) : (rows <= 128 ? 48 : 16);
  const int columns = rows == 128 ? 128 : 64, together = rows == 64 ? 2 : 1;
  const double chunks = parts(T, chunk), blocks = s.heads * parts(s.V, columns);
  const bool full = s.K == rows && s.V % columns == 0, vectors = s.words == Words::kPieces;
  // Elements are copied singly, chunks have rows or columns that are missing, or tokens.
  const double copies = !vectors, partial = vectors && !full, share = copies * s.K / rows;
  const double rest = (copies > 0 || full) && s.T % chunk != 0, bonus = !s.gla;
  const int kilobytes = chunk_kilobytes(s);
  add(Kernel::kChunkwiseFused, data, rows, 0, kilobytes, together, blocks,
      {chunks, partial * chunks, share * T, copies * T, rest}, {bonus, 0, MB});
  if (T < 4 * chunk || 2 * blocks > sms) return;
  const double most =
      std::min(std::floor(sms * together / std::max(blocks, 1.0)), std::floor(T / (2 * chunk)));
  const double longest = parts(chunks, std::max(most, 1.0)), segments = parts(chunks, longest);
  const double tokens = longest * chunk;
  add(Kernel::kChunkwise, data, rows, 0, kilobytes, together, segments * blocks,
      {longest, partial * longest, share * tokens, copies * tokens},
      {segments, segments * blocks / sms, MB});
}

}  // namespace

int chunk_kilobytes(const RecurrenceShape& s) {
  const int rows = width_class(s.K);
  if (rows <= 64) return by_storage(s, {103, 74, 90});
  return by_storage(s, rows == 128 ? std::array{206, 147, 179} : std::array{118, 131, 163});
}

Works works_of(const RecurrenceShape& s, const Card& card) {
  if (s.packed || s.K > 256) return {};
  Adder add(card);
  const double T = std::max(1.0, static_cast<double>(s.T)), sms = card.multiprocessors;
  const double heads = static_cast<double>(s.heads), K = static_cast<double>(s.K);
  const double V = static_cast<double>(s.V), single = s.words == Words::kSingle;
  const double state = T <= 1 ? 8 * heads * K * V : 0;
  const double MB = add.megabytes(T * heads * (3 * K + 2 * V) * (s.bf16 ? 2 : 4) + state);
  // Rows of the state that begin within a sector of 32 bytes, where the state exceeds the L2 cache.
  const double uneven = s.V % 8 != 0, uneven_MB = uneven * std::max(0.0, MB - 40);
  if (T > 1) {
    add_time_tiles(add, s, T, sms, MB);
  } else {
    add(Kernel::kTimeTiles, Data::kAny, s.K <= 64 ? width_class(s.K) : 256, 3, kUsualKilobytes, 4,
        heads * parts(V, 64), {parts(K, 64), single, uneven}, {K / 64, uneven_MB, MB});
  }
  add_chunks(add, s, T, sms, MB);
  if (T > 2 || s.gla || s.fp16) return add.works();
  const double tiles = heads * parts(V, 32) * parts(K, 32);
  if (s.K > 64) {
    add(Kernel::kFusedRecurrent, Data::kAny, 256, 0, kUsualKilobytes, 16, tiles, {T, uneven},
        {tiles / sms, uneven_MB, MB});
  }
  if (s.K <= 32 && s.V <= 32) {
    add(Kernel::kSharedMem, Data::kAny, 32, 0, kUsualKilobytes, 16, heads, {T, K / 32, single},
        {heads / sms, uneven_MB, MB});
  }
  return add.works();
}

Works works_of(const LinearAttentionShape& s, const Card& card) {
  if (s.K > 256 || s.bf16 || s.words != Words::kPieces) return {};
  Adder add(card);
  const double T = std::max(1.0, static_cast<double>(s.T)), sms = card.multiprocessors;
  const double heads = static_cast<double>(s.heads), K = static_cast<double>(s.K);
  const double V = static_cast<double>(s.V), general = !s.plain,
               MB = add.megabytes(4 * T * heads * (3 * K + 2 * V));
  const int rows = width_class(s.K);
  const Data data = s.plain ? Data::kPlain : Data::kGeneral;

  if (s.strips && T <= 2) {
    // Outputs of less than 6 KB are set to zero more slowly.
    const double outputs = T * heads * V / 1024, small = outputs < 1.5;
    add(Kernel::kStrips, data, 256, 0, kUsualKilobytes, 32, heads * parts(K, 8),
        {T, V / 32, T * V / 32}, {small, small * outputs, MB});
  }

  const bool narrow = heads * parts(V, 16) <= sms * (s.K <= 64 ? 4 : 2), low = rows <= 64;
  // The plain product with K from 33 to 48 and many heads was not measured.
  const int cut = !narrow && !s.plain && s.K > 32 && s.K <= 48 ? 48 : rows;
  const int columns = narrow ? 16 : rows == 32 ? 32 : 64;
  const int steps = low || (rows == 128 && narrow) ? 32 : 16;
  const int of_packed = cut <= 48    ? kUsualKilobytes
                        : cut == 64  ? (narrow ? 48 : 49)
                        : cut == 128 ? (narrow ? 69 : 48)
                                     : (narrow ? 67 : 73);
  add(Kernel::kPacked, data, cut, narrow, of_packed,
      low                      ? 4
      : rows == 128 && !narrow ? 3
                               : 2,
      heads * parts(V, columns), {parts(T, steps), parts(T, narrow ? 16 : 8), T}, {0, 0, MB});

  // Eight warps, or four if these have all steps.
  const int of_warp = low ? 8 : 4, warps = T <= 4 * of_warp ? 4 : 8;
  const double walks = parts(T, warps * of_warp), more = T > 1;
  const double once = warps == 4 ? T > 1 : T <= 8 * of_warp;
  const int of_sums = rows == 256 && warps == 8 ? (s.plain ? 64 : 72) : kUsualKilobytes;
  add(Kernel::kPrefix, rows == 256 ? Data::kAny : data, rows, warps, of_sums,
      warps == 8    ? 1
      : rows == 128 ? 3
                    : 2,
      heads * parts(V, 8), {walks, once, T, general * walks, general * T}, {general * more, 0, MB});

  // The sums of chunks, which a scan reads, so that all chunks have blocks.
  const double sums = parts(T, 16), sum_blocks = heads * sums * parts(V, s.plain ? 32 : 31);
  add(Kernel::kChunkStates, data, 256, 0, kUsualKilobytes, 6, sum_blocks,
      {K / 32, sums * K / 32 / std::max(1.0, sum_blocks / sms), K / 32 * K / 32},
      {sums, K / 32, MB});

  const double blocks = heads * parts(V, 64), stages = parts(T, low ? 32 : 16);
  const double most = std::min(std::floor(2 * sms / std::max(blocks, 1.0)), std::floor(stages / 4));
  const double longest = parts(stages, std::max(most, 1.0)), segments = parts(stages, longest);
  const double whole = segments <= 1;
  const int of_chunks = rows == 256 ? 81 : rows == 128 ? 69 : 65;
  add(Kernel::kLinearChunkwise, data, std::max(rows, 64), segments > 1, of_chunks, 2,
      segments * blocks, {longest, whole * T}, {segments, stages, MB});
  return add.works();
}

}  // namespace ladder::best
