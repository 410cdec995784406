// Which kernel the rules choose, and why, as JSON: what `./ladder which` asks. Nothing is launched, and no GPU is asked: the rules are
// those of the GPU that was measured.
#include <cmath>
#include <cstdio>
#include <exception>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "library/best/rules.hpp"

namespace {

using ladder::best::Choice;
using ladder::best::explain;
using ladder::best::shape_of;

constexpr int kMultiprocessors = 132;  // of an H200

nlohmann::json described(const Choice& choice) {
  nlohmann::json compared = nlohmann::json::object();
  for (std::size_t n = 0; n < choice.times; ++n) {
    const auto& [kernel, microseconds] = choice.compared[n];
    if (std::isfinite(microseconds)) compared[name_of(kernel)] = microseconds;
  }
  return {{"kernel", name_of(choice.kernel)}, {"rule", choice.rule}, {"compared", compared}};
}

using Sizes = std::map<std::string, std::int64_t>;

template <typename Args>
Choice of_recurrence(const Sizes& sizes, bool gla) {
  static const std::int64_t packed = 0;
  Args args;
  args.B = sizes.at("B"), args.T = sizes.at("T"), args.H = sizes.at("H");
  args.K = sizes.at("K"), args.V = sizes.at("V");
  if (sizes.count("packed") > 0) args.cu_seqlens = &packed;
  return explain(shape_of(args, gla ? ladder::Recurrence::kGla : ladder::Recurrence::kWkv),
                 kMultiprocessors);
}

template <typename Args>
Choice of_linear_attention(const Sizes& sizes, bool product) {
  Args args;
  args.B = sizes.at("B"), args.T_q = args.T_k = sizes.at("T"), args.H = sizes.at("H");
  args.K = sizes.at("K"), args.V = sizes.at("V");
  if (product) {
    args.feature_map = ladder::FeatureMap::kIdentity;
    args.normalize = false;
  }
  return explain(shape_of(args), kMultiprocessors);
}

Choice chosen(const std::string& op, const std::string& precision, const Sizes& sizes) {
  const bool fp32 = precision == "fp32";
  if (op == "wkv" || op == "gla") {
    if (fp32) return of_recurrence<ladder::WkvArgs>(sizes, op == "gla");
    return precision == "bf16" ? of_recurrence<ladder::WkvBf16Args>(sizes, op == "gla")
                               : of_recurrence<ladder::WkvBf16Fp32DecayArgs>(sizes, op == "gla");
  }
  const bool product = op == "causal_dot_product";
  if (!product && op != "linear_attention")
    throw std::invalid_argument("operator is '" + op + "'; allowed: those that have rules");
  return fp32 ? of_linear_attention<ladder::LinearAttentionArgs>(sizes, product)
              : of_linear_attention<ladder::LinearAttentionBf16Args>(sizes, product);
}

}  // namespace

// best_which OPERATOR PRECISION B=8 T=4096 H=32 K=64 V=64 [packed=1]
int main(int argc, char** argv) try {
  if (argc < 3) throw std::invalid_argument("two words are missing: an operator and a precision");
  Sizes sizes;
  for (int n = 3; n < argc; ++n) {
    const std::string word = argv[n];
    const auto equals = word.find('=');
    sizes[word.substr(0, equals)] = std::stoll(word.substr(equals + 1));
  }
  std::puts(described(chosen(argv[1], argv[2], sizes)).dump().c_str());
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
