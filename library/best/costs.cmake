# costs.inc, the costs that the rules compare, is fitted to the recorded times when CMake configures.
# rules.cpp, which is named by its whole path, finds it.
find_program(LADDER_PYTHON python3 REQUIRED)
set(costs_of ${CMAKE_CURRENT_LIST_DIR}/fit.py ${CMAKE_CURRENT_LIST_DIR}/../../records/best_h200.json)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${costs_of})
execute_process(COMMAND ${LADDER_PYTHON} ${costs_of} ${CMAKE_CURRENT_BINARY_DIR}/costs/costs.inc COMMAND_ERROR_IS_FATAL ANY)
set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/rules.cpp PROPERTIES INCLUDE_DIRECTORIES ${CMAKE_CURRENT_BINARY_DIR}/costs)
