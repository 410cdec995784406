# Programs that must fail in a given way: a chapter's planted mistakes (more/mistakes/NAME.patch),
# its exercises' stubs, and its bosses. They are built on demand only: by the targets `mistakes`,
# `exercises` and `bosses`, mistake.05 and stub.05, mistake.07.02_chunk_walk, or by name.
#
#   mistake.05.NAME   the chapter's tests with one kernel file patched, as a copy in mistakes/ of
#                     the build folder; only it is compiled. A patched header recompiles the
#                     chapter's kernels. For a lesson: mistake.07.02_chunk_walk.NAME
#   stub.05.kernel    the lesson's tests with its exercise
#   stub.05.scratch   the lesson's tests with its kernel that is to be written from scratch
#   boss.05.kernel    the lesson's tests with the kernel that more/boss.patch breaks, run through
#                     the X-ray unless it is a kernel for the CPU
#
# Each is a test of the same name, labelled `mistake`, `stub` or `boss`, and skipped if not built.

find_program(LADDER_PATCH patch)
mark_as_advanced(LADDER_PATCH)
add_custom_target(mistakes)
add_custom_target(exercises)
add_custom_target(bosses)

# Makes the program `kind`.`lesson`.`name` a test of that name. ARGN: files the test reads.
function(add_must_fail_test kind all lesson name)
  set(test ${kind}.${lesson}.${name})
  string(SUBSTRING ${lesson} 0 2 number)
  foreach(group ${kind}.${number} ${kind}.${lesson})
    if(NOT TARGET ${group})
      add_custom_target(${group})
    endif()
    add_dependencies(${group} ${test})
  endforeach()
  add_dependencies(${all} ${kind}.${number})
  if(NOT LADDER_PYTHON)
    add_skipped_test(${test} "python3 is not installed" OFF)
  else()
    add_test(NAME ${test}
             COMMAND ${LADDER_PYTHON} ${PROJECT_SOURCE_DIR}/tools/must_fail ${kind} ${test} $<TARGET_FILE:${test}> ${ARGN})
  endif()
  set_tests_properties(${test} PROPERTIES SKIP_REGULAR_EXPRESSION "^SKIPPED" LABELS ${kind}
                                          ENVIRONMENT LADDER_SKIP_LOG=${LADDER_SKIP_LOG})
endfunction()

# Links the kernels in `target`.objects with the libraries of a chapter's tests.
function(link_must_fail target back_end)
  # A hole or a mistake may remove the only use of a name, or its initial value.
  target_compile_options(${target}.objects PRIVATE -Wno-unused -Wno-uninitialized -Wno-maybe-uninitialized)
  target_link_libraries(${target} PRIVATE ${target}.objects ${lesson_suites} ${lesson_operators})
  if(back_end STREQUAL "xray")
    target_link_libraries(${target} PRIVATE ladder_xray_testing ${lesson_references})
  endif()
  if(NOT back_end STREQUAL "cpu" AND NOT back_end STREQUAL "cuda")
    target_link_libraries(${target} PRIVATE ladder_device_emulated)
  endif()
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
  set_target_properties(${target}.objects ${target} PROPERTIES EXCLUDE_FROM_ALL ON)
endfunction()

# Sets out_var to the file that a patch changes, relative to the repository's root. `folder` gets a
# patched copy when a program needs it. Requires LADDER_PATCH.
function(plant_patch out_var patch target folder)
  file(STRINGS ${patch} file REGEX "^\\+\\+\\+ b/")
  string(REGEX REPLACE "^\\+\\+\\+ b/" "" file "${file}")
  if(NOT file OR file MATCHES ";" OR NOT EXISTS ${PROJECT_SOURCE_DIR}/${file})
    message(FATAL_ERROR "${patch} changes '${file}'; allowed: one file of the repository, in a line +++ b/PATH")
  endif()
  get_filename_component(parent ${folder}/${file} DIRECTORY)
  file(MAKE_DIRECTORY ${parent})
  add_custom_command(
    OUTPUT ${folder}/${file}
    COMMAND ${LADDER_PATCH} --silent --fuzz=0 --output=${folder}/${file} ${PROJECT_SOURCE_DIR}/${file} ${patch}
    DEPENDS ${PROJECT_SOURCE_DIR}/${file} ${patch}
    COMMENT "Planting ${target} into a copy of ${file}"
    VERBATIM)
  set(${out_var} ${file} PARENT_SCOPE)
