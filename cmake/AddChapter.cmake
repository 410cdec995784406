# add_chapter(05_float4): everything follows from the names of folders and files. A chapter's folder is its lesson 00, and each folder
# NN_slug in it is a lesson; in both the same names stand:
#
#   kernel.cpp or kernel.cu      the idea: kernel and launcher. Other .cpp and .cu files beside it are built with it
#   test.cpp, X_test.cpp         its tests                             chapter05.*, of a lesson chapter07.02_chunk_walk.*
#   xray_test.cpp                what the lesson claims about memory accesses   chapter05.xray.*, chapter07.02_chunk_walk.xray.*
#   exercise.cpp or exercise.cu  the kernel with holes; its tests are a program of their own, never run by default: stub.05,
#                                stub.07.02_chunk_walk; from a learner's copy in my/: my05, my07.02_chunk_walk
#   mistakes/X.patch             a planted mistake, which the tests must notice, built on demand (cmake/MustFail.cmake): mistake.05.X,
#                                mistake.07.02_chunk_walk.X
#
#   X_operator.cpp               an operator of its own, registered; X_reference.cpp is built with it. Eigen is for these two
#   X_main.cpp                   a program that shows what idea X.cpp, or kernel.cpp, computes: chapter07_X, built on demand
#   kernel_sm90.cu, sm90_test.cpp   an idea that needs a Hopper GPU: only nvcc builds it, for sm_90a; elsewhere it is skipped by name
#
# All kernels of a chapter are built together, because its launchers may call each other; each lesson's tests are a program under
# them. The target chapter05_all builds all test programs of a chapter, chapter07.02_chunk_walk_all those of a lesson (chapter07.00_all
# of its own folder); a test's label is its lesson's, without _all.
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
  # 00_warmup's first kernel is a whole program. Here it is linked with programs that have a main, so its own has another name.
  target_compile_definitions(${target} PRIVATE main=lesson_main)
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

# The program of a learner's copy of a stub, under the tests of `lesson`, a folder. Built on demand only.
function(add_exercise target copy lesson back_end)
  if(NOT back_end STREQUAL "cpu")
    string(APPEND target _${back_end})
  endif()
  add_kernel_objects(${target}_objects ${back_end} ${copy})
  target_compile_options(${target}_objects PRIVATE
                         $<$<COMPILE_LANGUAGE:CXX>:-Wno-unused>)  # holes leave names unused
  if(back_end STREQUAL "xray")
    # The plain tests too: the one that failed is run again, and what the X-ray finds in it is said.
    add_xray_tests(${target} ${target}_objects ${lesson}/xray_test.cpp ${lesson}/test.cpp)
    target_link_libraries(${target} PRIVATE ladder_suites)
  else()
    add_kernel_tests(${target} ${target}_objects ${back_end} ${lesson}/test.cpp)
  endif()
  set_target_properties(${target}_objects ${target} PROPERTIES EXCLUDE_FROM_ALL ON)
endfunction()

# Sets PREFIX_kernels, PREFIX_hopper_kernels, PREFIX_operators, PREFIX_tests, PREFIX_hopper_tests, PREFIX_xray_tests and
# PREFIX_programs to what lies in the folders of ARGN.
function(sort_sources prefix)
  list(TRANSFORM ARGN APPEND "/*.cpp" OUTPUT_VARIABLE of_the_host)
  list(TRANSFORM ARGN APPEND "/*.cu" OUTPUT_VARIABLE of_the_device)
  file(GLOB sources CONFIGURE_DEPENDS ${of_the_host} ${of_the_device})
  foreach(kind operator reference xray_test test main exercise)
    set(${kind} ${sources})
    list(FILTER ${kind} INCLUDE REGEX "(^|[/_])${kind}\\.(cpp|cu)$")
    list(REMOVE_ITEM sources ${${kind}})
  endforeach()
  foreach(kind sources test)
    set(hopper_${kind} ${${kind}})
    list(FILTER hopper_${kind} INCLUDE REGEX "(^|[/_])sm90(_test)?\\.(cpp|cu)$")
    list(REMOVE_ITEM ${kind} ${hopper_${kind}})
  endforeach()
  set(${prefix}_kernels ${sources} PARENT_SCOPE)
  set(${prefix}_hopper_kernels ${hopper_sources} PARENT_SCOPE)
  set(${prefix}_operators ${operator} ${reference} PARENT_SCOPE)
  set(${prefix}_tests ${test} PARENT_SCOPE)
  set(${prefix}_hopper_tests ${hopper_test} PARENT_SCOPE)
  set(${prefix}_xray_tests ${xray_test} PARENT_SCOPE)
  set(${prefix}_programs ${main} PARENT_SCOPE)
