# The test that stands for a chapter's CUDA tests where they cannot run. TEST is its name, SKIP_LOG where skips are noted.
if("$ENV{LADDER_REQUIRE_GPU}" STREQUAL "1")
  message(FATAL_ERROR "LADDER_REQUIRE_GPU=1, but the CUDA tests are not built: ${REASON}")
endif()
file(APPEND ${SKIP_LOG} "${TEST}: the CUDA tests are not built: ${REASON}\n")
message("SKIPPED")
