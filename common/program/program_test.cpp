// The ladder measures only what it has checked, and validates its input.
#include <gtest/gtest.h>
#include <signal.h>

#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <thread>

#include "common/operators/wkv/operator.hpp"
#include "common/program/build.hpp"
#include "common/program/climb.hpp"
#include "common/program/command_line.hpp"
#include "common/program/estimate.hpp"
#include "common/program/npy.hpp"
#include "common/program/timing.hpp"
#include "common/testing/tests.hpp"

namespace ladder::program {
namespace {

using Shapes = SelectionOptions::Shapes;
using Texts = std::vector<std::string>;
using testing::expect_refused;

// ---- Implementations to climb ----

// One step, no decay, one head, so o = scale * sum_j q u k v
void right_wkv(const WkvArgs& a) {
  for (std::int64_t i = 0; i < a.V; ++i) {
    float sum = 0;
    for (std::int64_t j = 0; j < a.K; ++j)
      sum += a.q[j] * a.u[j] * a.k[j] * a.v[i];
    a.o[i] = a.scale * sum;
  }
}

void wrong_wkv(const WkvArgs& a) {
  std::fill_n(a.o, a.B * a.T * a.H * a.V, 1.0f);
}

void picky_wkv(const WkvArgs&) {
  throw std::invalid_argument("K is 4; allowed: 5");
}

void failing_gla(const WkvArgs&) {
  throw std::runtime_error("the launch failed");
}

void nothing(const WkvArgs&) {}

// One step of one head without a state, so o = scale * (q . k) v
void right_gradients(const WkvGradArgs& args) {
  const WkvArgs& a = args.forward;
  float score = 0, d_score = 0;
  for (std::int64_t j = 0; j < a.K; ++j)
    score += a.q[j] * a.k[j];
  for (std::int64_t i = 0; i < a.V; ++i) {
    d_score += a.v[i] * args.d_o[i];
    args.dv[i] = a.scale * score * args.d_o[i];
  }
  for (std::int64_t j = 0; j < a.K; ++j) {
    args.dq[j] = a.scale * d_score * a.k[j];
    args.dk[j] = a.scale * d_score * a.q[j];
    args.d_log_w[j] = 0;
  }
}

std::atomic<int> counted_calls{0};
std::atomic<double> seconds_per_step{0};

void counted_gla(const WkvArgs& a) {
  ++counted_calls;
  std::this_thread::sleep_for(
      std::chrono::duration<double>(seconds_per_step * static_cast<double>(a.B * a.T * a.H)));
  for (std::int64_t b = 0; b < a.B; ++b) {
    for (std::int64_t h = 0; h < a.H; ++h) {
      std::vector<double> state(a.K * a.V);
      for (std::int64_t t = 0; t < a.T; ++t) {
        const std::int64_t row = (b * a.T + t) * a.H + h;
        for (std::int64_t i = 0; i < a.V; ++i) {
          double sum = 0;
          for (std::int64_t j = 0; j < a.K; ++j) {
            double& s = state[j * a.V + i];
            s = s * std::exp(double{a.log_w[row * a.K + j]}) +
                double{a.k[row * a.K + j]} * a.v[row * a.V + i];
            sum += a.q[row * a.K + j] * s;
          }
          a.o[row * a.V + i] = static_cast<float>(a.scale * sum);
        }
      }
    }
  }
}

constexpr DeviceKind kCuda = DeviceKind::kCuda;

Registration rung(const char* file, const char* name, const Launchers& launchers,
                  DeviceKind device = DeviceKind::kCpu, int step = 0) {
  return Registration(
      {.name = name, .step = step, .device = device, .rung = true, .launchers = launchers}, file);
}

const Implementation kFirst{.name = "test_first", .step = 1, .launchers = launchers<Wkv>(nothing)};
const Implementation kSecond{.name = "test_second", .step = 2, .launchers = kFirst.launchers};
const Implementation kCopied{.name = "test_copied"}, kCopiedFirst{.name = "test_copied_first"};
const Registration registrations[] = {
    rung("91_right/kernel.cpp", "test_right", launchers<Wkv>(right_wkv)),
    rung("92_wrong/kernel.cpp", "test_wrong", launchers<Wkv>(wrong_wkv)),
    rung("93_picky/kernel.cpp", "test_picky", launchers<Wkv>(picky_wkv)),
    rung("94_gpu/kernel.cpp", "test_gpu", launchers<Wkv>(nothing), kCuda),
    rung("95_gradients/kernel.cpp", "test_gradients", launchers<GlaBackward>(right_gradients)),
    // Registered in reverse order.
    Registration(kSecond, "96_steps/kernel.cpp"),
    Registration(kFirst, "96_steps/kernel.cpp"),
    rung("97_counted/kernel.cpp", "test_counted", launchers<Gla>(counted_gla), kCuda),
    rung("97_counted/kernel.cpp", "test_failing", launchers<Gla>(failing_gla), kCuda, -1),
    // A learner's copy of an exercise beside ours, registered after it and before it.
    Registration(kCopied, "/r/98_copied/kernel.cu"),
    Registration(kCopied, "/r/my/98_copied/exercise.cu"),
    Registration(kCopiedFirst, "/r/my/98_copied/exercise.cu"),
    Registration(kCopiedFirst, "/r/98_copied/kernel.cu"),
};
const AbsentRegistration absent_registration{{.name = "test_absent",
                                              .source = "97_counted/x_sm90.cu",
                                              .step = 1,
                                              .rung = true,
                                              .needs = "a GPU nobody has",
                                              .launchers = {"gla", "attention_bf16"}}};

// The CPU under the name of an emulator.
class PretendedEmulator : public Device {
 public:
  std::string name() const override { return "pretended"; }
  std::string back_end() const override { return "emulator"; }
  void* allocate(std::size_t bytes) override { return cpu_.allocate(bytes); }
  void release(void* pointer) override { cpu_.release(pointer); }
  void upload(void* to, const void* from, std::size_t bytes) override {
    cpu_.upload(to, from, bytes);
  }
  void download(void* to, const void* from, std::size_t bytes) override {
    cpu_.download(to, from, bytes);
  }
  void synchronize() override {}
  double time(const std::function<void()>& work) override { return cpu_.time(work); }
  Ceilings measure_ceilings() override { return {}; }
  std::size_t cache_bytes() const override { return 0; }

