// Shapes as the command line says them: by the names of the models they come from, or spelled out.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "common/core/operator.hpp"

namespace ladder::program {

// A known name ("rwkv6-1.6b"), or sizes such as "B=8,T=4096": those left out are those of `base`. std::invalid_argument names the
// size that is no positive number, or that the operator does not have, and lists what is allowed.
Shape parse_shape(const std::string& text, const AnyOperator& op, const Shape& base);

nlohmann::json to_json(const Shape& shape);

// One line per known name, for --help.
std::string known_shapes();

}  // namespace ladder::program
