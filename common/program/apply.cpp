#include "common/program/apply.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <map>
#include <new>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>

#include "common/core/parcel.hpp"
#include "common/core/text.hpp"
#include "common/diagnosis/second_start.hpp"
#include "common/judge/operator.hpp"
#include "common/program/command_line.hpp"
#include "common/program/npy.hpp"

namespace ladder::program {
namespace {

using Path = std::filesystem::path;
using Bytes = std::vector<unsigned char>;

struct Asked {
  std::string op, in, out, options, example;
  std::optional<std::string> shape, implementation, precision;
  bool check = false;
};

bool is_real(const ElementType& type) {
  return type.to_floats != nullptr && type.to_integers == nullptr;
}

// Types of .npy files, "f4", "u2" for bf16, "c8" for a pair, with the low part as imaginary part.
std::string npy_type(const ElementType& type) {
  if (type.is_pair) return "c8";
  if (is_real(type)) {
    return type.precision == Precision::kBf16 ? "u2" : fmt::format("f{}", type.size);
  }
  const std::int64_t minus_one = -1;
  std::int64_t back = 0;
  std::max_align_t element;
  type.from_integers(&minus_one, 1, &element);
  type.to_integers(&element, 1, &back);
  return fmt::format("{}{}", back < 0 ? 'i' : 'u', type.size);
}

// "bf16 (uint16)", "float32"
std::string words_of(const ElementType& type) {
  const std::string words = npy_words(npy_type(type));
  return is_real(type) && type.precision == Precision::kBf16 ? "bf16 (" + words + ")" : words;
}

// ---- Files of a folder ----

struct File {
  std::string path;
  NpyHeader header;
};
using Files = std::map<std::string, File>;  // by the array's name

Files files_in(const std::string& folder) {
  require(std::filesystem::is_directory(folder),
          fmt::format("--in is '{}'; allowed: a folder with .npy files", folder));
  Files files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".npy") continue;
    const std::string path = entry.path().string();
    files[entry.path().stem().string()] = {path, read_npy_header(path)};
  }
  require(!files.empty(), fmt::format("--in is '{}', which has no .npy file; allowed: one for each "
                                      "input, such as q.npy",
                                      folder));
  return files;
}

template <typename Number>
std::vector<double> numbers_of(const Bytes& bytes) {
  std::vector<double> numbers;
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(Number)) {
    Number number;
    std::memcpy(&number, bytes.data() + at, sizeof number);
    numbers.push_back(static_cast<double>(number));
  }
  return numbers;
}

// Also 64-bit integers as double, because no operator takes more than 53 bits.
std::vector<double> whole_numbers(const File& file) {
  const Bytes bytes = read_npy_elements(file.path, file.header);
  const std::string& type = file.header.type;
  if (type == "i1") return numbers_of<std::int8_t>(bytes);
  if (type == "u1") return numbers_of<std::uint8_t>(bytes);
  if (type == "i2") return numbers_of<std::int16_t>(bytes);
  if (type == "i4") return numbers_of<std::int32_t>(bytes);
  if (type == "u4") return numbers_of<std::uint32_t>(bytes);
  if (type == "i8") return numbers_of<std::int64_t>(bytes);
  if (type == "u8") return numbers_of<std::uint64_t>(bytes);
  throw std::invalid_argument(file.path + " has elements of type " + npy_words(type) +
                              "; allowed: int64 or other integers");
}

// The ends of packed sequences give the option `lengths`, "5+0+17", or "5x0+17x9" for two arrays.
void add_lengths(const Files& files, Options& options) {
  constexpr const char* kCumulative = "cu_seqlens";
  std::vector<std::string> lengths;
  for (const auto& [name, file] : files) {
    if (!name.starts_with(kCumulative)) continue;
    const std::vector<double> ends = whole_numbers(file);
    require(file.header.shape.size() == 1 && ends.size() >= 2 && ends[0] == 0 &&
                std::is_sorted(ends.begin(), ends.end()),
            file.path +
                " does not count steps from 0 on; allowed: (sequences + 1,) numbers, 0 "
                "first, none smaller than the one before");
    const bool first = lengths.empty();
    if (first) lengths.resize(ends.size() - 1);
    require(lengths.size() == ends.size() - 1,
            fmt::format("{} has {} sequences; allowed: {}, as the file before it", file.path,
                        ends.size() - 1, lengths.size()));
    for (std::size_t n = 0; n < lengths.size(); ++n)
      lengths[n] += fmt::format("{}{:.0f}", first ? "" : "x", ends[n + 1] - ends[n]);
  }
  if (!lengths.empty()) options.emplace_back("lengths", joined(lengths, "+"));
}