 private:
  Device& cpu_ = device(DeviceKind::kCpu);
};
const DeviceRegistration pretended{kCuda, [] { return std::make_unique<PretendedEmulator>(); }};

const Shape kTiny{{"B", 1}, {"T", 1}, {"H", 1}, {"K", 4}, {"V", 4}};

Climb climbed(const Selection& selection, double patience_seconds = kPatienceSeconds) {
  return climb(
      selection, [](const std::string&) {}, patience_seconds);
}

Climb climb_tiny(const Texts& chapters) {
  return climbed({.op = "wkv", .shape = kTiny, .chapters = chapters});
}

Climb climb_gla(const Texts& names, const Shape& shape = kTiny,
                double patience_seconds = kPatienceSeconds) {
  return climbed({.op = "gla", .shape = shape, .names = names}, patience_seconds);
}

Climb emulated_tiny() {
  return climb_gla({"test_counted"});
}

void expect_says(const std::string& text, const Texts& words) {
  for (const std::string& each : words)
    EXPECT_NE(text.find(each), std::string::npos) << "no '" << each << "' in: " << text;
}

void expect_once(const std::string& text, const std::string& words) {
  expect_says(text, {words});
  EXPECT_EQ(text.find(words), text.rfind(words)) << text;
}

// A temporary folder, removed after the test.
class Folder {
 public:
  Folder() {
    std::string name = ::testing::TempDir() + "ladder_XXXXXX";
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = name;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string path() const { return path_.string(); }
  void write(const std::string& name, const std::string& contents) const {
    std::ofstream(path_ / name) << contents;
  }

 private:
  std::filesystem::path path_;
};

// ---- Command line ----

Shape parsed(const std::string& text, const char* op = "wkv") {
  return parse_shape(text, find_operator(op), find_operator(op).shape());
}

TEST(Shape, ReadsNamesAndSizes) {
  EXPECT_EQ(parsed("profile"), (Shape{{"B", 1}, {"T", 54}, {"H", 32}, {"K", 64}, {"V", 64}}));
  EXPECT_EQ(parsed("T=7,V=100"), (Shape{{"B", 1}, {"T", 7}, {"H", 32}, {"K", 64}, {"V", 100}}));
}

TEST(Shape, TakesWhatIsLeftOutFromTheBase) {
  const Shape base{{"B", 1}, {"T", 16}, {"H", 2}, {"K", 64}, {"V", 64}};
  EXPECT_EQ(parse_shape("K=128,V=128", find_operator("wkv"), base),
            (Shape{{"B", 1}, {"T", 16}, {"H", 2}, {"K", 128}, {"V", 128}}));
  EXPECT_EQ(parse_shape("profile", find_operator("wkv"), base), parsed("profile"));
}

TEST(Shape, KnowsAttentionsSizes) {
  const Shape decode = parsed("B=8,T=300,T_q=1,H=32,H_kv=8,D=128", "attention");
  EXPECT_EQ(to_string(decode), "B=8, T=300, H=32, K=128, V=128, T_q=1, H_kv=8");
  EXPECT_EQ(to_json(decode).at("H_kv"), 8);
  for (const char* text : {"D=192,D_v=128", "D_v=128,D=192", "K=192,V=128"}) {
    EXPECT_EQ(parsed(text, "attention")["K"], 192) << text;
    EXPECT_EQ(parsed(text, "attention")["V"], 128) << text;
  }
  EXPECT_FALSE(to_json(kTiny).contains("H_kv"));
}

TEST(Shape, RefusesWhatIsNoPositiveNumber) {
  for (const char* text : {"T=0", "T=-3", "T=", "T=1e3", "T=4x", "B=99999999999999999999", "Q=3",
                           "T", "", "rwkv7", ",", "B=2147483648,T=2147483648", "K=64,T=3,K=32"}) {
    SCOPED_TRACE(text);
    expect_refused("allowed", [&] { parsed(text); });
  }
}

// A program's parsed arguments.
struct Parsed {
  explicit Parsed(const std::string& arguments, Shapes shapes) : options(app, shapes) {
    app.parse(arguments);
  }
  CLI::App app;
  SelectionOptions options;
};

Selection selected(const std::string& arguments, Shapes shapes = Shapes::kUsual) {
  return Parsed(arguments, shapes).options.selection();
}

TEST(CommandLine, TakesWhatIsLeftOutOfAShapeFromTheProgramsDefault) {
  EXPECT_EQ(selected("--shape K=128,V=128", Shapes::kSmall).shape,
            (Shape{{"B", 1}, {"T", 16}, {"H", 2}, {"K", 128}, {"V", 128}}));
  EXPECT_EQ(selected("--operator attention").shape, parsed("attention", "attention"));
  EXPECT_EQ(selected("--operator attention --shape T=1000").shape["T"], 1000);
  EXPECT_EQ(selected("--operator attention --shape T=1000").shape["K"], 128);
}

TEST(CommandLine, SaysEveryOption) {
  const Selection packed = selected("--options reverse,decay=strong,lengths=5+0+17,scale=0.5");
  EXPECT_EQ(packed.shape["B"], 1);
  EXPECT_EQ(packed.shape["T"], 22);
  EXPECT_EQ(options_text(case_of(packed)->options()),
            "lengths=5+0+17,decay=strong,reverse=true,scale=0.5");
  const Selection attention =
      selected("--operator attention_backward --causal --options lengths=5x7+3x9");
  EXPECT_EQ(attention.shape["T"], 16);
  EXPECT_EQ(attention.shape["T_q"], 8);
  EXPECT_EQ(options_text(case_of(attention)->options()), "lengths=5x7+3x9,causal=true");
  for (const char* wrong :
       {"--options reverse=maybe", "--options decay=some", "--options lengths=5+x",
        "--options lengths=5+-1", "--options key_lengths", "--options =3", "--options scale=",
        "--operator attention --options lengths=5", "--operator linear_attention --states",
        "--options reverse,reverse=false", "--shape B=2 --options lengths=5+17"}) {
    SCOPED_TRACE(wrong);
    expect_refused("allowed", [&] { selected(wrong); });
  }
  EXPECT_EQ(selected("--shape B=1,T=22 --options lengths=5+17").shape["T"], 22);
  expect_refused("K is given twice; allowed: once", [] { parsed("K=64,K=32"); });
  expect_refused("--shape says B=2, --options settles B=1; allowed: that, or --shape without B",
                 [] { selected("--shape B=2 --options lengths=5+17"); });
}

TEST(CommandLine, ClimbsItsLaddersUnlessOneIsAskedFor) {
  const auto selections = [](const std::string& arguments,
                             const std::vector<OperatorIn>& ladders = {
                                 {"gla", "fp32"}, {"gla", "bf16"}, {"attention", "bf16"}}) {
    return Parsed(arguments, Shapes::kSmall).options.selections(ladders);
  };
  const auto only = selections("97");  // a chapter of the tests, in fp32 only
  ASSERT_EQ(only.size(), 1u);
  EXPECT_EQ(only[0].op, "gla");
  EXPECT_EQ(only[0].precision, "fp32");
  EXPECT_EQ(only[0].chapters.front(), "91_right");  // for comparison
  EXPECT_EQ(only[0].chapters.back(), "97_counted");
  EXPECT_EQ(selections("96 97")[0].chapters, (Texts{"96", "97"}));
  EXPECT_EQ(up_to({"97.02"}), Texts{"97.02"});
  EXPECT_EQ(up_to({}), Texts{});
  EXPECT_THROW(selections("--causal"), std::invalid_argument);  // wkv has no such option
  for (const char* asked : {"--operator gla", "--precision bf16", "--shape T=8", "--states",
                            "--implementation test_counted"}) {
    ASSERT_EQ(selections(asked).size(), 1u) << asked;
    EXPECT_EQ(selections(asked)[0].op, asked == std::string("--operator gla") ? "gla" : "wkv");
  }
  EXPECT_EQ(selections("77").size(), 1u);  // no such chapter, reported by the climb
  const auto own = selections("97", {{"attention", "bf16"}});  // the operator that it computes
  ASSERT_EQ(own.size(), 1u);
  EXPECT_EQ(own[0].op, "gla");
  EXPECT_EQ(own[0].chapters, Texts{"97"});
  EXPECT_EQ(selections("97 --shape T=8")[0].op, "gla");
  const auto two = selections("97 --shape T=8 --shape T=9,K=32");
  ASSERT_EQ(two.size(), 2u);
  EXPECT_EQ(two[0].shape["T"], 8);
  EXPECT_EQ(two[1].shape["T"], 9);
  EXPECT_EQ(two[1].shape["K"], 32);
  EXPECT_THROW(selected("--shape T=8 --shape T=9"), std::invalid_argument);
  EXPECT_THROW(selections("97 --operator wkv --shape N=8"), std::invalid_argument);
}

TEST(CommandLine, KnowsTheCompilerBetterThanItsCaller) {
  const auto conditions = Parsed("--condition compiler guess --condition driver 7", Shapes::kSmall)
                              .options.conditions();
  EXPECT_EQ(conditions.at("compiler"), compiler());
  EXPECT_EQ(conditions.at("driver"), "7");
  EXPECT_EQ(conditions.count("commit"), 1u);
}

TEST(Progress, IsALineForEachKernelWhereNobodyLooks) {
  EXPECT_EQ(progress_text("3 of 8: checking x", false), "3 of 8: checking x\n");
  EXPECT_EQ(progress_text("", false), "");
  EXPECT_EQ(progress_text("x", true), "\r\033[Kx");
}

// Real options of every operator must be finite, because other numbers make no result.
TEST(CommandLine, RefusesNumbersThatMakeNoResult) {
  for (const char* bad : {"nan", "inf", "-inf", "1e999", "-nan"}) {
    for (const auto& op : operators()) {
      const std::unique_ptr<Case> usual = op->make_case(op->shape(), {}, op->storages().front());
      for (const char* option : {"scale", "magnitude", "eps", "fixed_log_w"}) {
        if ((", " + op->options() + ",").find(std::string(" ") + option + ",") == std::string::npos)
          continue;
        SCOPED_TRACE(op->name + " " + option + "=" + bad);
        expect_refused(std::string("option ") + option + " is '" + bad + "'; allowed for ", [&] {
          op->make_case(op->shape(), {{option, bad}}, op->storages().front());
        });
      }
    }
  }
  for (const char* beyond :
       {"--options magnitude=-1", "--options magnitude=1e9", "--options fixed_log_w=0.5",
        "--operator linear_attention --options eps=-1"}) {
    SCOPED_TRACE(beyond);
    expect_refused("allowed for ", [&] { selected(beyond); });
  }
  expect_refused("option eps is '-1'; allowed for linear_attention: a finite number, 0 or more",
                 [] { selected("--operator linear_attention --options eps=-1"); });
  EXPECT_EQ(selected("--options scale=-2,magnitude=0").options.size(), 2u);
}

// Given options are used. 0 is a valid scale, and a number without effect is rejected.
TEST(CommandLine, CountsEachOptionThatIsGiven) {
  const auto scaled = case_of(selected("--shape B=1,T=8 --options scale=0 --operator attention"));
  EXPECT_NE(scaled->make()->name().find("_scaled_by_0"), std::string::npos);
  expect_refused("option eps is given, which counts with normalize alone; allowed: both",
                 [] { selected("--operator linear_attention --options normalize=false,eps=1"); });
  expect_refused("option fixed_log_w is given, which counts with decay=fixed alone; allowed: both",
                 [] { selected("--options fixed_log_w=-1"); });
  expect_refused("--shape is 'T=8,N=8', and there is no size N; allowed for wkv: ",
                 [] { selected("--shape T=8,N=8"); });
  EXPECT_EQ(selected("--operator attention --shape T_q=1", Shapes::kSmall).shape["T_q"], 1);
}

// The right result is finite in float64 but exceeds the storage.
TEST(CommandLine, RefusesAProblemWhoseRightResultCannotBeStored) {
  const Climb climb = climbed({.op = "wkv",
                               .shape = kTiny,
                               .names = {"test_right"},
                               .options = {{"scale", "1e30"}, {"magnitude", "1e8"}}});
  EXPECT_FALSE(climb.rows[0].ran);
  expect_says(climb.rows[0].message,
              {"the right result of o(", "which cannot be stored; allowed: "});
}

// Only names are offered whose sizes the operator has.
TEST(Shape, OffersNoNameThatItRefuses) {
  for (const auto& op : operators()) {
    try {
      parsed("rwkv7", op->name.c_str());
      ADD_FAILURE() << op->name << " took rwkv7";
    } catch (const std::invalid_argument& error) {
      std::istringstream lines(error.what());
      std::string line;
      std::getline(lines, line);
      while (std::getline(lines, line)) {
        std::istringstream words(line);
        std::string name;
        words >> name;
        EXPECT_NO_THROW(parsed(name, op->name.c_str())) << op->name << ": " << name;
      }
    }
  }
}

TEST(Selection, SaysWhatTheChosenOneComputes) {
  expect_refused(
      "no implementation in any chapter called test_right computes attention in fp32; "
      "allowed: another --operator (wkv) or --precision, or another --implementation",
      [] { chosen({.op = "attention", .names = {"test_right"}}); });
}

TEST(Selection, SaysWhichChaptersCompute) {
  expect_refused("allowed: 94_gpu, ",
                 [] { chosen({.op = "wkv", .chapters = {"91_right/"}, .cuda_only = true}); });
  expect_refused("another --operator (gla_backward)",
                 [] { chosen({.op = "wkv", .chapters = {"95"}}); });
}

TEST(Selection, CountsWhatIsStored) {
  const auto bytes = [](const char* op, const std::string& precision) {
    const Shape shape{{"B", 2}, {"T", 3}, {"H", 5}, {"K", 4}, {"V", 4}};
    return case_of({.op = op, .shape = shape, .precision = precision})->cost().bytes;
  };
  const double tensor = 2 * 3 * 5 * 4, u = 5 * 4;
  EXPECT_EQ(bytes("wkv", "fp32"), 4 * (5 * tensor + u));
  EXPECT_EQ(bytes("gla", "bf16"), 2 * 5 * tensor);
  EXPECT_EQ(bytes("gla", "bf16_fp32_decay"), 2 * 4 * tensor + 4 * tensor);
  EXPECT_EQ(bytes("wkv_backward", "bf16"), 2 * (9 * tensor + u) + 4 * u);
  EXPECT_EQ(bytes("causal_dot_product", "bf16"), 2 * 4 * tensor);
}

TEST(Selection, CountsAttention) {
  Selection selection{
      .op = "attention",
      .shape = {{"B", 2}, {"T", 30}, {"H", 6}, {"K", 4}, {"V", 4}, {"T_q", 3}, {"H_kv", 2}},
      .precision = "fp16"};
  const double queries = 2 * 3 * 6 * 4, keys = 2 * 30 * 2 * 4, lse = 2 * 3 * 6;
  const double pairs = 2 * 6 * 3 * 30;
  EXPECT_EQ(case_of(selection)->cost().fma_count, 2 * pairs * 4);
  EXPECT_EQ(case_of(selection)->cost().bytes, 2 * 2 * (queries + keys) + 4 * lse);
  selection.causal = true;
  EXPECT_EQ(case_of(selection)->cost().fma_count, pairs * 4);
  selection.op = "attention_backward";
  EXPECT_EQ(case_of(selection)->cost().fma_count, 2.5 * pairs * 4);
  EXPECT_EQ(case_of(selection)->cost().bytes, 4 * 2 * (queries + keys) + 4 * lse);
  selection.shape.set("V", 12);  // three times as many channels of v and o
  EXPECT_EQ(case_of(selection)->cost().fma_count, pairs * (3 * 4 + 2 * 12) / 2);
  EXPECT_EQ(case_of(selection)->cost().bytes, 4 * 2 * 2 * (queries + keys) + 4 * lse);
  selection.op = "attention", selection.causal = false;
  EXPECT_EQ(case_of(selection)->cost().fma_count, pairs * (4 + 12));
  EXPECT_EQ(case_of(selection)->cost().bytes, 2 * 2 * 2 * (queries + keys) + 4 * lse);
}

// Only kernels read the numbers of keys.
TEST(Selection, CostIsALimitWhereLengthsMayLeaveLess) {
  Selection selection{.op = "attention", .precision = "bf16"};
  EXPECT_FALSE(case_of(selection)->cost().is_a_limit);
  selection.options = {{"key_lengths", "true"}};
  EXPECT_TRUE(case_of(selection)->cost().is_a_limit);
  selection = {
      .op = "attention_backward", .precision = "bf16", .options = {{"lengths", "2x3+4x5"}}};
  EXPECT_TRUE(case_of(selection)->cost().is_a_limit);
}

TEST(Selection, RefusesWhatAnOperatorDoesNotHave) {
  for (const Selection& selection :
       {Selection{.op = "linear_attention", .precision = "bf16_fp32_decay"},
        Selection{.op = "causal_dot_product", .states = true},
        Selection{.op = "wkv_backward", .precision = "fp16"},
        Selection{.op = "gla", .causal = true}, Selection{.op = "wkv", .shape = {{"T_q", 1}}},
        Selection{.op = "wkv", .shape = {{"H_kv", 4}}},
        Selection{.op = "attention", .shape = {{"H", 32}, {"H_kv", 5}}},
        Selection{.op = "attention", .precision = "bf16_fp32_decay"},
        Selection{.op = "attention_backward", .states = true}}) {
    SCOPED_TRACE(selection.op);
    expect_refused("allowed", [&] { chosen(selection); });
  }
}

TEST(Selection, ChoosesWhatIsAbsentByOperatorAndPrecision) {
  const auto names = [](const Selection& selection) {
    std::string all;
    for (const AbsentImplementation& each : chosen_absent(selection))
      all += each.name;
    return all;
  };
  EXPECT_EQ(names({.op = "gla"}), "test_absent");
  EXPECT_EQ(names({.op = "gla", .chapters = {"97"}}), "test_absent");
  EXPECT_EQ(names({.op = "gla", .chapters = {"91"}}), "");
  EXPECT_EQ(names({.op = "wkv"}), "");
  EXPECT_EQ(names({.op = "attention"}), "");
  EXPECT_EQ(names({.op = "attention", .precision = "bf16"}), "test_absent");
  EXPECT_EQ(names({.op = "attention", .precision = "fp16"}), "");
}

TEST(Selection, KnowsALessonByItsNumberAndItsFolder) {
  const auto launch = launchers<GlaBackward>(+[](const WkvGradArgs&) {});
  for (const char* file :
       {"97_lessons/kernel.cu", "97_lessons/02_b/kernel.cu", "97_lessons/02b_c/kernel.cu"})
    Registration({.name = file, .launchers = launch}, file);
  const auto names = [](const char* wanted, bool rungs_only = false) {
    std::string result;
    for (const Implementation& each :
         chosen({.op = "gla_backward", .chapters = {wanted}, .rungs_only = rungs_only}))
      result += each.name + " ";
    return result;
  };
  EXPECT_EQ(names("97_lessons/"),
            "97_lessons/kernel.cu 97_lessons/02_b/kernel.cu 97_lessons/02b_c/kernel.cu ");
  EXPECT_EQ(names("97.00"), "97_lessons/kernel.cu ");
  for (const char* wanted : {"97.02", "97_lessons/02_b", "97_lessons/02_b/"})
    EXPECT_EQ(names(wanted), "97_lessons/02_b/kernel.cu ");
  EXPECT_EQ(names("97.02b"), "97_lessons/02b_c/kernel.cu ");
  EXPECT_THROW(names("97.03"), std::invalid_argument);
  EXPECT_EQ(names("97.02", true), "97_lessons/02_b/kernel.cu ");  // a variant, but named
  EXPECT_THROW(names("97_lessons/", true), std::invalid_argument);
}

TEST(Registration, OfALearnersCopyHasANameOfItsOwnAndStandsBehindOurs) {
  Texts names, sources;
  for (const Implementation& each : implementations()) {
    if (each.chapter != "98_copied") continue;
    names.push_back(each.name);
    sources.push_back(each.source);
  }
  EXPECT_EQ(names, (Texts{"test_copied", "test_copied_first", "test_copied (yours)",
                          "test_copied_first (yours)"}));
  EXPECT_EQ(sources[0], "98_copied/kernel.cu");
  EXPECT_EQ(sources[2], "98_copied/exercise.cu");
}

TEST(Registry, KnowsTheFileThatRegisters) {
  const Registration here({.name = "test_here"});
  EXPECT_EQ(find_implementation("test_here").source, "program/program_test.cpp");
  // The repository may be in a folder whose name looks like a chapter's.
  const std::pair<std::string, std::string> files[] = {
      {"/home/me/98_files/a.cu", "98_files/a.cu"},
      {"../98_files/01_lesson/kernel.cu", "98_files/01_lesson/kernel.cu"},
      {"98_files/kernel.cu", "98_files/kernel.cu"},
      {"/07_pack/a/98_files/11b_lesson/kernel.cu", "98_files/11b_lesson/kernel.cu"},
      {source_folder() + "/98_files/kernel.cu", "98_files/kernel.cu"},
  };
  for (const auto& [file, source] : files) {
    Registration({.name = file}, file.c_str());
    EXPECT_EQ(find_implementation(file).source, source);
    EXPECT_EQ(find_implementation(file).chapter, "98_files");
  }
}

TEST(Registry, LessonsComeInTheOrderOfTheirFolders) {
  const char* const in_order[] = {"99_order/kernel.cu",           "99_order/02_b/kernel.cu",
                                  "99_order/02_b/kernel_sm90.cu", "99_order/11_a/kernel.cu",
                                  "99_order/11b_c/kernel.cu",     "99_order/12_a/kernel.cu",
                                  "99_order/dispatch.cu"};
  EXPECT_EQ(lesson_of(in_order[0]), "");
  EXPECT_EQ(lesson_of(in_order[1]), "02_b");
  EXPECT_EQ(lesson_of("test.cpp"), "");
  for (std::size_t a = 0; a < std::size(in_order); ++a) {
    for (std::size_t b = 0; b < std::size(in_order); ++b) {
      const bool same_lesson =
          lesson_of(in_order[a]) == lesson_of(in_order[b]) && a != 0 && b != 0 && a != 6 && b != 6;
      const Implementation first{.source = in_order[a], .chapter = "99_order"};
      const AbsentImplementation second{.source = in_order[b], .chapter = "99_order"};
      EXPECT_EQ(comes_before(first, second), a < b && !same_lesson) << in_order[a] << in_order[b];
    }
  }
}

// ---- A climb checks, then times ----

TEST(Climb, TimesARightResult) {
  const Climb result = climb_tiny({"91"});
  ASSERT_EQ(result.rows.size(), 1u);
  EXPECT_TRUE(result.rows[0].right) << result.rows[0].message;
  EXPECT_GT(result.rows[0].timing.seconds, 0.0);
  EXPECT_GT(result.rows[0].bound_seconds, 0.0);
  EXPECT_TRUE(result.all_right());
}

TEST(Climb, NeverTimesAWrongResult) {
  const Climb result = climb_tiny({"92_wrong"});
  ASSERT_EQ(result.rows.size(), 1u);
  EXPECT_FALSE(result.rows[0].right);
  EXPECT_EQ(result.rows[0].timing.samples, 0);
  EXPECT_FALSE(result.all_right());
  expect_says(to_table({result}), {"WRONG"});
  EXPECT_FALSE(to_json(result)["rows"][0].contains("seconds"));
}

TEST(Climb, ReportsARefusal) {
  const Climb result = climb_tiny({"93"});
  ASSERT_EQ(result.rows.size(), 1u);
  EXPECT_FALSE(result.rows[0].ran);
  EXPECT_EQ(result.rows[0].message, "K is 4; allowed: 5");
  expect_says(to_table({result}), {"not run: K is 4"});
  EXPECT_TRUE(result.all_right());
}

TEST(Climb, RefusesUnknownNames) {
  EXPECT_THROW(climb_tiny({"77"}), std::invalid_argument);
  EXPECT_THROW(climbed({.op = "softmax", .shape = kTiny}), std::invalid_argument);
}

TEST(Climb, KnowsWhetherAnythingRan) {
  const Climb refused = climb_tiny({"93"}), some = climb_tiny({"91", "93"});
  EXPECT_FALSE(refused.any_ran());
  EXPECT_FALSE(passed({refused}));
  EXPECT_TRUE(some.any_ran());
  EXPECT_TRUE(passed({some}));
  EXPECT_TRUE(passed({some, refused}));  // such as a table of summits without a GPU
  EXPECT_FALSE(passed({some, climb_tiny({"92"})}));
}

TEST(Climb, RunsPackedSequences) {
  const Climb result = climbed(
      {.op = "gla", .shape = kTiny, .names = {"test_counted"}, .options = {{"lengths", "1"}}});
  EXPECT_TRUE(result.rows.at(0).right) << result.rows[0].message;
  EXPECT_EQ(to_json(result).at("options").at("lengths"), "1");
}

TEST(Climb, FollowsTheStepsOfAChapter) {
  const Climb result =
      climbed({.op = "wkv", .shape = kTiny, .chapters = {"96"}, .rungs_only = false});
  ASSERT_EQ(result.rows.size(), 2u);
  EXPECT_EQ(result.rows[0].implementation, "test_first");
  EXPECT_EQ(result.rows[1].implementation, "test_second");
}

TEST(Climb, CountsTheStatesItAsksFor) {
  const auto with_states = [](bool states) {
    return climbed({.op = "wkv", .shape = kTiny, .chapters = {"91"}, .states = states});
  };
  const Climb with = with_states(true), without = with_states(false);
  const double state_bytes = 4.0 * kTiny["B"] * kTiny["H"] * kTiny["K"] * kTiny["V"];
  EXPECT_EQ(with.bytes - without.bytes, 2 * state_bytes);
  EXPECT_TRUE(to_json(with).at("states").get<bool>());
}

TEST(Climb, TimesGradientsAndCountsTheirBytes) {
  const Climb result = climbed({.op = "gla_backward", .shape = kTiny});
  ASSERT_EQ(result.rows.size(), 1u);
  EXPECT_TRUE(result.rows[0].right) << result.rows[0].message;
  EXPECT_GT(result.rows[0].timing.seconds, 0.0);
  // q, k, v, log_w and d_o are read, and dq, dk, dv and d_log_w written
  EXPECT_EQ(result.bytes, 4.0 * 4 * 9);
  EXPECT_EQ(result.fma_count, 8.0 * 4 * 4);
}

TEST(Climb, GoesOnAfterAFailure) {
  const Climb result = climb_gla({"test_failing", "test_counted"});
  ASSERT_EQ(result.rows.size(), 2u);
  EXPECT_TRUE(result.rows[0].ran);
  EXPECT_FALSE(result.rows[0].right);
  expect_says(to_table({result}), {"FAILED: the launch failed"});
  EXPECT_TRUE(result.rows[1].right) << result.rows[1].message;
  EXPECT_FALSE(result.all_right());
}

TEST(Climb, CountsWhatItIsAt) {
  Texts lines;
  climb({.op = "gla", .shape = kTiny, .names = {"test_failing", "test_counted"}},
        [&](const std::string& line) { lines.push_back(line); });
  EXPECT_EQ(std::count(lines.begin(), lines.end(), "1 of 2: checking test_failing"), 1);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), "2 of 2: checking test_counted"), 1);
}

