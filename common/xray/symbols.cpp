#include "symbols.hpp"

#include <link.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

namespace emulator::xray {
namespace {

struct Segment {
  std::uintptr_t begin, end;
};

// The program is the first object that dl_iterate_phdr visits.
struct Program {
  std::uintptr_t base = 0;
  std::vector<Segment> data;
};

const Program& program() {
  static const Program instance = [] {
    Program result;
    dl_iterate_phdr(
        [](dl_phdr_info* object, std::size_t, void* to) {
          auto& program = *static_cast<Program*>(to);
          program.base = object->dlpi_addr;
          for (int i = 0; i < object->dlpi_phnum; ++i) {
            const auto& header = object->dlpi_phdr[i];
            if (header.p_type != PT_LOAD || (header.p_flags & PF_X) != 0) continue;
            const std::uintptr_t begin = object->dlpi_addr + header.p_vaddr;
            program.data.push_back({begin, begin + header.p_memsz});
          }
          return 1;
        },
        &result);
    return result;
  }();
  return instance;
}

std::string path_of_this_program() {
  std::array<char, 4096> path{};
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size() - 1);
  return length < 0 ? std::string{} : std::string(path.data(), static_cast<std::size_t>(length));
}

std::string shell_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

// addr2line's output: each address as "0x0000000000001234", then lines "file:line (remark)".
class Answer {
 public:
  explicit Answer(std::map<std::uintptr_t, std::vector<Source>>& lines) : lines_(lines) {}

  void line(std::string text) {
    if (text.rfind("0x", 0) == 0) {
      current_ = &lines_[std::strtoull(text.c_str(), nullptr, 16) + program().base + 1];
      return;
    }
    if (current_ == nullptr) return;
    // Removes " (discriminator 3)". A folder's name may contain brackets, too.
    text.resize(std::min(text.size(), text.rfind(" (discriminator ")));
    const std::size_t colon = text.rfind(':');
    const int number = colon == std::string::npos ? 0 : std::atoi(text.c_str() + colon + 1);
    if (number > 0) current_->push_back({text.substr(0, colon), number});
  }

 private:
  std::map<std::uintptr_t, std::vector<Source>>& lines_;
  std::vector<Source>* current_ = nullptr;
};

}  // namespace

const std::map<std::uintptr_t, std::vector<Source>>& source_lines(
    const std::vector<std::uintptr_t>& return_addresses) {
  static std::map<std::uintptr_t, std::vector<Source>>
      lines;  // cached, because addr2line takes longer than a small kernel
  std::vector<std::uintptr_t> unknown;
  for (const std::uintptr_t address : return_addresses) {
    if (lines.try_emplace(address).second) unknown.push_back(address);
  }
  constexpr std::size_t kAtOnce = 500;  // a command line's length is limited
  for (std::size_t first = 0; first < unknown.size(); first += kAtOnce) {
    std::string command =
        "addr2line -a -i -e " + shell_quoted(path_of_this_program()) + " 2>/dev/null";
    for (std::size_t i = first; i < std::min(first + kAtOnce, unknown.size()); ++i) {
      std::array<char, 32> address{};
      std::snprintf(address.data(), address.size(), " 0x%llx",
                    static_cast<unsigned long long>(unknown[i] - 1 - program().base));
      command += address.data();
    }
    const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
    if (!pipe) return lines;
    Answer answer(lines);
    std::string text;
    for (int c = std::fgetc(pipe.get()); c != EOF; c = std::fgetc(pipe.get())) {
      if (c == '\n') {
        answer.line(std::move(text));
        text.clear();
      } else {
        text += static_cast<char>(c);
      }
    }
  }
  return lines;
}

bool in_program_data(std::uintptr_t address) {
  for (const Segment& segment : program().data) {
    if (address >= segment.begin && address < segment.end) return true;
  }
  return false;
}

}  // namespace emulator::xray
