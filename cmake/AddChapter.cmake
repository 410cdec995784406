# add_chapter(05_float4): everything follows from the folder's name and the files in it.
#
#   X.cpp or X.cu        an idea: kernel and launcher                       (kernel, packed_causal_product, ...)
#   test.cpp             tests of `kernel`                                  chapter05.*
#   X_test.cpp           tests of idea X                                    chapter05.*
#   exercise.cpp|.cu, X_exercise.cpp|.cu   the idea with holes; its tests are a program of their own, never run by default:
#                                          exercise05, exercise05.X; from a learner's copy in my/05_float4/: my05, my05.X
#
#   X_main.cpp           a program that shows what idea X.cpp computes      chapter05_X, built on demand
#
#   X_sm90.cu, X_sm90_test.cpp   an idea that needs a Hopper GPU: only nvcc builds it, for sm_90a; elsewhere it is skipped by name
#
#   xray_test.cpp, X_xray_test.cpp   what the chapter claims about its kernels' memory accesses   chapter05.xray.*
#
# The target chapter05_all builds all of its test programs; its tests have the label chapter05.
#
# A learner's copy is also built to look more closely at a test that failed: my05_xray with the kernel instrumented, my01_asan
# with AddressSanitizer where it needs no GPU.
#
# Chapters of .cu files are built once per back end: `emulated` always, `cuda` where nvcc is used, and `xray`, the emulator with
# the kernels instrumented, for what looks through the X-ray.

set(LADDER_SKIP_LOG ${PROJECT_BINARY_DIR}/skipped_tests.txt)  # tests that skip themselves note it here

set_property(GLOBAL PROPERTY ladder_chapter_objects_cpu "")
set_property(GLOBAL PROPERTY ladder_chapter_objects_emulated "")
set_property(GLOBAL PROPERTY ladder_chapter_objects_cuda "")
set_property(GLOBAL PROPERTY ladder_chapter_objects_xray "")

# An object library of `sources` (.cu or .cpp) for one back end: cpu, emulated, xray or cuda.
function(add_kernel_objects target back_end)
  set(sources ${ARGN})
  if(back_end MATCHES "^(emulated|xray)$")
    emulator_sources(sources ${ARGN})
  endif()
  add_library(${target} OBJECT ${sources})
  target_link_libraries(${target} PUBLIC ladder_core)
  if(back_end STREQUAL "emulated")
    target_link_libraries(${target} PUBLIC emulator)
    # What the emulator spends on a thread's switches no optimiser saves, and -O3 takes up to seven times as long to compile.
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-O1>)
  elseif(back_end STREQUAL "xray")
    target_link_libraries(${target} PUBLIC emulator_xray PRIVATE emulator_xray_flags)
  elseif(back_end STREQUAL "cpu")
    target_compile_options(${target} PRIVATE ${LADDER_CPU_KERNEL_FLAGS})
    target_link_libraries(${target} PUBLIC OpenMP::OpenMP_CXX)
  elseif(back_end STREQUAL "asan")  # the CPU's code, with each access checked
    target_compile_options(${target} PRIVATE -O1 -g -fno-omit-frame-pointer -fsanitize=address)
    target_link_options(${target} PUBLIC -fsanitize=address)
    target_link_libraries(${target} PUBLIC OpenMP::OpenMP_CXX)
  endif()
endfunction()

# A test program: kernels of one back end under test sources that know no back end.
function(add_kernel_tests target objects back_end)
  add_executable(${target} ${ARGN})
  target_link_libraries(${target} PRIVATE ${objects} ladder_testing)
  target_compile_options(${target} PRIVATE ${LADDER_TEST_FLAGS})
  if(back_end MATCHES "^(emulated|cuda)$")
    target_link_libraries(${target} PRIVATE ladder_device_${back_end})
  endif()
  if(back_end STREQUAL "cuda")  # for what a test shares with a kernel; the host's compiler does not know where it is
    target_include_directories(${target} SYSTEM PRIVATE ${CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES})
  endif()
endfunction()

# Tests of what kernels do to memory: the kernels must be of the xray back end.
function(add_xray_tests target objects)
  add_executable(${target} ${ARGN})
  target_link_libraries(${target} PRIVATE ${objects} ladder_device_emulated ladder_xray_testing)
  target_compile_options(${target} PRIVATE ${LADDER_TEST_FLAGS})
endfunction()

# The program of a stub, or of a learner's copy, under the tests in `room`. Built on demand only; sets out_var to its name.
# exercise -> the idea `kernel` with test.cpp, X_exercise -> the idea X with X_test.cpp
function(add_exercise prefix exercise room back_end out_var)
  get_filename_component(name ${exercise} NAME_WE)
  string(REGEX REPLACE "_?exercise$" "" idea ${name})
  set(target ${prefix})
  set(test ${room}/)
  if(idea)
    string(APPEND target .${idea})
    string(APPEND test ${idea}_)
  endif()
  if(NOT back_end STREQUAL "cpu")
    string(APPEND target _${back_end})
  endif()
  add_kernel_objects(${target}_objects ${back_end} ${exercise})
  target_compile_options(${target}_objects PRIVATE
                         $<$<COMPILE_LANGUAGE:CXX>:-Wno-unused>)  # holes leave names unused
  if(back_end STREQUAL "xray")
    # The plain tests too: the one that failed is run again, and what the X-ray finds in it is said.
    add_xray_tests(${target} ${target}_objects ${test}xray_test.cpp ${test}test.cpp)
    target_link_libraries(${target} PRIVATE ladder_testing)
  else()
    add_kernel_tests(${target} ${target}_objects ${back_end} ${test}test.cpp)
  endif()
  set_target_properties(${target}_objects ${target} PROPERTIES EXCLUDE_FROM_ALL ON)
  set(${out_var} ${target} PARENT_SCOPE)