TEST(Climb, ShowsAnAbsentOneAskedForByName) {
  const Climb now = climb_gla({"test_absent"});
  ASSERT_EQ(now.rows.size(), 1u);
  EXPECT_EQ(now.rows[0].message, "needs a GPU nobody has");
  EXPECT_FALSE(now.any_ran());
  expect_refused("needs a GPU nobody has", [] { find_implementation("test_absent"); });
}

// ---- The emulator is checked, never timed ----

// The table's cell in this column and the line of `name`, or "" if there is no such column.
std::string cell_of(const Climb& climb, const std::string& name, const std::string& column) {
  std::istringstream table(to_table({climb}));
  std::size_t begin = 0, end = std::string::npos;
  for (std::string line; std::getline(table, line);) {
    if (line.find("implementation") != std::string::npos) {
      begin = line.find(column);
      if (begin == std::string::npos) return "";
      end = begin + column.size();
    } else if (line.find(" " + name + " ") != std::string::npos) {
      // A right-aligned text ends with its header and begins after two blanks or a unit's.
      std::string text = line.substr(0, end);
      std::size_t first = text.find_last_of(' ');
      const std::string unit = text.substr(first + 1);
      if (unit == "s" || unit == "ms" || unit == "us") first = text.find_last_of(' ', first - 1);
      return text.substr(first + 1);
    }
  }
  return "";
}

