// The C interface over the registered kernels. The generated kernel_ladder_exports.inc lists the
// functions, and this file implements them. Kernels are found by name, and none is compiled here.
#include "library/include/kernel_ladder.h"

#include <cuda_runtime.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "common/core/bfloat16.hpp"
#include "common/core/errors.hpp"
#include "common/core/float16.hpp"
#include "common/core/lists.hpp"
#include "common/core/registry.hpp"
#include "common/cuda/call.hpp"
#include "common/cuda/check.hpp"
#include "common/operators/attention/attention.hpp"
#include "common/operators/linear_attention/linear_attention.hpp"
#include "common/operators/wkv/wkv.hpp"
#include "library/best/card.hpp"
#include "library/best/rules.hpp"
#ifdef KERNEL_LADDER_EMULATED
#include "emulator/emulator.hpp"
#endif

#define KL_API __attribute__((visibility("default")))

namespace ladder {
namespace {

#ifdef KERNEL_LADDER_EMULATED
constexpr bool kEmulated = true;
#else
constexpr bool kEmulated = false;
#endif

#ifdef KERNEL_LADDER_EMULATED
// Threads do not survive a fork. fork() therefore waits until no call is running, so that the child
// finds no lock held. In the child, kernels are emulated on the calling thread alone.
struct Calls {
  std::mutex entrance;
  std::shared_mutex under_way;
  static Calls& all() {
    static Calls& calls = *new Calls;  // never destroyed, because other threads may outlive main()
    return calls;
  }
  void close() { entrance.lock(), under_way.lock(); }
  void open() { under_way.unlock(), entrance.unlock(); }
};

std::shared_lock<std::shared_mutex> enter() {
  const std::lock_guard<std::mutex> not_while_a_fork_waits(Calls::all().entrance);
  return std::shared_lock<std::shared_mutex>(Calls::all().under_way);
}

[[maybe_unused]] const int forks =
    pthread_atfork([] { Calls::all().close(); }, [] { Calls::all().open(); },
                   [] {  // not open(), since in the child the owner of the locks has another number
                     new (&Calls::all()) Calls;
                     emulator::set_workers(1);
                   });

// Whether this process, perhaps before it loaded this library, was forked without an exec.
bool is_forked() {
  static std::atomic<pid_t> known = 0;  // a process that was not forked
  if (known == getpid()) return false;
  std::string stat;
  std::getline(std::ifstream("/proc/self/stat"), stat, '\0');
  unsigned flags = 0x40;  // PF_FORKNOEXEC, assumed if the file cannot be read
  std::sscanf(stat.c_str() + stat.rfind(')') + 1, " %*c %*d %*d %*d %*d %*d %u", &flags);
  if ((flags & 0x40) == 0) known = getpid();
  return (flags & 0x40) != 0;
}

// After a fork, OpenMP waits forever for the parent's threads. A new thread gets its own.
template <typename Work>
void with_threads_of_its_own(const Work& work) {
  std::exception_ptr error;
  std::thread([&] {
    try {
      work();
    } catch (...) {
      error = std::current_exception();
    }
  }).join();
  if (error) std::rethrow_exception(error);
}
#endif

struct Refusal : std::runtime_error {
  Refusal(std::int32_t status, const std::string& sentence)
      : std::runtime_error(sentence), status(status) {}
  std::int32_t status;
};

thread_local std::string last_error;

template <typename Work>
std::int32_t status_of(const Work& work) {
  const auto failed = [](std::int32_t status, const char* sentence) {
    last_error = sentence;
    return status;
  };
  try {
#ifdef KERNEL_LADDER_EMULATED
    const auto entered = enter();
#endif
    work();
    return KL_OK;
  } catch (const Refusal& error) {
    return failed(error.status, error.what());
  } catch (const NotOnThisDevice& error) {
    return failed(KL_NOT_SUPPORTED, error.what());
  } catch (const std::invalid_argument& error) {
    return failed(KL_BAD_ARGUMENT, error.what());
  } catch (const std::bad_alloc&) {
    return failed(KL_OUT_OF_MEMORY, "the host has no memory left");
  } catch (const std::exception& error) {
    const bool memory = std::strstr(error.what(), "cudaErrorMemoryAllocation") != nullptr;
    cudaGetLastError();  // clears the error, which is not the next call's
    return failed(memory ? KL_OUT_OF_MEMORY : KL_CUDA_ERROR, error.what());
  }
}

// ---- From a struct of the interface to a launcher's arguments ----

struct Member {
  const char* name;
  std::size_t offset;
};
template <typename Struct>
struct Members;  // kernel_ladder_exports.inc

template <typename Struct>
const char* address_of(const Struct& from, const char* name) {
  for (const Member& member : Members<Struct>::list) {
    if (std::strcmp(member.name, name) == 0)
      return reinterpret_cast<const char*>(&from) + member.offset;
  }
  return nullptr;
}

template <typename Struct>
struct TakeField {
  const Struct& from;
  template <typename Value, typename... Limits>
  void operator()(const char* name, Value& value, Limits...) const {
    const char* const address = address_of(from, name);
    if constexpr (std::is_same_v<Value, bool> || std::is_enum_v<Value>) {
      std::int32_t number = 0;
      std::memcpy(&number, address, sizeof number);
      require(number == 0 || number == 1,
              std::string(name) + " is " + std::to_string(number) + "; allowed: 0, 1");
      value = static_cast<Value>(number);
    } else {
      std::memcpy(&value, address, sizeof value);
    }
  }
};

constexpr int kAnyDevice = -1;  // if no array is read or written

// On a GPU, a pointer must belong to the current device or one that it can access, because a kernel
// that uses any other pointer ruins the whole process.
inline void require_on_device(const char* name, const void* pointer, int device) {
  if (kEmulated || pointer == nullptr || device == kAnyDevice) return;
  cudaPointerAttributes attributes{};
  CUDA_CHECK(cudaPointerGetAttributes(&attributes, pointer));
  require(attributes.type != cudaMemoryTypeUnregistered,
          std::string(name) + " is a pointer to the host's memory; allowed: the device's");
  require(attributes.type != cudaMemoryTypeDevice || attributes.device == device,
          std::string(name) + " lies on device " + std::to_string(attributes.device) +
              "; allowed: the current one, " + std::to_string(device));
}

template <typename Struct>
struct TakeArray {
  const Struct& from;
  int device;
  template <typename Element, typename... More>
  void operator()(const char* name, Element*& pointer, const Axes&, More...) const {
    void* address = nullptr;
    std::memcpy(&address, address_of(from, name), sizeof address);
    require_on_device(name, address, device);
    pointer = static_cast<Element*>(address);
  }
};

// Checks the host's sequence bounds and key lengths before anything is written. Those on a GPU
// would need a synchronisation, so kernels clamp them to the arrays instead.
template <typename Struct>
struct CheckNumbers {
  const Struct& from;
  template <typename Pointer, typename... More>
  void operator()(const char* name, Pointer& values, const Axes& axes, More...) const {
    if constexpr (std::is_same_v<Pointee<Pointer>, std::int64_t>) {
      if (values == nullptr) return;
      const std::string array = name;
      const std::string size = array == "cu_seqlens"     ? "T"
                               : array == "cu_seqlens_q" ? "T_q"
                                                         : "T_k";
      std::int64_t most = 0;
      std::memcpy(&most, address_of(from, size.c_str()), sizeof most);
      const bool is_length = array == "key_lengths";
      const std::int64_t count = axes.begin()->size;
      require(is_length || count > 1 || (count == 1 && most == 0),
              "sequences is " + std::to_string(count - 1) + "; allowed with " + array +
                  ": 1 or more, since " + size + " is " + std::to_string(most));
      for (std::int64_t i = 0; kEmulated && i < count; ++i) {
        const std::int64_t low = is_length || i == 0 ? 0 : i + 1 == count ? most : values[i - 1];
        const std::int64_t high = is_length || i > 0 ? most : 0;
        require(low <= values[i] && values[i] <= high,
                array + "[" + std::to_string(i) + "] is " + std::to_string(values[i]) +
                    "; allowed: " + (low < high ? std::to_string(low) + " to " : "") +
                    std::to_string(high) + (high > 0 ? ", which is " + size : ""));
      }
    }
  }
};

// The caller's struct may be older or newer. Members that this library lacks must be 0.
template <typename Struct>
Struct known_part(const Struct* args, const Struct& usual) {
  require(args != nullptr, "args is a null pointer; allowed: a pointer to a struct of arguments");
  constexpr std::size_t kLeast = offsetof(Struct, workspace_bytes) + sizeof(std::size_t);
  const std::size_t size = args->struct_size;
  const auto is = [&] { return "struct_size is " + std::to_string(size); };
  require(size >= kLeast && size <= 16 * sizeof(Struct),
          is() + "; allowed: the size of the struct, here " + std::to_string(sizeof(Struct)));
  Struct known = usual;
  std::memcpy(&known, args, size < sizeof known ? size : sizeof known);
  for (std::size_t i = sizeof known; i < size; ++i) {
    require(reinterpret_cast<const char*>(args)[i] == 0,
            is() + ", and what lies behind byte " + std::to_string(sizeof known) +
                " is set; allowed: 0, this library is older than that");
  }
  return known;
}

inline kl_wkv_args usual(const kl_wkv_args*) {
  return KL_WKV_ARGS;
}
inline kl_wkv_backward_args usual(const kl_wkv_backward_args*) {
  return KL_WKV_BACKWARD_ARGS;
}
inline kl_linear_attention_args usual(const kl_linear_attention_args*) {
  return KL_LINEAR_ATTENTION_ARGS;
}
inline kl_attention_args usual(const kl_attention_args*) {
  return KL_ATTENTION_ARGS;
}
inline kl_attention_backward_args usual(const kl_attention_backward_args*) {
  return KL_ATTENTION_BACKWARD_ARGS;
}

// ---- The kernel for a call ----

template <typename Args>
struct Kernel {
  std::function<void(const Args&)> launch;
  DeviceKind device;
};

// All kernels of this library, by name.
template <typename Op, typename Args>
const std::map<std::string, Kernel<Args>>& kernels_of() {
  static const auto all = [] {
    std::map<std::string, Kernel<Args>> result;
    for (const Implementation& each : implementations()) {
      if (auto launcher = ladder::launcher<Op, Args>(each))
        result[each.name] = {launcher, each.device};
    }
    return result;
  }();
  return all;
}

// Throws if there is no device.
best::Card card_or_refusal() {
#ifdef KERNEL_LADDER_EMULATED
  static const bool host_arrays = [] { return emulator::allow_host_memory(true), true; }();
  static_cast<void>(host_arrays);
#endif
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || count == 0) {
    cudaGetLastError();
    throw Refusal(KL_NO_DEVICE,
                  std::string("no usable GPU: ") +
                      (status == cudaSuccess ? "there is none" : cudaGetErrorString(status)));
  }
  return best::current_card();
}

// The emulated library has chapter 02's CPU kernels if it was built with OpenMP.
template <typename Op, typename Args>
bool has_on_the_cpu(const char* kernel) {
  return kEmulated && kernels_of<Op, Args>().count(kernel) > 0;
}

// Whether `kernel`, which needs a Hopper GPU, is in this library and can run here.
template <typename Op, typename Args>
bool has_hopper(const char* kernel) {
  if (kernels_of<Op, Args>().count(kernel) == 0) return false;
  int device = 0, major = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  return major == 9;
}

template <typename Op, typename Element, typename LogW>
const char* rule(Op*, const BasicWkvArgs<Element, LogW>& args, bool invariant) {
  constexpr bool kGla = std::is_same_v<Op, Gla>;
  constexpr const char* kCpu = "wkv_openmp";
  if (args.cu_seqlens == nullptr && has_on_the_cpu<Op, BasicWkvArgs<Element, LogW>>(kCpu))
    return kCpu;
  best::RecurrenceShape shape = best::shape_of(args, kGla ? Recurrence::kGla : Recurrence::kWkv);
  if (invariant) shape.heads = args.H;
  return best::name_of(best::choose(shape, card_or_refusal()));
}

template <typename Element, typename LogW>
const char* rule(WkvBackward*, const BasicWkvGradArgs<Element, LogW>&, bool) {
  return "wkv_chunkwise_backward";
}
template <typename Element, typename LogW>
const char* rule(GlaBackward*, const BasicWkvGradArgs<Element, LogW>&, bool) {
  return "gla_chunkwise_backward";
}

template <typename Element>
const char* rule(LinearAttention*, const BasicLinearAttentionArgs<Element>& args, bool invariant) {
  constexpr const char* kCpu = "linear_attention_openmp";
  if (has_on_the_cpu<LinearAttention, BasicLinearAttentionArgs<Element>>(kCpu)) return kCpu;
  best::LinearAttentionShape shape = best::shape_of(args);
  if (invariant) {
    shape.heads = args.H;
    shape.strips = false;  // they add with atomics in any order
  }
  return best::name_of(best::choose(shape, card_or_refusal()));
}

template <typename Op, typename Args>
const char* attention_rule(const Args& args, bool invariant, best::Kernel hopper) {
  best::AttentionShape shape = best::shape_of(args);
  shape.repeatable = invariant;
  shape.hopper = has_hopper<Op, Args>(best::name_of(hopper));
  return best::name_of(best::choose(shape));
}

template <typename Element>
const char* rule(Attention*, const FullAttentionArgs<Element>& args, bool invariant) {
  return attention_rule<Attention>(args, invariant, best::Kernel::kHopper);
}

template <typename Element>
const char* rule(AttentionBackward*, const FullAttentionGradArgs<Element>& args, bool invariant) {
  return attention_rule<AttentionBackward>(args, invariant, best::Kernel::kGradientsHopper);
}

// Kernels that cannot keep batch_invariant's promise.
inline bool depends_on_batch(const std::string& kernel) {
  for (const char* each : {"attention_split_keys", "attention_backward", "attention_backward_sm90",
                           "causal_dot_product", "wkv_chunkwise_time_parallel"}) {
    if (kernel == each) return true;
  }
  return false;
}

// ---- The checked mode ----

// With KERNEL_LADDER_CHECKED=1 a call waits, and NaN or infinity that no input has is an error.
bool is_checked() {
  static const bool checked = [] {
    const char* const value = std::getenv("KERNEL_LADDER_CHECKED");
    return value != nullptr && std::strcmp(value, "1") == 0;
  }();
  return checked;
}

// Describes the first array with NaN or infinity, as "3 of 40 elements of o". In log_w and lse,
// -inf is valid as the logarithm of 0.
struct FindNoNumbers {
  bool among_inputs;
  std::string* found;

