#include "02_openmp/lights.hpp"
#include "common/testing/suite.hpp"

namespace {

using namespace openmp;

// 4, 8 and 16 floats at a time, as far as this machine has such registers.
std::vector<int> widths() {
  std::vector<int> bytes = {16};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) bytes.push_back(32);
  if (__builtin_cpu_supports("avx512f")) bytes.push_back(64);
#endif
  return bytes;
}

TEST(wkv_simd, Hole1IsVectorisedInEachWidth) {
  calls_of_exp("wkv_simd", {.B = 1, .T = 20, .H = 2, .K = 8, .V = 37}, /*threads=*/2);
  if (HasFailure()) return;
  std::map<int, std::set<int>> loops;
  try {
    loops = vector_loops("wkv_simd", __FILE__);
  } catch (const std::runtime_error& why) {
    ladder::testing::skip(why.what());
    return;
  }
  std::set<int> found;
  for (const auto& [line, bytes] : loops)
    found.insert(bytes.begin(), bytes.end());
  for (const int bytes : widths()) {
    if (!found.contains(bytes))
      ADD_FAILURE() << "WRONG RESULT in the compiler's report: no loop without a check for overlap "
                    << "has vectors of " << bytes << " bytes";
  }
}

// The same file in narrower vectors; 37 columns leave a remainder in each width.
TEST(wkv_simd, IsRightInEachWidth) {
  for (const char* name : {"wkv_simd_4", "wkv_simd_8"}) {
    SCOPED_TRACE(name);
    calls_of_exp(
        name,
        {.B = 2, .T = 37, .H = 3, .K = 16, .V = 37, .initial_state = true, .final_state = true},
        /*threads=*/2);
  }
}

const bool registered =
    ladder::testing::register_suite("wkv", "wkv_simd", {.refuses = {"packed sequences"}});

}  // namespace
