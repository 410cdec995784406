// An X-ray as text, JSON and a web page. The JSON's fields: docs/xray.md.
#pragma once

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "model.hpp"
#include "values.hpp"

namespace emulator::xray {

// A kernel with its names outside of the emulator.
struct Subject {
  std::string chapter;         // "03_cuda_baseline"
  std::string implementation;  // "wkv_atomic"
  Kernel kernel;
  std::string lesson = {};  // "06.05"; empty for a chapter's own kernel
};

// The heading of its column: the lesson's number, or the chapter.
inline const std::string& place_of(const Subject& subject) {
  return subject.lesson.empty() ? subject.chapter : subject.lesson;
}

// Counters in columns, the accesses per element, and every error as a sentence.
std::string to_table(const std::vector<Subject>& subjects);

// "200,000,000"
std::string grouped(std::uint64_t number);

nlohmann::json to_json(const std::vector<Subject>& subjects);

// A self-contained page that draws `report`, which is to_json() with additions.
std::string to_page(const nlohmann::json& report);

// For ./ladder exercise. Not in the tests' sources, because nlohmann's JSON compiles for seconds.

// to_json() with the name of its "case".
void write_case(std::ostream& to, const std::string& what, const std::vector<Subject>& subjects);

// A line of JSON, then 64-bit numbers: eight per ValueTouch, six per LaneTake, seven per ThreadEnd.
void write_values(std::ostream& to, const Values& values);

// A kernel's use of a budget.
struct UsedBudget {
  double used = 0, allowed = 0;
  std::string what;  // "global loads", or a sentence without the other members
  std::string per = {}, implementation = {};  // "element of o", "wkv_float4"
  std::string dearest = {};  // the line with the most of it, as a sentence, or empty
};

// One JSON record each (docs/xray.md).
std::string fact_of(const Error& error);
std::string fact_of(const UsedBudget& budget);
std::string counters_fact_of(const std::vector<Kernel>& kernels);  // the sums of all launches

}  // namespace emulator::xray
