# Decides whether nvcc also compiles the chapters (LADDER_WITH_CUDA), and for which GPUs.

set(LADDER_WITH_CUDA OFF CACHE INTERNAL "Whether the chapters are compiled by nvcc")
set(LADDER_WITH_HOPPER OFF CACHE INTERNAL "Whether that is for Hopper (sm_90a) too")
set(LADDER_NO_CUDA_REASON "LADDER_CUDA is OFF")
if(LADDER_CUDA STREQUAL "OFF")
  return()
endif()

# The GPU's architecture; empty without a GPU.
execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
                OUTPUT_VARIABLE compute_capability ERROR_QUIET RESULT_VARIABLE no_gpu)
string(REGEX MATCH "^[0-9]+\\.[0-9]+" compute_capability "${compute_capability}")
string(REPLACE "." "" gpu_architecture "${compute_capability}")
if(gpu_architecture EQUAL 90)
  set(gpu_architecture 90a)  # required by wgmma
endif()

if(LADDER_CUDA STREQUAL "AUTO" AND (no_gpu OR NOT gpu_architecture))
  set(LADDER_NO_CUDA_REASON "no NVIDIA GPU is found (nvidia-smi)")
  return()
endif()

find_program(nvcc nvcc HINTS $ENV{CUDA_HOME}/bin /usr/local/cuda/bin)
if(nvcc)
  execute_process(COMMAND ${nvcc} --version OUTPUT_VARIABLE nvcc_version ERROR_QUIET)
  string(REGEX MATCH "release ([0-9]+)" _ "${nvcc_version}")
endif()
if(NOT nvcc OR NOT CMAKE_MATCH_1 MATCHES "^1[23]$")
  set(LADDER_NO_CUDA_REASON "no usable nvcc (12.x or 13.x) is found")
  if(LADDER_CUDA STREQUAL "ON")
    message(FATAL_ERROR "LADDER_CUDA is ON, but ${LADDER_NO_CUDA_REASON}")
  endif()
  return()
endif()

if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  if(gpu_architecture)
    set(CMAKE_CUDA_ARCHITECTURES ${gpu_architecture}-real)
  else()
    set(CMAKE_CUDA_ARCHITECTURES 80-real 90a-real)
  endif()
endif()
set(CMAKE_CUDA_COMPILER ${nvcc})
enable_language(CUDA)
# CMake 3.25 does not know that nvcc 13 supports C++20. Targets use CMAKE_CXX_STANDARD.
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
endif()
# A graph can record a thread's own default stream, but not the legacy one.
add_compile_options($<$<COMPILE_LANGUAGE:CUDA>:--default-stream=per-thread>)
set(LADDER_WITH_CUDA ON CACHE INTERNAL "Whether the chapters are compiled by nvcc")
if("90a-real" IN_LIST CMAKE_CUDA_ARCHITECTURES)
  set(LADDER_WITH_HOPPER ON CACHE INTERNAL "Whether that is for Hopper (sm_90a) too")
endif()
