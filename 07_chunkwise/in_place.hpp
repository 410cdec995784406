// Runs a kernel of WKV on a state that is updated in place: one array is the initial state and becomes the final state. For tests only.
#pragma once

#include "common/core/device.hpp"
#include "common/operators/wkv/operator.hpp"

namespace chunkwise {

// `problem` has both states. Args: those that its values are stored as.
template <typename Args>
ladder::WkvOutputs run_in_place(const ladder::Implementation& implementation,
                                const ladder::WkvProblem& problem) {
  ladder::Device& device = ladder::device(implementation.device);
  const ladder::OnDevice<ladder::Wkv, Args> on_device(device, problem);
  Args args = on_device.args();
  const auto& state = problem["initial_state"];
  device.upload(args.final_state, state.data(), state.size() * sizeof(float));
  args.initial_state = args.final_state;
  ladder::launch<ladder::Wkv>(implementation, args);
  device.synchronize();
  return on_device.download();
}

}  // namespace chunkwise
