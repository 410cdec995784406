#include "common/judge/plan.hpp"

#include <algorithm>
#include <cmath>

#include "common/core/text.hpp"
#include "common/judge/named_arrays.hpp"

namespace ladder {

bool Support::has(const std::string& feature) const {
  return std::count(refuses.begin(), refuses.end(), feature) == 0;
}

void SupportWords::check(const std::string& op, const Support& support) const {
  const auto check = [&](const std::string& field, const std::string& word,
                         const std::vector<std::string>& known) {
    require(std::count(known.begin(), known.end(), word) > 0,
            "a suite of " + op + " has " + field + " '" + word + "'; allowed: " +
                (known.empty() ? "none, for its tests look at none" : joined(known)));
  };
  for (const auto& [size, levels] : support.sizes)
    check(".sizes", size, sizes);
  for (const auto& [option, levels] : support.options)
    check(".options", option, options);
  for (const std::string& feature : support.refuses)
    check(".refuses", feature, refuses);
  for (const auto& [size, value] : support.most)
    check(".most", size, most);
  const Support usual;
  for (const auto& [field, is_usual] :
       {std::pair("not_repeatable", support.not_repeatable.empty()),
        std::pair("multiple", support.multiple == usual.multiple),
        std::pair("plain_steps", support.plain_steps == usual.plain_steps),
        std::pair("nan_tile", support.nan_tile == usual.nan_tile),
        std::pair("also", support.also.empty())}) {
    if (!is_usual) check("a field", field, fields);
  }
}

bool Support::stores(const std::string& storage) const {
  return std::count(storages.begin(), storages.end(), storage) > 0;
}

std::int64_t Support::most_of(const std::string& size) const {
  for (const auto& [name, value] : most) {
    if (name == size) return value;
  }
  return 0;
}

std::vector<std::int64_t> Support::levels(const std::string& size,
                                          const std::vector<std::int64_t>& usual) const {
  for (const auto& [name, own] : sizes) {
    if (name == size) return own;
  }
  return usual;
}

void expect_right(Report& report, const Implementation& i, const Problem& problem) {
  const auto placed = problem.place(device(i.device), i);
  require(placed != nullptr, i.name + " has no launcher for " + problem.name());
  placed->call();
  device(i.device).synchronize();
  const Arithmetic arithmetic = arithmetic_of(i, problem.storage());
  const Verdict verdict = placed->judge(arithmetic, false);
  if (!verdict.right) report.wrong(verdict, *placed, arithmetic);
}

void plan_borders(Plan& plan, const Operator& op, const Support& support, const Shape& small,
                  const Options& options, const std::function<void(Shape&)>& follow) {
  for (const Border& border : support.borders) {
    for (const std::int64_t at : border.at) {
      for (const std::int64_t size : {at, at + border.step}) {
        if (support.most_of(border.size) > 0 && size > support.most_of(border.size)) continue;
        Shape shape = small;
        for (const Size& other : border.others.sizes())
          shape.set(other.name, other.value);
        shape.set(border.size, size);
        if (follow) follow(shape);
        for (const std::string& storage : support.storages) {
          std::string name = case_name(shape, options, storage);
          if (border.multiprocessors > 0)
            name += "_on_" + std::to_string(border.multiprocessors) + "_multiprocessors";
          plan.borders.push_back(
              {name, op.make_case(shape, options, storage), {}, border.multiprocessors});
        }
      }
    }
  }
}

void Placed::for_each_bad_input(const Support& support, const TryIt& try_it) const {
  Struct bad = args_;
  const auto call = [&] { launch_(bad); };
  const auto try_with = [&](const std::string& argument) { try_it(argument, call); };
  ladder::for_each_bad_input(bad.fields(), bad.arrays(), try_with);
  if (problem_.op().bad_inputs)
    return problem_.op().bad_inputs(problem_.storage(), support, where_, bad, try_with);
  for (const auto& [size, most] : support.most) {
    for (const ListedField& field : bad.fields()) {
      if (field.name != size || !field.is_size()) continue;
      const std::int64_t good = field.number();
      field.set(most + 1);
      try_with(size);
      field.set(good);
    }
  }
}

}  // namespace ladder