endfunction()

function(add_chapter folder)
  string(REGEX MATCH "^[0-9][0-9]" number ${folder})
  get_property(same_number GLOBAL PROPERTY ladder_chapter_${number})
  if(same_number)
    message(FATAL_ERROR "The folders ${same_number} and ${folder} share the number ${number}: rename one of them, because a "
                        "chapter goes by its number.")
  endif()
  set_property(GLOBAL PROPERTY ladder_chapter_${number} ${folder})
  set(chapter chapter${number})
  set(room ${PROJECT_SOURCE_DIR}/${folder})
  file(GLOB sources CONFIGURE_DEPENDS ${room}/*.cpp ${room}/*.cu)

  set(kernels ${sources})
  list(FILTER kernels EXCLUDE REGEX "(^|[/_])(test|exercise|main)\\.(cpp|cu)$")
  set(xray_tests ${sources})
  list(FILTER xray_tests INCLUDE REGEX "(^|[/_])xray_test\\.cpp$")
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "(^|[/_])test\\.cpp$")
  list(FILTER tests EXCLUDE REGEX "(^|[/_])xray_test\\.cpp$")
  set(exercises ${sources})
  list(FILTER exercises INCLUDE REGEX "(^|[/_])exercise\\.(cpp|cu)$")
  set(hopper_kernels ${kernels})
  list(FILTER hopper_kernels INCLUDE REGEX "_sm90\\.cu$")
  list(FILTER kernels EXCLUDE REGEX "_sm90\\.cu$")
  set(hopper_tests ${tests})
  list(FILTER hopper_tests INCLUDE REGEX "_sm90_test\\.cpp$")
  list(FILTER tests EXCLUDE REGEX "_sm90_test\\.cpp$")

  if("${kernels}" MATCHES "\\.cu(;|$)")
    set(back_ends emulated)
    if(LADDER_WITH_CUDA)
      list(APPEND back_ends cuda)
    else()
      add_skipped_test(${chapter}.cuda "${LADDER_NO_CUDA_REASON}" ON)
    endif()
  else()
    set(back_ends cpu)
  endif()

  foreach(back_end IN LISTS back_ends)
    set(suffix _${back_end})
    set(prefix ${chapter}.${back_end}.)
    if(back_end STREQUAL "cpu")
      set(suffix "")
      set(prefix ${chapter}.)
    endif()
    set(objects ${chapter}${suffix})
    set(back_end_tests ${tests})
    add_kernel_objects(${chapter}${suffix} ${back_end} ${kernels})
    if(back_end STREQUAL "cuda" AND hopper_kernels AND "90a-real" IN_LIST CMAKE_CUDA_ARCHITECTURES)
      add_kernel_objects(${chapter}_sm90 cuda ${hopper_kernels})
      set_target_properties(${chapter}_sm90 PROPERTIES CUDA_ARCHITECTURES 90a-real)
      list(APPEND objects ${chapter}_sm90)
      list(APPEND back_end_tests ${hopper_tests})
      set(hopper_kernels "")
    endif()
    set_property(GLOBAL APPEND PROPERTY ladder_chapter_objects_${back_end} ${objects})
    add_kernel_tests(${chapter}${suffix}_tests "${objects}" ${back_end} ${back_end_tests})
    gtest_discover_tests(${chapter}${suffix}_tests TEST_PREFIX ${prefix} DISCOVERY_MODE PRE_TEST
                         PROPERTIES LABELS ${chapter} ENVIRONMENT LADDER_SKIP_LOG=${LADDER_SKIP_LOG})
    list(APPEND programs_of_tests ${chapter}${suffix}_tests)
  endforeach()

  foreach(exercise IN LISTS exercises)
    set(exercise_back_ends ${back_ends})
    if(exercise MATCHES "\\.cpp$")  # needs no GPU, whatever the chapter's other files need
      set(exercise_back_ends cpu)
    endif()
    get_filename_component(file ${exercise} NAME)
    set(copy ${PROJECT_SOURCE_DIR}/my/${folder}/${file})
    foreach(back_end IN LISTS exercise_back_ends)
      add_exercise(exercise${number} ${exercise} ${room} ${back_end} target)
      set_property(GLOBAL APPEND PROPERTY ladder_exercises_${back_end} ${target})
      if(EXISTS ${copy})  # asked anew by every ./ladder exercise, which configures first
        add_exercise(my${number} ${copy} ${room} ${back_end} target)
        # What looks more closely at a failure.
        if(back_end STREQUAL "emulated" AND LADDER_HAS_XRAY)
          add_exercise(my${number} ${copy} ${room} xray target)
        elseif(back_end STREQUAL "cpu" AND NOT LADDER_ASAN)
          add_exercise(my${number} ${copy} ${room} asan target)
        endif()
      endif()
    endforeach()
  endforeach()

  foreach(kernel IN LISTS hopper_kernels)
    get_filename_component(name ${kernel} NAME_WE)
    add_skipped_test(${chapter}.${name} "${name}.cu needs a Hopper GPU (sm_90a) and nvcc" ON)
  endforeach()

  set(programs ${sources})
  list(FILTER programs INCLUDE REGEX "_main\\.cpp$")
  foreach(program IN LISTS programs)
    string(REGEX REPLACE "^.*/(.*)_main\\.cpp$" "\\1" idea ${program})
    add_executable(${chapter}_${idea} EXCLUDE_FROM_ALL ${program} ${room}/${idea}.cpp)
    target_link_libraries(${chapter}_${idea} PRIVATE ladder_core fmt::fmt nlohmann_json::nlohmann_json)
  endforeach()

  if("emulated" IN_LIST back_ends AND LADDER_HAS_XRAY)
    add_kernel_objects(${chapter}_xray xray ${kernels})
    set_property(GLOBAL APPEND PROPERTY ladder_chapter_objects_xray ${chapter}_xray)
    add_xray_tests(${chapter}_xray_tests ${chapter}_xray ${xray_tests})
    gtest_discover_tests(${chapter}_xray_tests TEST_PREFIX ${chapter}.xray. DISCOVERY_MODE PRE_TEST
                         PROPERTIES LABELS ${chapter})
    list(APPEND programs_of_tests ${chapter}_xray_tests)
  elseif("emulated" IN_LIST back_ends)
    add_skipped_test(${chapter}.xray "the X-ray needs g++ without a sanitizer" OFF)
  endif()

  add_custom_target(${chapter}_all DEPENDS ${programs_of_tests})
endfunction()

# Stands for tests that cannot be built, so that they are seen to be skipped.
function(add_skipped_test name reason needs_gpu)
  add_test(NAME ${name}
           COMMAND ${CMAKE_COMMAND} -D TEST=${name} -D "REASON=${reason}" -D NEEDS_GPU=${needs_gpu}
                   -D SKIP_LOG=${LADDER_SKIP_LOG} -P ${PROJECT_SOURCE_DIR}/cmake/SkippedTest.cmake)
  string(REGEX MATCH "^chapter[0-9][0-9]" chapter ${name})
  set_tests_properties(${name} PROPERTIES SKIP_REGULAR_EXPRESSION "SKIPPED" LABELS "${chapter}")
endfunction()

# ladder_emulated, ladder_cuda and ladder_xray: every chapter's implementations under one program. Also `exercises`, all stubs.
function(add_ladder_program)
  get_property(cpu GLOBAL PROPERTY ladder_chapter_objects_cpu)
  foreach(back_end emulated cuda)
    if(back_end STREQUAL "cuda" AND NOT LADDER_WITH_CUDA)
      continue()
    endif()
    get_property(objects GLOBAL PROPERTY ladder_chapter_objects_${back_end})
    add_executable(ladder_${back_end} ${PROJECT_SOURCE_DIR}/common/bench/main.cpp)
    target_link_libraries(ladder_${back_end} PRIVATE ladder_bench ladder_device_${back_end} ${cpu} ${objects})
  endforeach()
  if(LADDER_HAS_XRAY)
    get_property(objects GLOBAL PROPERTY ladder_chapter_objects_xray)
    add_executable(ladder_xray ${PROJECT_SOURCE_DIR}/common/bench/xray_main.cpp)
    target_link_libraries(ladder_xray PRIVATE ladder_xray_run ladder_device_emulated ${cpu} ${objects})
  endif()
  get_property(cpu_exercises GLOBAL PROPERTY ladder_exercises_cpu)
  get_property(emulated_exercises GLOBAL PROPERTY ladder_exercises_emulated)
  add_custom_target(exercises)
  if(cpu_exercises OR emulated_exercises)
    add_dependencies(exercises ${cpu_exercises} ${emulated_exercises})
  endif()
endfunction()

# CTest gives neither the number of skipped tests nor the reason: hooks around the tests do.
function(report_skips_after_tests)
  foreach(hook before:PRE after:POST)
    string(REGEX REPLACE ":.*" "" step ${hook})
    string(REGEX REPLACE ".*:" "" when ${hook})
    string(APPEND hooks "set(CTEST_CUSTOM_${when}_TEST [==[\"${CMAKE_COMMAND}\" -D STEP=${step} "
                        "-D \"SKIP_LOG=${LADDER_SKIP_LOG}\" -P \"${PROJECT_SOURCE_DIR}/cmake/ReportSkips.cmake\"]==])\n")
  endforeach()
  file(WRITE ${PROJECT_BINARY_DIR}/CTestCustom.cmake "${hooks}")
endfunction()
