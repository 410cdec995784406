// The errors of all lessons' launchers on a device with little shared memory.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "common/emulator/include/emulator/smaller_device.hpp"
#include "common/operators/attention/operator.hpp"
#include "common/testing/tests.hpp"

namespace {

constexpr const char* kNames[] = {"attention_three_kernels",
                                  "attention_scalar_tiles",
                                  "attention_plain_loads",
                                  "attention_matrix_loads",
                                  "attention_tensor_cores",
                                  "attention_swizzled",
                                  "attention_async_copies",
                                  "attention_pipelined",
                                  "attention_sliding_window",
                                  "attention_backward_scalar",
                                  "attention_backward_two_kernels",
                                  "attention_backward",
                                  "attention_split_keys"};

// Collects the KB that each kernel reports as needed, by "name D". Kernels that run are left out.
template <typename Op>
void ask_all(const std::string& kilobytes, std::map<std::string, std::string>& refused) {
  for (const char* name : kNames) {
    const ladder::Implementation i = ladder::find_implementation(name);
    for (const std::int64_t D : {32, 64, 96, 128, 256}) {
      ladder::AttentionCase c{.B = 1, .T_q = 3, .T_k = 5, .H_q = 1, .H_kv = 1, .D = D};
      c.precision = ladder::Precision::kBf16;
      const auto problem = ladder::as_case<Op>(c)->make();
      const auto on_device = problem->place(ladder::device(i.device), i);
      if (on_device == nullptr) continue;
      const std::string key = i.name + " " + std::to_string(D);
      SCOPED_TRACE(key + " with " + kilobytes + " KB");
      try {
        on_device->call();
      } catch (const ladder::NotOnThisDevice& why) {
        const std::string sentence = why.what();
        const std::string begin = i.name + " needs ";
        const std::string end =
            " KB of shared memory per block; this GPU allows " + kilobytes + " KB";
        ASSERT_EQ(sentence.find(begin), 0u) << sentence;
        ASSERT_EQ(sentence.find(end), sentence.size() - end.size()) << sentence;
        refused[key] = sentence.substr(begin.size(), sentence.size() - begin.size() - end.size());
        EXPECT_GT(std::stoi(refused[key]), std::stoi(kilobytes));
        EXPECT_TRUE(on_device->is_untouched()) << "something was written";
      } catch (const std::invalid_argument&) {
        // another D
      }
    }
  }
}

TEST(SharedMemory, IsAskedOfTheDeviceBeforeAnythingIsLaunched) {
  const ladder::Implementation implementation = ladder::find_implementation("attention_pipelined");
  if (ladder::testing::device_is_missing(implementation)) return;
  if (ladder::device(implementation.device).back_end() != "emulator")
    return ladder::testing::skip("only the emulator can be a device with less shared memory");
  std::map<std::string, std::string> refused;
  {
    const emulator::SmallerDevice limit(emulator::SmallerDevice::kSharedMemoryKb, "48");
    ask_all<ladder::Attention>("48", refused);
    EXPECT_EQ(refused["attention_plain_loads 64"], "80");
    EXPECT_EQ(refused["attention_matrix_loads 128"], "80");
    EXPECT_EQ(refused["attention_pipelined 128"], "64");
    EXPECT_EQ(refused["attention_pipelined 256"], "96");
    ask_all<ladder::AttentionBackward>("48", refused);
    EXPECT_EQ(refused["attention_backward 32"], "65");
    EXPECT_EQ(refused["attention_backward 64"], "97");
    EXPECT_EQ(refused["attention_backward 96"], "89");
    EXPECT_EQ(refused["attention_backward 128"], "73");
    EXPECT_EQ(refused["attention_backward 256"], "99");
    EXPECT_EQ(refused["attention_backward_two_kernels 128"], "73");
  }
  refused.clear();
  const emulator::SmallerDevice limit(emulator::SmallerDevice::kSharedMemoryKb, "99");
  ask_all<ladder::Attention>("99", refused);
  ask_all<ladder::AttentionBackward>("99", refused);
  EXPECT_EQ(refused.count("attention_pipelined 256"), 0u);
  for (const char* name :
       {"attention_sliding_window ", "attention_backward ", "attention_backward_two_kernels "}) {
    for (const char* D : {"32", "64", "96", "128", "256"})
      EXPECT_EQ(refused.count(name + std::string(D)), 0u) << name << D;
  }
  const auto expect_kilobytes = [&](const std::string& name, const std::string& kilobytes) {
    EXPECT_EQ(refused[name], kilobytes) << name;
  };
  expect_kilobytes("attention_backward_scalar 256", "137");
}

}  // namespace
