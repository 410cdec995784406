// Prints which kernel the rules choose, and why, as JSON for `./ladder which`, or what each kernel
// does, for fit.py. It launches nothing and needs no GPU, because the rules are those of the
// measured GPU.
#include <cstdint>
#include <cstdio>
#include <exception>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "common/core/errors.hpp"
#include "library/best/rules.hpp"
#include "library/best/work.hpp"

namespace {

using namespace ladder;
using best::Choice;
using best::explain;
using best::shape_of;

struct Answer {
  Choice choice;
  best::Works works = {};
};

template <typename Shape>
Answer answer_of(const Shape& shape) {
  return {explain(shape), works_of(shape, best::kH200)};
}

// [[kernel, its row of costs.inc, terms], ...]
nlohmann::json described(const best::Works& works) {
  nlohmann::json result = nlohmann::json::array();
  for (std::size_t n = 0; n < works.count; ++n) {
    const best::Work& work = works.all[n];
    result.push_back(
        {name_of(work.kernel), {static_cast<int>(work.data), work.rows, work.variant}, work.terms});
  }
  return result;
}

nlohmann::json described(const Choice& choice) {
  nlohmann::json compared = nlohmann::json::object();
  for (std::size_t n = 0; n < choice.times; ++n)
    compared[name_of(choice.compared[n].kernel)] = choice.compared[n].microseconds;
  return {{"kernel", name_of(choice.kernel)}, {"rule", choice.rule}, {"compared", compared}};
}

using Sizes = std::map<std::string, std::int64_t>;

template <typename Args, Recurrence kind>
Answer of_recurrence(const Sizes& sizes) {
  static const std::int64_t packed = 0;
  Args args;
  args.B = sizes.at("B"), args.T = sizes.at("T"), args.H = sizes.at("H");
  args.K = sizes.at("K"), args.V = sizes.at("V");
  if (sizes.count("packed") > 0) args.cu_seqlens = &packed;
  return answer_of(shape_of(args, kind));
}

template <typename Args>
Answer of_linear_attention(const Sizes& sizes, Args args = {}) {
  args.B = sizes.at("B"), args.T_q = args.T_k = sizes.at("T"), args.H = sizes.at("H");
  args.K = sizes.at("K"), args.V = sizes.at("V");
  return answer_of(shape_of(args));
}

template <typename Args>
Answer of_product(const Sizes& sizes) {
  Args args;
  args.feature_map = FeatureMap::kIdentity;
  args.normalize = false;
  return of_linear_attention(sizes, args);
}

// With USUAL's names: D is K, and D_v is V.
template <typename Args>
Args attention_args(const Sizes& sizes) {
  const auto or_as = [&](const char* name, const char* other) {
    return sizes.count(name) > 0 ? sizes.at(name) : sizes.at(other);
  };
  Args args;
  args.B = sizes.at("B"), args.T_k = sizes.at("T"), args.T_q = or_as("T_q", "T");
  args.H_q = sizes.at("H"), args.H_kv = or_as("H_kv", "H");
  args.D = sizes.at("K"), args.D_v = sizes.at("V");
  require(args.H_kv > 0 && args.H_q % args.H_kv == 0,
          "H_kv is " + std::to_string(args.H_kv) + "; allowed: what H, " +
              std::to_string(args.H_q) + ", can be divided by");
  return args;
}

// For an H200.
template <typename Args>
Answer of_attention(const Sizes& sizes) {
  best::AttentionShape shape = shape_of(attention_args<Args>(sizes));
  shape.hopper = true;
  return {explain(shape)};
}

template <typename Args>
Answer of_gradients(const Sizes& sizes) {
  Args args;
  args.forward = attention_args<typename decltype(args.forward)::Whole>(sizes);
  best::AttentionShape shape = shape_of(args);
  shape.hopper = true;
  return {explain(shape)};
}

Answer answer(const std::string& op, const std::string& precision, const Sizes& sizes) {
#define USUAL(name, size)
#define OPTIONAL(name, op)
#define RULES(each, storage, ...) \
  if (op == #each && precision == #storage) return __VA_ARGS__(sizes);
#include "library/best/operators.inc"
#undef RULES
#undef OPTIONAL
#undef USUAL
  throw std::invalid_argument("operator is '" + op + "', precision '" + precision +
                              "'; allowed: those of library/best/operators.inc");
}

}  // namespace

// best_which OPERATOR PRECISION B=8 T=4096 H=32 K=64 V=64 [packed=1]
// best_which terms, with lines "OPERATOR PRECISION T H K V" on the standard input
int main(int argc, char** argv) try {
  if (argc == 2 && std::string(argv[1]) == "terms") {
    std::string op, precision;
    Sizes sizes = {{"B", 1}};
    while (std::cin >> op >> precision >> sizes["T"] >> sizes["H"] >> sizes["K"] >> sizes["V"])
      std::puts(described(answer(op, precision, sizes).works).dump().c_str());
    return 0;
  }
  if (argc < 3) throw std::invalid_argument("two words are missing: an operator and a precision");
  Sizes sizes;
  for (int n = 3; n < argc; ++n) {
    const std::string word = argv[n];
    const auto equals = word.find('=');
    sizes[word.substr(0, equals)] = std::stoll(word.substr(equals + 1));
  }
  std::puts(described(answer(argv[1], argv[2], sizes).choice).dump().c_str());
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
