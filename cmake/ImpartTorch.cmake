# How every target that uses LibTorch is compiled, in one place: impart_use_torch(target).
#
# torch/torch.h costs 20 s per file. It is compiled once, into the precompiled header of
# impart_torch_pch, which all these targets share. GCC accepts a precompiled header only from the
# same code-generation flags; hence -fPIC for programs, too.
include_guard(GLOBAL)

if(IMPART_CUDA)
  # LibTorch's own files compile no kernels here, but they ask for architectures; without an answer
  # they look for a GPU on the machine that builds.
  set(TORCH_CUDA_ARCH_LIST "9.0")
endif()
if(IMPART_TORCH_CPU)
  find_package(TorchCpu 2 REQUIRED)
else()
  find_package(Torch REQUIRED)
endif()
find_package(OpenMP REQUIRED COMPONENTS CXX)

include(ImpartTorchTarget)
include(ImpartSpareLibraries)

if(NOT IMPART_CUDA)
  find_library(IMPART_TORCH_CPU_LIBRARY torch_cpu HINTS ${TORCH_INSTALL_PREFIX}/lib)
  impart_spare_libraries("${IMPART_TORCH_CPU_LIBRARY}")
endif()

file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/impart_torch_pch.cpp CONTENT "")
add_library(impart_torch_pch OBJECT ${CMAKE_CURRENT_BINARY_DIR}/impart_torch_pch.cpp)
target_link_libraries(impart_torch_pch PRIVATE impart::torch impart_options)
target_compile_options(impart_torch_pch PRIVATE -fPIC)
target_precompile_headers(impart_torch_pch PRIVATE <torch/torch.h>)

# Links a target to LibTorch and lets it use the precompiled header.
function(impart_use_torch target)
  target_link_libraries(${target} PUBLIC impart::torch)
  target_compile_options(${target} PRIVATE -fPIC)
  target_precompile_headers(${target} REUSE_FROM impart_torch_pch)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  if(IMPART_CCACHE)
    set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER
      "${CMAKE_COMMAND};-E;env;CCACHE_SLOPPINESS=pch_defines,time_macros;${IMPART_CCACHE}")
  endif()
endfunction()

# A program with LibTorch starts without what LibTorch does not use.
function(impart_start_light program)
  if(IMPART_SPARES)
    target_link_options(${program} PRIVATE LINKER:--disable-new-dtags)
    set_property(TARGET ${program} APPEND PROPERTY BUILD_RPATH ${IMPART_SPARES})
  endif()
endfunction()
