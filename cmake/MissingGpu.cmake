# The test that stands for a chapter's CUDA tests where they cannot run.
if("$ENV{LADDER_REQUIRE_GPU}" STREQUAL "1")
  message(FATAL_ERROR "LADDER_REQUIRE_GPU=1, but the CUDA tests are not built: ${REASON}")
endif()
message("SKIPPED: the CUDA tests are not built: ${REASON}")