TEST(Climb, NeverTimesTheEmulator) {
  counted_calls = 0;
  Climb result = emulated_tiny();
  ASSERT_TRUE(result.rows.at(0).right) << result.rows[0].message;
  EXPECT_EQ(counted_calls, 1);
  EXPECT_EQ(result.rows[0].timing.samples, 0);
  EXPECT_FALSE(to_json(result).at("rows").at(0).contains("seconds"));
  EXPECT_EQ(cell_of(result, "test_counted", "time"), "") << to_table({result});  // no row has one
  result.rows.push_back(result.rows[0]);
  expect_once(to_table({result}), "It is not timed");
}

TEST(Climb, ChecksAPartOfAShapeThatWouldTakeTooLong) {
  const Shape large{{"B", 1}, {"T", 3000}, {"H", 2}, {"K", 4}, {"V", 4}};
  counted_calls = 0;
  seconds_per_step = 1e-4;  // 0.6 s for the whole
  const Climb result = climb_gla({"test_counted"}, large, 0.3);
  seconds_per_step = 0;
  const Row& row = result.rows.at(0);
  EXPECT_TRUE(row.right) << row.message;
  EXPECT_LE(counted_calls, 2);
  ASSERT_TRUE(row.checked_shape);
  const std::int64_t T = (*row.checked_shape)["T"];
  EXPECT_LT(T, 200);
  EXPECT_GT(row.estimated_seconds, 0.3);
  EXPECT_LT(row.estimated_seconds, 20);
  EXPECT_EQ(to_json(result).at("rows").at(0).at("checked_shape").at("T"), T);
  expect_says(to_table({result}), {"checked on B=1, T=128"});
}