// ---- The computation and its implementation ----

struct Chosen {
  std::shared_ptr<const Case> of;
  std::vector<Implementation> implementations;  // the first that allows the sizes is used
};

// The last kernel of the ladder first, variants last.
std::vector<Implementation> able(const Operator& op, const Asked& asked,
                                 const std::string& storage) {
  std::vector<Implementation> result;
  if (asked.implementation) {
    const Implementation named = find_implementation(*asked.implementation);
    if (op.computes(named, storage)) result.push_back(named);
    return result;
  }
  for (const Implementation& each : implementations()) {
    if (op.computes(each, storage)) result.push_back(each);
  }
  std::reverse(result.begin(), result.end());
  std::stable_partition(result.begin(), result.end(),
                        [](const Implementation& each) { return each.rung; });
  return result;
}

// Whether all files have the case's storage, where float64 counts as float32.
bool holds_what_is_stored(const Files& files, const Case& c) {
  for (const ListedArray& array : c.stored_arrays()) {
    const auto file = files.find(array.name);
    if (file == files.end() || !array.is_input || !is_real(*array.type)) continue;
    const std::string& type = file->second.header.type;
    if ((type == "f8" ? "f4" : type) != npy_type(*array.type)) return false;
  }
  return true;
}

// "bf16: q bf16 (uint16), initial_state float32"
std::string storage_text(const Case& c) {
  std::vector<std::string> texts;
  for (const ListedArray& array : c.stored_arrays()) {
    if (array.is_input) texts.push_back(array.name + " " + words_of(*array.type));
  }
  return c.storage() + ": " + joined(texts);
}

// The sizes in --shape must equal those of the files, whatever the other sizes are.
void require_same_sizes(const Operator& op, const Asked& asked, const Case& of_files) {
  if (!asked.shape) return;
  const Shape usual = op.shape();
  Shape unlike = usual;
  for (const Size& size : usual.sizes())
    unlike.set(size.name, std::max<std::int64_t>(1, 2 * size.value));
  const auto with = [&](const Shape& others) {
    return op.make_case(parse_shape(*asked.shape, op, others), {}, of_files.storage())->sizes();
  };
  const Shape said = with(usual), also = with(unlike), there = of_files.sizes();
  for (const Size& size : said.sizes()) {
    require(
        size.value != also[size.name] || size.value == there[size.name],
        fmt::format("--shape is '{}', so {} is {}; the files in {} have {}={}; allowed: the "
                    "same, or sizes that no file has",
                    *asked.shape, size.name, size.value, asked.in, size.name, there[size.name]));
  }
}

Chosen choose(const Operator& op, const Asked& asked, const Files& files) {
  Options options = parse_options(asked.options);
  add_lengths(files, options);
  const Shape shape = asked.shape ? parse_shape(*asked.shape, op, op.shape()) : op.shape();
  std::vector<GivenArray> given;
  for (const auto& [name, file] : files)
    given.push_back({name, file.path, file.header.shape});
  std::vector<std::string> storages =
      asked.precision ? std::vector{*asked.precision} : op.storages();
  std::vector<std::string> allowed;
  for (const std::string& storage : storages) {
    Chosen chosen{op.case_for(given, shape, options, storage), able(op, asked, storage)};
    if (chosen.implementations.empty()) continue;
    require_same_sizes(op, asked, *chosen.of);
    if (asked.precision || holds_what_is_stored(files, *chosen.of)) return chosen;
    allowed.push_back(storage_text(*chosen.of));
  }
  require(!allowed.empty(),
          fmt::format("{} does not compute {}{}; allowed: another --implementation, or none",
                      asked.implementation.value_or("no kernel here"), op.name,
                      asked.precision ? " in " + *asked.precision : ""));
  std::vector<std::string> there;
  for (const auto& [name, file] : files)
    there.push_back(name + " " + npy_words(file.header.type));
  throw std::invalid_argument(
      fmt::format("the files in {} have {}; allowed for {}:\n  {}\nor --precision, which rounds",
                  asked.in, joined(there), op.name, joined(allowed, "\n  ")));
}