endfunction()

# A program of tests over the kernels in `objects`, and its tests, which are called PREFIX.BACKEND.*; none, if ARGN is empty.
function(add_lesson_tests lesson back_end objects)
  if(NOT ARGN)
    return()
  endif()
  set(prefix ${lesson}.${back_end}.)
  if(back_end STREQUAL "cpu")
    set(prefix ${lesson}.)
  endif()
  set(target ${lesson}_${back_end}_tests)
  if(back_end STREQUAL "xray")
    add_xray_tests(${target} "${objects}" ${ARGN})
  else()
    add_kernel_tests(${target} "${objects}" ${back_end} ${ARGN})
  endif()
  gtest_discover_tests(${target} TEST_PREFIX ${prefix} DISCOVERY_MODE PRE_TEST
                       PROPERTIES LABELS ${label} ENVIRONMENT LADDER_SKIP_LOG=${LADDER_SKIP_LOG})
  add_dependencies(${label}_all ${target})
endfunction()

# A lesson's tests, exercise, mistakes and programs. `name`: 02_chunk_walk; empty for the chapter's own folder.
function(add_lesson room name)
  set(lesson ${chapter})
  set(label ${chapter}.00)
  set(folder ${room})
  set(id ${number})
  if(name)
    set(lesson ${chapter}.${name})
    set(label ${lesson})
    set(folder ${room}/${name})
    set(id ${number}.${name})
  endif()
  add_custom_target(${label}_all)
  add_dependencies(${chapter}_all ${label}_all)
  sort_sources(its ${folder})

  foreach(back_end IN LISTS back_ends)
    set(tests ${its_tests})
    if(back_end STREQUAL "cuda" AND TARGET ${chapter}_sm90)
      list(APPEND tests ${its_hopper_tests})
      set(its_hopper_kernels "")
    endif()
    add_lesson_tests(${lesson} ${back_end} "${objects_${back_end}}" ${tests})
  endforeach()
  if(TARGET ${chapter}_xray)
    add_lesson_tests(${lesson} xray ${chapter}_xray ${its_xray_tests})
  endif()
  if(its_hopper_kernels)
    file(RELATIVE_PATH file ${room} ${its_hopper_kernels})
    add_skipped_test(${lesson}.sm90 "${file} needs a Hopper GPU (sm_90a) and nvcc" ON)
  endif()

  list(GET back_ends 0 back_end)
  set(first_tests ${lesson}_${back_end}_tests)
  file(GLOB stub CONFIGURE_DEPENDS ${folder}/exercise.cpp ${folder}/exercise.cu)
  if(stub)
    set(exercise_back_ends ${back_ends})
    if(stub MATCHES "\\.cpp$")  # needs no GPU, whatever the chapter's other lessons need
      set(exercise_back_ends cpu)
    endif()
    list(GET exercise_back_ends 0 stub_back_end)
    add_stub(${stub} ${id} ${stub_back_end} ${first_tests} ${folder}/test.cpp)
    file(RELATIVE_PATH copy ${PROJECT_SOURCE_DIR} ${stub})
    set(copy ${PROJECT_SOURCE_DIR}/my/${copy})
    if(EXISTS ${copy})  # asked anew by every ./ladder exercise, which configures first
      foreach(back_end IN LISTS exercise_back_ends)
        add_exercise(my${id} ${copy} ${folder} ${back_end})
        # What looks more closely at a failure.
        if(back_end STREQUAL "emulated" AND LADDER_HAS_XRAY)
          add_exercise(my${id} ${copy} ${folder} xray)
        elseif(back_end STREQUAL "cpu" AND NOT LADDER_ASAN)
          add_exercise(my${id} ${copy} ${folder} asan)
        endif()
      endforeach()
    endif()
  endif()

  list(GET back_ends 0 back_end)
  file(GLOB patches CONFIGURE_DEPENDS ${folder}/mistakes/*.patch)
  foreach(patch IN LISTS patches)
    add_mistake(${patch} ${id} ${back_end} ${chapter}_${back_end} ${first_tests} ${kernels})
  endforeach()

  foreach(program IN LISTS its_programs)
    string(REGEX REPLACE "^.*/(.*)_main\\.cpp$" "\\1" idea ${program})
    set(shown ${folder}/${idea}.cpp)
    if(NOT EXISTS ${shown})
      set(shown ${folder}/kernel.cpp)
    endif()
    add_executable(${chapter}_${idea} EXCLUDE_FROM_ALL ${program} ${shown})
    target_link_libraries(${chapter}_${idea} PRIVATE ladder_reference fmt::fmt nlohmann_json::nlohmann_json)
  endforeach()
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
  file(GLOB lessons RELATIVE ${room} CONFIGURE_DEPENDS ${room}/[0-9][0-9]_*)
  list(TRANSFORM lessons PREPEND ${room}/ OUTPUT_VARIABLE folders)
  sort_sources(all ${room} ${folders})
  set(kernels ${all_kernels})

  # Of the chapter alone; read by add_kernel_tests and add_xray_tests, too.
  set(ladder_chapter_operators "")
  if(all_operators)
    set(ladder_chapter_operators ${chapter}_operators)
    add_library(${chapter}_operators OBJECT ${all_operators})
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

  set_property(GLOBAL APPEND PROPERTY ladder_absent_emulated ${all_hopper_kernels})
  set(absent_cuda ${all_hopper_kernels})
  foreach(back_end IN LISTS back_ends)
    set(objects ${chapter}_${back_end})
    add_kernel_objects(${objects} ${back_end} ${kernels})
    if(back_end STREQUAL "cuda" AND all_hopper_kernels AND "90a-real" IN_LIST CMAKE_CUDA_ARCHITECTURES)
      add_kernel_objects(${chapter}_sm90 cuda ${all_hopper_kernels})
      set_target_properties(${chapter}_sm90 PROPERTIES CUDA_ARCHITECTURES 90a-real)
      list(APPEND objects ${chapter}_sm90)
      set(absent_cuda "")
    endif()
    set(objects_${back_end} ${objects})
    set_property(GLOBAL APPEND PROPERTY ladder_chapter_objects_${back_end} ${objects})
    set_property(GLOBAL PROPERTY ladder_objects_${back_end}_${number} ${objects})
  endforeach()
  set_property(GLOBAL APPEND PROPERTY ladder_absent_cuda ${absent_cuda})
  if("emulated" IN_LIST back_ends AND LADDER_HAS_XRAY)
    add_kernel_objects(${chapter}_xray xray ${kernels})
    set_property(GLOBAL APPEND PROPERTY ladder_chapter_objects_xray ${chapter}_xray)
    set_property(GLOBAL PROPERTY ladder_objects_xray_${number} ${chapter}_xray)
  elseif("emulated" IN_LIST back_ends)
    add_skipped_test(${chapter}.xray "the X-ray needs g++ without a sanitizer" OFF)
  endif()

  add_custom_target(${chapter}_all)
  add_lesson(${room} "")
  foreach(lesson IN LISTS lessons)
    add_lesson(${room} ${lesson})
  endforeach()
endfunction()

# Stands for tests that cannot be built, so that they are seen to be skipped.
function(add_skipped_test name reason needs_gpu)
  add_test(NAME ${name}
           COMMAND ${CMAKE_COMMAND} -D TEST=${name} -D "REASON=${reason}" -D NEEDS_GPU=${needs_gpu}
                   -D SKIP_LOG=${LADDER_SKIP_LOG} -P ${PROJECT_SOURCE_DIR}/cmake/SkippedTest.cmake)
  string(REGEX MATCH "^chapter[0-9][0-9](\\.[0-9][0-9]_[a-z0-9_]+)?" lesson ${name})
  set_tests_properties(${name} PROPERTIES SKIP_REGULAR_EXPRESSION "SKIPPED" LABELS "${lesson}")
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
    string(REPLACE "\"" "" id ${name})
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