endfunction()

# Sets out_var to whether only the X-ray notices a mistake ("# under: the X-ray" in the patch).
function(is_for_the_xray out_var patch)
  file(STRINGS ${patch} under REGEX "^# under: the X-ray$")
  set(${out_var} ${under} PARENT_SCOPE)
endfunction()

# Adds the program `target`, the tests with a patched copy of one file in the folder `place`, and sets
# out_var to that file. The other arguments: as for add_mistake.
function(add_mistaken_program out_var target place patch back_end objects tests)
  plant_patch(file ${patch} ${target} ${place})
  set(others "")
  if(file MATCHES "\\.(cu|cpp)$")
    add_kernel_objects(${target}.objects ${back_end} ${place}/${file})
    string(REPLACE "." "\\." replaced ${file})
    foreach(library IN LISTS objects)
      list(APPEND others "$<FILTER:$<TARGET_OBJECTS:${library}>,EXCLUDE,/${replaced}(\\.cpp)?\\.o(bj)?$>")
    endforeach()
  else()
    add_kernel_objects(${target}.objects ${back_end} ${ARGN})
    target_sources(${target}.objects PRIVATE ${place}/${file})
    # Searched before the original's folder.
    target_compile_options(${target}.objects PRIVATE -iquote ${place})
    # They may contain the original.
    set_target_properties(${target}.objects PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)
  endif()
  add_executable(${target} $<TARGET_OBJECTS:${tests}> ${others})
  link_must_fail(${target} ${back_end})
  set(${out_var} ${file} PARENT_SCOPE)
endfunction()

# `lesson`: 05 or 07.02_chunk_walk. `objects`: libraries of the chapter's kernels for `back_end`.
# `tests`: the lesson's test program. ARGN: the kernels' sources.
function(add_mistake patch lesson back_end objects tests)
  get_filename_component(name ${patch} NAME_WE)
  set(target mistake.${lesson}.${name})
  if(NOT LADDER_PATCH)
    add_skipped_test(${target} "the program patch is not installed" OFF)
    set_tests_properties(${target} PROPERTIES LABELS mistake)
    return()
  endif()

  if(back_end STREQUAL "xray" AND NOT LADDER_HAS_XRAY)
    add_skipped_test(${target} "the X-ray needs g++ without a sanitizer" OFF)
    set_tests_properties(${target} PROPERTIES LABELS mistake)
    return()
  endif()

  add_mistaken_program(file ${target} ${PROJECT_BINARY_DIR}/mistakes/${lesson}.${name} ${patch} ${back_end} "${objects}" ${tests} ${ARGN})
  add_must_fail_test(mistake mistakes ${lesson} ${name} ${patch} ${PROJECT_SOURCE_DIR}/${file})
endfunction()

# The program played.LESSON, for tools/ladder_tools/recordings.py: the X-ray's tests with the first of
# the `patches` that has a line "# played". Adds nothing if none has.
function(add_played_mistake lesson patches objects tests)
  set(played "")
  foreach(patch IN LISTS patches)
    file(STRINGS ${patch} mark REGEX "^# played(: in [^ ]+)?$")
    if(mark)
      set(played ${patch})
      break()
    endif()
  endforeach()
  if(NOT played)
    return()
  endif()
  add_mistaken_program(file played.${lesson} ${PROJECT_BINARY_DIR}/played/${lesson} ${played} xray "${objects}" ${tests} ${ARGN})
endfunction()

# Sets out_var to the object of `source` in the target `tests`.
function(object_of out_var tests source)
  file(RELATIVE_PATH source ${CMAKE_CURRENT_SOURCE_DIR} ${source})  # as objects are named
  string(REPLACE "." "\\." source ${source})
  set(${out_var} "$<FILTER:$<TARGET_OBJECTS:${tests}>,INCLUDE,/${source}\\.o(bj)?$>" PARENT_SCOPE)
endfunction()