TEST(Climb, GrowsAPartThatIsOverTooSoonToTell) {
  counted_calls = 0;
  const Climb result =
      climb_gla({"test_counted"}, {{"B", 600}, {"T", 1}, {"H", 1}, {"K", 1}, {"V", 1}});
  EXPECT_TRUE(result.rows.at(0).right) << result.rows[0].message;
  EXPECT_FALSE(result.rows[0].checked_shape);  // in the end the whole shape was checked
  EXPECT_GE(counted_calls, 2);
}

// ---- Earlier results ----

// The JSON of a run on a GPU.
nlohmann::json run_on_gpu(double seconds, const char* code = nullptr) {
  nlohmann::json run = to_json(emulated_tiny());
  run["name"] = "a_run";
  nlohmann::json& row = run.at("rows").at(0);
  row["back_end"] = "cuda";
  row["device"] = "Some GPU";
  row["seconds"] = seconds;
  if (code != nullptr) row["code"] = code;
  return run;
}

// A file of such runs.
std::string of_runs(const std::vector<nlohmann::json>& runs) {
  return nlohmann::json{{"schema", kRuns}, {"runs", runs}}.dump();
}

constexpr const char* kKernels =
    R"({"schema":"kernel-ladder/kernels/2","launched":[{"name":"a_run","code":{"test_counted":"now"}}]})";

// `now` with recorded times from a folder with these files.
Climb beside(const std::map<std::string, std::string>& files, Climb now = emulated_tiny()) {
  const Folder folder;
  for (const auto& [name, contents] : files)
    folder.write(name, contents);
  add_recorded(now, folder.path());
  return now;
}

TEST(Climb, ShowsRecordedTimesForEmulatedRows) {
  const Climb now = beside(
      {{"run.json", of_runs({run_on_gpu(0.125)})}, {"broken.json", "{"}, {"list.json", "[]"}});
  EXPECT_EQ(now.rows[0].recorded.seconds, 0.125);
  EXPECT_FALSE(now.rows[0].recorded.old);  // without kernels.json it cannot be detected
  expect_says(to_table({now}), {"\nrecorded: on Some GPU, at this shape"});
  EXPECT_EQ(cell_of(now, "test_counted", "recorded"), "125 ms") << to_table({now});
  EXPECT_EQ(cell_of(now, "test_counted", "time"), "");  // the emulator has none
  EXPECT_EQ(to_json(now).at("rows").at(0).at("recorded_seconds"), 0.125);
}

TEST(Climb, MarksATimeWhoseKernelHasChangedAsOld) {
  const std::pair<const char*, bool> hashes[] = {{"now", false}, {"before", true}, {nullptr, true}};
  for (const auto& [code, old] : hashes) {
    const Climb now =
        beside({{"kernels.json", kKernels}, {"run.json", of_runs({run_on_gpu(0.125, code)})}});
    EXPECT_EQ(now.rows[0].recorded.seconds, 0.125);
    EXPECT_EQ(now.rows[0].recorded.old, old);
    EXPECT_EQ(to_json(now).at("rows").at(0).at("recorded_old"), old);
    const char* note = "recorded with an earlier version of the kernel: test_counted.";
    EXPECT_EQ(to_table({now}).find(note) != std::string::npos, old) << to_table({now});
  }
}

TEST(Climb, PrefersTheRecordedTimeOfTheKernelAsItIs) {
  nlohmann::json young = run_on_gpu(0.5, "before"), fit = run_on_gpu(0.25, "now"), older = fit;
  young["date"] = "2026-12-01";
  fit["date"] = "2026-11-02";
  older["date"] = "2026-11-01";
  older["rows"][0]["seconds"] = 1.0;
  const Climb now = beside({{"kernels.json", kKernels},
                            {"a.json", of_runs({fit, young})},
                            {"c.json", of_runs({older})}});
  EXPECT_EQ(now.rows[0].recorded.seconds, 0.25);
}

TEST(Climb, WritesARowALine) {
  const auto json = nlohmann::json::parse(
      R"({"a": {"b": [1, 2], "c": "x\ny"}, "none": [], "rows": [{"d": [[1], [2]]}, {"e": null}]})");
  EXPECT_EQ(as_rows(json),
            "{\"a\":{\"b\":[1,2],\"c\":\"x\\ny\"},\"none\":[],\"rows\":[\n"
            "{\"d\":[\n[1],\n[2]\n]},\n{\"e\":null}\n]}");
  EXPECT_EQ(nlohmann::json::parse(as_rows(json)), json);
}

TEST(Climb, KnowsTheShareOfTheBoundOfARecordedTime) {
  nlohmann::json run = run_on_gpu(0.125);
  run["rows"][0]["bound_seconds"] = 0.025;
  const Climb old = beside({{"run.json", of_runs({run})}});
  EXPECT_EQ(old.rows[0].recorded.bound_seconds, 0);  // the record does not name the units
  run["rows"][0]["units"] = "fp32 multiply-adds";
  const Climb now = beside({{"run.json", of_runs({run})}});
  EXPECT_EQ(now.rows[0].recorded.bound_seconds, 0.025);
  expect_says(to_table({now}), {" 20.0%"});
  EXPECT_EQ(to_json(now).at("rows").at(0).at("recorded_bound_seconds"), 0.025);
}

TEST(Climb, ShowsWhatItIsBuiltWithout) {
  nlohmann::json run = run_on_gpu(0.5);
  run["rows"][0]["implementation"] = "test_absent";
  Climb now = climbed({.op = "gla", .shape = kTiny, .chapters = {"97"}});
  ASSERT_EQ(now.rows.size(), 3u);
  EXPECT_EQ(now.rows[2].implementation, "test_absent");
  EXPECT_EQ(now.rows[2].message, "needs a GPU nobody has");
  now = beside({{"run.json", of_runs({run})}}, now);
  EXPECT_EQ(now.rows[2].recorded.seconds, 0.5);
  expect_says(to_table({now}), {"500 ms", "needs a GPU nobody has"});
}

// The GPU that has times of most rows.
TEST(Climb, TakesAllRecordedTimesOfATableFromOneGpu) {
  Climb now = climb_gla({"test_counted", "test_absent"});
  nlohmann::json both = run_on_gpu(0.5), one = run_on_gpu(0.25);
  both["rows"].push_back(both["rows"][0]);
  both["rows"][1]["implementation"] = "test_absent";
  one["rows"][0]["device"] = "A younger GPU";
  one["date"] = "2026-12-01";
  now = beside({{"a.json", of_runs({both})}, {"b.json", of_runs({one})}}, now);
  EXPECT_EQ(now.recorded_on, "Some GPU");
  EXPECT_EQ(cell_of(now, "test_counted", "recorded"), "500 ms") << to_table({now});
  EXPECT_EQ(cell_of(now, "test_absent", "recorded"), "500 ms") << to_table({now});
  EXPECT_EQ(to_table({now}).find("younger"), std::string::npos) << to_table({now});
}

// An absent kernel may be a CPU kernel, which has no hash in kernels.json.
TEST(Climb, TakesARecordedTimeOfTheCpuForWhatIsNotInThisProgram) {
  nlohmann::json run = run_on_gpu(0.5);
  run["rows"][0]["implementation"] = "test_absent";
  run["rows"][0]["back_end"] = "cpu";
  run["rows"][0]["device"] = "Some CPU";
  const std::map<std::string, std::string> files = {{"kernels.json", kKernels},
                                                    {"run.json", of_runs({run})}};
  const Climb absent = beside(files, climb_gla({"test_absent"}));
  EXPECT_EQ(absent.recorded_on, "Some CPU");
  EXPECT_EQ(absent.rows.at(0).recorded.seconds, 0.5);
  EXPECT_FALSE(absent.rows[0].recorded.old);
  run["rows"][0]["implementation"] = "test_counted";
  EXPECT_EQ(beside({{"run.json", of_runs({run})}}).rows.at(0).recorded.seconds,
            0);  // emulated
}

TEST(Climb, SaysWhatWasNotMeasuredYet) {
  const Climb now = beside({});
  EXPECT_EQ(now.recorded_on, "");
  expect_says(to_table({now}), {"recorded", "not measured yet"});
  EXPECT_EQ(to_table({now}).find("recorded: on"), std::string::npos) << to_table({now});
  EXPECT_EQ(to_table({emulated_tiny()}).find("recorded"), std::string::npos);  // not searched
}

