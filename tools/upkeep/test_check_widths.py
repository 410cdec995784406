"""Tests of check_widths.py: it finds products that are widened too late, and ignores small ones."""
import check_widths
from for_tests import InAFolder

BEGIN = """#include <cstdint>
struct Args { const float* q; float* o; std::int64_t B, T, H, K; };
constexpr int kHeadSize = 64, kRows = 8;
struct { unsigned x; } blockIdx;
void kernel(const Args args, int b, int t, int h, int lane, float* x_smem) {
"""


class Widths(InAFolder):
    def faults(self, line):
        self.write({"k.cpp": BEGIN + line + "\n}\n"})
        return list(check_widths.faults_in(str(self.root / "k.cpp"), self.root).values())

    def test_offsets_that_are_widened_too_late(self):
        for line in ("const int token = (b * args.T + t) * args.H + h;  args.o[0] = args.q[token];",
                     "const int token = b * t + h;  args.o[0] = *(args.q + token * kHeadSize);",
                     "const std::int64_t first = b * t;  args.o[0] = args.q[first];",
                     "const unsigned row = args.T * b;  args.o[row] = 0;",
                     "const std::int64_t first = b * t + h;  args.o[first] = 0;",
                     "const float* q = args.q + args.B + b * (t + h);  args.o[0] = *q;",
                     "args.o[0] = *(reinterpret_cast<const float*>(args.q) + b * t + h);",
                     "const int count = static_cast<int>(args.B * args.T * args.H);  args.o[count] = 0;",
                     "const std::int64_t first = static_cast<int>(args.B * args.T + t) * kHeadSize + h;  args.o[first] = 0;",
                     "float* state = args.o;  args.o[0] = *(state + static_cast<int>(args.B * args.T + t) * kHeadSize);",
                     "float* part = args.o;  args.o[0] = *(part + blockIdx.x * static_cast<unsigned>(args.B * args.T * args.H));",
                     "const std::int64_t first = (b << t) + (t & 15);  args.o[first] = 0;",
                     "const auto first_of = [&](int n) { return static_cast<int>(args.T) + n; };  args.o[0] = *(args.q + first_of(t));",
                     "const Args& work = args;  const int first = b * t;  work.o[first * kHeadSize] = 0;",
                     "const std::int64_t channel = blockIdx.x * kHeadSize + lane;  args.o[channel] = 0;"):
            with self.subTest(line):
                self.assertEqual(len(self.faults(line)), 1)

    def test_what_a_template_becomes(self):
        self.write({"k.cpp": "template <class E> struct Of { const E* q; long K; };\n"
                             "template <class E> const E* row(const Of<E>& args, int n) { const int K = args.K; return args.q + n * K; }\n"
                             "const float* use(const Of<float>& args, int n) { return row(args, n); }\n"})
        self.assertEqual(list(check_widths.faults_in(str(self.root / "k.cpp"), self.root)), [(str(self.root / "k.cpp"), 2)])

    def test_right_ones(self):
        for line in ("const std::int64_t token = (b * args.T + t) * args.H + h;  args.o[0] = args.q[token * kHeadSize];",
                     "const std::int64_t first = std::int64_t{b} * t;  args.o[0] = args.q[first];",
                     "x_smem[0] = *(x_smem + t * kHeadSize);", "x_smem[t * h + b] = 0;",
                     "const std::int64_t row = t * kRows + h;  args.o[row] = 0;", "args.o[0] = *(args.q + lane * kRows);",
                     "const int stride = static_cast<int>(args.H * args.K);  args.o[stride] = 0;",
                     "const auto first_of = [&](int n) { return args.T + n; };  args.o[0] = *(args.q + first_of(t));",
                     "const auto place = [&](int n) { return 8 * n; };  x_smem[place(t)] = 0;",
                     "const int K = args.K;  args.o[0] = args.q[K];", "const std::int64_t step = args.T + t * kRows;  args.o[step] = 0;",
                     "const std::int64_t most = b * (args.K <= 64 ? 4 : 2);  args.o[most] = 0;",
                     "const std::int64_t first = std::int64_t{b} << t;  args.o[first] = 0;",
                     "const std::int64_t first = 1 << t;  args.o[first] = 0;",
                     "const std::int64_t rows = static_cast<int>(args.K) * kRows;  args.o[rows] = 0;",
                     "const std::int64_t bytes = kRows * (t + (b > 1 ? 1 : 0)) * kHeadSize;  args.o[bytes] = 0;"):
            with self.subTest(line):
                self.assertEqual(self.faults(line), [])
