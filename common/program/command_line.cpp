#include "common/program/command_line.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <new>
#include <sstream>
#include <stdexcept>

#include "common/program/build.hpp"

namespace ladder::program {
namespace {

// Larger sizes would only overflow later. No memory holds an axis of 2^31 elements.
constexpr std::int64_t kLargest = std::int64_t{1} << 31;

// No shape needs a larger array than this. 2^34 floats are 64 GiB.
constexpr double kMostElements = 17179869184.0;

std::vector<std::pair<std::string, Shape>> named_shapes() {
  std::vector<std::pair<std::string, Shape>> all;
  for (const auto& op : operators()) {
    const auto shapes = op->named_shapes;
    all.insert(all.end(), shapes.begin(), shapes.end());
  }
  return all;
}

std::int64_t parse_size(const std::string& name, const std::string& text) {
  // A capital letter is an array's axis. Other sizes, such as a padding, may be 0.
  const std::int64_t least = !name.empty() && std::islower(name.front()) != 0 ? 0 : 1;
  std::int64_t value = 0;
  require(read_option(text, value).empty() && value >= least && value <= kLargest,
          fmt::format("--shape: {} is '{}'; allowed: a whole number from {} to {}", name, text,
                      least, kLargest));
  return value;
}

std::string line_of(const std::string& name, const Shape& shape) {
  return fmt::format("  {:<16} {}\n", name, to_string(shape));
}

// One line per known name, for --help.
std::string known_shapes() {
  std::string text;
  for (const auto& [name, shape] : named_shapes())
    text += line_of(name, shape);
  return text;
}

// Whether the operator allows this shape.
bool takes(const Operator& op, const Shape& named) {
  Shape shape = op.shape();
  for (const Size& size : named.sizes()) {
    if (!op.set_size(shape, size.name, size.value)) return false;
  }
  try {
    op.make_case(shape, {}, op.storages().front());
    return true;
  } catch (const std::invalid_argument&) {
    return false;
  }
}

// "sizes such as M=16, N=16", and the named shapes that the operator allows.
std::string allowed_shapes(const Operator& op, const Shape& base) {
  std::string names;
  for (const auto& [name, shape] : named_shapes()) {
    if (takes(op, shape)) names += line_of(name, shape);
  }
  return fmt::format("sizes such as {}{}", to_string(base),
                     names.empty() ? "" : ", or one of\n" + names);
}

std::string known_operators(SelectionOptions::Shapes shapes) {
  std::string text;
  for (const auto& op : operators()) {
    const Shape shape =
        shapes == SelectionOptions::Shapes::kSmall ? op->small_shape() : op->shape();
    text += fmt::format("  {:<20} {}; {}; {}\n", op->name, to_string(shape),
                        fmt::join(op->storages(), ", "), op->options());
  }
  return text;
}

// The names of the sizes in a --shape.
std::vector<std::string> sizes_in(const std::string& text) {
  std::vector<std::string> names;
  std::istringstream items(text);
  for (std::string item; std::getline(items, item, ',');)
    names.push_back(item.substr(0, item.find('=')));
  return names;
}

}  // namespace

Shape parse_shape(const std::string& text, const Operator& op, const Shape& base) {
  Shape shape = base;
  const Shape usual = op.shape();
  for (const Size& size : usual.sizes()) {
    if (!base.has(size.name)) shape.set(size.name, size.value);  // may be requested too
  }
  const auto set = [&](const std::string& name, std::int64_t value) {
    require(op.set_size(shape, name, value),
            fmt::format("--shape is '{}'{}; allowed for {}: {}", text,
                        name.empty() ? "" : ", and there is no size " + name, op.name,
                        allowed_shapes(op, base)));
  };
  bool any = false;
  for (const auto& [name, named] : named_shapes()) {
    if (name != text) continue;
    shape = op.shape();
    for (const Size& size : named.sizes())
      set(size.name, size.value);
    any = true;
  }
  std::istringstream items(any ? "" : text);
  std::map<std::string, std::int64_t> given;
  for (std::string item; std::getline(items, item, ',');) {
    const auto equals = item.find('=');
    const std::string name = item.substr(0, equals);
    require(given.count(name) == 0,
            fmt::format("--shape is '{}': {} is given twice; allowed: once", text, name));
    if (equals == std::string::npos) set("", 1);
    given[name] = parse_size(name, item.substr(equals + 1));
    any = true;
  }
  // First names that set several sizes. D sets K and V, and V may change it again.
  for (const bool is_a_size : {false, true}) {
    for (const auto& [name, value] : given) {
      if (usual.has(name) == is_a_size) set(name, value);
    }
  }
  require(any, fmt::format("--shape is empty; allowed: {}", allowed_shapes(op, base)));
  const double most = op.make_case(shape, {}, op.storages().front())->largest_array();
  require(most <= kMostElements,
          fmt::format("--shape is {}: its largest array has {:.3g} elements; allowed: up to {:.0f}",
                      to_string(shape), most, kMostElements));
  return shape;
}

Selection table_in(const std::string& text) {
  const auto colon = text.find(": ");
  const std::size_t begin = colon == std::string::npos ? 0 : colon + 2;
  std::istringstream words(text.substr(begin));
  Selection table;
  table.title = text.substr(0, begin);
  std::string shape;
  words >> table.op >> table.precision >> shape;
  const Operator& op = find_operator(table.op);
  table.shape = parse_shape(shape, op, op.shape());
  for (std::string word; words >> word;) {
    const auto equals = word.find('=');
    table.names.push_back(word.substr(0, equals));
    if (equals == std::string::npos) continue;
    AbsentRegistration({.name = table.names.back(),
                        .source = word.substr(equals + 1),
                        .launchers = {launcher_of(table)}});
  }
  return table;
}

SelectionOptions::SelectionOptions(CLI::App& app, Shapes shapes) : shapes_(shapes) {
  selection_.op = operators().front()->name;
  app.footer("Shapes:\n" + known_shapes());
  app.add_option("chapters", selection_.chapters,
                 "Only these: numbers or folder names (01 02_openmp), or lessons (06.07)");
  asking_ = {
      app.add_option("--shape", given_shapes_,
                     std::string("A name, or sizes such as T=54,V=128; those left out are as in "
                                 "the operator's default") +
                         (shapes == Shapes::kUsual ? "; may be repeated" : ""))
          ->allow_extra_args(false),
      operator_ =
          app.add_option("--operator", selection_.op, "What is computed")->capture_default_str(),
      precision_ = app.add_option("--precision", selection_.precision,
                                  "What tensors are stored as: fp32, bf16, bf16_fp32_decay (log_w "
                                  "in fp32), fp16, as far as the operator has it")
                       ->capture_default_str(),
      app.add_option("--options", options_,
                     "The operator's own, such as reverse,decay=strong,lengths=5+0+17"),
      app.add_option("--implementation", selection_.names,
                     "Only this one, by name; may be repeated")
          ->allow_extra_args(false),
      app.add_flag("--causal", selection_.causal, "Short for --options causal"),
      app.add_flag("--states", selection_.states, "Short for --options initial_state,final_state")};
  app.add_flag("--all", all_, "Variants too, not only the rungs");
  const auto list_operators = [shapes] {
    fmt::print("Operators: the default shape; precisions; options\n{}", known_operators(shapes));
    throw CLI::Success();
  };
  app.add_flag_callback("--operators", list_operators,
                        "Only say which operators there are, and which options they have");
  app.add_option("--condition", conditions_, "key value, kept in the JSON (commit, driver, ...)")
      ->group("");  // set by the script
}

Selection SelectionOptions::selection() const {
  require(given_shapes_.size() <= 1,
          fmt::format("--shape is given {} times; allowed: once", given_shapes_.size()));
  if (given_shapes_.empty()) return selection_of({});
  return selection_of(given_shapes_[0]);
}

Selection SelectionOptions::selection_of(const std::optional<std::string>& shape) const {
  Selection result = selection_;
  result.rungs_only = !all_;
  // Chapters that compute a single other operator select that operator.
  if (operator_->count() == 0 && !result.chapters.empty()) {
    const auto able = computed(result);
    const bool usual = std::any_of(able.begin(), able.end(),
                                   [&](const auto& each) { return each.first == result.op; });
    if (!usual && able.size() == 1) {
      result.op = able[0].first;
      if (precision_->count() == 0) result.precision = able[0].second;
    }
  }
  const Operator& op = find_operator(result.op);
  // An operator without fp32 has its own default storage.
  const std::vector<std::string> storages = op.storages();
  if (precision_->count() == 0 &&
      std::find(storages.begin(), storages.end(), result.precision) == storages.end())
    result.precision = storages.front();
  const Shape base = shapes_ == Shapes::kSmall ? op.small_shape() : op.shape();
  result.shape = shape ? parse_shape(*shape, op, base) : base;
  result.options = parse_options(options_);
  // Options may determine sizes, as the lengths of packed sequences do.
  const Shape settled = case_of(result)->shape();
  for (const std::string& name : sizes_in(shape.value_or(""))) {
    require(!settled.has(name) || settled[name] == result.shape[name],
            fmt::format("--shape says {}={}, --options settles {}={}; allowed: that, or --shape "
                        "without {}",
                        name, result.shape[name], name, settled[name], name));
  }
  result.shape = settled;
  return result;
}

std::vector<Selection> SelectionOptions::selections(const std::vector<OperatorIn>& ladders) const {
  const auto given = [](const CLI::Option* option) { return option->count() > 0; };
  if (given_shapes_.size() > 1) {
    std::vector<Selection> result;
    for (const std::string& shape : given_shapes_)
      result.push_back(selection_of(shape));
    return result;
  }
  if (std::any_of(asking_.begin(), asking_.end(), given)) return {selection()};
  const auto ladders_of = [&](const auto& names) {
    std::vector<Selection> result;
    for (const auto& [op, precision] : names) {
      Selection each = selection();
      each.op = op;
      each.precision = precision;
      each.shape = find_operator(op).shape();
      if (has_any(each)) result.push_back(each);
    }
    return result;
  };
  std::vector<Selection> result = ladders_of(ladders);
  for (Selection& each : result)
    each.chapters = up_to(each.chapters);
  if (result.empty())
    result = ladders_of(computed(selection()));  // they have operators of their own
  return result.empty() ? std::vector<Selection>{selection()} : result;
}

std::map<std::string, std::string> SelectionOptions::conditions() const {
  auto conditions = conditions_;
  const std::string commit = commit_of(source_folder());
  if (!commit.empty()) conditions["commit"] = commit;
  conditions.insert({"commit", "unknown"});
  conditions["compiler"] = compiler();
  return conditions;
}

int run_program(CLI::App& app, int argc, char** argv, const std::function<int()>& work) try {
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& done) {  // help, or a list
    return app.exit(done);
  } catch (const CLI::ParseError& error) {
    app.exit(error);
    return kUsage;
  }
  return work();
} catch (const std::invalid_argument& error) {
  fmt::print(stderr, "\r{}\n", error.what());
  return kUsage;
} catch (const std::bad_alloc&) {
  fmt::print(stderr, "\rThere is not enough memory for this --shape; allowed: a smaller one\n");
  return kUsage;
} catch (const std::exception& error) {
  fmt::print(stderr, "\r{}\n", error.what());
  return kWrongResult;
}

void require_writable(const CLI::Option& option) {
  const auto path = option.as<std::string>();
  if (option.count() == 0 && path.empty()) return;
  const bool existed = std::filesystem::exists(path);
  const bool writable = std::ofstream(path, std::ios::app).good();
  if (writable && !existed) std::filesystem::remove(path);
  require(writable,
          fmt::format("{} is '{}'; allowed: a path that can be written", option.get_name(), path));
}

void write_file(const std::string& path, const std::string& contents) {
  std::ofstream file(path);
  file << contents;
  if (!file.flush()) throw std::runtime_error("could not write " + path);
  fmt::print("written: {}\n", path);
}

std::string progress_text(const std::string& what, bool terminal) {
  if (terminal) return "\r\033[K" + what;
  return what.empty() ? "" : what + "\n";
}

void show_progress(const std::string& what) {
  fmt::print(stderr, "{}", progress_text(what, isatty(STDERR_FILENO) == 1));
  std::fflush(stderr);
}

std::string today() {
  return fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr)));
}

}  // namespace ladder::program
