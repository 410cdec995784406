# Libraries: from the system where it has them (Debian and Ubuntu packages), otherwise fetched at configure time.
include(FetchContent)
set(FETCHCONTENT_QUIET OFF)
if(POLICY CMP0135)
  cmake_policy(SET CMP0135 NEW)  # unpacked files carry the time of unpacking, so that a new version is rebuilt
endif()

find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(Threads REQUIRED)

# Debian builds GoogleTest and friends without a sanitizer; that is fine to link.
macro(use_library package target)
  find_package(${package} QUIET)
  if(NOT TARGET ${target})
    message(STATUS "${package} is not installed: fetching it")
    FetchContent_Declare(${package} ${ARGN})
    set(BUILD_TESTING OFF)
    FetchContent_MakeAvailable(${package})
  endif()
endmacro()

set(INSTALL_GTEST OFF)
use_library(GTest GTest::gtest URL https://github.com/google/googletest/archive/refs/tags/v1.14.0.tar.gz)
use_library(fmt fmt::fmt URL https://github.com/fmtlib/fmt/archive/refs/tags/10.2.1.tar.gz)
use_library(nlohmann_json nlohmann_json::nlohmann_json
            URL https://github.com/nlohmann/json/releases/download/v3.11.3/json.tar.xz)
use_library(CLI11 CLI11::CLI11 URL https://github.com/CLIUtils/CLI11/archive/refs/tags/v2.4.1.tar.gz)

find_package(Eigen3 QUIET)
if(NOT TARGET Eigen3::Eigen)
  message(STATUS "Eigen3 is not installed: fetching it")
  # Headers are all that is needed: a SOURCE_SUBDIR that does not exist keeps Eigen's own CMake files out.
  FetchContent_Declare(Eigen3 URL https://gitlab.com/libeigen/eigen/-/archive/3.4.0/eigen-3.4.0.tar.gz SOURCE_SUBDIR none)
  FetchContent_MakeAvailable(Eigen3)
  add_library(Eigen3::Eigen INTERFACE IMPORTED)
  target_include_directories(Eigen3::Eigen INTERFACE ${eigen3_SOURCE_DIR})
endif()

# Only the context library is needed: looked for directly, because Boost's own package files differ between versions.
find_path(BOOST_CONTEXT_INCLUDE boost/context/detail/fcontext.hpp)
find_library(BOOST_CONTEXT_LIBRARY boost_context)
if(BOOST_CONTEXT_INCLUDE AND BOOST_CONTEXT_LIBRARY)
  add_library(Boost::context UNKNOWN IMPORTED)
  set_target_properties(Boost::context PROPERTIES IMPORTED_LOCATION ${BOOST_CONTEXT_LIBRARY}
                                                  INTERFACE_INCLUDE_DIRECTORIES ${BOOST_CONTEXT_INCLUDE})
else()
  message(STATUS "Boost.Context is not installed: fetching it")
  set(BOOST_INCLUDE_LIBRARIES context)
  FetchContent_Declare(Boost URL https://github.com/boostorg/boost/releases/download/boost-1.84.0/boost-1.84.0.tar.xz)
  FetchContent_MakeAvailable(Boost)
endif()

include(GoogleTest)
