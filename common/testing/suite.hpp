// The suite of any operator, made from its plan.
//
//     const bool registered = ladder::testing::register_suite(
//         "matmul", "matmul_tiled", {.storages = {"fp32", "bf16"}});
#pragma once

#include <string>

#include "common/judge/plan.hpp"

namespace ladder::testing {

// Registers the tests of this operator: PlainCase (its failure also names two mistakes together),
// MatchesReference/CASE (pairwise), CasesHoldEveryPair, AtItsBorders/CASE, TakesNothing,
// RefusesBadInput (from the lists and the operator), TakesOrRefusesAnyAlignment, IsRepeatable, and
// the operator's edges. Each runs under every schedule of the device, and cases share them.
bool register_suite(const std::string& op, const std::string& implementation,
                    const Support& support = {});

// For main, because an operator may be registered after its suite.
void register_pending_suites();

}  // namespace ladder::testing
