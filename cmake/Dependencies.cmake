# Libraries from the system (Debian and Ubuntu packages), otherwise fetched at configure time.
include(FetchContent)
set(FETCHCONTENT_QUIET OFF)
if(POLICY CMP0135)
  # Unpacked files get the time of unpacking, so that a new version is rebuilt.
  cmake_policy(SET CMP0135 NEW)
endif()

find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(Threads REQUIRED)

# Fetches a missing library. Checks the network first, as a failed download takes minutes.
macro(fetch_library package debian url)
  string(TOUPPER ${package} upper)
  string(TOLOWER ${package} lower)
  string(REGEX MATCH "^https://[^/]*/" host ${url})
  if(NOT FETCHCONTENT_SOURCE_DIR_${upper} AND NOT EXISTS ${FETCHCONTENT_BASE_DIR}/${lower}-src/CMakeLists.txt)
    file(DOWNLOAD ${host} STATUS network TIMEOUT 10)
    list(GET network 0 network)
    if(network)
      message(STATUS "missing: ${package} is not installed, and ${host} cannot be reached to fetch it. Install the package ${debian} "
                     "(Debian, Ubuntu), or name a folder with its sources: cmake --preset default -D FETCHCONTENT_SOURCE_DIR_${upper}=FOLDER")
      message(FATAL_ERROR "${package} is missing")
    endif()
  endif()
  message(STATUS "${package} is not installed: fetching it")
  FetchContent_Declare(${package} URL ${url} ${ARGN})
  set(BUILD_TESTING OFF)
  FetchContent_MakeAvailable(${package})
endmacro()

# Debian builds GoogleTest and others without a sanitizer, but linking them is fine.
macro(use_library package target debian url)
  find_package(${package} QUIET)
  if(NOT TARGET ${target})
    fetch_library(${package} ${debian} ${url})
  endif()
endmacro()

set(INSTALL_GTEST OFF)
use_library(GTest GTest::gtest libgtest-dev https://github.com/google/googletest/archive/refs/tags/v1.14.0.tar.gz)
use_library(fmt fmt::fmt libfmt-dev https://github.com/fmtlib/fmt/archive/refs/tags/10.2.1.tar.gz)
use_library(nlohmann_json nlohmann_json::nlohmann_json nlohmann-json3-dev
            https://github.com/nlohmann/json/releases/download/v3.11.3/json.tar.xz)
use_library(CLI11 CLI11::CLI11 libcli11-dev https://github.com/CLIUtils/CLI11/archive/refs/tags/v2.4.1.tar.gz)

find_package(Eigen3 QUIET)
if(NOT TARGET Eigen3::Eigen)
  # Only headers are needed. A SOURCE_SUBDIR that does not exist leaves out Eigen's CMake files.
  fetch_library(Eigen3 libeigen3-dev https://gitlab.com/libeigen/eigen/-/archive/3.4.0/eigen-3.4.0.tar.gz SOURCE_SUBDIR none)
  add_library(Eigen3::Eigen INTERFACE IMPORTED)
  target_include_directories(Eigen3::Eigen INTERFACE ${eigen3_SOURCE_DIR})
endif()

# A product's blocks are on the heap from 16 KB on; two below 128 KB filled a stack of 256 KB.
set_property(TARGET Eigen3::Eigen APPEND PROPERTY INTERFACE_COMPILE_DEFINITIONS EIGEN_STACK_ALLOCATION_LIMIT=16384)

# Looks for the context library itself, because Boost's package files differ between versions.
find_path(BOOST_CONTEXT_INCLUDE boost/context/detail/fcontext.hpp)
find_library(BOOST_CONTEXT_LIBRARY boost_context)
if(BOOST_CONTEXT_INCLUDE AND BOOST_CONTEXT_LIBRARY)
  add_library(Boost::context UNKNOWN IMPORTED)
  set_target_properties(Boost::context PROPERTIES IMPORTED_LOCATION ${BOOST_CONTEXT_LIBRARY}
                                                  INTERFACE_INCLUDE_DIRECTORIES ${BOOST_CONTEXT_INCLUDE})
else()
  set(BOOST_INCLUDE_LIBRARIES context)
  fetch_library(Boost libboost-context-dev https://github.com/boostorg/boost/releases/download/boost-1.84.0/boost-1.84.0.tar.xz)
endif()
