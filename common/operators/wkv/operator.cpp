#include "common/operators/wkv/operator.hpp"

namespace ladder {

std::vector<std::pair<std::string, Shape>> Wkv::named_shapes() {
  return {{"rwkv6-1.6b", {{"B", 1}, {"T", 1024}, {"H", 32}, {"K", 64}, {"V", 64}}},
          {"rwkv6-7b", {{"B", 1}, {"T", 1024}, {"H", 64}, {"K", 64}, {"V", 64}}},
          {"profile", {{"B", 1}, {"T", 54}, {"H", 32}, {"K", 64}, {"V", 64}}},
          {"training", {{"B", 8}, {"T", 4096}, {"H", 32}, {"K", 64}, {"V", 64}}}};
}

template Operator& operator_of<Wkv>();

namespace {

const OperatorRegistration<Wkv> wkv_registration(1);

}  // namespace

}  // namespace ladder
