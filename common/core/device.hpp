// A device as tests and the ladder use it, with memory, copies, clocks and ceilings. The CPU is
// built in, and a CUDA back end (a GPU or the emulator) registers itself if it is linked in.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/core/arrays.hpp"

namespace ladder {

// Where an implementation runs, and therefore where its pointers must point.
enum class DeviceKind { kCpu, kCuda };

// Measured on this machine, in this run.
struct Ceilings {
  double fma_per_second = 0;    // fp32 fused multiply-adds, registers only
  double bytes_per_second = 0;  // a copy far larger than the caches, bytes read plus bytes written
  // FMAs of tensor-core MMAs, or 0 without tensor cores
  double tensor_fma_per_second = 0;     // bf16, issued by a warp, registers only
  double tf32_fma_per_second = 0;       // TF32, in the same way
  double warpgroup_fma_per_second = 0;  // bf16, by a Hopper warpgroup, from shared memory
};

// Work that can be replayed many times.
struct Recording {
  std::function<void()> replay;
  bool without_host = false;  // all of it is queued before it starts
};

// The number of kernels, copies and fills that some work launches.
struct Launches {
  int all = 0;
  int on_its_stream = 0;  // on the stream that was passed to the work
};

class Device {
 public:
  virtual ~Device() = default;

  virtual std::string name() const = 0;      // "NVIDIA H200"
  virtual std::string back_end() const = 0;  // "cpu", "cuda" or "emulator"

  // Memory. A failure throws, with call, file and line. If the back end can, new memory holds NaN.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* pointer) = 0;
  virtual void upload(void* to, const void* from_host, std::size_t bytes) = 0;
  virtual void download(void* to_host, const void* from, std::size_t bytes) = 0;

  // Names elements for a back end that watches memory. `written` means that the contents are valid.
  virtual void name_memory(const void* /*pointer*/, std::size_t /*bytes*/,
                           const std::string& /*name*/, std::size_t /*element_bytes*/,
                           bool /*written*/, const Axes& /*axes*/) {}

  // Prints " in block (0, 0, 0), thread (3, 0, 0)" if the calling thread is known to run a kernel.
  virtual void print_running_thread() const {}

  // Waits for all work, and throws its errors.
  virtual void synchronize() = 0;

  // Seconds of `work` on the device's clock (events on a GPU, otherwise a steady clock).
  virtual double time(const std::function<void()>& work) = 0;

  // Records `work` as a CUDA graph if the back end has graphs and the work can be recorded. The
  // arguments of `work` must outlive the recording.
  virtual Recording record(const std::function<void()>& work) { return {work, false}; }

  // Counts what `work` launches if it is given its own stream (common/cuda/call.hpp), without
  // running a kernel. Empty if the back end cannot count.
  virtual Launches launches_of(const std::function<void()>& /*work*/) { return {}; }

  virtual Ceilings measure_ceilings() = 0;

  // Unused device memory, or 0 if the device's memory is the host's.
  virtual std::size_t free_bytes() const { return 0; }

  // Size of the last-level cache, which timings exceed. 0 if caches do not matter.
  virtual std::size_t cache_bytes() const = 0;

  // The orders in which threads can be scheduled. A correct kernel gives the same result in each.
  virtual std::vector<std::string> schedules() const { return {"hardware"}; }
  virtual std::string schedule() const { return schedules().front(); }
  virtual void use_schedule(const std::string& /*name*/) {}
};

// Why no device of this kind is usable ("no CUDA-capable device is detected"), or empty.
std::string why_unavailable(DeviceKind kind);

// Throws std::runtime_error with the reason if the device is not available.
Device& device(DeviceKind kind);

// For back ends. `make` is called once, at first use, and its std::runtime_error is the reason.
struct DeviceRegistration {
  DeviceRegistration(DeviceKind kind, std::function<std::unique_ptr<Device>()> make);
};

}  // namespace ladder