TEST(CommandLine, TakesTablesWithWhatIsNotInThisProgram) {
  const Selection table =
      table_in("summits: gla fp32 T=8 test_counted test_later=97_counted/01_later/kernel.cu");
  EXPECT_EQ(table.title, "summits: ");
  EXPECT_EQ(table.op, "gla");
  EXPECT_EQ(table.shape["T"], 8);
  EXPECT_EQ(table.names, (Texts{"test_counted", "test_later"}));
  const Climb climb = climbed({.op = "gla", .shape = kTiny, .names = table.names});
  ASSERT_EQ(climb.rows.size(), 2u);
  EXPECT_FALSE(climb.rows[1].ran);
  EXPECT_EQ(climb.rows[1].source, "97_counted/01_later/kernel.cu");
  expect_says(to_table({beside({}, climb)}), {"97.01 test_later", "not measured yet"});
  EXPECT_EQ(to_table({climb}).find("not run"), std::string::npos) << to_table({climb});
  EXPECT_TRUE(table_in("gla fp32 T=8").title.empty());
}

TEST(Climb, FindsOnALessonsPageWhyItIsSlower) {
  const Folder folder;
  folder.write("README.md", "# x\n\n<!-- slower: waits for memory -->\n");
  EXPECT_EQ(slower_because("kernel.cu", folder.path()), "waits for memory");
  EXPECT_EQ(slower_because("elsewhere/kernel.cu", folder.path()), "");
}

// ---- The table ----

Row timed_row(const char* name, const char* device, double seconds) {
  Row row;
  row.chapter = "99_x";
  row.implementation = name;
  row.device = device;
  row.back_end = "cpu";
  row.right = row.ran = true;
  row.timing = {seconds, 0, 5};
  return row;
}

Climb climb_of(const std::vector<Row>& rows) {
  Climb climb;
  climb.options.op = "wkv";
  climb.rows = rows;
  return climb;
}

TEST(Climb, NeverDividesTimesOfTwoMachinesByEachOther) {
  const Climb climb =
      climb_of({timed_row("a", "one", 8), timed_row("b", "one", 4), timed_row("c", "two", 2),
                timed_row("d", "two", 1), timed_row("e", "one", 1)});
  for (const auto& [name, factor] : std::map<std::string, std::string>{
           {"a", "-"}, {"b", "2x"}, {"c", "-"}, {"d", "2x"}, {"e", "-"}}) {
    EXPECT_EQ(cell_of(climb, name, "vs last"), factor) << to_table({climb});
    EXPECT_EQ(cell_of(climb, name, "vs first"), factor) << to_table({climb});
  }
}

TEST(Climb, ComparesALearnersKernelWithOursOfTheSameName) {
  const Climb climb = climb_of({timed_row("a", "one", 8), timed_row("b", "one", 4),
                                timed_row("a (yours)", "one", 2), timed_row("b (yours)", "one", 4),
                                timed_row("b (yours)", "two", 4)});
  EXPECT_EQ(cell_of(climb, "a (yours)", "vs last"), "4x") << to_table({climb});
  EXPECT_EQ(cell_of(climb, "b (yours)", "vs last"), "1x") << to_table({climb});
  EXPECT_EQ(
      cell_of(climb_of({climb.rows[0], climb.rows[1], climb.rows[4]}), "b (yours)", "vs last"),
      "-");
}

TEST(Climb, NeverDividesARecordedTimeByOneOfThisMachine) {
  Climb climb = climb_of(
      {timed_row("a", "CPU", 8), timed_row("b", "emulator", 0), timed_row("c", "emulator", 0)});
  for (std::size_t i : {1, 2}) {
    climb.rows[i].back_end = "emulator";
    climb.rows[i].timing = {};
    climb.rows[i].recorded = {2.0 / i, "Some GPU", false};
  }
  EXPECT_EQ(cell_of(climb, "b", "vs last"), "-") << to_table({climb});
  EXPECT_EQ(cell_of(climb, "c", "vs last"), "2x");
  EXPECT_EQ(cell_of(climb, "c", "vs first"), "2x");
}

TEST(Climb, SaysWhyARungIsSlowerThanTheOneBefore) {
  Climb climb =
      climb_of({timed_row("a", "one", 2), timed_row("b", "one", 4), timed_row("c", "two", 3)});
  EXPECT_EQ(to_table({climb}).find("slower: "), std::string::npos) << to_table({climb});
  for (Row& row : climb.rows)
    row.slower = "of " + row.implementation;
  expect_once(to_table({climb}), "slower: of b");
  EXPECT_EQ(to_table({climb}).find("slower: of c"), std::string::npos) << to_table({climb});
}

TEST(Climb, EndsOnItsBestRung) {
  Climb climb = climb_of({timed_row("a", "one", 1e-6), timed_row("b", "two", 8),
                          timed_row("c", "two", 2), timed_row("d", "two", 4)});
  expect_says(to_table({climb}), {"fastest: 99 c, 2 s\n"});
  climb.rows.pop_back();
  EXPECT_EQ(to_table({climb}).find("fastest"), std::string::npos) << to_table({climb});
}

TEST(Table, NamesTheLessonOfWhatIsNotAChaptersOwn) {
  Climb climb = climb_of({timed_row("a", "one", 8), timed_row("b", "one", 4)});
  climb.rows[0].source = "99_x/kernel.cu";
  climb.rows[1].source = "99_x/05b_y/kernel.cu";
  climb.options.title = "summits: ";
  expect_says(to_table({climb}), {"summits: wkv in fp32 on ", "\n99 a ", "\n99.05b b "});
}

TEST(Table, LeavesOutColumnsWithoutACell) {
  Climb climb = climb_of({timed_row("a", "CPU", 8)});
  EXPECT_EQ(to_table({climb}).find("of bound"), std::string::npos) << to_table({climb});
  climb.rows[0].bound_seconds = 2;
  EXPECT_EQ(cell_of(climb, "a", "of bound"), "25.0%") << to_table({climb});
  expect_says(to_table({climb}), {"of bound: least time / time"});
}

TEST(Table, HasNoRateWhereTheCostIsALimit) {
  Climb climb = climb_of({timed_row("a", "CPU", 8)});
  climb.bytes = 1e9;
  EXPECT_NE(to_table({climb}).find("GB/s"), std::string::npos) << to_table({climb});
  climb.cost_is_a_limit = true;
  EXPECT_EQ(to_table({climb}).find("GB/s"), std::string::npos) << to_table({climb});
}

TEST(Table, IsAHundredColumnsWide) {
  constexpr const char* kLong = "A GPU of a name that is long";
  Climb climb = climb_of(
      {timed_row("attention_backward_two_kernels", kLong, 1e-4), timed_row("b", kLong, 0.1)});
  climb.fma_count = climb.bytes = 1e12;
  for (Row& row : climb.rows) {
    row.back_end = "cuda";
    row.bound_seconds = row.timing.seconds / 3;
    row.sustained = row.end_to_end = {2 * row.timing.seconds, 0, 5};
  }
  climb.rows[1].right = false;
  for (const char letter : {'x', 'y', 'z', 'w'})
    climb.rows[1].message += std::string(40, letter) + " ";
  climb.ceilings = {{kLong, {1e12, 1e12, 1e12, 1e12, 1e12}}};
  std::istringstream table(to_table({climb}));
  for (std::string line; std::getline(table, line);)
    EXPECT_LE(line.size(), 100u) << line;
  EXPECT_EQ(cell_of(climb, "attention_backward_two_kernels", "call"), "200 us")
      << to_table({climb});
}

TEST(Table, SaysOnceWhatHoldsForSeveralLadders) {
  const Climb climb = climb_of({timed_row("a", "CPU", 8)});
  Climb other = climb;
  other.options.op = "attention";
  other.options.precision = "bf16";
  const std::string table = to_table({climb, other});
  expect_says(table, {"wkv in fp32 on ", "attention in bf16 on "});
  expect_once(table, "error: against");
}

TEST(Plot, NeverDividesTimesOfTwoMachinesByEachOther) {
  if (std::system("python3 -c 'pass' 2> /dev/null") != 0) GTEST_SKIP() << "no python3";
  Climb climb = climb_of({timed_row("a", "one", 8), timed_row("b", "one", 4),
                          timed_row("c", "two", 2), timed_row("d", "two", 1)});
  climb.rows[1].bound_seconds = 0.5;
  const Folder folder;
  folder.write("run.json", to_json(climb).dump());
  folder.write("test.py", R"(
import json, plot, sys
run = json.load(open(sys.argv[1]))
assert [rung.factor for rung in plot.rungs(run)] == [1, 2, 1, 2], plot.rungs(run)
assert [rung.bound for rung in plot.rungs(run)] == [None, 0.5, None, None]
assert plot.title(run).startswith('wkv in fp32 at '), plot.title(run)
)");
  const std::string program = "PYTHONPATH='" + source_folder() + "/common/program' python3 -B '" +
                              folder.path() + "/test.py' '" + folder.path() + "/run.json'";
  EXPECT_EQ(std::system(program.c_str()), 0);
}

// ---- Estimates ----

TEST(Estimate, TakesAPartOfTheShapeWithItsChannels) {
  const Shape part = part_of({.op = "attention",
                              .shape = parsed("llama3-8b", "attention"),
                              .precision = "bf16",
                              .causal = true});
  EXPECT_EQ(part["K"], 128);
  EXPECT_EQ(part["T"], 128);
  EXPECT_EQ(part["H"] % part["H_kv"], 0);
  EXPECT_EQ(part["H"] / part["H_kv"], 4);
  EXPECT_LT(part["H"], 33);
  const Shape decode =
      part_of({.op = "attention", .shape = parsed("llama3-8b-decode", "attention")});
  EXPECT_EQ(decode["T_q"], 1);
  EXPECT_EQ(part_of({.op = "wkv", .shape = kTiny}), kTiny);
}

