#include "xray.hpp"

#include "recorder.hpp"

namespace emulator::xray {

std::vector<Kernel> take() {
  return Recorder::instance().take();
}

void set_access_limit(std::uint64_t accesses) {
  Recorder::instance().set_access_limit(accesses);
}

}  // namespace emulator::xray
