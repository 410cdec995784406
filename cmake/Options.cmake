# Compile options and a user's choices.

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

# Options of all our targets.
add_library(ladder_flags INTERFACE)
target_include_directories(ladder_flags INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(ladder_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra>)

# Most code takes longer to compile than to run, and -O3 takes twice as long to compile. Targets
# with much computation use LADDER_FAST_FLAGS, which also optimise somewhat under the sanitizers.
set(CMAKE_CXX_FLAGS_RELEASE "-O1 -DNDEBUG")
set(LADDER_FAST_FLAGS $<$<CONFIG:Release>:-O3> $<$<CONFIG:Debug>:-O2>)
# Flags of CPU kernels and of the ceilings they are compared with.
set(LADDER_CPU_KERNEL_FLAGS -O3)
if(LADDER_NATIVE)
  list(APPEND LADDER_CPU_KERNEL_FLAGS -march=native)
endif()

# Flags that reveal mistakes in an exercise. ./ladder exercise repeats warnings if a result is
# wrong. A local variable read before it is set is 0xfefefefe (-1.7e38), not leftover memory, which
# may be 0. Indices are checked in arrays of known size, pointers by the X-ray and AddressSanitizer.
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

# The X-ray needs g++, because clang splits, merges and widens accesses before it instruments them,
# and no sanitizer, because that instruments them too.
set(LADDER_HAS_XRAY OFF CACHE INTERNAL "Whether kernels can be instrumented for the X-ray")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT LADDER_ASAN)
  set(LADDER_HAS_XRAY ON CACHE INTERNAL "")
endif()

# There are hundreds of programs to link, and lld takes a third of the time of binutils' linker.
if(NOT LADDER_ASAN)
  check_linker_flag(CXX -fuse-ld=lld LADDER_HAS_LLD)
  if(LADDER_HAS_LLD)
    add_link_options($<$<LINK_LANGUAGE:CXX>:-fuse-ld=lld>)
  endif()
endif()

find_program(CCACHE ccache)
# Without the option, ccache does not accept precompiled headers.
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CCACHE})
endif()

# Kernels and tests include the same headers, which take longer to parse than the sources.
# precompile_headers(target HEADERS...) parses them once, with that target's flags, for
# reuse_headers(target of). The sanitizers' build does not, to reveal a missing #include.
function(precompile_headers target)
  if(LADDER_HAS_XRAY)
    target_precompile_headers(${target} PRIVATE ${ARGN})
  endif()
endfunction()

# Compiles the sources of a library as one, for the same reason.
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