TEST(Estimate, GrowsUpToTheWhole) {
  const Selection selection{.op = "attention",
                            .shape = parsed("B=3,T=700,H=12,H_kv=3,D=64", "attention")};
  Shape part = part_of(selection);
  for (int i = 0; i < 20 && !(part == selection.shape); ++i) {
    const Shape larger = larger_part(part, selection);
    EXPECT_FALSE(larger == part);
    EXPECT_EQ(larger["H"] / larger["H_kv"], 4);
    part = larger;
  }
  EXPECT_EQ(part, selection.shape);
}

TEST(Estimate, ScalesWithTheOperations) {
  const Selection whole{.op = "attention", .shape = parsed("B=1,T=8192,H=32,D=128", "attention")};
  Selection part = whole;
  part.shape.set("T", 128);
  part.shape.set("H", 2);
  const Spent spent = scaled({.problem = 1, .launch = 1, .judge = 1}, part.shape, whole);
  EXPECT_DOUBLE_EQ(spent.launch, 64.0 * 64 * 16);
  EXPECT_DOUBLE_EQ(spent.problem, case_of(whole)->cost().bytes / case_of(part)->cost().bytes);
  EXPECT_LT(spent.judge, spent.launch);  // only a part is judged
}

TEST(Estimate, SpeaksOfTime) {
  EXPECT_EQ(time_text(40), "40 seconds");
  EXPECT_EQ(time_text(180), "3 minutes");
  EXPECT_EQ(time_text(5.9 * 3600), "5.9 hours");
  EXPECT_EQ(time_text(12 * 86400.0), "12 days");
}

// ---- Memory ----

TEST(Memory, RefusesBeforeItAllocates) {
  const Selection selection{.op = "wkv", .shape = parsed("B=1000000000,T=1,H=1,K=1,V=1")};
  const Memory needed = needed_memory(selection, true);
  EXPECT_GT(needed.host, 5 * 4 * 1e9);
  for (const char* words : {"--shape", "B=1000000000", "8 GB"})
    expect_refused(words, [&] { require_memory(selection, needed, {.host = 8e9, .device = 0}); });
  EXPECT_THROW(require_memory(selection, {.host = 1, .device = 2}, {.host = 1, .device = 1}),
               std::invalid_argument);
  require_memory(selection, {.host = 1, .device = 1}, {.host = 1, .device = 1});
}

TEST(Memory, CountsAStatePerHead) {
  const Selection selection{.op = "wkv",
                            .shape = {{"B", 1}, {"T", 1}, {"H", 1}, {"K", 100000}, {"V", 100000}}};
  EXPECT_GT(needed_memory(selection, true).host, 8e10);
}

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kLimitsAddresses = false;
#else
constexpr bool kLimitsAddresses = true;
#endif

// In a process with `bytes` of address space, `work` must return true and print the words.
void expect_alone(rlim_t bytes, const std::function<bool()>& work, const char* words = "") {
  if (!kLimitsAddresses) GTEST_SKIP() << "a sanitizer needs addresses and memory of its own";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto process = [&] {
    const rlimit limit{bytes, bytes};
    setrlimit(RLIMIT_AS, &limit);
    std::exit(work() ? 0 : 1);
  };
  EXPECT_EXIT(process(), ::testing::ExitedWithCode(0), words);
}

TEST(Tests, ThatDieNameThemselves) {
  if (!kLimitsAddresses) GTEST_SKIP() << "a sanitizer has handlers of its own";
  const auto dies = [](bool brief) {
    GTEST_FLAG_SET(brief, brief);
    raise(SIGSEGV);
  };
  const ::testing::KilledBySignal as_it_should(SIGSEGV);
  EXPECT_EXIT(dies(true), as_it_should, "died in Tests.ThatDieNameThemselves");
  EXPECT_EXIT(dies(false), as_it_should, "^$");
}

TEST(Memory, KnowsTheProcesssOwnLimit) {
  expect_alone(4'000'000'000, [] {
    const double available = available_host_bytes();
    return available > 0 && available < 4e9;
  });
}

TEST(Memory, EndsInASentenceUnderALimit) {
  const auto refuses = [] {
    try {
      climb_gla({"test_counted"}, {{"B", 64}, {"T", 4096}, {"H", 32}, {"K", 64}, {"V", 64}}, 1e30);
    } catch (const std::invalid_argument& error) {
      std::fprintf(stderr, "%s\n", error.what());
      return true;
    }
    return false;
  };
  expect_alone(4'000'000'000, refuses, "--shape .* of the host's memory");
}

// Peak memory of this program. getrusage would include memory from before exec.
double peak_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return 1024 * std::stod(line.substr(6));
  }
  return 0;
}

TEST(Memory, NeedsNoMoreThanItSays) {
  expect_alone(RLIM_INFINITY, [] {
    const Shape shape{{"B", 2}, {"T", 1024}, {"H", 16}, {"K", 64}, {"V", 64}};
    const Climb result = climb_gla({"test_counted"}, shape, 1e30);
    const double peak = peak_bytes();
    const double needed = needed_memory(result.options, true).host;
    std::fprintf(stderr, "peak %g, needed %g, %s\n", peak, needed,
                 result.rows.at(0).message.c_str());
    return result.rows.at(0).right && peak < needed && peak > needed / 3;
  });
}

// ---- Bounds by units ----

TEST(Bound, IsThatOfTheUnitsInUse) {
  const Ceilings ceilings{.fma_per_second = 30,
                          .bytes_per_second = 1,
                          .tensor_fma_per_second = 300,
                          .tf32_fma_per_second = 150,
                          .warpgroup_fma_per_second = 400};
  const auto seconds = [&](Units units, const std::string& precision) {
    return seconds_of(1200, units, precision, ceilings);
  };
  EXPECT_EQ(seconds(Units::kCores, "fp32"), 40);
  EXPECT_EQ(seconds(Units::kCores, "bf16"), 40);
  EXPECT_EQ(seconds(Units::kTensorCores, "bf16"), 4);
  EXPECT_EQ(seconds(Units::kTensorCores, "fp16"), 4);
  EXPECT_EQ(seconds(Units::kTensorCores, "fp32"), 24);  // three TF32 products
  EXPECT_EQ(seconds(Units::kWarpgroups, "bf16"), 3);
  EXPECT_EQ(seconds_of(1200, Units::kWarpgroups, "bf16", {.fma_per_second = 30}), 0);
}

// ---- Timing ----

using Clock = std::chrono::steady_clock;

// A GPU with a counting clock. Each replayed call takes a millisecond, and pauses are recorded.
class CountingGpu : public PretendedEmulator {
 public:
  std::string back_end() const override { return "cuda"; }
  double time(const std::function<void()>& work) override {
    const int before = counted;
    rests.push_back(seconds_since(last));
    work();
    last = Clock::now();
    return 1e-3 * (counted - before);
  }
  // `recordings` recordings of two calls each.
  Rotation rotation(int recordings) {
    Rotation result;
    result.calls = 2;
    result.seconds = 1e-3;
    for (int r = 0; r < recordings; ++r) {
      const auto replay = [this, r] {
        order.push_back(r);
        counted += 2;
      };
      result.recordings.push_back({replay, true});
    }
    return result;
  }
  int counted = 0;
  std::vector<int> order;     // of the recordings
  std::vector<double> rests;  // before each timed work
  Clock::time_point last = Clock::now();
};

class LargeGpu : public PretendedEmulator {
 public:
  std::size_t cache_bytes() const override { return 60'000'000; }
  std::size_t free_bytes() const override { return free; }
  std::size_t free = std::size_t{100} << 30;
};

class CacheOfTheHost : public PretendedEmulator {
 public:
  std::size_t cache_bytes() const override { return 60'000'000; }
};

TEST(Timing, MedianIgnoresAnOutlier) {
  const Timing timing = summarise({1.0, 1.0, 9.0, 1.0, 1.0});
  EXPECT_EQ(timing.seconds, 1.0);
  EXPECT_EQ(timing.spread, 0.0);
  EXPECT_EQ(timing.samples, 5);
}

TEST(Timing, DividesBySeveralCalls) {
  int count = 0;
  const auto call = [&] { ++count; };
  const Timing timing = measure(device(DeviceKind::kCpu), {call, call},
                                {.enough_spread = -1, .least_samples = 3, .most_samples = 4});
  EXPECT_EQ(timing.samples, 4);
  EXPECT_EQ(count, 2 * (4 + 1));
}

TEST(Layout, RotatesPastThreeTimesTheCache) {
  const LargeGpu gpu;
  for (const double bytes : {5e4, 1e6, 3e7, 1e8, 3e8}) {
    for (const double once : {2e-6, 5e-5, 8e-4, 6e-3, 0.1}) {
      const Layout layout = layout_of(once, bytes, gpu);
      EXPECT_TRUE(layout.passes_caches);
      // Large enough, or so many copies that none is used twice.
      if (layout.copies < 30 + 4 / once) {
        EXPECT_GT(layout.copies * bytes, 3.0 * gpu.cache_bytes()) << bytes << " " << once;
      }
      // Copies and recordings repeat together, so no copy is used early.
      EXPECT_TRUE(layout.calls % layout.copies == 0 || layout.copies % layout.calls == 0)
          << layout.calls << " calls, " << layout.copies << " copies";
    }
  }
}

