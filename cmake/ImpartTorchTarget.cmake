# impart::torch: LibTorch as impart's libraries use it. The build includes this file, and so does
# the installed package, after find_package(Torch or TorchCpu) and find_package(OpenMP).
if(TARGET impart::torch)
  return()
endif()
add_library(impart::torch INTERFACE IMPORTED GLOBAL)
# pip's LibTorch brings headers of its own fmt, but no library; ours must be found before them.
foreach(folder ${TORCH_INCLUDE_DIRS})
  if(EXISTS ${folder}/fmt)
    find_path(IMPART_FMT_HEADERS fmt/format.h REQUIRED)
    file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/first)
    file(CREATE_LINK ${IMPART_FMT_HEADERS}/fmt ${PROJECT_BINARY_DIR}/first/fmt SYMBOLIC)
    target_include_directories(impart::torch SYSTEM INTERFACE ${PROJECT_BINARY_DIR}/first)
  endif()
endforeach()
target_include_directories(impart::torch SYSTEM INTERFACE ${TORCH_INCLUDE_DIRS})
# OpenMP: at::parallel_for is a header template that runs on one thread without it.
target_link_libraries(impart::torch INTERFACE ${TORCH_LIBRARIES} OpenMP::OpenMP_CXX)
# pip's libtorch.so exports parts of an old libstdc++ (std::filesystem) that crash when they are
# called from outside; ours must come first, as a shared library even where the compiler would take
# the static one.
target_link_options(impart::torch INTERFACE LINKER:--push-state,--no-as-needed -l:libstdc++.so.6
  LINKER:--pop-state)
separate_arguments(impart_torch_flags NATIVE_COMMAND "${TORCH_CXX_FLAGS}")
target_compile_options(impart::torch INTERFACE ${impart_torch_flags})
