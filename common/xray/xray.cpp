#include "xray.hpp"

#include "recorder.hpp"

namespace emulator::xray {

std::vector<Kernel> take() {
  return Recorder::instance().take();
}

std::uint64_t take_host_bytes() {
  return Recorder::instance().take_host_bytes();
}

void keep_values() {
  Recorder::instance().keep_values();
}

Values take_values() {
  return Recorder::instance().take_values();
}

void keep_play() {
  Recorder::instance().keep_play();
}

Play take_play() {
  return Recorder::instance().take_play();
}

void set_access_limit(std::uint64_t accesses) {
  Recorder::instance().set_access_limit(accesses);
}

}  // namespace emulator::xray
