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
find_package(Torch REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)

add_library(impart_torch INTERFACE)
# pip's LibTorch brings headers of its own fmt, but no library; ours must be found before them.
foreach(folder ${TORCH_INCLUDE_DIRS})
  if(EXISTS ${folder}/fmt)
    find_path(IMPART_FMT_HEADERS fmt/format.h REQUIRED)
    file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/first)
    file(CREATE_LINK ${IMPART_FMT_HEADERS}/fmt ${PROJECT_BINARY_DIR}/first/fmt SYMBOLIC)
    target_include_directories(impart_torch SYSTEM INTERFACE ${PROJECT_BINARY_DIR}/first)
  endif()
endforeach()
target_include_directories(impart_torch SYSTEM INTERFACE ${TORCH_INCLUDE_DIRS})
# OpenMP: at::parallel_for is a header template that runs on one thread without it.
target_link_libraries(impart_torch INTERFACE ${TORCH_LIBRARIES} OpenMP::OpenMP_CXX)
# pip's libtorch.so exports parts of an old libstdc++ (std::filesystem) that crash when they are
# called from outside; ours must come first.
target_link_options(impart_torch INTERFACE LINKER:--push-state,--no-as-needed -lstdc++
  LINKER:--pop-state)
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