# A stub that is the previous step's kernel, correct but above the budget that the X-ray checks.
function(add_dear_stub stub lesson tests xray_tests folder)
  set(target stub.${lesson}.kernel)
  if(NOT LADDER_HAS_XRAY)
    add_skipped_test(${target} "the X-ray needs g++ without a sanitizer" OFF)
    set_tests_properties(${target} PROPERTIES LABELS stub)
    return()
  endif()
  add_kernel_objects(${target}.objects xray ${stub})
  object_of(test ${tests} ${folder}/test.cpp)
  object_of(xray_test ${xray_tests} ${folder}/xray_test.cpp)
  add_executable(${target} ${test} ${xray_test})
  target_link_libraries(${target} PRIVATE ladder_xray_testing ${lesson_references})
  link_must_fail(${target} emulated)
  add_must_fail_test(stub exercises ${lesson} kernel ${stub})
endfunction()

# A lesson's stub; `name` is kernel or scratch. `stored` is the stub or its source. `tests` is the
# lesson's test program, and `test` its source that tests the kernel.
function(add_stub stub stored lesson name back_end tests test)
  set(target stub.${lesson}.${name})
  add_kernel_objects(${target}.objects ${back_end} ${stub})
  object_of(test ${tests} ${test})
  add_executable(${target} ${test})
  link_must_fail(${target} ${back_end})
  add_must_fail_test(stub exercises ${lesson} ${name} ${stored})
endfunction()

# The stub of a kernel to write from scratch, made of `kernel` and more/scratch.holes on demand.
function(add_scratch stub kernel lesson back_end tests test)
  if(NOT LADDER_PYTHON)
    add_skipped_test(stub.${lesson}.scratch "python3 is not installed" OFF)
    set_tests_properties(stub.${lesson}.scratch PROPERTIES LABELS stub)
    return()
  endif()
  get_filename_component(folder ${kernel} DIRECTORY)
  get_filename_component(place ${stub} DIRECTORY)
  set(holes ${folder}/more/scratch.holes)
  add_custom_command(
    OUTPUT ${stub}
    COMMAND ${LADDER_PYTHON} ${PROJECT_SOURCE_DIR}/tools/scratch ${holes} ${place}
    DEPENDS ${holes} ${kernel} ${PROJECT_SOURCE_DIR}/tools/scratch ${PROJECT_SOURCE_DIR}/tools/ladder_tools/scratch.py
    COMMENT "Leaving out lines of ${lesson}'s kernel"
    VERBATIM)
  add_stub(${stub} ${holes} ${lesson} scratch ${back_end} ${tests} ${test})
endfunction()

# A lesson's kernel broken by `patch`, instrumented if it is for the GPU. `tests` and `xray_tests`
# are the lesson's programs, with the objects of test.cpp and xray_test.cpp.
function(add_boss patch lesson tests xray_tests folder)
  set(target boss.${lesson}.kernel)
  set(missing "")
  if(NOT LADDER_PATCH)
    set(missing "the program patch is not installed")
  elseif(NOT EXISTS ${folder}/kernel.cpp AND NOT LADDER_HAS_XRAY)
    set(missing "the X-ray needs g++ without a sanitizer")
  endif()
  if(missing)
    add_skipped_test(${target} "${missing}" OFF)
    set_tests_properties(${target} PROPERTIES LABELS boss)
    return()
  endif()
  set(place ${PROJECT_BINARY_DIR}/bosses/${lesson})
  plant_patch(file ${patch} ${target} ${place})
  object_of(test ${tests} ${folder}/test.cpp)
  if(file MATCHES "\\.cpp$")
    add_kernel_objects(${target}.objects cpu ${place}/${file})
    add_executable(${target} ${test})
    link_must_fail(${target} cpu)
    add_must_fail_test(boss bosses ${lesson} kernel ${patch})
    return()
  endif()
  add_kernel_objects(${target}.objects xray ${place}/${file})
  # In instrumented code, g++ 12 warns that string + "text" writes past its end.
  target_compile_options(${target}.objects PRIVATE -Wno-array-bounds -Wno-stringop-overflow)
  object_of(xray_test ${xray_tests} ${folder}/xray_test.cpp)
  add_executable(${target} ${test} ${xray_test})
  target_link_libraries(${target} PRIVATE ladder_xray_testing ${lesson_references})
  link_must_fail(${target} emulated)
  add_must_fail_test(boss bosses ${lesson} kernel ${patch})
endfunction()
