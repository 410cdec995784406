// What a judge says of a result.
#pragma once

#include <string>

#include "common/core/error_metrics.hpp"

namespace ladder {

struct Verdict {
  bool right = false;
  // The array that the rest is about: the first output, or the one that is wrong; of gradients the one nearest to its limit.
  std::string array = {};
  // `limit` is that of `error`, `share` the largest share of a limit: above 1 is wrong (common/judge/limits.hpp).
  RelativeError error = {}, limit = {};
  double share = 0;
  // What a plain loop makes of the same array, for information: where it is asked for. No limit depends on it.
  RelativeError plain_loop = {};
  // Empty if right; otherwise "WRONG RESULT ...": what and where.
  std::string message = {};
  // Where the name of a mistake belongs in the message. npos: the message says already what happened, or nothing can be named.
  std::size_t name_at = std::string::npos;

  std::string named(const std::string& name) const {
    return name_at == std::string::npos ? message : std::string(message).insert(name_at, name);
  }
};

}  // namespace ladder
