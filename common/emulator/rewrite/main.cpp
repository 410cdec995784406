// emulator_rewrite IN OUT
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <stdexcept>
#include <string>

#include "rewrite.hpp"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: emulator_rewrite IN OUT\n";
    return 2;
  }
  try {
    const std::filesystem::path out = argv[2];
    std::ifstream in(argv[1], std::ios::binary);
    if (!in) throw std::runtime_error(std::string(argv[1]) + ": cannot be read");
    const std::string source(std::istreambuf_iterator<char>(in), {});
    const std::string text = emulator::rewrite(source, std::filesystem::absolute(argv[1]).string());

    // Two targets may rewrite the same file at once, so the result must appear as a whole.
    const std::string part = out.string() + "." + std::to_string(std::random_device{}()) + ".part";
    std::ofstream stream(part, std::ios::binary);
    stream << text;
    stream.close();
    if (!stream) throw std::runtime_error(part + ": cannot be written");
    std::filesystem::rename(part, out);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
