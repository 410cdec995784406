// The suite of any operator: what its lists say can be tested without knowing it.
//
//     const bool registered = ladder::testing::register_suite("matmul", "matmul_tiled", {.storages = {"fp32", "bf16"}});
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace ladder::testing {

// What an implementation can do, and what its cases are made of.
struct SuiteSupport {
  bool repeatable = true;  // the same input twice gives the same bits
  std::vector<std::string> storages = {"fp32"};
  // By name; those that are not named have the usual ones, ragged and around powers of two.
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> sizes = {};
  std::vector<std::pair<std::string, std::vector<std::string>>> options = {};
};

// Registers, of the operator of that name: MatchesReference/CASE, pairwise; TakesNothing, with each size that may be 0;
// RefusesBadInput, by the lists; TakesOrRefusesAnyAlignment; IsRepeatable. Each under every schedule of the device.
bool register_suite(const std::string& op, const std::string& implementation,
                    const SuiteSupport& support = {});

// For main: an operator may register after the suite that is about it.
void register_pending_suites();

}  // namespace ladder::testing
