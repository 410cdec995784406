// Facts about a result for tools, which put them into words: docs/xray.md#facts.
#pragma once

#include <string>

namespace ladder {

// Appends a JSON record to the file that LADDER_FACTS names, if it names one. The record is written
// at once, because the program may crash later.
void write_fact(const std::string& record);

}  // namespace ladder
