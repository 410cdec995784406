// An X-ray as text, JSON and a web page. The JSON's fields: docs/xray.md.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "model.hpp"

namespace emulator::xray {

// A kernel with the names it goes by outside of the emulator.
struct Subject {
  std::string chapter;         // "03_cuda_baseline"
  std::string implementation;  // "wkv_atomic"
  Kernel kernel;
  std::string lesson = {};  // "06.05"; empty for a chapter's own kernel
};

// What heads its column: the lesson's number, or else the chapter.
inline const std::string& place_of(const Subject& subject) {
  return subject.lesson.empty() ? subject.chapter : subject.lesson;
}

// Counters side by side, how often each element is touched, and every error as a sentence.
std::string to_table(const std::vector<Subject>& subjects);

// "200,000,000"
std::string grouped(std::uint64_t number);

nlohmann::json to_json(const std::vector<Subject>& subjects);

// A page that needs nothing but itself and draws what `report` holds: to_json(), and whatever was
// added to it.
std::string to_page(const nlohmann::json& report);

}  // namespace emulator::xray
