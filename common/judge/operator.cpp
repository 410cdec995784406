#include "common/judge/operator.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <stdexcept>
#include <tuple>

#include "common/core/generator.hpp"
#include "common/core/parcel.hpp"
#include "common/core/text.hpp"

namespace ladder {
namespace {

struct Registered {
  std::vector<const Operator*> operators;
  std::vector<int> places;
};

Registered& registered() {
  static Registered all;
  return all;
}

// "reverse", "not causal", "scale=0.125"
std::string words_of(const std::string& option, const std::string& value) {
  return value == "true" ? option : value == "false" ? "not " + option : option + "=" + value;
}

std::string stored_in(const std::string& storage) {
  return "stored in " + storage;
}

// The arrays of the list that this case uses.
std::vector<ListedArray> wanted(const Operator& op, const Struct& c,
                                std::vector<ListedArray> arrays) {
  std::erase_if(arrays, [&](const ListedArray& array) { return !op.wants(c, array.name); });
  return arrays;
}

// The arguments in their storage, with the sizes of `host`.
Struct stored_args(const Operator::Stored& stored, const Struct& host) {
  Struct args = stored.args;
  copy_fields(host.fields(), args.fields());
  return args;
}

std::vector<ListedArray> stored_outputs(const Operator& op, const Struct& c) {
  const Struct args = stored_args(op.stored_as(op.storage_of(c)), op.host(c));
  std::vector<ListedArray> outputs = wanted(op, c, unbound(args.arrays()));
  std::erase_if(outputs, [](const ListedArray& array) { return array.is_input; });
  return outputs;
}

bool is_one_of(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// A limit of each size in the list.
template <typename Limit>
std::vector<std::int64_t> limits(const Struct& sizes, const Limit& limit) {
  std::vector<std::int64_t> result;
  for (const ListedField& field : sizes.fields()) {
    if (field.is_size()) result.push_back((field.*limit)());
  }
  return result;
}

Size largest(const Shape& shape) {
  Size most;
  for (const Size& size : shape.sizes()) {
    if (size.value > most.value) most = size;
  }
  return most;
}

// Draws each input of the case in list order.
void draw_each(Problem& problem) {
  const Operator& op = problem.op();
  const std::vector<ListedOption> listed = problem.drawn_case().options();
  const auto option = [&]<typename Value>(const char* name, Value usual) {
    for (const ListedOption& each : listed) {
      if (each.name == name) return *static_cast<const Value*>(each.value);
    }
    return usual;
  };
  Generator generator(option("seed", std::uint32_t{1}));
  const float magnitude = option("magnitude", 1.0f);
  const Struct host = op.host(problem.drawn_case());
  for (const ListedArray& array : wanted(op, problem.drawn_case(), host.arrays())) {
    if (!array.is_input) continue;
    problem.add(array.name, *array.type, static_cast<std::size_t>(array.elements()));
    if (op.draw_input(problem, array.name, generator)) continue;
    if (array.type != &kElementType<float>)
      throw std::logic_error("draw_input of " + op.name + " leaves out " + array.name);
    for (float& x : problem[array.name])
      x = generator.uniform(-magnitude, magnitude);
  }
}

void write_case(std::ostream& out, const Operator& op, const Struct& c) {
  put(out, op.name);
  for (const ListedField& field : c.fields())
    put(out, {static_cast<const char*>(field.value), field.size});
  for (const ListedOption& option : c.options())
    put(out, option.text(option));
  put(out, op.storage_of(c));
}

Struct read_case(std::istream& in, const Operator& op) {
  Struct c = op.usual_case();
  for (const ListedField& field : c.fields())
    take(in).copy(static_cast<char*>(field.value), field.size);
  for (const ListedOption& option : c.options())
    option.read(take(in), option);
  op.set_storage(c, take(in));
  return c;
}

}  // namespace

std::string Case::storage() const {
  return op_.storage_of(typed_);
}

Shape Case::sizes() const {
  return shape_of(op_.host(typed_).fields());
}

std::vector<ListedArray> Case::stored_arrays() const {
  const Struct args = stored_args(op_.stored_as(storage()), op_.host(typed_));
  return wanted(op_, typed_, unbound(args.arrays()));
}

std::vector<ListedArray> Case::host_arrays() const {
  return wanted(op_, typed_, unbound(op_.host(typed_).arrays()));
}

double Case::fma_count() const {
  return op_.fma_count(op_.host(typed_));
}

double Case::judged_fma() const {
  return op_.judged_fma ? op_.judged_fma(typed_) : fma_count();
}

double Case::truth_bytes() const {
  return op_.truth_bytes(typed_);
}

std::unique_ptr<Problem> Case::make() const {
  return std::make_unique<Problem>(op_.drawn(typed_));
}

bool Case::launch(const Implementation& implementation, const Place& place) const {
  const Operator::Stored& stored = op_.stored_as(storage());
  const Launch launch = stored.launcher(implementation);
  if (launch == nullptr) return false;
  const Struct args = stored_args(stored, op_.host(typed_));
  for (const ListedArray& array : wanted(op_, typed_, args.arrays())) {
    if (array.elements() > 0) array.point_at(place(static_cast<std::size_t>(array.bytes())));
  }
  launch(args);
  return true;
}

void Case::write(std::ostream& out) const {
  write_case(out, op_, typed_);
}

Cost Case::cost() const {
  Cost cost{fma_count(), 0};
  for (const ListedArray& array : stored_arrays()) {
    cost.bytes += array.bytes();
    const bool is_keys = array.name == "key_lengths" || array.name == "cu_seqlens_k";
    cost.is_a_limit = cost.is_a_limit || (is_keys && array.elements() > 0);
  }
  return cost;
}

double Case::elements() const {
  double sum = 0;
  for (const ListedArray& array : host_arrays())
    sum += array.elements();
  return sum;
}

double Case::largest_array() const {
  double most = 0;
  for (const ListedArray& array : stored_arrays())
    most = std::max(most, array.elements());
  return most;
}

std::vector<std::string> Case::array_names() const {
  std::vector<std::string> names;
  for (const ListedArray& array : stored_arrays()) {
    if (array.elements() > 0) names.push_back(array.name);
  }
  return names;
}

std::pair<std::string, double> Case::first_output() const {
  for (const ListedArray& array : stored_arrays()) {
    if (!array.is_input) return {array.name, array.elements()};
  }
  return {};
}

std::string Case::text() const {
  std::vector<std::string> sizes_text, options_text;
  const Shape mine = sizes();
  for (const Size& size : mine.sizes())
    sizes_text.push_back(size.name + "=" + std::to_string(size.value));
  for (const auto& [option, value] : options_of(typed_.options(), op_.usual_case().options())) {
    if (option != "seed") options_text.push_back(words_of(option, value));
  }
  return joined(sizes_text) + "; " + joined(options_text) + "; " + storage();
}

std::vector<Case::Difference> Case::differences(const Case& other) const {
  std::vector<Difference> result;
  const Shape mine = sizes(), others = other.sizes();
  const auto sized = with(other.options_unlike(*this), other.storage());
  for (const Size& size : mine.sizes()) {
    if (size.value != others[size.name])
      result.push_back({size.name + "=" + std::to_string(size.value), true, sized});
  }
  for (const auto& [option, value] : options_unlike(other)) {
    if (option != "seed")
      result.push_back(
          {words_of(option, value), false, other.with({{option, value}}, other.storage())});
  }
  if (storage() != other.storage())
    result.push_back({stored_in(storage()), false, other.with({}, storage())});
  return result;
}

std::shared_ptr<const Case> Case::without(const std::vector<std::string>& words,
                                          const Case& other) const {
  const auto named = [&](const std::string& each) {
    return std::find(words.begin(), words.end(), each) != words.end();
  };
  const Options of_other = other.options_unlike(*this);
  Options changed;
  for (const auto& [option, value] : options_unlike(other)) {
    const auto its =
        std::find_if(of_other.begin(), of_other.end(),
                     [&, &name = option](const auto& each) { return each.first == name; });
    if (named(words_of(option, value)) && its != of_other.end()) changed.push_back(*its);
  }
  return with(changed, named(stored_in(storage())) ? other.storage() : storage());
}

Options Case::options_unlike(const Case& other) const {
  return options_of(typed_.options(), other.typed_.options());
}

std::shared_ptr<const Case> Case::with(const Options& options, const std::string& storage) const {
  Struct changed = typed_;
  Options given;
  const Struct usual = op_.usual_case();
  const std::vector<ListedOption> listed = changed.options(), defaults = usual.options();
  for (const auto& [name, text] : options) {
    const auto at = std::find_if(defaults.begin(), defaults.end(),
                                 [&, &name = name](const auto& each) { return each.name == name; });
    if (at != defaults.end() && text == at->text(*at))
      at->read(text, listed[at - defaults.begin()]);  // may be a value that is refused as an option
    else
      given.emplace_back(name, text);
  }
  set_options(listed, given, op_.name);
  op_.set_storage(changed, storage);
  return op_.case_from(std::move(changed));
}

Problem Problem::as_of(const Operator& op) const {
  Problem other = *this;
  other.op_ = &op;
  return other;
}

Struct Problem::args() const {
  Struct args = op_->host(case_);
  set_pointers(args.arrays());
  return args;
}

std::string Problem::name() const {
  return op_->name_of(case_);
}

std::string Problem::storage() const {
  return op_->storage_of(case_);
}

void Problem::round_to_storage() {
  round(stored_args(op_->stored_as(storage()), op_->host(case_)).arrays());
}

std::vector<ListedArray> Problem::outputs() const {
  return op_->outputs_of(case_);
}

Outputs Problem::stored(const Answer& answer) const {
  Outputs result;
  for (const ListedArray& array : stored_outputs(*op_, case_)) {
    std::vector<float>& values = result.emplace_back();
    for (const double x : answer.at(result.size() - 1))
      values.push_back(is_unwritten(x) ? held(x) : rounding_of(array.type->precision)(x));
  }
  return result;
}

std::vector<unsigned char> Problem::bytes_of(const OutputsAt& outputs) const {
  std::vector<unsigned char> bytes;
  std::size_t n = 0;
  for (const ListedArray& array : stored_outputs(*op_, case_)) {
    const std::vector<float>& values = *outputs.at(n++);
    const std::size_t first = bytes.size();
    bytes.resize(first + values.size() * array.type->size);
    convert(kElementType<float>, values.data(), values.size(), *array.type, bytes.data() + first);
  }
  return bytes;
}

std::vector<RealInput> Problem::real_inputs() const {
  const std::vector<ListedArray> host = unbound(op_->host(case_).arrays());
  std::vector<RealInput> reals;
  for (const auto& [name, count] : inputs()) {
    if (is_one_of(op_->derived, name)) continue;
    const auto listed = std::find_if(
        host.begin(), host.end(), [&, &of = name](const auto& array) { return array.name == of; });
    if (listed == host.end()) throw std::logic_error("no array is called " + name);
    RealInput input{*listed, {}, (*this)[name], is_one_of(op_->linear_in, name)};
    for (const Axis& axis : input.array.axes) {
      if (op_->axis_word) input.words.push_back(op_->axis_word(name, axis.name));
    }
    reals.push_back(std::move(input));
  }
  return reals;
}

std::unique_ptr<Problem> Problem::with(const std::string& input, std::int64_t element,
                                       float value) const {
  auto changed = std::make_unique<Problem>(*this);
  (*changed)[input].at(static_cast<std::size_t>(element)) = value;
  return changed;
}

std::unique_ptr<Problem> Problem::with(const std::string& input,
                                       const std::vector<float>& values) const {
  auto changed = std::make_unique<Problem>(*this);
  (*changed)[input] = values;
  op_->derive(*changed);
  changed->round_to_storage();
  return changed;
}

void Problem::with_mistakes(const std::function<void(const Mistakes&)>& use) const {
  if (!op_->mistakes) return;
  const std::vector<Truth> truth = op_->truth(*this, Arithmetic::kFp32);
  use(op_->mistakes(*this, truth, Arithmetic::kFp32));
}

// Derived from the array's axes, where "h" is a head, "b" a batch, "sequence" a packed sequence.
Belonging Problem::belonging(const std::string& array, std::int64_t element) const {
  Belonging result;
  const Struct host = op_->host(case_);
  for (const ListedArray& listed : host.arrays()) {
    if (listed.name != array) continue;
    const Layout layout = layout_of(listed);
    const std::vector<std::int64_t> at = layout.index(element);
    for (std::size_t n = 0; n < at.size(); ++n) {
      const std::string& axis = layout.axes[n];
      if (axis == "h") result.head = at[n];
      if (axis == "b" || axis == "sequence") result.sequence = at[n];
      op_->settle_belonging(*this, array, axis, at[n], result);
    }
  }
  return result;
}

std::unique_ptr<Placed> Problem::place(Device& device, const Implementation& implementation) const {
  const Operator::Stored& stored = op_->stored_as(storage());
  Launch launch = stored.launcher(implementation);
  if (launch == nullptr) return nullptr;
  return std::make_unique<Placed>(device, *this, implementation, stored, std::move(launch));
}

std::unique_ptr<Placed> Problem::holding(const std::vector<unsigned char>& outputs,
                                         const std::string& implementation) const {
  auto held = std::make_unique<Placed>(device(DeviceKind::kCpu), *this,
                                       Implementation{.name = implementation},
                                       op_->stored_as(storage()), nullptr);
  held->set_outputs(outputs);
  return held;
}

void Problem::write(std::ostream& out) const {
  write_case(out, *op_, case_);
  NamedArrays::write(out);
}

void Problem::check_values() const {
  op_->check_values(*this);
}

std::unique_ptr<Problem> read_problem(std::istream& in) {
  const Operator& op = find_operator(take(in));
  auto problem = std::make_unique<Problem>(op, read_case(in, op));
  problem->read(in, op.host(problem->drawn_case()).arrays());
  return problem;
}

Placed::Placed(Device& device, const Problem& problem, const Implementation& implementation,
               const Operator::Stored& stored, Launch launch)
    : Placed(device, problem, implementation, stored, problem.args(), std::move(launch)) {}

Placed::Placed(Device& device, const Problem& problem, const Implementation& implementation,
               const Operator::Stored& stored, const Struct& host, Launch launch)
    : problem_(problem),
      implementation_(implementation.name),
      where_(implementation.device),
      args_(stored_args(stored, host)),
      arrays_(device, problem.op().name, wanted(problem.op(), problem.drawn_case(), args_.arrays()),
              host.arrays(),
              [&](const ListedArray& array, void* elements) {
                return problem.op().store(problem, args_, array, elements);
              }),
      launch_(std::move(launch)) {}

Verdict Placed::judge(Arithmetic arithmetic, bool for_report) const {
  const Operator& op = problem_.op();
  if (op.own_judge) return op.own_judge(problem_, arrays_, arithmetic);
  const Outputs outputs = downloaded<Outputs>(arrays_);
  return for_report ? op.judge_for_report(problem_, at(outputs), arithmetic)
                    : op.judge(problem_, at(outputs), arithmetic);
}

void Placed::examine(Arithmetic arithmetic, const std::function<void(const Examined&)>& use) const {
  if (!problem_.op().truth) return;  // no mistakes are known
  const Outputs outputs = downloaded<Outputs>(arrays_);
  problem_.op().examine(problem_, at(outputs), arithmetic, use);
}

std::vector<std::string> Operator::storages() const {
  std::vector<std::string> names;
  for (const Stored& each : stored)
    names.push_back(each.storage);
  return names;
}

std::string Operator::options() const {
  return option_names(usual_case().options());
}

const Operator::Stored& Operator::stored_as(const std::string& storage) const {
  for (const Stored& each : stored) {
    if (each.storage == storage) return each;
  }
  throw std::invalid_argument("--precision is " + storage + "; allowed for " + name + ": " +
                              joined(storages()));
}

bool Operator::computes(const Implementation& implementation, const std::string& storage) const {
  return stored_as(storage).launcher(implementation) != nullptr;
}

Struct Operator::made(const Shape& shape, const Options& options,
                      const std::string& storage) const {
  Struct sizes = default_sizes;
  set_shape(sizes.fields(), shape, name);
  Struct c = case_with(sizes);
  set_options(c.options(), options, name);
  check_options(c, options);
  stored_as(storage);
  set_storage(c, storage);
  return c;
}

void Operator::set_storage(Struct& c, const std::string& storage) const {
  const std::string allowed = read_storage(storage, c);
  require(allowed.empty(), "--precision is " + storage + "; allowed: " + allowed);
}

std::unique_ptr<Case> Operator::make_case(const Shape& shape, const Options& options,
                                          const std::string& storage) const {
  Struct c = made(shape, options, storage);
  Struct sizes = default_sizes;
  set_shape(sizes.fields(), shape, name);
  Shape settled = shape_of(sizes.fields());
  settle(c, settled);
  const Options unusual = options_of(c.options(), case_with(sizes).options());
  return std::make_unique<Case>(*this, std::move(c), settled, unusual);
}

Problem Operator::drawn(Struct c) const {
  Problem problem(*this, std::move(c));
  if (draw) {
    draw(problem);
  } else {
    draw_each(problem);
  }
  problem.round_to_storage();
  return problem;
}

std::shared_ptr<const Case> Operator::case_from(Struct c) const {
  return std::make_shared<Case>(*this, std::move(c), shape(), Options{});
}

std::shared_ptr<const Case> Operator::case_for(const std::vector<GivenArray>& inputs,
                                               const Shape& shape, const Options& options,
                                               const std::string& storage) const {
  Struct c = made(shape, options, storage);
  const Struct usual = made(shape, {}, storage);
  const auto arrays_with = [&](const CaseToFit::Change& change) {
    const Struct sized = host(c);
    change(sized.fields());
    return wanted(*this, c, unbound(sized.arrays()));
  };
  fit({c.fields(), c.options(), usual.options(), arrays_with}, inputs, options);
  return case_from(std::move(c));
}

Shape Operator::shape() const {
  return shape_of(default_sizes.fields());
}

Shape Operator::small_shape(const Shape& like) const {
  if (own_small_shape_like) return own_small_shape_like(like);
  Shape small;
  for (const Size& size : like.sizes())
    small.set(size.name, std::min<std::int64_t>(size.value, 32));
  return small;
}

Shape Operator::small_shape() const {
  return own_small_shape ? own_small_shape() : small_shape(shape());
}

std::vector<std::int64_t> Operator::least() const {
  return limits(default_sizes, &ListedField::least);
}

std::vector<std::int64_t> Operator::most() const {
  return limits(default_sizes, &ListedField::most);
}

bool Operator::set_size(Shape& shape, const std::string& size, std::int64_t value) const {
  if (set_other_size(shape, size, value)) return true;
  if (!shape.has(size)) return false;
  shape.set(size, value);
  return true;
}

Shape Operator::part(const Shape& whole, const Fma& fma, double most) const {
  if (own_part) return own_part(whole, fma, most);
  Shape part = whole;
  while (fma(part) > most && largest(part).value > 1)
    part.set(largest(part).name, (largest(part).value + 1) / 2);
  return part;
}

Shape Operator::larger(const Shape& part, const Shape& whole) const {
  if (own_larger) return own_larger(part, whole);
  Shape result = part;
  int doubled = 0;
  for (const Size& size : whole.sizes()) {
    if (part[size.name] < size.value && doubled++ < 2)
      result.set(size.name, std::min(2 * part[size.name], size.value));
  }
  return result;
}

std::vector<ListedArray> Operator::outputs_of(const Struct& c) const {
  std::vector<ListedArray> outputs = wanted(*this, c, unbound(host(c).arrays()));
  std::erase_if(outputs, [](const ListedArray& array) { return array.is_input; });
  return outputs;
}

std::vector<Part> Operator::parts(const Struct& c, const OutputsAt& outputs,
                                  const std::vector<Truth>& truth, Arithmetic arithmetic) const {
  const Struct sized = host(c), args = stored_args(stored_as(storage_of(c)), sized);
  const std::vector<ListedArray> as_stored = unbound(args.arrays());
  const auto counted = [&](const std::string& output) {
    if (!additions)
      throw std::logic_error(name + " says neither how often it adds nor what is rounded");
    return counted_roundings(as_stored, output, additions(sized), arithmetic);
  };
  std::vector<Part> result;
  for (const ListedArray& listed : outputs_of(c)) {
    Layout layout = layout_of(listed);
    for (const std::string& axis : layout.axes) {
      if (axis_word) layout.words.push_back(axis_word(listed.name, axis));
    }
    const std::size_t n = result.size();
    require(n < truth.size(), name + "'s truth() has " + std::to_string(truth.size()) +
                                  " outputs; allowed: one for each that its list has");
    const Truth& right = truth[n];
    result.push_back({layout, outputs.at(n), &right.values,
                      right.terms.empty() ? &right.values : &right.terms,
                      right.roundings ? *right.roundings : counted(listed.name),
                      right.exact.elements.empty() ? nullptr : &right.exact,
                      rounding_of(precision_of(listed.name, as_stored))});
  }
  return result;
}

namespace {

Verdict verdict_on(const std::vector<Part>& parts, bool reports_first) {
  Verdict verdict;
  verdict.right = true;
  for (std::size_t n = 0; n < parts.size(); ++n) {
    const Verdict of_part = judge_part(parts[n]);
    if (!of_part.right) return of_part;
    if (n == 0 || (!reports_first && of_part.share > verdict.share)) verdict = of_part;
  }
  return verdict;
}

// A result with its truth. It points into itself.
class BesideTruth {
 public:
  BesideTruth(const Operator& op, const Problem& problem, const OutputsAt& outputs,
              Arithmetic arithmetic)
      : truth(op.truth(problem, arithmetic)),
        changed_(op.to_judge ? op.to_judge(problem, outputs) : Outputs()),
        parts(op.parts(problem.drawn_case(), op.to_judge ? at(changed_) : outputs, truth,
                       arithmetic)) {}
  BesideTruth(const BesideTruth&) = delete;
  BesideTruth& operator=(const BesideTruth&) = delete;

