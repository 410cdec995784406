# Stands for tests that cannot be built here. TEST is their name, REASON why, SKIP_LOG where skips are noted; NEEDS_GPU if a GPU
# would do.
if(NEEDS_GPU AND "$ENV{LADDER_REQUIRE_GPU}" STREQUAL "1")
  message(FATAL_ERROR "LADDER_REQUIRE_GPU=1, but the CUDA tests are not built: ${REASON}")
endif()
file(APPEND ${SKIP_LOG} "${TEST}: these tests are not built: ${REASON}\n")
message("SKIPPED")
