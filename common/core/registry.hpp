// The registry of implementations: a chapter puts its launchers in, tests and the ladder find them here.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/core/linear_attention.hpp"
#include "common/core/wkv.hpp"

namespace ladder {

// Where an implementation runs, and so where its pointers must point.
enum class DeviceKind { kCpu, kCuda };

// One launcher of one chapter. Exactly one of the functions is set; it throws std::invalid_argument for bad
// arguments before anything is written.
struct Implementation {
  std::string name = {};     // "wkv_atomic": unique, the idea in a word
  std::string chapter = {};  // "03_cuda_baseline"
  DeviceKind device = DeviceKind::kCpu;
  // On the ladder `./ladder run` climbs; the others are variants, shown by `--all`.
  bool rung = false;
  std::function<void(const WkvArgs&)> wkv = nullptr;
  std::function<void(const LinearAttentionArgs&)> linear_attention = nullptr;
};

// All registered implementations, by chapter and then in order of registration.
std::vector<Implementation> implementations();

// The one with that name; std::invalid_argument lists the names there are.
Implementation find_implementation(const std::string& name);

// A chapter registers with a namespace-scope object: `const Registration registration{{...}};`
struct Registration {
  explicit Registration(Implementation implementation);
};

}  // namespace ladder