TEST(Layout, HasTheSameGraphForAllThatAreQuick) {
  const LargeGpu gpu;
  for (const double bytes : {1e5, 1e6, 3e8}) {
    const Layout first = layout_of(1e-6, bytes, gpu), second = layout_of(3e-6, bytes, gpu);
    EXPECT_EQ(first.calls, second.calls);
    EXPECT_EQ(first.copies, second.copies);
    EXPECT_GE(first.calls, 24u);
  }
}

// Copies take time to create, so a slow call on the host gets about as many as it has calls.
TEST(Layout, MakesNoCopiesThatASlowCallOnTheHostNeverUses) {
  const CacheOfTheHost host;
  EXPECT_LE(layout_of(1.0, 1e6, host).copies, 8u);
  EXPECT_GT(layout_of(1e-3, 1e6, host).copies * 1e6, 3.0 * host.cache_bytes());
}

TEST(Layout, SaysWhenThereIsNoMemoryForMore) {
  LargeGpu gpu;
  gpu.free = 20'000'000;
  const Layout layout = layout_of(1e-5, 1e6, gpu);
  EXPECT_FALSE(layout.passes_caches);
  EXPECT_EQ(layout.copies, 10u);
}

TEST(Timing, RestsBeforeEachBurst) {
  CountingGpu gpu;
  const Timing timing = measure(gpu, gpu.rotation(1), Regime::kBurst, {.least_samples = 3});
  EXPECT_EQ(timing.samples, 3);
  EXPECT_DOUBLE_EQ(timing.seconds, 1e-3);
  ASSERT_EQ(gpu.rests.size(), 3u);
  for (const double rest : gpu.rests)
    EXPECT_GE(rest, kPauseSeconds);
}

TEST(Timing, NeverRestsUnderASustainedLoad) {
  CountingGpu gpu;
  const auto begin = Clock::now();
  const Timing timing =
      measure(gpu, gpu.rotation(1), Regime::kSustained, {.most_samples = 1 << 30});
  EXPECT_GE(seconds_since(begin), kLoadSecondsBefore + kLoadSecondsTimed);
  EXPECT_GE(kLoadSecondsBefore + kLoadSecondsTimed, 0.5);
  EXPECT_DOUBLE_EQ(timing.seconds, 1e-3);
  std::sort(gpu.rests.begin(), gpu.rests.end());
  EXPECT_LT(gpu.rests.at(gpu.rests.size() / 2), kPauseSeconds / 4);
}

TEST(Timing, TakesTheRecordingsInTurn) {
  CountingGpu gpu;
  measure(gpu, gpu.rotation(3), Regime::kBurst, {.least_samples = 2});
  for (std::size_t i = 0; i < gpu.order.size(); ++i)
    EXPECT_EQ(gpu.order[i], static_cast<int>(i % 3));
  EXPECT_GE(gpu.order.size(), 3u);
}

// ---- Origin of a number ----

TEST(Build, NamesTheCompilerThatBuiltIt) {
#if defined(__clang__)
  const std::string version =
      std::to_string(__clang_major__) + "." + std::to_string(__clang_minor__);
  EXPECT_EQ(compiler().find("GNU"), std::string::npos);
#else
  const std::string version = __VERSION__;
  EXPECT_EQ(compiler().rfind("GNU ", 0), 0u) << compiler();
#endif
  EXPECT_NE(compiler().find(version), std::string::npos) << compiler();
}

TEST(Build, SaysWhenACommitHasBeenEdited) {
  if (std::system("git --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no git";
  const Folder folder;
  EXPECT_EQ(commit_of(folder.path()), "");
  folder.write("kernel.cu", "one");
  std::filesystem::create_directory(folder.path() + "/docs");
  const std::string git = "git -C '" + folder.path() + "' -c user.name=x -c user.email=x ";
  ASSERT_EQ(std::system((git + "init -q && " + git + "add . && " + git + "commit -qm one").c_str()),
            0);
  const std::string commit = commit_of(folder.path());
  EXPECT_GE(commit.size(), 4u);
  EXPECT_EQ(commit.find("-dirty"), std::string::npos);
  folder.write("docs/result.json", "{}");  // results are no sources
  EXPECT_EQ(commit_of(folder.path()), commit);
  folder.write("kernel.cu", "two");
  EXPECT_EQ(commit_of(folder.path()), commit + "-dirty");
  folder.write("kernel.cu", "one");
  EXPECT_EQ(commit_of(folder.path()), commit);
  folder.write("another.cu", "new");
  EXPECT_EQ(commit_of(folder.path()), commit + "-dirty");
}

// ---- Arrays from files ----

std::vector<GivenArray> inputs_of(const Case& c) {
  std::vector<GivenArray> inputs;
  for (const ListedArray& array : c.host_arrays()) {
    if (!array.is_input) continue;
    inputs.push_back({array.name, array.name + ".npy", {}});
    for (const Axis& axis : array.axes)
      inputs.back().shape.push_back(axis.size);
  }
  return inputs;
}

TEST(OwnArrays, SayTheSizesOfEveryOperator) {
  for (const auto& op : operators()) {
    for (const std::string& storage : op->storages()) {
      Shape shape = op->small_shape();
      op->set_size(shape, "B", 3);
      const auto c = op->make_case(shape, {}, storage);
      EXPECT_EQ(op->case_for(inputs_of(*c), op->shape(), {}, storage)->text(), c->text());
    }
  }
}

TEST(OwnArrays, SayWhichOfThemThereAre) {
  const Operator& op = find_operator("wkv");
  const Options options = {{"initial_state", ""}, {"decay_per_head", ""}};
  const auto c = op.make_case({{"B", 2}, {"T", 5}, {"K", 8}}, options, "fp32");
  EXPECT_EQ(op.case_for(inputs_of(*c), op.shape(), {}, "fp32")->text(), c->text());
}

TEST(OwnArrays, SayHowManyChannelsTheValuesHave) {
  for (const char* name : {"attention", "attention_backward"}) {
    const Operator& op = find_operator(name);
    const auto c = op.make_case({{"B", 2}, {"T", 5}, {"K", 8}, {"V", 12}}, {}, "fp32");
    EXPECT_NE(c->text().find("D=8, D_v=12"), std::string::npos) << c->text();
    EXPECT_EQ(op.case_for(inputs_of(*c), op.shape(), {}, "fp32")->text(), c->text());
  }
}

TEST(OwnArrays, ThatDoNotFitAreRefused) {
  const Operator& op = find_operator("wkv");
  const auto good = inputs_of(*op.make_case({{"B", 2}, {"T", 5}}, {}, "fp32"));
  const auto refused = [&](const std::string& words, std::vector<GivenArray> inputs,
                           const Options& options = {}) {
    expect_refused(words, [&] { op.case_for(inputs, op.shape(), options, "fp32"); });
  };
  auto bad = good;
  bad[1].shape[1] = 4;
  refused("k.npy is (2, 4, 32, 64); allowed beside the other arrays: (b=2, t=5, h=32, j=64)", bad);
  bad = good;
  bad[0].shape = {2, 5, 64};
  refused("q.npy is (2, 5, 64); allowed: the axes (b, t, h, j)", bad);
  bad.erase(bad.begin());
  refused("q is missing", bad);
  bad = good;
  bad.push_back({"w", "w.npy", {2}});
  refused("w.npy is there; allowed with these options: q, k, v, log_w, u", bad);
  for (const auto& drawn : {std::pair{"decay", "strong"}, {"decay", "mild"}, {"magnitude", "1"}})
    refused("which says how inputs are drawn", good, {drawn});
  bad = good;
  for (GivenArray& each : bad)
    each.shape[each.shape.size() - 2] = 0;
  refused("H is 0; allowed: 1 or more", bad);
}

TEST(NpyFiles, ComeBackAsTheyWereWritten) {
  const std::string path = ::testing::TempDir() + "own_array.npy";
  const std::vector<std::uint16_t> numbers = {1, 2, 3, 65535, 5, 6};
  const auto* bytes = reinterpret_cast<const unsigned char*>(numbers.data());
  for (const std::vector<std::int64_t>& shape :
       {std::vector<std::int64_t>{2, 3}, std::vector<std::int64_t>{6},
        std::vector<std::int64_t>{0, 4}, std::vector<std::int64_t>{}}) {
    write_npy(path, "u2", shape, bytes);
    const NpyHeader header = read_npy_header(path);
    EXPECT_EQ(header.type, "u2");
    EXPECT_EQ(header.shape, shape);
    EXPECT_EQ(header.first % 64, 0u);
    const std::vector<unsigned char> back = read_npy_elements(path, header);
    EXPECT_EQ(back, std::vector<unsigned char>(bytes, bytes + 2 * header.count));
  }
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  expect_refused("own_array.npy has 129 bytes; allowed: 130", [&] { read_npy_header(path); });
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace ladder::program
