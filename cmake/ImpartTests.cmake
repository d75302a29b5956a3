# How tests are declared, in one place. Every test may say:
#   SECONDS n   how long it takes on two cores (default 5): long ones start first, and a test is
#               given up after ten times as long, but not before a minute
#   CORES n     how many cores it keeps busy (default 1)
#   SERIAL      it measures time, or how much of the machine it gets: nothing runs beside it
#   LOCK name   no other test with this lock runs beside it
#   ENVIRONMENT name=value...
include_guard(GLOBAL)
include(GoogleTest)

# Debian's Python has what the scripts import (tools/packages-test.txt).
find_program(IMPART_SYSTEM_PYTHON NAMES python3 PATHS /usr/bin NO_DEFAULT_PATH REQUIRED)
find_program(IMPART_MPIRUN mpirun)

# `ninja impart_tests` builds what the tests need and nothing else; impart_unit_tests, the programs
# that need no command; impart_torch_tests, what those need that asan cannot run. IMPART_ROOM_LABEL is set where the rooms are that it can.
add_custom_target(impart_unit_tests)
add_custom_target(impart_torch_tests)
add_dependencies(impart_torch_tests impart)
if(TARGET impart_python)
  add_dependencies(impart_torch_tests impart_python)
endif()
add_custom_target(impart_tests)
add_dependencies(impart_tests impart_torch_tests)

# Open MPI asks before it runs as root, or more processes than there are cores; processes that wait
# leave the core to others; and jobs side by side are not all bound to the first cores.
set(IMPART_MPI_ENVIRONMENT OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
  OMPI_MCA_hwloc_base_binding_policy=none)

# Sanitizers slow programs down, and leave alone what is not ours.
set(IMPART_SLOWDOWN 1)
set(IMPART_SANITIZER_ENVIRONMENT)
if(IMPART_SANITIZE)
  set(IMPART_SLOWDOWN 4)
  set(support ${PROJECT_SOURCE_DIR}/tests/support)
  # Leaks in plug-ins that Open MPI has unloaded again have no name to suppress them by.
  list(APPEND IMPART_MPI_ENVIRONMENT ASAN_OPTIONS=detect_leaks=0)
  set(IMPART_SANITIZER_ENVIRONMENT
    "LSAN_OPTIONS=suppressions=${support}/leaks_of_others.txt:print_suppressions=0"
    "TSAN_OPTIONS=suppressions=${support}/races_of_others.txt:second_deadlock_stack=1")
endif()

# Tests run side by side, and threads of small operations mostly wait for each other: one each, where a
# test does not ask for more.
set(IMPART_THREADS_ENVIRONMENT OMP_NUM_THREADS=1)

# impart_describe_tests(LABEL NAMES... [SECONDS n] [CORES n] [SERIAL] [LOCK name] [ENVIRONMENT ...])
function(impart_describe_tests label)
  cmake_parse_arguments(TEST "SERIAL" "SECONDS;CORES;LOCK" "ENVIRONMENT" ${ARGN})
  if(NOT TEST_SECONDS)
    set(TEST_SECONDS 5)
  endif()
  if(NOT TEST_CORES)
    set(TEST_CORES 1)
  endif()
  math(EXPR limit "${TEST_SECONDS} * 10")
  if(limit LESS 60)
    set(limit 60)
  endif()
  math(EXPR limit "${limit} * ${IMPART_SLOWDOWN}")
  set_tests_properties(${TEST_UNPARSED_ARGUMENTS} PROPERTIES LABELS "${label};${IMPART_ROOM_LABEL}"
    COST ${TEST_SECONDS} TIMEOUT ${limit} PROCESSORS ${TEST_CORES} RUN_SERIAL ${TEST_SERIAL}
    RESOURCE_LOCK "${TEST_LOCK}" ENVIRONMENT "${IMPART_THREADS_ENVIRONMENT};${TEST_ENVIRONMENT};${IMPART_SANITIZER_ENVIRONMENT}")
endfunction()

