# add_chapter(05_float4): everything follows from the folder's name and the files in it.
#
#   X.cpp or X.cu        an idea: kernel and launcher                       (kernel, packed_causal_product, ...)
#   test.cpp             tests of `kernel`                                  chapter05.*
#   X_test.cpp           tests of idea X                                    chapter05.*
#   exercise.cpp|.cu, X_exercise.cpp|.cu   the idea with holes; its tests are a program of their own, never run by default:
#                                          stub.05.kernel, stub.05.X; from a learner's copy in my/05_float4/: my05, my05.X
#   mistakes/X.patch     a planted mistake, which the tests must notice     mistake.05.X, built on demand (cmake/MustFail.cmake)
#
#   X_operator.cpp       an operator of the chapter's own, registered; X_reference.cpp is built with it. Eigen is for these two
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

set_property(GLOBAL PROPERTY ladder_chapters "")  # their numbers; the objects of each: ladder_objects_BACKEND_NUMBER
set_property(GLOBAL PROPERTY ladder_chapter_objects_cpu "")
set_property(GLOBAL PROPERTY ladder_chapter_objects_emulated "")
set_property(GLOBAL PROPERTY ladder_chapter_objects_cuda "")
set_property(GLOBAL PROPERTY ladder_chapter_objects_xray "")
set_property(GLOBAL PROPERTY ladder_chapter_operators "")
# What a program is built without: CUDA sources that only nvcc for sm_90a compiles.
set_property(GLOBAL PROPERTY ladder_absent_emulated "")
set_property(GLOBAL PROPERTY ladder_absent_cuda "")

# An object library of `sources` (.cu or .cpp) for one back end: cpu, emulated, xray or cuda.
function(add_kernel_objects target back_end)
  set(sources ${ARGN})
  if(back_end MATCHES "^(emulated|xray)$")
    emulator_sources(sources ${ARGN})
  endif()
  add_library(${target} OBJECT ${sources})
  target_link_libraries(${target} PUBLIC ladder_arguments)
  if(back_end STREQUAL "emulated")
    target_link_libraries(${target} PUBLIC emulator PRIVATE emulator_bounds_flags)
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
  target_link_libraries(${target} PRIVATE ${objects} ladder_suites ladder_operators ${ladder_chapter_operators})
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
  target_link_libraries(${target} PRIVATE ${objects} ladder_device_emulated ladder_xray_testing ladder_reference ladder_operators
                                          ${ladder_chapter_operators})
  target_compile_options(${target} PRIVATE ${LADDER_TEST_FLAGS})
endfunction()

# The program of a learner's copy of a stub, under the tests in `room`. Built on demand only.
# exercise -> the idea `kernel` with test.cpp, X_exercise -> the idea X with X_test.cpp
function(add_exercise prefix exercise room back_end)
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
    target_link_libraries(${target} PRIVATE ladder_suites)
  else()
    add_kernel_tests(${target} ${target}_objects ${back_end} ${test}test.cpp)
  endif()
  set_target_properties(${target}_objects ${target} PROPERTIES EXCLUDE_FROM_ALL ON)
endfunction()

