// A whole GLA layer, forward, around any GLA kernel.
#pragma once

#include <functional>

#include "common/core/gla_layer.hpp"
#include "common/core/wkv.hpp"

namespace chapter07 {

using GlaLauncher = std::function<void(const ladder::WkvArgs&)>;

// `gla` is a launcher of the registry (Implementation::gla). std::invalid_argument for bad arguments, before anything is written.
void gla_layer(const ladder::GlaLayerArgs& args, const GlaLauncher& gla);

}  // namespace chapter07
