# Before project(), as CMake splits lists at ;, joins [...], matches [a] as a, and ends rules at #.
foreach(folder CMAKE_SOURCE_DIR CMAKE_BINARY_DIR CMAKE_CURRENT_LIST_DIR)
  if("${${folder}}" MATCHES "[][;#]")
    message(FATAL_ERROR "Kernel Ladder: the folder ${${folder}} has a ${CMAKE_MATCH_0} in its name; allowed: a path without [ ] ; #, which CMake cannot build in")
  endif()
endforeach()