// ---- Elements ----

// The file's elements as floats of the host, rounded to storage. Prints a warning about losses.
std::vector<float> real_elements(const File& file, const ElementType& stored) {
  const Bytes bytes = read_npy_elements(file.path, file.header);
  const std::string& type = file.header.type;
  std::vector<float> values(file.header.count);
  if (type == "f8") {
    std::vector<double> doubles(values.size());
    if (!bytes.empty()) std::memcpy(doubles.data(), bytes.data(), bytes.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(doubles[i]);
      require(std::isfinite(values[i]) == std::isfinite(doubles[i]),
              fmt::format("{} has {}; allowed: what a float32 can hold", file.path, doubles[i]));
    }
    fmt::print("{}: float64, rounded to float32\n", file.path);
  } else {
    const ElementType* from = type == "f4"   ? &kElementType<float>
                              : type == "f2" ? &kElementType<float16>
                              : type == "u2" ? &kElementType<bfloat16>
                                             : nullptr;
    require(from != nullptr, fmt::format("{} has elements of type {}; allowed: {}", file.path,
                                         npy_words(type), words_of(stored)));
    convert(*from, bytes.data(), values.size(), kElementType<float>, values.data());
  }
  if (stored.precision == Precision::kFp32) return values;
  if (type == "f4" || type == "f8" || type != npy_type(stored)) {
    for (float& value : values) {
      const float whole = value;
      value = rounded(value, stored.precision);
      require(
          std::isfinite(value) == std::isfinite(whole),
          fmt::format("{} has {}; allowed: what {} can hold", file.path, whole, words_of(stored)));
    }
    fmt::print("{}: rounded to {}\n", file.path, words_of(stored));
  }
  return values;
}

// The file's integers, in the type of the operator's list.
Bytes whole_elements(const File& file, const ElementType& type) {
  Bytes bytes(file.header.count * type.size);
  std::size_t at = 0;
  for (const double number : whole_numbers(file)) {
    require(number < 0x1p63, fmt::format("{} has {}; allowed: int64", file.path, number));
    const auto value = static_cast<std::int64_t>(number);
    std::int64_t back = 0;
    type.from_integers(&value, 1, bytes.data() + at);
    type.to_integers(bytes.data() + at, 1, &back);
    require(back == value, fmt::format("{} has {}; allowed: what {} can hold", file.path, value,
                                       npy_words(npy_type(type))));
    at += type.size;
  }
  return bytes;
}

Bytes pairs(const File& file) {
  require(file.header.type == "c8",
          fmt::format("{} has elements of type {}; allowed: complex64, high + low * 1j", file.path,
                      npy_words(file.header.type)));
  return read_npy_elements(file.path, file.header);
}

const ListedArray* find(const std::vector<ListedArray>& arrays, const std::string& name) {
  const auto found = std::find_if(arrays.begin(), arrays.end(),
                                  [&](const ListedArray& array) { return array.name == name; });
  return found == arrays.end() ? nullptr : &*found;
}

