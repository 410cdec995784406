// A judge's verdict on a result.
#pragma once

#include <string>

#include "common/core/error_metrics.hpp"

namespace ladder {

struct Verdict {
  bool right = false;
  // The array described below: the first output, the wrong one, or the worst of the gradients.
  std::string array = {};
  // `limit` belongs to `error`. A `share` above 1 is wrong (common/judge/limits.hpp).
  RelativeError error = {}, limit = {};
  double share = 0;
  // The error of a plain loop for the same array, if requested. For information only.
  RelativeError plain_loop = {};
  // Empty if right, otherwise "WRONG RESULT ..." with a description.
  std::string message = {};
  // Where a mistake's name goes into the message. npos if it has no room for one.
  std::size_t name_at = std::string::npos;
  // The first wrong element, as "batch 0, step 1, head 2, column 0", its value, and the right one.
  std::string element = {};
  double yours = 0, should_be = 0;
  bool all_zero = false;  // and some should not be
  // The lines of the message that draw a map of right and wrong, and those with the numbers above.
  std::string map = {}, numbers = {};

  std::string named(const std::string& name) const {
    return name_at == std::string::npos ? message : std::string(message).insert(name_at, name);
  }
};

}  // namespace ladder
