// One block of a kernel, step by step: what the player (player.js) plays.
#pragma once

#include <array>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "model.hpp"

namespace emulator::xray {

struct Play {
  // What a step does: a request ("global load"), the block's barrier ("barrier"), or an operation
  // that makes no request ("tma_load").
  struct Line {
    Source where;
    std::vector<Source> called_at;  // as in Party
    std::string operation;
    unsigned bytes = 0;        // per lane; 0 without a request
    bool matrix_load = false;  // its four matrices never share a wavefront
    std::string array = {};    // in global memory
  };
  struct Step {
    std::size_t line = 0;  // index into lines
    unsigned warp = 0;
    std::array<std::int64_t, kWarpSize> offset{};  // as in xray::Step; unused without a request
    std::uint64_t sectors = 0, wavefronts = 0, bank_conflicts = 0;
    std::vector<std::size_t> errors = {};  // indices into errors
  };
  // A variable in shared memory.
  struct Variable {
    std::string name;
    std::int64_t offset = 0;
    std::size_t element_bytes = 0;
    std::vector<std::size_t> extents;
  };

  // A recording has at most so many steps: the block's first ones, or those up to its first error.
  static constexpr std::size_t kMostSteps = 1600;

  std::string kernel;
  std::uint64_t launches = 0;
  dim3 grid, block;
  uint3 of_block{};
  std::vector<Variable> variables;
  std::vector<Line> lines;
  std::vector<Step> steps;  // between two barriers warps take turns, unless mbarriers order them
  std::size_t first = 0, steps_of_block = 0;  // the number of the first one, counted from 0
  std::vector<Error> errors;
};

// From now on a block of each kernel is played. take_play() ends it, and returns, of the kernels
// taken since, the one with an error, or else with most requests; without steps if there was none.
void keep_play();
Play take_play();

// One line of JSON. tools/ladder_tools/recordings.py adds the source and bounds its size.
void write_play(std::ostream& to, const Play& play);

}  // namespace emulator::xray
