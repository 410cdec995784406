// The registry. Chapters register their launchers, and tests and the ladder find them here.
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

// The launchers of an implementation, which compute an operator for arguments of one storage. They
// are found by type (Op, Args), so nothing lists all operators. Op may be only declared.
class Launchers {
 public:
  // Replaces the launcher for the same operator and storage, if there is one.
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

  // The launchers of both.
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

// launchers<Wkv>(wkv<float, float>, wkv<bfloat16, float>) takes functions void(const Args&), one
// per storage. A function whose Args is only a part of the operator's arguments (Args::Whole) is
// called after require_part() has rejected arguments that need the rest.
template <typename Op, typename... Function>
Launchers launchers(Function... functions) {
  Launchers result;
  (detail::add_launcher<Op>(result, std::function{functions}), ...);
  return result;
}

// The operands of matrix products. Accumulators and states are fp32 in both.
enum class Arithmetic {
  kFp32,
  kBf16Operands,  // rounded to bf16 at each use, as tensor cores need them: decayed q and k, v,
                  // states, scores, rounded to fp16 if the storage is fp16
};

// The units that an implementation's products run on, which decide its ceiling.
enum class Units {
  kCores,        // fp32 FMAs of a CPU or of a GPU's CUDA cores
  kTensorCores,  // MMAs issued by a warp (mma.sync); fp32 tensors as three TF32 MMAs
  kWarpgroups,   // MMAs issued by a Hopper warpgroup (WGMMA)
};

// One idea of one chapter, with one launcher per storage. A launcher throws std::invalid_argument
// for bad arguments before it writes anything.
struct Implementation {
  std::string name = {};  // "wkv_atomic": unique, the idea in one word
  int step = 0;           // its position in the lesson, among implementations of the same operator
  DeviceKind device = DeviceKind::kCpu;
  // Climbed by `./ladder run`. The others are variants, shown by `--all`.
  bool rung = false;
  // The arithmetic of the launchers for bf16 and fp16. fp32 storage is computed in fp32.
  Arithmetic bf16_arithmetic = Arithmetic::kFp32;
  Units units = Units::kCores;
  // The FMAs that are necessary, as a share of those in the operator's cost. For a recurrence the
  // cost counts three per state element and step, but some algebra needs fewer.
  double fma_share = 1.0;
  Launchers launchers = {};
  // Where it was registered, set by Registration.
  std::string source = {};   // "07_chunkwise/02_chunk_walk/kernel.cu"
  std::string chapter = {};  // "07_chunkwise"
  std::string file = {};     // the whole path, perhaps in my/
};

// An implementation that this program was built without.
struct AbsentImplementation {
  std::string name = {};
  std::string source = {};   // "08_flash_attention/15_hopper/kernel_sm90.cu"
  std::string chapter = {};  // derived from source
  int step = 0;
  bool rung = false;
  std::string needs = {};  // "a Hopper GPU (sm_90a) and nvcc"
  // Operators, with a suffix for storages other than fp32, such as "wkv", "attention_bf16".
  std::vector<std::string> launchers = {};
};

// A source's folder in its chapter ("02_chunk_walk"), or empty for the chapter's own folder.
std::string lesson_of(const std::string& source);

// The reading order is by chapter, then lesson, then step. A chapter's own kernel is its lesson 00,
// and other files of the chapter's folder come last.
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

// The implementation's launcher, or null if it has none.
template <typename Op, typename Args>
std::function<void(const Args&)> launcher(const Implementation& implementation) {
  return implementation.launchers.find<Op, Args>();
}

// Calls the launcher. Throws std::invalid_argument if there is none.
template <typename Op, typename Args>
void launch(const Implementation& implementation, const Args& args) {
  const auto function = launcher<Op, Args>(implementation);
  require(function != nullptr, implementation.name + " does not compute that in this precision");
  function(args);
}

// The operands of the implementation's products in this storage.
inline Arithmetic arithmetic_of(const Implementation& implementation, const std::string& storage) {
  return storage == "fp32" ? Arithmetic::kFp32 : implementation.bf16_arithmetic;
}

// All registered implementations, in reading order and then in order of registration.
std::vector<Implementation> implementations();

// The implementations that this program was built without, in the same order.
std::vector<AbsentImplementation> absent_implementations();

// Throws std::invalid_argument with the existing names, or with what an absent one needs.
Implementation find_implementation(const std::string& name);

// The whole path of a __FILE__, which a compiler cache may have made relative to the build folder.
std::string whole_path(const std::string& file);

// A chapter registers with a namespace-scope object: `const Registration registration{{...}};`
struct Registration {
  // __builtin_FILE, because not every nvcc that compiles the chapters has std::source_location.
  explicit Registration(Implementation implementation, const char* file = __builtin_FILE());
};

// Registered by the build for each implementation that it omits.
struct AbsentRegistration {
  explicit AbsentRegistration(AbsentImplementation implementation);
};

}  // namespace ladder
