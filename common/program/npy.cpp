#include "common/program/npy.hpp"

#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>
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
constexpr std::size_t kMostHeader = 65535;  // bytes; more than a plain type and a shape can be
constexpr double kMostCount = 1e15;         // of elements: no file has them

constexpr std::pair<const char*, const char*> kWords[] = {
    {"f2", "float16"}, {"f4", "float32"}, {"f8", "float64"},  {"u1", "uint8"},
    {"u2", "uint16"},  {"u4", "uint32"},  {"i1", "int8"},     {"i2", "int16"},
    {"i4", "int32"},   {"i8", "int64"},   {"c8", "complex64"}};

// The text of the header, and the byte behind it.
std::pair<std::string, std::size_t> header_text(const std::string& path) {
  const std::string no_npy = path + " is no .npy file; allowed: what numpy.save writes";
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
  std::smatch descr, order, dims;
  static const std::regex descr_form("'descr': *'([^']*)'"),
      order_form("'fortran_order': *(True|False)"), dims_form("'shape': *\\(([0-9, ]*)\\)");
  require(std::regex_search(text, descr, descr_form) &&
              std::regex_search(text, order, order_form) &&
              std::regex_search(text, dims, dims_form),
          path + " says of its elements " + text.substr(0, text.find_last_not_of(" \n") + 1) +
              "; allowed: numbers of one type");
  NpyHeader header;
  const std::string type = descr[1];
  const bool known = type.size() == 3 && npy_words(type.substr(1)) != type.substr(1) &&
                     (type[0] == '<' || type[0] == '|');
  require(known, path + " has elements of type '" + type +
                     "'; allowed: float32, float16, float64, integers, and bf16 as uint16 "
                     "(x.view(numpy.uint16)), in the byte order of this machine");
  header.type = type.substr(1);
  require(order[1] == "False", path +
                                   " is in Fortran order; allowed: C order "
                                   "(numpy.ascontiguousarray)");
  header.first = first;
  double count = 1;
  const std::string lengths = dims[1];
  static const std::regex number("[0-9]+");
  for (std::sregex_iterator each(lengths.begin(), lengths.end(), number), end; each != end;
       ++each) {
    count *= std::stod(each->str());
    require(std::stod(each->str()) <= kMostCount && count <= kMostCount,
            path + " says that its shape is (" + lengths + "); allowed: what a file can hold");
    header.shape.push_back(std::stoll(each->str()));
  }
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
  if (!file.flush()) throw std::runtime_error("could not write " + path);
}

}  // namespace ladder::program
