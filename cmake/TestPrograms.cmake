# What CTest knows: a test program is one entry, chapter05.emulated or chapter07.02_chunk_walk.xray, whose tests run in one process
# (tools/run_tests). It says how many of them passed and were skipped, and of what is skipped why.

set(LADDER_SKIP_LOG ${PROJECT_BINARY_DIR}/skipped_tests.txt)  # tests that skip themselves note it here
set(LADDER_TEST_COUNTS ${PROJECT_BINARY_DIR}/test_counts.txt)  # what of an entry's tests passed, failed, was skipped
find_program(LADDER_PYTHON python3)
mark_as_advanced(LADDER_PYTHON)

# The tests of the program `target` are the entry `name`. ARGN: its environment.
function(add_test_program name target label)
  if(NOT LADDER_PYTHON)
    add_skipped_test(${name} "python3 is not installed" OFF)
    return()
  endif()
  add_test(NAME ${name} COMMAND ${LADDER_PYTHON} ${PROJECT_SOURCE_DIR}/tools/run_tests ${name} $<TARGET_FILE:${target}>)
  # Each test has its time (tools/ladder_tools/test_program.py), a program has as much as it needs.
  set_tests_properties(${name} PROPERTIES LABELS ${label} TIMEOUT 86400
                                          ENVIRONMENT "LADDER_SKIP_LOG=${LADDER_SKIP_LOG};LADDER_TEST_COUNTS=${LADDER_TEST_COUNTS};${ARGN}")
endfunction()

# Stands for tests that cannot be built, so that they are seen to be skipped.
function(add_skipped_test name reason needs_gpu)
  add_test(NAME ${name}
           COMMAND ${CMAKE_COMMAND} -D TEST=${name} -D "REASON=${reason}" -D NEEDS_GPU=${needs_gpu}
                   -D SKIP_LOG=${LADDER_SKIP_LOG} -P ${PROJECT_SOURCE_DIR}/cmake/SkippedTest.cmake)
  string(REGEX MATCH "^chapter[0-9][0-9](\\.[0-9][0-9][a-z]?_[a-z0-9_]+)?" lesson ${name})
  set_tests_properties(${name} PROPERTIES SKIP_REGULAR_EXPRESSION "SKIPPED" LABELS "${lesson}")
endfunction()

# What CTest does around a run. It gives neither the number of skipped tests nor the reason: hooks do. And tests allocate large arrays again
# and again and have many short parallel loops: memory is not given back between them, and threads that wait do not spin.
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
