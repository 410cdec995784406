// An X-ray as text, JSON and a web page. The JSON's fields: docs/xray.md.
#pragma once

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "model.hpp"
#include "values.hpp"

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

// For ./ladder exercise. Here, and not where tests are, because including nlohmann's JSON takes seconds.

// to_json(), and which "case" it is about.
void write_case(std::ostream& to, const std::string& what, const std::vector<Subject>& subjects);

// A line of JSON, then eight numbers of 64 bits for each touch, in the order of ValueTouch, then six for each shuffle, in that of LaneTake,
// and seven for each thread, in that of ThreadEnd.
void write_values(std::ostream& to, const Values& values);

// How much of a budget a kernel has used.
struct UsedBudget {
  double used = 0, allowed = 0;
  std::string what;  // "global loads"; a sentence where nothing else is given
  std::string per = {}, implementation = {};  // "element of o", "wkv_float4"
  std::string dearest = {};  // where most of it is made, as a sentence; "" if that is not said
};

// One JSON record each (docs/xray.md).
std::string fact_of(const Error& error);
std::string fact_of(const UsedBudget& budget);
std::string counters_fact_of(const std::vector<Kernel>& kernels);  // the sums of all launches

}  // namespace emulator::xray
