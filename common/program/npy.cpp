#include "common/program/npy.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <stdexcept>
#include <utility>

#include "common/core/errors.hpp"
#include "common/core/given.hpp"

namespace ladder::program {
namespace {

static_assert(std::endian::native == std::endian::little, "files are written as memory is");

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kPrefix = 8;          // magic and version
constexpr std::size_t kAlignment = 64;      // of the first element
constexpr std::size_t kMostHeader = 10000;  // bytes, as in numpy
constexpr const char* kBlanks = " \t\n";
constexpr double kMostCount = 1e15;         // of elements, more than any file has
constexpr std::ptrdiff_t kMostDigits = 15;  // digits of kMostCount

constexpr std::pair<const char*, const char*> kWords[] = {
    {"f2", "float16"}, {"f4", "float32"}, {"f8", "float64"}, {"u1", "uint8"},
    {"u2", "uint16"},  {"u4", "uint32"},  {"u8", "uint64"},  {"i1", "int8"},
    {"i2", "int16"},   {"i4", "int32"},   {"i8", "int64"},   {"c8", "complex64"}};

// The entries of a header, in Python's syntax: {'descr': '<f4', 'fortran_order': False, 'shape':
// (2, 37L), }. Empty if the text is no header.
std::map<std::string, std::string> entries(const std::string& text) {
  static const std::regex entry(
      R"(\s*u?(['"])(\w+)\1\s*:\s*(?:u?(['"])([^'"]*)\3|(True|False)|(\((?:\s*[0-9]+L?\s*,)*(?:\s*[0-9]+L?)?\s*\)))\s*(?:,|$)\s*)");
  std::map<std::string, std::string> found;
  std::smatch one;
  const std::size_t first = text.find_first_not_of(kBlanks), last = text.find_last_not_of(kBlanks);
  if (first >= last || text[first] != '{' || text[last] != '}') return {};
  for (std::string rest = text.substr(first + 1, last - first - 1); !rest.empty();
       rest = one.suffix()) {
    constexpr auto kAtOnce = std::regex_constants::match_continuous;
    if (!std::regex_search(rest, one, entry, kAtOnce)) return {};
    found[one[2]] = one.str(4) + one.str(5) + one.str(6);
  }
  return found;
}

// "f4" for "<f4", "=f4", "f4" or "float32", or empty for unsupported types.
std::string type_of(const std::string& descr) {
  for (const auto& [known, words] : kWords) {
    const bool one_byte = known[1] == '1';
    for (const std::string order : {"<", "=", "|", "", one_byte ? ">" : "<"}) {
      if (descr == order + known || descr == words) return known;
    }
  }
  return "";
}

// The text of the header, and the offset of the first byte after it.
std::pair<std::string, std::size_t> header_text(const std::string& path) {
  const std::string no_npy = path + " is no .npy file; allowed: what numpy.save writes";
  std::error_code none;  // opening a pipe without a writer would block
  require(std::filesystem::is_regular_file(path, none), path + " is no file; allowed: a file");
  std::ifstream file(path, std::ios::binary);
  require(file.good(), path + " cannot be read; allowed: a file of yours");
  char prefix[kPrefix] = {};
  file.read(prefix, kPrefix);
  require(file && std::string_view(prefix, kMagic.size()) == kMagic, no_npy);
  const int version = prefix[6];
  require(version >= 1 && version <= 3,
          path + " has version " + std::to_string(version) + " of the format; allowed: 1 to 3");
  unsigned char length_bytes[4] = {};
  const std::size_t size = version == 1 ? 2 : 4;
  file.read(reinterpret_cast<char*>(length_bytes), static_cast<std::streamsize>(size));
  std::uint32_t length = 0;
  std::memcpy(&length, length_bytes, sizeof length);
  require(file && length <= kMostHeader, no_npy);
  std::string text(length, '\0');
  file.read(text.data(), static_cast<std::streamsize>(length));
  require(file.good(), path + " ends within its header; allowed: a whole file");
  return {text, kPrefix + size + length};
}

}  // namespace

std::string npy_words(const std::string& type) {
  for (const auto& [known, words] : kWords) {
    if (type == known) return words;
  }
  return type;
}

std::size_t NpyHeader::element_bytes() const {
  return static_cast<std::size_t>(type.back() - '0');
}

NpyHeader read_npy_header(const std::string& path) {
  const auto [text, first] = header_text(path);
  std::map<std::string, std::string> said = entries(text);
  const std::string lengths = said["shape"];
  require(said.size() == 3 && said.count("descr") == 1 && !lengths.empty() &&
              said.count("fortran_order") == 1,
          path + " has the header " + text.substr(0, text.find_last_not_of(kBlanks) + 1) +
              "; allowed: what numpy.save writes of numbers of one type");
  NpyHeader header;
  header.type = type_of(said["descr"]);
  require(!header.type.empty(), path + " has elements of type '" + said["descr"] +
                                    "'; allowed: float32, float16, float64, integers" +
                                    (said["descr"].ends_with("V2") || said["descr"] == "bfloat16"
                                         ? ", and bf16 as uint16 (x.view(numpy.uint16))"
                                         : "") +
                                    ", in the byte order of this machine");
  header.first = first;
  double count = 1;
  static const std::regex number("[0-9]+");
  for (std::sregex_iterator each(lengths.begin(), lengths.end(), number), end; each != end;
       ++each) {
    const bool is_short = each->length() <= kMostDigits;
    if (is_short) header.shape.push_back(std::stoll(each->str()));
    count *= is_short ? static_cast<double>(header.shape.back()) : kMostCount;
    require(is_short && count <= kMostCount,
            path + " says that its shape is " + lengths + "; allowed: what a file can hold");
  }
  // With at most one axis longer than 1, both orders are the same.
  const auto longer = std::count_if(header.shape.begin(), header.shape.end(),
                                    [](auto length) { return length > 1; });
  require(said["fortran_order"] == "False" || longer < 2 || count == 0,
          path + " is in Fortran order; allowed: C order (numpy.ascontiguousarray)");
  header.count = static_cast<std::size_t>(count);
  const std::size_t whole = first + header.count * header.element_bytes();
  const auto there = static_cast<std::size_t>(std::filesystem::file_size(path));
  require(there == whole, path + " has " + std::to_string(there) +
                              " bytes; allowed: " + std::to_string(whole) + ", for " +
                              shape_text(header.shape) + " " + npy_words(header.type));
  return header;
}

std::vector<unsigned char> read_npy_elements(const std::string& path, const NpyHeader& header) {
  std::vector<unsigned char> elements(header.count * header.element_bytes());
  std::ifstream file(path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(header.first));
  file.read(reinterpret_cast<char*>(elements.data()),
            static_cast<std::streamsize>(elements.size()));
  if (!file) throw std::runtime_error("could not read " + path);
  return elements;
}

void write_npy(const std::string& path, const std::string& type,
               const std::vector<std::int64_t>& shape, const unsigned char* elements) {
  NpyHeader header{type, shape};
  std::size_t bytes = header.element_bytes();
  for (const std::int64_t length : shape)
    bytes *= static_cast<std::size_t>(length);
  std::string text = "{'descr': '" + std::string(type.back() == '1' ? "|" : "<") + type +
                     "', 'fortran_order': False, 'shape': " + shape_text(shape) + ", }";
  constexpr std::size_t kLengthBytes = 2;  // of version 1
  const std::size_t before = kPrefix + kLengthBytes;
  text.resize((before + text.size() + kAlignment) / kAlignment * kAlignment - before - 1, ' ');
  text += '\n';
  std::ofstream file(path, std::ios::binary);
  file << kMagic << '\x01' << '\0' << static_cast<char>(text.size() & 255)
       << static_cast<char>(text.size() >> 8) << text;
  file.write(reinterpret_cast<const char*>(elements), static_cast<std::streamsize>(bytes));
  if (!file.flush()) throw std::runtime_error(std::strerror(errno));
}

}  // namespace ladder::program
