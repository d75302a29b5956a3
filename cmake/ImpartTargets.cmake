# How every target of the project is compiled, in one place.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)

find_program(IMPART_CCACHE ccache)
if(IMPART_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${IMPART_CCACHE})
endif()
if(IMPART_TIDY)
  find_program(IMPART_CLANG_TIDY clang-tidy REQUIRED)
  set(CMAKE_CXX_CLANG_TIDY ${IMPART_CLANG_TIDY})
endif()

add_library(impart_options INTERFACE)
# Decisions must not depend on the compiler's freedom to fuse a multiply with an add.
target_compile_options(impart_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wconversion;-Wno-sign-conversion;-ffp-contract=off>)
if(IMPART_WERROR)
  target_compile_options(impart_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()
if(IMPART_SANITIZE)
  target_compile_options(impart_options INTERFACE -fsanitize=${IMPART_SANITIZE}
    -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(impart_options INTERFACE -fsanitize=${IMPART_SANITIZE})
endif()

# Compiles several files of a target at once: what they all include is read once per group.
function(impart_compile_in_groups target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${IMPART_UNITY}
    UNITY_BUILD_BATCH_SIZE ${IMPART_GROUP})
endfunction()

# impart_layer(NAME [DEPENDS targets...] [WITHOUT files and folders...] [ALONE files...]): the library
# of one folder under impart/, of all that lies in it. WITHOUT: what is for other options, and rooms
# inside the room. ALONE: files that are not compiled together with others, because they have the
# same names for their own parts.
function(impart_layer name)
  cmake_parse_arguments(LAYER "" "" "DEPENDS;WITHOUT;ALONE" ${ARGN})
  set(patterns *.cpp)
  if(IMPART_CUDA)
    list(APPEND patterns *.cu)
  endif()
  # A new file is noticed by the next build.
  file(GLOB_RECURSE sources RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} CONFIGURE_DEPENDS ${patterns})
  foreach(part ${LAYER_WITHOUT})
    list(FILTER sources EXCLUDE REGEX "^${part}(/|$)")
  endforeach()
  add_library(impart_${name} STATIC ${sources})
  add_library(impart::${name} ALIAS impart_${name})
  target_include_directories(impart_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
  target_link_libraries(impart_${name} PUBLIC ${LAYER_DEPENDS}
    PRIVATE $<BUILD_INTERFACE:impart_options>)
  target_compile_features(impart_${name} PUBLIC cxx_std_20)
  set_target_properties(impart_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  impart_compile_in_groups(impart_${name})
  if(IMPART_FUZZ)
    target_compile_options(impart_${name} PRIVATE -fsanitize=fuzzer-no-link)
    target_link_options(impart_${name} PUBLIC $<BUILD_INTERFACE:-fsanitize=fuzzer-no-link>)
  endif()
  if(name IN_LIST IMPART_COMPUTING_ROOMS)
    target_compile_options(impart_${name} PRIVATE -O1)
  endif()
  set_source_files_properties(${LAYER_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  impart_install_library(${name})
endfunction()
