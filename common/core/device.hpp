// A device as tests and the ladder see it: memory, copies, clocks and ceilings. The CPU is built in; a CUDA back end
// (a GPU or the emulator) registers itself where it is linked in.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/core/arrays.hpp"

namespace ladder {

// Where an implementation runs, and so where its pointers must point.
enum class DeviceKind { kCpu, kCuda };

// Measured on this machine, in this run.
struct Ceilings {
  double fma_per_second = 0;    // fp32 fused multiply-adds, registers only
  double bytes_per_second = 0;  // a copy far larger than the caches, bytes read plus bytes written
  // Multiply-adds of products on tensor cores; 0 where there are none.
  double tensor_fma_per_second = 0;  // of bf16, issued by a warp, registers only
  double tf32_fma_per_second = 0;    // the same of TF32
  double warpgroup_fma_per_second =
      0;  // of bf16, issued by a Hopper GPU's warpgroup, from shared memory
};

// Work to be done again and again.
struct Recording {
  std::function<void()> replay;
  bool without_host =
      false;  // the device has all of it before it begins: it never waits for the host between launches
};

// Kernels that some work launches, copies and fills.
struct Launches {
  int all = 0;
  int on_its_stream = 0;  // the one that the work was given
};

class Device {
 public:
  virtual ~Device() = default;

  virtual std::string name() const = 0;      // "NVIDIA H200"
  virtual std::string back_end() const = 0;  // "cpu", "cuda" or "emulator"

  // Memory. Every failure throws with call, file and line. Fresh memory holds NaN where the back end can do that.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* pointer) = 0;
  virtual void upload(void* to, const void* from_host, std::size_t bytes) = 0;
  virtual void download(void* to_host, const void* from, std::size_t bytes) = 0;

  // What a back end that watches memory calls these elements. `written`: whether their contents mean something already.
  virtual void name_memory(const void* /*pointer*/, std::size_t /*bytes*/,
                           const std::string& /*name*/, std::size_t /*element_bytes*/,
                           bool /*written*/, const Axes& /*axes*/) {}

  // Prints " in block (0, 0, 0), thread (3, 0, 0)" while the calling thread runs a kernel's code, where the back end can say so.
  virtual void print_running_thread() const {}

  // Waits for all work; throws what went wrong in it.
  virtual void synchronize() = 0;

  // Seconds `work` takes on the device's own clock (events on a GPU, a steady clock elsewhere).
  virtual double time(const std::function<void()>& work) = 0;

  // `work` as a CUDA graph where there is such a thing and the work can be recorded. Its arguments must live as long as the
  // recording.
  virtual Recording record(const std::function<void()>& work) { return {work, false}; }

  // What `work` launches when it is given a stream of its own (common/cuda/call.hpp). No kernel runs. Nothing where the back end cannot say.
  virtual Launches launches_of(const std::function<void()>& /*work*/) { return {}; }

  virtual Ceilings measure_ceilings() = 0;

  // How much of its own memory nobody uses; 0 where its memory is the host's.
  virtual std::size_t free_bytes() const { return 0; }

  // The last level's size. Timings rotate over more data than this; 0 where a cache means nothing.
  virtual std::size_t cache_bytes() const = 0;

  // The orders in which threads may be scheduled; a right kernel gives the same under each.
  virtual std::vector<std::string> schedules() const { return {"hardware"}; }
  virtual std::string schedule() const { return schedules().front(); }
  virtual void use_schedule(const std::string& /*name*/) {}
};

// Why no device of that kind can be used now ("no CUDA-capable device is detected"); empty if one can.
std::string why_unavailable(DeviceKind kind);

// std::runtime_error with the reason when it is not available.
Device& device(DeviceKind kind);

// For back ends: `make` is called once, on first use, and may throw std::runtime_error with the reason.
struct DeviceRegistration {
  DeviceRegistration(DeviceKind kind, std::function<std::unique_ptr<Device>()> make);
};

}  // namespace ladder
