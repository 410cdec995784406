// The registry of implementations: a chapter puts its launchers in, tests and the ladder find them here.
#pragma once

#include <any>
#include <functional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/core/device.hpp"
#include "common/core/errors.hpp"

namespace ladder {

// The launchers of an implementation: functions that compute an operator on arguments of one storage. A launcher is found by its
// type, (Op, Args), and nobody enumerates operators or storages. Op may be a type that is only declared.
class Launchers {
 public:
  // In the place of one for the same operator and storage, if there is one.
  template <typename Op, typename Args>
  void set(std::function<void(const Args&)> function) {
    for (std::any& each : list_) {
      if (std::any_cast<Launcher<Op, Args>>(&each) == nullptr) continue;
      each = Launcher<Op, Args>{std::move(function)};
      return;
    }
    list_.push_back(Launcher<Op, Args>{std::move(function)});
  }

  // Null if there is none.
  template <typename Op, typename Args>
  std::function<void(const Args&)> find() const {
    for (const std::any& each : list_) {
      if (const auto* launcher = std::any_cast<Launcher<Op, Args>>(&each))
        return launcher->function;
    }
    return nullptr;
  }

  // Those of both.
  friend Launchers operator+(Launchers a, const Launchers& b) {
    a.list_.insert(a.list_.end(), b.list_.begin(), b.list_.end());
    return a;
  }

 private:
  template <typename Op, typename Args>
  struct Launcher {
    std::function<void(const Args&)> function;
  };

  std::vector<std::any> list_;
};

namespace detail {

template <typename Args, typename = void>
struct WholeOf {
  using Type = Args;
};
template <typename Args>
struct WholeOf<Args, std::void_t<typename Args::Whole>> {
  using Type = typename Args::Whole;
};

template <typename Op, typename Args>
void add_launcher(Launchers& launchers, std::function<void(const Args&)> function) {
  using Whole = typename WholeOf<Args>::Type;
  if constexpr (std::is_same_v<Args, Whole>) {
    launchers.set<Op>(std::move(function));
  } else {
    launchers.set<Op>(std::function<void(const Whole&)>([=](const Whole& args) {
      args.require_part();
      function(args);
    }));
  }
}

}  // namespace detail

// launchers<Wkv>(wkv<float, float>, wkv<bfloat16, float>): functions void(const Args&), one for each storage. One that takes a part of
// its operator's arguments, whose type says what the Whole is, is called where the rest asks for nothing: require_part() refuses it.
template <typename Op, typename... Function>
Launchers launchers(Function... functions) {
  Launchers result;
  (detail::add_launcher<Op>(result, std::function{functions}), ...);
  return result;
}

// What products are made of. Sums and states are fp32 in either.
enum class Arithmetic {
  kFp32,
  kBf16Operands,  // rounded to bf16 at each use, as tensor cores take them: decayed q and k, v, states, scores. What is stored
                  // in fp16 is rounded to fp16 instead.
};

// What an implementation's products run on: the ceiling that is its own.
enum class Units {
  kCores,        // fp32 multiply-adds of a CPU or of a GPU's CUDA cores
  kTensorCores,  // products that a warp issues (mma.sync); of fp32 tensors each as three TF32 products
  kWarpgroups,  // products that a Hopper GPU's warpgroup issues (WGMMA)
};

// One idea of one chapter, with the launchers it has, one per storage. Each throws std::invalid_argument for bad arguments before
// anything is written.
struct Implementation {
  std::string name = {};  // "wkv_atomic": unique, the idea in a word
  int step = 0;           // its place in the lesson, for those with the same operator
  DeviceKind device = DeviceKind::kCpu;
  // On the ladder `./ladder run` climbs; the others are variants, shown by `--all`.
  bool rung = false;
  // What the launchers for bf16 and fp16 compute in; what is stored in fp32 is computed in fp32.
  Arithmetic bf16_arithmetic = Arithmetic::kFp32;
  Units units = Units::kCores;
  // The multiply-adds that it cannot do without, as a share of those that the operator's cost counts: a recurrence's cost
  // counts three for each element of the state and step, and there is algebra that needs fewer.
  double fma_share = 1.0;
  Launchers launchers = {};
  // Where it was registered, from the file that does it: set by Registration.
  std::string source = {};   // "07_chunkwise/02_chunk_walk/kernel.cu"
  std::string chapter = {};  // "07_chunkwise"
  std::string file = {};     // its whole path, which may lie in my/
};

// An implementation that this program was built without.
struct AbsentImplementation {
  std::string name = {};
  std::string source = {};   // "08_flash_attention/15_hopper/kernel_sm90.cu"
  std::string chapter = {};  // from it
  int step = 0;
  bool rung = false;
  std::string needs = {};  // "a Hopper GPU (sm_90a) and nvcc"
  // What it computes: an operator, with a storage other than fp32 behind it: "wkv", "attention_bf16".
  std::vector<std::string> launchers = {};
};

// The folder in its chapter that holds a source: "02_chunk_walk"; empty for the chapter's own folder.
std::string lesson_of(const std::string& source);

// Order of reading: by chapter, by lesson (a chapter's own kernel is its lesson 00, what else lies in its folder comes last), by step.
template <typename A, typename B>
bool comes_before(const A& a, const B& b) {
  const auto place = [](const auto& each) {
    const std::string lesson = lesson_of(each.source);
    const bool last = lesson.empty() && each.source.find("/kernel.") == std::string::npos &&
                      each.source.find('/') != std::string::npos;
    return std::tuple(each.chapter, last, lesson, each.step);
  };
  return place(a) < place(b);
}

// The implementation's launcher; null if it has none.
template <typename Op, typename Args>
std::function<void(const Args&)> launcher(const Implementation& implementation) {
  return implementation.launchers.find<Op, Args>();
}

// Calls it. std::invalid_argument if there is none.
template <typename Op, typename Args>
void launch(const Implementation& implementation, const Args& args) {
  const auto function = launcher<Op, Args>(implementation);
  require(function != nullptr, implementation.name + " does not compute that in this precision");
  function(args);
}

// What the implementation says its products are made of in this storage.
inline Arithmetic arithmetic_of(const Implementation& implementation, const std::string& storage) {
  return storage == "fp32" ? Arithmetic::kFp32 : implementation.bf16_arithmetic;
}

// All registered implementations, in order of reading, and then of registration.
std::vector<Implementation> implementations();

// What was left out of this program, in the same order.
std::vector<AbsentImplementation> absent_implementations();

// The one with that name; std::invalid_argument lists the names there are, or says what an absent one needs.
Implementation find_implementation(const std::string& name);

// The whole path of a __FILE__, which a compiler's cache may have made relative to the build folder.
std::string whole_path(const std::string& file);

// A chapter registers with a namespace-scope object: `const Registration registration{{...}};`
struct Registration {
  // __builtin_FILE: std::source_location is not known to every nvcc that can compile the chapters.
  explicit Registration(Implementation implementation, const char* file = __builtin_FILE());
};

// The build registers what it leaves out.
struct AbsentRegistration {
  explicit AbsentRegistration(AbsentImplementation implementation);
};

}  // namespace ladder
