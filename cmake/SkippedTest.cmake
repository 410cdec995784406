# Replaces tests that cannot be built here. TEST is their name, REASON the cause, SKIP_LOG the log
# of skips, and NEEDS_GPU is set if a GPU would help.
if(NEEDS_GPU AND "$ENV{LADDER_REQUIRE_GPU}" STREQUAL "1")
  message(FATAL_ERROR "LADDER_REQUIRE_GPU=1, but the CUDA tests are not built: ${REASON}")
endif()
file(APPEND ${SKIP_LOG} "${TEST}: these tests are not built: ${REASON}\n")
message("SKIPPED")
