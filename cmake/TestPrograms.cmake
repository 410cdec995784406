# A test program is one CTest entry, such as chapter05.emulated. Its tests run in one process
# (tools/run_tests), which reports the numbers of passed and skipped tests and why.

set(LADDER_SKIP_LOG ${PROJECT_BINARY_DIR}/skipped_tests.txt)  # tests that skip themselves log it
set(LADDER_TEST_COUNTS ${PROJECT_BINARY_DIR}/test_counts.txt)  # passed, failed, skipped per entry
find_program(LADDER_PYTHON python3)
mark_as_advanced(LADDER_PYTHON)

# Adds the program `target` as the entry `name`. ARGN: its environment.
function(add_test_program name target label)
  if(NOT LADDER_PYTHON)
    add_skipped_test(${name} "python3 is not installed" OFF)
    return()
  endif()
  add_test(NAME ${name} COMMAND ${LADDER_PYTHON} ${PROJECT_SOURCE_DIR}/tools/run_tests ${name} $<TARGET_FILE:${target}>)
  # Each test has its own limit (tools/ladder_tools/test_program.py), but a program has none.
  set_tests_properties(${name} PROPERTIES LABELS ${label} TIMEOUT 86400
                                          ENVIRONMENT "LADDER_SKIP_LOG=${LADDER_SKIP_LOG};LADDER_TEST_COUNTS=${LADDER_TEST_COUNTS};${ARGN}")
endfunction()

# Replaces tests that cannot be built, so that they show as skipped.
function(add_skipped_test name reason needs_gpu)
  add_test(NAME ${name}
           COMMAND ${CMAKE_COMMAND} -D TEST=${name} -D "REASON=${reason}" -D NEEDS_GPU=${needs_gpu}
                   -D SKIP_LOG=${LADDER_SKIP_LOG} -P ${PROJECT_SOURCE_DIR}/cmake/SkippedTest.cmake)
  string(REGEX MATCH "^chapter[0-9][0-9](\\.[0-9][0-9][a-z]?_[a-z0-9_]+)?" lesson ${name})
  set_tests_properties(${name} PROPERTIES SKIP_REGULAR_EXPRESSION "SKIPPED" LABELS "${lesson}")
endfunction()

# Hooks report the number of skipped tests and the reasons, which CTest does not. Memory is kept
# between the tests' large arrays, and waiting threads do not spin between short parallel loops.
function(customise_ctest)
  set(custom "set(ENV{OMP_WAIT_POLICY} passive)\nset(ENV{MALLOC_MMAP_THRESHOLD_} 1073741824)\nset(ENV{MALLOC_TRIM_THRESHOLD_} 1073741824)\n")
  foreach(hook before:PRE after:POST)
    string(REGEX REPLACE ":.*" "" step ${hook})
    string(REGEX REPLACE ".*:" "" when ${hook})
    string(APPEND custom "set(CTEST_CUSTOM_${when}_TEST [==[\"${CMAKE_COMMAND}\" -D STEP=${step} "
                         "-D \"SKIP_LOG=${LADDER_SKIP_LOG}\" -D \"COUNTS=${LADDER_TEST_COUNTS}\" -P \"${PROJECT_SOURCE_DIR}/cmake/ReportSkips.cmake\"]==])\n")
  endforeach()
  file(WRITE ${PROJECT_BINARY_DIR}/CTestCustom.cmake "${custom}")
endfunction()
