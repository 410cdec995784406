// The suite of any operator: what its plan says is tested.
//
//     const bool registered = ladder::testing::register_suite("matmul", "matmul_tiled", {.storages = {"fp32", "bf16"}});
#pragma once

#include <string>

#include "common/judge/plan.hpp"

namespace ladder::testing {

// Registers, of the operator of that name: PlainCase, whose failure says also which two mistakes together a result equals;
// MatchesReference/CASE, pairwise; CasesHoldEveryPair; AtItsBorders/CASE; TakesNothing; RefusesBadInput, by the lists and what the operator knows besides;
// TakesOrRefusesAnyAlignment; IsRepeatable; and the operator's edges. Each runs under every schedule of the device, cases share them.
bool register_suite(const std::string& op, const std::string& implementation,
                    const Support& support = {});

// For main: an operator may register after the suite that is about it.
void register_pending_suites();

}  // namespace ladder::testing