  template <typename Pointer, typename... More>
  void operator()(const char* name, const Pointer& pointer, const Axes& axes, More...) const {
    using Element = Pointee<Pointer>;
    if constexpr (!std::is_same_v<Element, std::int64_t>) {
      if (pointer == nullptr || kIsInput<Pointer> != among_inputs || !found->empty()) return;
      std::vector<Element> elements(static_cast<std::size_t>(count(axes)));
      if (elements.empty()) return;
      const std::size_t bytes = elements.size() * sizeof(Element);
      if (kEmulated)
        std::memcpy(elements.data(), pointer, bytes);
      else
        CUDA_CHECK(cudaMemcpy(elements.data(), pointer, bytes, cudaMemcpyDeviceToHost));
      const bool is_logarithm = std::strncmp(name, "l", 1) == 0;
      const auto bad = std::count_if(elements.begin(), elements.end(), [&](Element element) {
        const float value = to_float(element);
        return !std::isfinite(value) && !(is_logarithm && value < 0);
      });
      if (bad > 0)
        *found =
            std::to_string(bad) + " of " + std::to_string(elements.size()) + " elements of " + name;
    }
  }
};

template <typename Args>
void require_numbers(Args args) {
  if (!kEmulated) CUDA_CHECK(cudaStreamSynchronize(cuda::call.stream));
  std::string output, input;
  Args::arrays(args, FindNoNumbers{false, &output});
  if (output.empty()) return;
  Args::arrays(args, FindNoNumbers{true, &input});
  if (!input.empty()) return;
  throw Refusal(KL_NOT_FINITE,
                output + " are NaN or infinite, and no input is: a value is beyond " +
                    "the range of " + Args::kStorage + " (KERNEL_LADDER_CHECKED=1 looks at that)");
}

// ---- Calls ----

enum class Purpose { kLaunch, kAsk };  // kAsk needs no arrays

// Calls `use` with the kernel, its arguments and its name. While it runs, the struct's stream and
// workspace apply to this thread's kernels.
template <typename Op, typename Args, typename Struct, typename Use>
void prepared(const Struct& from, Purpose purpose, const Use& use) {
  card_or_refusal();
  int device = kAnyDevice;
  if (purpose == Purpose::kLaunch) CUDA_CHECK(cudaGetDevice(&device));
  Args args;
  Args::fields(args, TakeField<Struct>{from});
  Args::arrays(args, TakeArray<Struct>{from, device});
  require(from.batch_invariant == 0 || from.batch_invariant == 1,
          "batch_invariant is " + std::to_string(from.batch_invariant) + "; allowed: 0, 1");
  const bool invariant = from.batch_invariant != 0;
  validate_lists(args);
  if (purpose == Purpose::kLaunch) Args::arrays(args, CheckNumbers<Struct>{from});
  const std::string kernel =
      from.choice != nullptr ? from.choice : rule(static_cast<Op*>(nullptr), args, invariant);
  require(!invariant || !depends_on_batch(kernel),
          "choice is '" + kernel +
              "', whose sums depend on the batch or on the order of atomics; "
              "allowed with batch_invariant: another kernel, or NULL");
  const auto& kernels = kernels_of<Op, Args>();
  const auto found = kernels.find(kernel);
  if (found == kernels.end()) {
    std::string allowed;
    for (const auto& [name, each] : kernels)
      allowed += (allowed.empty() ? "" : ", ") + name;
    throw std::invalid_argument("choice is '" + kernel + "'; allowed for this operator in " +
                                Args::kStorage + ": " + allowed);
  }
  require_on_device("workspace", from.workspace, device);

  struct Restore {
    cuda::Call before = cuda::call;
    ~Restore() { cuda::call = before; }
  } restore;
  cuda::call = {};
  cuda::call.stream = kEmulated ? nullptr : static_cast<cudaStream_t>(from.stream);
  cuda::call.workspace = static_cast<char*>(from.workspace);
  cuda::call.bytes = from.workspace_bytes;
  cuda::call.batch_invariant = invariant;
  use(found->second, args, kernel);
}

template <typename Op, typename Struct, typename... Args, typename Use>
void with_storage(const Struct* args, Purpose purpose, const Use& use) {
  const Struct known = known_part(args, usual(args));
  const char* const storages[] = {"fp32", "bf16", "bf16_fp32_decay", "fp16"};  // KL_FP32, ...
  bool found = false;
  const auto try_one = [&](auto* type) {
    using Each = std::remove_pointer_t<decltype(type)>;
    if (found || known.storage < 0 || known.storage > KL_FP16) return;
    if (std::strcmp(storages[known.storage], Each::kStorage) != 0) return;
    found = true;
    prepared<Op, Each>(known, purpose, use);
  };
  (try_one(static_cast<Args*>(nullptr)), ...);
  if (found) return;
  std::string allowed;
  (allowed.append(allowed.empty() ? "" : ", ").append(Args::kStorage), ...);
  throw std::invalid_argument("storage is " + std::to_string(known.storage) +
                              "; allowed here: " + allowed);
}

template <typename Op, typename Struct, typename... Args>
std::int32_t call(const Struct* args) {
  return status_of([&] {
    with_storage<Op, Struct, Args...>(args, Purpose::kLaunch,
                                      [](const auto& kernel, const auto& each, const std::string&) {
#ifdef KERNEL_LADDER_EMULATED
                                        if (kernel.device == DeviceKind::kCpu && is_forked())
                                          with_threads_of_its_own([&] { kernel.launch(each); });
                                        else
#endif
                                          kernel.launch(each);
                                        if (is_checked()) require_numbers(each);
                                      });
  });
}

template <typename Op, typename Struct, typename... Args>
std::int32_t workspace(const Struct* args, std::size_t* bytes) {
  return status_of([&] {
    require(bytes != nullptr, "bytes is a null pointer; allowed: where to write the number");
    with_storage<Op, Struct, Args...>(
        args, Purpose::kAsk, [&](const auto& kernel, const auto& each, const std::string&) {
          cuda::call.only_counts = true;
          try {
            if (kernel.device == DeviceKind::kCuda) kernel.launch(each);  // ends at first launch
          } catch (const cuda::Counted&) {
          }
          *bytes = cuda::call.used;
        });
  });
}

template <typename Op, typename Struct, typename... Args>
std::int32_t choice(const Struct* args, const char** name) {
  return status_of([&] {
    require(name != nullptr, "name is a null pointer; allowed: where to write the name");
    with_storage<Op, Struct, Args...>(args, Purpose::kAsk,
                                      [&](const auto&, const auto&, const std::string& kernel) {
                                        thread_local std::string kept;
                                        kept = kernel;
                                        *name = kept.c_str();
                                      });
  });
}

}  // namespace

#include "library/kernel_ladder_exports.inc"

}  // namespace ladder

extern "C" {

KL_API const char* kl_error() {
  return ladder::last_error.c_str();
}
KL_API const char* kl_back_end() {
  return ladder::kEmulated ? "emulated" : "cuda";
}
KL_API int32_t kl_version() {
  return KL_API_VERSION;
}
KL_API const char* kl_kernels() {
  static const std::string names = [] {
    std::string lines;
    for (const ladder::Implementation& each : ladder::implementations())
      lines += each.name + "\n";
    return lines;
  }();
  return names.c_str();
}

}  // extern "C"