  const std::vector<Truth> truth;

 private:
  const Outputs changed_;

 public:
  const std::vector<Part> parts;
};

Verdict with_plain_loop(const Operator& op, const Problem& problem, const OutputsAt& outputs,
                        Arithmetic arithmetic) {
  const BesideTruth judged(op, problem, outputs, arithmetic);
  Verdict verdict = verdict_on(judged.parts, op.reports_first);
  if (!verdict.right) {
    for (const Part& part : judged.parts)
      require_storable(part);
  } else if (op.plain) {
    const Outputs plain = op.plain(problem, arithmetic);
    add_plain_loop(verdict, op.parts(problem.drawn_case(), at(plain), judged.truth, arithmetic));
  }
  return verdict;
}

// Whether all outputs are finite, for a problem that is judged in part.
Verdict all_finite(const Operator& op, const Problem& problem, const OutputsAt& outputs) {
  Verdict verdict;
  verdict.right = true;
  std::size_t n = 0;
  for (const ListedArray& listed : problem.outputs()) {
    const std::vector<float>& values = *outputs.at(n++);
    if (op.may_be_infinite(listed.name) ||
        std::all_of(values.begin(), values.end(), [](float x) { return std::isfinite(x); }))
      continue;
    verdict.right = false;
    verdict.message =
        "WRONG RESULT: " + listed.name + " has elements that are not finite, or not written";
    break;
  }
  return verdict;
}

}  // namespace

OutputsAt at(const Outputs& outputs) {
  OutputsAt result;
  for (const std::vector<float>& each : outputs)
    result.push_back(&each);
  return result;
}

Verdict Operator::judge(const Problem& problem, const OutputsAt& outputs,
                        Arithmetic arithmetic) const {
  return verdict_on(BesideTruth(*this, problem, outputs, arithmetic).parts, reports_first);
}

Verdict Operator::judge_for_report(const Problem& problem, const OutputsAt& outputs,
                                   Arithmetic arithmetic, double most_judged_whole) const {
  if (sample) {
    if (const auto part = sample(problem, outputs, most_judged_whole)) {
      Verdict whole = all_finite(*this, problem, outputs);
      if (!whole.right) return whole;
      return with_plain_loop(*this, part->first, at(part->second), arithmetic);
    }
  }
  return with_plain_loop(*this, problem, outputs, arithmetic);
}

void Operator::examine(const Problem& problem, const OutputsAt& outputs, Arithmetic arithmetic,
                       const std::function<void(const Examined&)>& use) const {
  const BesideTruth judged(*this, problem, outputs, arithmetic);
  Examined examined{judged.parts, 0, {}};
  while (examined.wrong < examined.parts.size() && judge_part(examined.parts[examined.wrong]).right)
    ++examined.wrong;
  if (mistakes) {
    examined.mistakes = mistakes(problem, judged.truth, arithmetic);
  } else if (explain) {
    examined.mistakes.own = [&](const std::vector<Part>& parts) { return explain(problem, parts); };
  }
  use(examined);
}

const std::vector<const Operator*>& operators() {
  return registered().operators;
}

std::string operator_names() {
  std::vector<std::string> names;
  for (const Operator* each : operators())
    names.push_back(each->name);
  return joined(names);
}

const Operator& find_operator(const std::string& name) {
  for (const Operator* each : operators()) {
    if (each->name == name) return *each;
  }
  throw std::invalid_argument("operator is '" + name + "'; allowed: " + operator_names());
}

void add_operator(const Operator& op, int place) {
  auto& [operators, places] = registered();
  // Before main no handler can catch an exception, and std::cerr may not exist yet.
  const auto fail = [&](const char* why) {
    std::fputs(("operator '" + op.name + "' " + why + "\n").c_str(), stderr);
    std::exit(EXIT_FAILURE);
  };
  if (!op.case_with || !op.host || !op.name_of || !op.fma_count || (!op.truth && !op.own_judge))
    fail("is not whole: case_with, host, name_of, fma_count, and truth or own_judge are needed");
  for (const Operator* each : operators) {
    if (each->name == op.name) fail("is registered twice");
  }
  std::size_t at = 0;
  for (; at < operators.size(); ++at) {
    if (std::tuple(place, op.name) < std::tuple(places[at], operators[at]->name)) break;
  }
  operators.insert(operators.begin() + static_cast<std::ptrdiff_t>(at), &op);
  places.insert(places.begin() + static_cast<std::ptrdiff_t>(at), place);
}

OperatorRegistration::OperatorRegistration(Operator&& op, int place) {
  static std::list<Operator> kept;
  add_operator(kept.emplace_back(std::move(op)), place);
}

}  // namespace ladder
