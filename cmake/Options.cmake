# How everything is compiled, and what a user may choose.

include(CheckCXXCompilerFlag)
include(CheckLinkerFlag)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, RelWithDebInfo or Debug" FORCE)
endif()

set(LADDER_CUDA AUTO CACHE STRING "Build the chapters with nvcc: AUTO (where there are nvcc and a GPU), ON or OFF")
set_property(CACHE LADDER_CUDA PROPERTY STRINGS AUTO ON OFF)
if(NOT LADDER_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "LADDER_CUDA is '${LADDER_CUDA}'; allowed: AUTO, ON, OFF")
endif()
option(LADDER_NATIVE "Compile CPU code for this machine's own instruction set" ON)
option(LADDER_ASAN "Address and undefined-behaviour sanitizers (CPU code and the emulator)" OFF)

# What every target of ours is compiled with.
add_library(ladder_flags INTERFACE)
target_include_directories(ladder_flags INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(ladder_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra>)

# Most of it is compiled more often than anybody waits for it to run, and -O3 takes twice as long to compile. What computes much is compiled
# with LADDER_FAST_FLAGS: under the sanitizers, which have no optimised code, with some optimisation.
set(CMAKE_CXX_FLAGS_RELEASE "-O1 -DNDEBUG")
set(LADDER_FAST_FLAGS $<$<CONFIG:Release>:-O3> $<$<CONFIG:Debug>:-O2>)
# What CPU kernels, and the ceilings they are measured against, are compiled with.
set(LADDER_CPU_KERNEL_FLAGS -O3)
if(LADDER_NATIVE)
  list(APPEND LADDER_CPU_KERNEL_FLAGS -march=native)
endif()

# What shows mistakes in the sources of an exercise: ./ladder exercise repeats the warnings where a result is wrong, and a local variable that
# is read before it is given a value is 0xfefefefe, -1.7e38, not what happens to be there, which may be 0. An index beyond an array whose
# size the compiler knows is told; the X-ray and AddressSanitizer see what lies behind pointers.
set(LADDER_MISTAKE_FLAGS -Wfloat-conversion -fsanitize=bounds)
check_cxx_compiler_flag(-ftrivial-auto-var-init=pattern LADDER_CAN_FILL_VARIABLES)
if(LADDER_CAN_FILL_VARIABLES)
  list(APPEND LADDER_MISTAKE_FLAGS -ftrivial-auto-var-init=pattern)
endif()

if(LADDER_ASAN)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fsanitize=address,undefined>
                      $<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize-recover=all>)
  add_link_options(-fsanitize=address,undefined)
endif()

# The X-ray needs g++: clang splits, merges and widens accesses before it instruments them. A sanitizer would instrument them too.
set(LADDER_HAS_XRAY OFF CACHE INTERNAL "Whether kernels can be instrumented for the X-ray")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT LADDER_ASAN)
  set(LADDER_HAS_XRAY ON CACHE INTERNAL "")
endif()

# Hundreds of programs are linked, and lld, where it is installed, takes a third of what binutils' linker does.
if(NOT LADDER_ASAN)
  check_linker_flag(CXX -fuse-ld=lld LADDER_HAS_LLD)
  if(LADDER_HAS_LLD)
    add_link_options($<$<LINK_LANGUAGE:CXX>:-fuse-ld=lld>)
  endif()
endif()

find_program(CCACHE ccache)
if(CCACHE)  # which must be told that a precompiled header may stand for what it was made from
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CCACHE})
endif()

# Kernels and tests include the same headers, which take longer to parse than what they say: they are parsed once.
# precompile_headers(target HEADERS...) does it, with that target's flags; reuse_headers(target of) takes what was made for target `of`.
# The sanitizers' build goes without, so that a source that lacks an #include is noticed.
function(precompile_headers target)
  if(LADDER_HAS_XRAY)
    target_precompile_headers(${target} PRIVATE ${ARGN})
  endif()
endfunction()

# The same for the sources of a library, which are compiled as one.
function(compile_together target)
  if(NOT LADDER_ASAN)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
  endif()
endfunction()

function(reuse_headers target of)
  if(LADDER_HAS_XRAY)
    target_precompile_headers(${target} REUSE_FROM ${of})
  endif()
endfunction()