function(add_chapter folder)
  get_filename_component(name ${folder} NAME)
  string(REGEX MATCH "^[0-9][0-9]" number ${name})
  get_property(same_number GLOBAL PROPERTY ladder_chapter_${number})
  if(same_number)
    message(FATAL_ERROR "The folders ${same_number} and ${folder} share the number ${number}: rename one of them, because a "
                        "chapter goes by its number.")
  endif()
  set_property(GLOBAL PROPERTY ladder_chapter_${number} ${folder})
  set_property(GLOBAL APPEND PROPERTY ladder_chapters ${number})
  set(chapter chapter${number})
  set(room ${PROJECT_SOURCE_DIR}/${folder})
  file(GLOB sources CONFIGURE_DEPENDS ${room}/*.cpp ${room}/*.cu)

  set(kernels ${sources})
  list(FILTER kernels EXCLUDE REGEX "(^|[/_])(test|exercise|main|operator|reference)\\.(cpp|cu)$")
  set(operators ${sources})
  list(FILTER operators INCLUDE REGEX "_(operator|reference)\\.cpp$")
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

  # Of the chapter alone; read by add_kernel_tests and add_xray_tests, too.
  set(ladder_chapter_operators "")
  if(operators)
    set(ladder_chapter_operators ${chapter}_operators)
    add_library(${chapter}_operators OBJECT ${operators})
    target_link_libraries(${chapter}_operators PUBLIC ladder_reference PRIVATE Eigen3::Eigen OpenMP::OpenMP_CXX)
    set_property(GLOBAL APPEND PROPERTY ladder_chapter_operators ${chapter}_operators)
    set_property(GLOBAL PROPERTY ladder_operators_${number} ${chapter}_operators)
  endif()

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

  set_property(GLOBAL APPEND PROPERTY ladder_absent_emulated ${hopper_kernels})
  set(absent_cuda ${hopper_kernels})
  if("cpu" IN_LIST back_ends)
    set(first_objects ${chapter})
  else()
    set(first_objects ${chapter}_emulated)
  endif()
  set(first_tests ${first_objects}_tests)

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
      set(absent_cuda "")
    endif()
    set_property(GLOBAL APPEND PROPERTY ladder_chapter_objects_${back_end} ${objects})
    set_property(GLOBAL PROPERTY ladder_objects_${back_end}_${number} ${objects})
    add_kernel_tests(${chapter}${suffix}_tests "${objects}" ${back_end} ${back_end_tests})
    gtest_discover_tests(${chapter}${suffix}_tests TEST_PREFIX ${prefix} DISCOVERY_MODE PRE_TEST
                         PROPERTIES LABELS ${chapter} ENVIRONMENT LADDER_SKIP_LOG=${LADDER_SKIP_LOG})
    list(APPEND programs_of_tests ${chapter}${suffix}_tests)
  endforeach()

  set_property(GLOBAL APPEND PROPERTY ladder_absent_cuda ${absent_cuda})

  foreach(exercise IN LISTS exercises)
    set(exercise_back_ends ${back_ends})
    if(exercise MATCHES "\\.cpp$")  # needs no GPU, whatever the chapter's other files need
      set(exercise_back_ends cpu)
    endif()
    get_filename_component(file ${exercise} NAME)
    set(copy ${PROJECT_SOURCE_DIR}/my/${folder}/${file})
    list(GET exercise_back_ends 0 back_end)
    string(REGEX REPLACE "exercise\\.(cpp|cu)$" "test.cpp" test ${exercise})
    add_stub(${exercise} ${number} ${back_end} ${first_tests} ${test})
    if(NOT EXISTS ${copy})  # asked anew by every ./ladder exercise, which configures first
      continue()
    endif()
    foreach(back_end IN LISTS exercise_back_ends)
      add_exercise(my${number} ${copy} ${room} ${back_end})
      # What looks more closely at a failure.
      if(back_end STREQUAL "emulated" AND LADDER_HAS_XRAY)
        add_exercise(my${number} ${copy} ${room} xray)
      elseif(back_end STREQUAL "cpu" AND NOT LADDER_ASAN)
        add_exercise(my${number} ${copy} ${room} asan)
      endif()
    endforeach()
  endforeach()

  file(GLOB patches CONFIGURE_DEPENDS ${room}/mistakes/*.patch)
  list(GET back_ends 0 back_end)
  foreach(patch IN LISTS patches)
    add_mistake(${patch} ${number} ${back_end} ${first_objects} ${first_tests} ${kernels})
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
    target_link_libraries(${chapter}_${idea} PRIVATE ladder_reference fmt::fmt nlohmann_json::nlohmann_json)
  endforeach()

  if("emulated" IN_LIST back_ends AND LADDER_HAS_XRAY)
    add_kernel_objects(${chapter}_xray xray ${kernels})
    set_property(GLOBAL APPEND PROPERTY ladder_chapter_objects_xray ${chapter}_xray)
    set_property(GLOBAL PROPERTY ladder_objects_xray_${number} ${chapter}_xray)
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

# Sets out_var to what a registration's text says that it computes: launchers<ladder::Attention>(attend<float>, attend<bfloat16>)
# is "attention", "attention_bf16".
function(absent_launchers out_var code)
  set(launchers)
  string(REGEX MATCHALL "launchers<[A-Za-z:]+>\\([^()]*\\)" calls "${code}")
  foreach(call IN LISTS calls)
    string(REGEX REPLACE "^launchers<([a-z]+::)?([A-Za-z]+)>.*" "\\2" op "${call}")
    string(REGEX REPLACE "(.)([A-Z])" "\\1_\\2" op "${op}")
    string(TOLOWER "${op}" op)
    string(REGEX REPLACE "^launchers<[^>]*>" "" functions "${call}")
    string(REGEX MATCHALL "<[^>]*>" storages "${functions}")
    foreach(storage IN LISTS storages)
      if(storage MATCHES "bfloat16, float")
        list(APPEND launchers "\"${op}_bf16_fp32_decay\"")
      elseif(storage MATCHES "bfloat16")
        list(APPEND launchers "\"${op}_bf16\"")
      elseif(storage MATCHES "float16")
        list(APPEND launchers "\"${op}_fp16\"")
      else()
        list(APPEND launchers "\"${op}\"")
      endif()
    endforeach()
  endforeach()
  string(REPLACE ";" ", " launchers "${launchers}")
  set(${out_var} "${launchers}" PARENT_SCOPE)
endfunction()

# Sets out_var to a C++ file that registers, by name and operator, what the .cu files in ARGN would register. It is written from
# their own registrations: one implementation per file.
function(absent_sources out_var back_end)
  set(text "// Written by CMake: what this program is built without.\n#include \"common/core/registry.hpp\"\n")
  foreach(kernel IN LISTS ARGN)
    set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${kernel})
    file(READ ${kernel} code)
    string(REGEX MATCH "Registration [a-z_]*{.*" code "${code}")
    string(REGEX MATCH "[.]name = (\"[^\"]+\")" _ "${code}")
    set(name ${CMAKE_MATCH_1})
    string(REGEX MATCH "[.]chapter = (\"[^\"]+\")" _ "${code}")
    set(chapter ${CMAKE_MATCH_1})
    absent_launchers(launchers "${code}")
    if(NOT name OR NOT chapter OR NOT launchers)
      message(FATAL_ERROR "${kernel} registers no implementation with .name, .chapter and a launcher that CMake can read")
    endif()
    set(step 0)
    if(code MATCHES "[.]step = ([0-9]+)")
      set(step ${CMAKE_MATCH_1})
    endif()
    set(rung false)
    if(code MATCHES "[.]rung = true")
      set(rung true)
    endif()
    file(RELATIVE_PATH source ${PROJECT_SOURCE_DIR} ${kernel})
    get_filename_component(id ${kernel} NAME_WE)
    string(APPEND text "static const ladder::AbsentRegistration ${id}{{.name = ${name}, .chapter = ${chapter}, .source = \"${source}\", "
                       ".step = ${step}, .rung = ${rung}, .needs = \"a Hopper GPU (sm_90a) and nvcc\", .launchers = {${launchers}}}};\n")
  endforeach()
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/absent_${back_end}.cpp CONTENT "${text}" @ONLY)
  set(${out_var} ${PROJECT_BINARY_DIR}/absent_${back_end}.cpp PARENT_SCOPE)
endfunction()

# PREFIX_emulated, PREFIX_cuda and PREFIX_xray: the implementations of all chapters added so far under one program. PREFIX_emulated_to_03
# and the like have those of chapters up to 03 only, for whoever asks for no later one: built on demand. What is added afterwards begins
# anew.
function(add_ladder_program prefix)
  get_property(chapters GLOBAL PROPERTY ladder_chapters)
  get_property(cpu GLOBAL PROPERTY ladder_chapter_objects_cpu)
  get_property(operators GLOBAL PROPERTY ladder_chapter_operators)
  set(common_operators ladder_operators ladder_reference)
  add_library(${prefix}_main_run OBJECT ${PROJECT_SOURCE_DIR}/common/program/main.cpp)
  target_link_libraries(${prefix}_main_run PUBLIC ladder_bench)
  set(back_ends emulated)
  if(LADDER_WITH_CUDA)
    list(APPEND back_ends cuda)
  endif()
  if(LADDER_HAS_XRAY)
    list(APPEND back_ends xray)
    add_library(${prefix}_main_xray OBJECT ${PROJECT_SOURCE_DIR}/common/program/xray_main.cpp)
    target_link_libraries(${prefix}_main_xray PUBLIC ladder_xray_run ladder_bench)
  endif()
  foreach(back_end IN LISTS back_ends)
    set(main ${prefix}_main_run)
    set(device ${back_end})
    if(back_end STREQUAL "xray")
      set(main ${prefix}_main_xray)
      set(device emulated)
    endif()
    get_property(objects GLOBAL PROPERTY ladder_chapter_objects_${back_end})
    get_property(absent GLOBAL PROPERTY ladder_absent_${device})
    absent_sources(absent_file ${prefix}_${device} ${absent})
    add_executable(${prefix}_${back_end} ${absent_file})
    target_link_libraries(${prefix}_${back_end} PRIVATE ${main} ${operators} ${common_operators} ladder_device_${device} ${cpu} ${objects})

    set(so_far "")
    foreach(number IN LISTS chapters)
      get_property(of_cpu GLOBAL PROPERTY ladder_objects_cpu_${number})
      get_property(of_device GLOBAL PROPERTY ladder_objects_${back_end}_${number})
      get_property(of_operators GLOBAL PROPERTY ladder_operators_${number})
      get_property(folder GLOBAL PROPERTY ladder_chapter_${number})
      list(APPEND so_far ${of_cpu} ${of_device} ${of_operators})
      set(needs_all ${absent})
      list(FILTER needs_all INCLUDE REGEX "/${folder}/")
      if(needs_all)  # what it is built without is named by the whole program only
        break()
      endif()
      add_executable(${prefix}_${back_end}_to_${number} EXCLUDE_FROM_ALL)
      target_link_libraries(${prefix}_${back_end}_to_${number} PRIVATE ${main} ${common_operators} ladder_device_${device} ${so_far})
      set_target_properties(${prefix}_${back_end}_to_${number} PROPERTIES LINKER_LANGUAGE CXX)
      list(APPEND programs ${prefix}_${back_end}_to_${number})
    endforeach()
  endforeach()
  list(JOIN programs "\n" programs)
  file(WRITE ${PROJECT_BINARY_DIR}/${prefix}_programs.txt "${programs}\n")  # for tools/commands
  foreach(list chapters chapter_objects_cpu chapter_objects_emulated chapter_objects_cuda chapter_objects_xray chapter_operators
               absent_emulated absent_cuda)
    set_property(GLOBAL PROPERTY ladder_${list} "")
  endforeach()
endfunction()

# add_kernels_program(NAME SOURCES... LIBRARIES...): NAME_emulated and NAME_cuda, with the implementations of all chapters added so
# far. Built on demand.
function(add_kernels_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBRARIES")
  set(back_ends emulated)
  if(LADDER_WITH_CUDA)
    list(APPEND back_ends cuda)
  endif()
  get_property(cpu GLOBAL PROPERTY ladder_chapter_objects_cpu)
  foreach(back_end IN LISTS back_ends)
    get_property(objects GLOBAL PROPERTY ladder_chapter_objects_${back_end})
    add_executable(${name}_${back_end} EXCLUDE_FROM_ALL ${arg_SOURCES})
    target_link_libraries(${name}_${back_end} PRIVATE ${arg_LIBRARIES} ladder_device_${back_end} ${cpu} ${objects})
    target_compile_options(${name}_${back_end} PRIVATE ${LADDER_TEST_FLAGS})
  endforeach()
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