# GoogleTest's header is read once for all tests that do without LibTorch.
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/impart_test_pch.cpp CONTENT "")
add_library(impart_test_pch OBJECT ${CMAKE_CURRENT_BINARY_DIR}/impart_test_pch.cpp)
target_link_libraries(impart_test_pch PRIVATE GTest::gtest fmt::fmt nlohmann_json::nlohmann_json
  impart_options)
set(IMPART_TEST_FLAGS -fPIE)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # GCC 12 warns of its own std::string + "…" when it comes from a precompiled header.
  list(APPEND IMPART_TEST_FLAGS -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow
    -Wno-stringop-overread)
endif()
target_compile_options(impart_test_pch PRIVATE ${IMPART_TEST_FLAGS})
target_precompile_headers(impart_test_pch PRIVATE <gtest/gtest.h> <fmt/format.h>)

# impart_test_program(NAME SOURCES... LIBRARIES...): a program that tests start.
function(impart_test_program name)
  cmake_parse_arguments(TEST "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${TEST_SOURCES})
  target_link_libraries(${name} PRIVATE ${TEST_LIBRARIES} fmt::fmt impart_options)
  if(IMPART_ROOM_LABEL)
    add_dependencies(impart_tests ${name})
  else()
    add_dependencies(impart_torch_tests ${name})
  endif()
endfunction()

# impart_test(NAME SOURCES... LIBRARIES... [LABEL unit] [SHARDS n] [ALONE files...] [COMPUTES] [EACH_TEST]):
# one program of unit tests for a room; all its tests in one process, or in as many as SHARDS says, or
# each in its own. ALONE: files with names that others have, too. COMPUTES: its own loops take longer
# than it takes to compile them with -O1, where rooms that compute are.
function(impart_test name)
  cmake_parse_arguments(TEST "TORCH;SERIAL;COMPUTES;EACH_TEST" "LABEL;SHARDS;SECONDS;CORES"
    "SOURCES;LIBRARIES;ALONE;ENVIRONMENT" ${ARGN})
  impart_test_program(${name} SOURCES ${TEST_SOURCES} LIBRARIES ${TEST_LIBRARIES} GTest::gtest_main)
  impart_compile_in_groups(${name})
  set_source_files_properties(${TEST_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  if(TEST_TORCH)
    impart_use_torch(${name})
    impart_start_light(${name})
  elseif(TEST_COMPUTES AND IMPART_COMPUTING_ROOMS)
    target_compile_options(${name} PRIVATE -O1)  # a header precompiled without does not fit
  else()
    target_compile_options(${name} PRIVATE ${IMPART_TEST_FLAGS})
    target_precompile_headers(${name} REUSE_FROM impart_test_pch)
  endif()
  if(NOT TEST_LABEL)
    set(TEST_LABEL unit)
    add_dependencies(impart_unit_tests ${name})
  endif()
  if(TEST_EACH_TEST)
    gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60
      PROPERTIES LABELS ${TEST_LABEL} TIMEOUT 600 RUN_SERIAL ${TEST_SERIAL})
    return()
  endif()
  set(about SECONDS ${TEST_SECONDS} CORES ${TEST_CORES})
  if(TEST_SERIAL)
    list(APPEND about SERIAL)
  endif()
  if(NOT TEST_SHARDS)
    add_test(NAME ${name} COMMAND ${name})
    impart_describe_tests(${TEST_LABEL} ${name} ${about} ENVIRONMENT ${TEST_ENVIRONMENT})
    return()
  endif()
  foreach(shard RANGE 1 ${TEST_SHARDS})
    math(EXPR index "${shard} - 1")
    add_test(NAME ${name}.${shard} COMMAND ${name})
    impart_describe_tests(${TEST_LABEL} ${name}.${shard} ${about} ENVIRONMENT ${TEST_ENVIRONMENT}
      GTEST_TOTAL_SHARDS=${TEST_SHARDS} GTEST_SHARD_INDEX=${index})
  endforeach()
endfunction()

# The classes of a script of unittest that have tests.
function(impart_classes_of script result)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${script})
  file(STRINGS ${script} lines REGEX "^class |^    def test")
  set(classes)
  foreach(line IN LISTS lines)
    if(line MATCHES "^class ([A-Za-z0-9_]+)")
      set(last ${CMAKE_MATCH_1})
    elseif(NOT last IN_LIST classes)
      list(APPEND classes ${last})
    endif()
  endforeach()
  set(${result} ${classes} PARENT_SCOPE)
endfunction()

# impart_script_test(NAME LABEL SCRIPT ARGS... [EACH_CLASS] [MPI] [PYTHON python]): a Python script of
# this folder; with EACH_CLASS every class in it is a test of its own, NAME.CLASS. MPI: it calls
# mpirun.
function(impart_script_test name label script)
  cmake_parse_arguments(TEST "EACH_CLASS;MPI;SERIAL" "PYTHON;SECONDS;CORES;LOCK" "ENVIRONMENT" ${ARGN})
  if(NOT TEST_PYTHON)
    set(TEST_PYTHON ${IMPART_SYSTEM_PYTHON})
  endif()
  set(script ${CMAKE_CURRENT_SOURCE_DIR}/${script})
  set(command ${TEST_PYTHON} ${script} ${TEST_UNPARSED_ARGUMENTS})
  set(names ${name})
  if(TEST_EACH_CLASS)
    impart_classes_of(${script} classes)
    set(names)
    foreach(class ${classes})
      add_test(NAME ${name}.${class} COMMAND ${command} ${class}
        WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
      list(APPEND names ${name}.${class})
    endforeach()
  else()
    add_test(NAME ${name} COMMAND ${command} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  endif()
  set(about SECONDS ${TEST_SECONDS} CORES ${TEST_CORES} LOCK ${TEST_LOCK} ENVIRONMENT ${TEST_ENVIRONMENT})
  if(TEST_MPI)
    list(APPEND about ${IMPART_MPI_ENVIRONMENT})
  endif()
  if(TEST_SERIAL)
    list(APPEND about SERIAL)
  endif()
  impart_describe_tests(${label} ${names} ${about})
endfunction()

# impart_process_test(NAME PROCESSES PROGRAM ARGS...): a program that mpirun starts.
function(impart_process_test name processes program)
  cmake_parse_arguments(TEST "" "SECONDS" "" ${ARGN})
  add_test(NAME ${name} COMMAND ${IMPART_MPIRUN} -n ${processes} $<TARGET_FILE:${program}>
    ${TEST_UNPARSED_ARGUMENTS})
  impart_describe_tests(process ${name} SECONDS ${TEST_SECONDS} CORES ${processes}
    ENVIRONMENT ${IMPART_MPI_ENVIRONMENT})
endfunction()

# impart_not_sanitized(NAMES...): these measure time, or a program that sanitizers do not go with: they
# run in builds without, although their room has others that run under sanitizers.
function(impart_not_sanitized)
  if(IMPART_SANITIZE)
    set_tests_properties(${ARGN} PROPERTIES DISABLED ON)
    return()
  endif()
  foreach(name ${ARGN})
    get_test_property(${name} LABELS labels)
    list(REMOVE_ITEM labels "${IMPART_ROOM_LABEL}")
    set_tests_properties(${name} PROPERTIES LABELS "${labels}")
  endforeach()
endfunction()

# impart_concurrent(NAMES...): tests of this folder, by their whole names as patterns, that a busy machine
# could break, since processes, threads, signals or a terminal meet in them. tools/flakes.py runs them
# again and again.
function(impart_concurrent)
  get_property(tests DIRECTORY PROPERTY TESTS)
  foreach(pattern ${ARGN})
    set(chosen ${tests})
    list(FILTER chosen INCLUDE REGEX "^${pattern}$")
    if(NOT chosen)
      message(FATAL_ERROR "no test of this folder is called ${pattern}")
    endif()
    foreach(name ${chosen})
      get_test_property(${name} LABELS labels)
      list(REMOVE_ITEM labels concurrent)
      set_tests_properties(${name} PROPERTIES LABELS "${labels};concurrent")
    endforeach()
  endforeach()
endfunction()
