// What the launchers of all lessons say on a device with little shared memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <string>

#include "08_flash_attention/edge_tests.hpp"
#include "common/testing/tests.hpp"

namespace {

// The emulator as a device that has so little shared memory, while this lives.
class SharedMemory {
 public:
  explicit SharedMemory(const char* kilobytes) {
    if (const char* before = std::getenv(kName)) before_ = before;
    setenv(kName, kilobytes, 1);
  }
  ~SharedMemory() { before_.empty() ? unsetenv(kName) : setenv(kName, before_.c_str(), 1); }

 private:
  static constexpr const char* kName = "EMULATOR_SHARED_MEMORY_KB";
  std::string before_;
};

constexpr const char* kNames[] = {"attention_three_kernels",
                                  "attention_scalar_tiles",
                                  "attention_tensor_cores",
                                  "attention_swizzled",
                                  "attention_pipelined",
                                  "attention_backward_scalar",
                                  "attention_backward_two_kernels",
                                  "attention_backward",
                                  "attention_split_keys"};

// Asks each of them for the KB that it says it needs, by "name D"; one that runs gives nothing.
template <typename Pass>
void ask_all(const std::string& kilobytes, std::map<std::string, std::string>& refused) {
  for (const char* name : kNames) {
    const ladder::Implementation i = ladder::find_implementation(name);
    for (const std::int64_t D : {32, 64, 96, 128, 256}) {
      flash_attention::edges::Support support{.D = D};
      using Op = typename Pass::Op;
      using Args = typename Pass::Bf16Args;
      const auto launch = ladder::launcher<Op, Args>(i);
      if (launch == nullptr) continue;
      const auto problem =
          Pass::make(make_problem(flash_attention::edges::make_case(support, 1, 3, 5, 1, 1)));
      const ladder::OnDevice<Op, Args> on_device(ladder::device(i.device), problem);
      const std::string key = i.name + " " + std::to_string(D);
      SCOPED_TRACE(key + " with " + kilobytes + " KB");
      try {
        launch(on_device.args());
      } catch (const ladder::NotOnThisDevice& why) {
        const std::string sentence = why.what();
        const std::string begin = i.name + " needs ";
        const std::string end =
            " KB of shared memory per block; this GPU allows " + kilobytes + " KB";
        ASSERT_EQ(sentence.find(begin), 0u) << sentence;
        ASSERT_EQ(sentence.find(end), sentence.size() - end.size()) << sentence;
        refused[key] = sentence.substr(begin.size(), sentence.size() - begin.size() - end.size());
        EXPECT_GT(std::stoi(refused[key]), std::stoi(kilobytes));
        for (const auto& output : Pass::named(problem, on_device.download())) {
          EXPECT_TRUE(
              std::all_of(output.x.begin(), output.x.end(), [](float x) { return std::isnan(x); }))
              << output.name << " was written";
        }
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
    const SharedMemory limit("48");
    ask_all<flash_attention::edges::Forward>("48", refused);
    EXPECT_EQ(refused["attention_pipelined 128"], "64");
    EXPECT_EQ(refused["attention_pipelined 256"], "96");
  }
  refused.clear();
  const SharedMemory limit("99");
  ask_all<flash_attention::edges::Forward>("99", refused);
  ask_all<flash_attention::edges::Backward>("99", refused);
  EXPECT_EQ(refused.count("attention_pipelined 256"), 0u);
  const auto expect_kilobytes = [&](const std::string& name, const std::string& kilobytes) {
    EXPECT_EQ(refused[name], kilobytes) << name;
  };
  expect_kilobytes("attention_backward 32", "114");
  expect_kilobytes("attention_backward 128", "113");
  expect_kilobytes("attention_backward 256", "209");
  expect_kilobytes("attention_backward_two_kernels 128", "113");
  expect_kilobytes("attention_backward_scalar 256", "137");
  expect_kilobytes("attention_backward 96", "");
}

}  // namespace
