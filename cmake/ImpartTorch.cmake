# How every target that uses LibTorch is compiled, in one place: impart_use_torch(target).
#
# torch/torch.h costs 20 s per file. It is compiled once, into the precompiled header of
# impart_torch_pch, which all these targets share. GCC accepts a precompiled header only from the
# same code-generation flags; hence -fPIC for programs, too.
include_guard(GLOBAL)

find_package(Torch REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)

add_library(impart_torch INTERFACE)
target_include_directories(impart_torch SYSTEM INTERFACE ${TORCH_INCLUDE_DIRS})
# OpenMP: at::parallel_for is a header template that runs on one thread without it.
target_link_libraries(impart_torch INTERFACE ${TORCH_LIBRARIES} OpenMP::OpenMP_CXX)
separate_arguments(impart_torch_flags NATIVE_COMMAND "${TORCH_CXX_FLAGS}")
target_compile_options(impart_torch INTERFACE ${impart_torch_flags} -fPIC)

file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/impart_torch_pch.cpp CONTENT "")
add_library(impart_torch_pch OBJECT ${CMAKE_CURRENT_BINARY_DIR}/impart_torch_pch.cpp)
target_link_libraries(impart_torch_pch PRIVATE impart_torch impart_options)
target_precompile_headers(impart_torch_pch PRIVATE <torch/torch.h>)

# Links a target to LibTorch and lets it use the precompiled header.
function(impart_use_torch target)
  target_link_libraries(${target} PUBLIC impart_torch)
  target_precompile_headers(${target} REUSE_FROM impart_torch_pch)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  if(IMPART_CCACHE)
    set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER
      "${CMAKE_COMMAND};-E;env;CCACHE_SLOPPINESS=pch_defines,time_macros;${IMPART_CCACHE}")
  endif()
endfunction()