std::unique_ptr<Problem> problem_of(const Case& c, const Files& files) {
  std::stringstream parcel;
  c.write(parcel);
  const std::vector<ListedArray> host = c.host_arrays(), stored = c.stored_arrays();
  for (const auto& [name, file] : files) {
    const ListedArray& array = *find(host, name);
    const ListedArray* as_stored = find(stored, name);
    put(parcel, name);
    if (array.type == &kElementType<float>) {
      const auto values = real_elements(file, as_stored ? *as_stored->type : *array.type);
      put(parcel, {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
    } else {
      const Bytes values = array.type->is_pair ? pairs(file) : whole_elements(file, *array.type);
      put(parcel, {reinterpret_cast<const char*>(values.data()), values.size()});
    }
  }
  put(parcel, "");
  std::unique_ptr<Problem> problem = read_problem(parcel);
  problem->check_values();
  return problem;
}

// ---- Writing ----

// The files of a folder, which appear all together and complete, or not at all.
class Writer {
 public:
  explicit Writer(std::string folder) : folder_(std::move(folder)) {
    std::error_code error;
    std::filesystem::create_directories(folder_, error);
    require(std::filesystem::is_directory(folder_) && access(folder_.c_str(), W_OK) == 0,
            fmt::format("the folder is '{}'; allowed: one that can be written", folder_));
  }
  ~Writer() {
    std::error_code ignored;
    for (const std::string& name : names_)
      std::filesystem::remove(unfinished(name), ignored);
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  void add(const ListedArray& array, const unsigned char* elements) {
    std::vector<std::int64_t> shape;
    for (const Axis& axis : array.axes)
      shape.push_back(axis.size);
    names_.push_back(array.name);
    said_.push_back(fmt::format("{} {}", words_of(*array.type), shape_text(shape)));
    try {
      write_npy(unfinished(array.name), npy_type(*array.type), shape, elements);
    } catch (const std::runtime_error& why) {
      throw std::runtime_error(
          fmt::format("could not write {}.npy into {}: {}", array.name, folder_, why.what()));
    }
  }
  void finish() {
    for (std::size_t n = 0; n < names_.size(); ++n) {
      const Path path = Path(folder_) / (names_[n] + ".npy");
      std::filesystem::rename(unfinished(names_[n]), path);
      fmt::print("written: {}  {}\n", path.string(), said_[n]);
    }
    names_.clear();
  }

 private:
  Path unfinished(const std::string& name) const {
    return Path(folder_) / fmt::format(".{}.{}.unfinished", name, getpid());
  }
  std::string folder_;
  std::vector<std::string> names_, said_;
};

// "B=1, T=37; reverse; bf16"
std::string said_of(const Case& c) {
  std::string text = c.text();
  if (const auto no_options = text.find("; ; "); no_options != std::string::npos)
    text.erase(no_options, 2);
  return text;
}

// Inputs as the tests draw them.
int write_example(const Operator& op, const Asked& asked) {
  const Shape shape =
      asked.shape ? parse_shape(*asked.shape, op, op.small_shape()) : op.small_shape();
  const auto c = op.make_case(shape, parse_options(asked.options),
                              asked.precision.value_or(op.storages().front()));
  const std::unique_ptr<Problem> problem = c->make();
  std::stringstream before, written;
  c->write(before);
  problem->write(written);
  written.seekg(before.tellp());  // after the case, the host's arrays by name
  Writer writer(asked.example);
  const std::vector<ListedArray> host = c->host_arrays(), stored = c->stored_arrays();
  for (std::string name = take(written); !name.empty(); name = take(written)) {
    const std::string elements = take(written);
    const ListedArray *array = find(host, name), *as_stored = find(stored, name);
    const ListedArray& listed = as_stored ? *as_stored : *array;
    const auto count = static_cast<std::size_t>(listed.elements());
    Bytes bytes(count * listed.type->size);
    convert(*array->type, elements.data(), count, *listed.type, bytes.data());
    writer.add(listed, bytes.data());
  }
  writer.finish();
  return 0;
}

// Warns if outputs are NaN or infinite although all inputs are finite.
void warn_of_no_numbers(const Problem& problem, const ListedArray& output,
                        const unsigned char* elements) {
  std::vector<float> values(static_cast<std::size_t>(output.elements()));
  if (!convert(*output.type, elements, values.size(), kElementType<float>, values.data())) return;
  const auto count = std::count_if(values.begin(), values.end(),
                                   [](float value) { return !std::isfinite(value); });
  const std::vector<RealInput> inputs = problem.real_inputs();
  const bool from_inputs = std::any_of(inputs.begin(), inputs.end(), [](const RealInput& input) {
    return std::any_of(input.values.begin(), input.values.end(),  // -inf is log 0
                       [](float value) { return !(value <= std::numeric_limits<float>::max()); });
  });
  if (count == 0 || from_inputs) return;
  fmt::print(stderr,
             "warning: {} of {} elements of {} are NaN or infinite, and no input is; --check says "
             "whether that is right, --precision fp32 has more room\n",
             count, values.size(), output.name);
}

std::unique_ptr<Placed> computed(const Problem& problem, const Chosen& chosen, Implementation& by) {
  std::optional<std::string> refusal;
  for (const Implementation& each : chosen.implementations) {
    Device& where = device(each.device);
    std::unique_ptr<Placed> placed = problem.place(where, each);
    try {
      placed->call();
      where.synchronize();
      by = each;
      return placed;
    } catch (const std::invalid_argument& error) {
      if (!refusal) refusal = each.name + ": " + error.what();
    }
  }
  throw std::invalid_argument(*refusal);
}

int apply(const Asked& asked) {
  const Operator& op = find_operator(asked.op);
  if (asked.implementation) find_implementation(*asked.implementation);
  if (!asked.example.empty()) {
    require(asked.in.empty() && asked.out.empty() && !asked.implementation && !asked.check,
            "--example is given, with which nothing is computed; allowed beside it: --operator, "
            "--shape, --precision, --options");
    return write_example(op, asked);
  }
  require(!asked.in.empty() && !asked.out.empty(),
          "--in and --out are not both given; allowed: both, or --example");
  const Files files = files_in(asked.in);
  std::error_code none;
  require(!std::filesystem::equivalent(asked.in, asked.out, none),
          fmt::format("--out is '{}', the folder of --in; allowed: another one", asked.out));
  const Chosen chosen = choose(op, asked, files);
  const std::unique_ptr<Problem> problem = problem_of(*chosen.of, files);
  Writer writer(asked.out);

  show_progress("computing ...");
  Implementation by;
  const std::unique_ptr<Placed> result = computed(*problem, chosen, by);
  show_progress("");
  fmt::print("{}: {}\nby {} ({}), back end {}\n", op.name, said_of(*chosen.of), by.name,
             by.chapter == "best" ? "library/" + by.source : by.source,
             device(by.device).back_end());
  if (asked.check) {
    show_progress("checking against float64 ...");
    const Arithmetic arithmetic = arithmetic_of(by, problem->storage());
    const Verdict verdict = result->judge(arithmetic, true);
    show_progress("");
    if (!verdict.right) {
      fmt::print(stderr, "{}\nnothing is written\n", named(verdict, *result, arithmetic));
      return kWrongResult;
    }
    fmt::print("right: {} has a relative error of {:.2g} against float64; limit {:.2g}\n",
               verdict.array, verdict.error.whole, verdict.limit.whole);
  }
  const Bytes bytes = result->outputs();
  std::size_t at = 0;
  for (const ListedArray& array : chosen.of->stored_arrays()) {
    if (array.is_input) continue;
    writer.add(array, bytes.data() + at);
    if (!asked.check) warn_of_no_numbers(*problem, array, bytes.data() + at);
    at += static_cast<std::size_t>(array.bytes());
  }
  writer.finish();
  return 0;
}

}  // namespace

int apply_ladder(int argc, char** argv) {
  CLI::App app(
      "Runs a kernel on your own arrays: a folder of .npy files in, one of .npy files out. The "
      "files are called as the operator's arrays (q.npy); their shapes say the sizes. float32, "
      "float16, and bf16 as uint16; float64 is rounded to float32.",
      "./ladder apply");
  Asked asked;
  app.add_option("--operator", asked.op, "What is computed, such as wkv or attention")->required();
  app.add_option("--implementation", asked.implementation,
                 "By which kernel; without it by the highest rung that takes these sizes, or by "
                 "what the rules choose");
  app.add_option("--in", asked.in, "The folder with a file for each input");
  app.add_option("--out", asked.out, "The folder for a file for each output; not that of --in");
  app.add_option("--precision", asked.precision,
                 "What tensors are rounded to and stored as: fp32, bf16, bf16_fp32_decay (log_w in "
                 "fp32), fp16. Without it as the files are");
  app.add_option("--options", asked.options,
                 "The operator's own, such as reverse,scale=0.125,final_state");
  app.add_option("--shape", asked.shape, "Sizes that no array has, such as stride=2");
  app.add_flag("--check", asked.check,
               "Compare with float64 before anything is written; a wrong result is not written");
  app.add_option("--example", asked.example,
                 "Write inputs into this folder, as the tests draw them; --shape, --precision and "
                 "--options say which. Nothing else is done");
  return run_program(app, argc, argv, [&] {
    try {
      return apply(asked);
    } catch (const std::bad_alloc&) {
      throw std::runtime_error("there is not enough memory for these arrays");
    }
  });
}

}  // namespace ladder::program
