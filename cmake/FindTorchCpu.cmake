# LibTorch 2.x without its CUDA part: sets what find_package(Torch) sets (TORCH_INCLUDE_DIRS, TORCH_LIBRARIES,
# TORCH_CXX_FLAGS). pip's torch is one for CUDA, whose own package files insist on CUDA's compiler; its
# libtorch_cpu.so does without, and without a GPU. CMAKE_PREFIX_PATH is torch.utils.cmake_prefix_path, or the
# folder of an unpacked LibTorch.
set(torch_hints)
foreach(folder ${CMAKE_PREFIX_PATH} $ENV{CMAKE_PREFIX_PATH} ${Torch_DIR})
  list(APPEND torch_hints ${folder} ${folder}/../.. ${folder}/../../..)
endforeach()
find_path(TorchCpu_INCLUDE_DIR torch/csrc/api/include/torch/torch.h HINTS ${torch_hints} PATH_SUFFIXES include NO_CACHE)
find_library(TorchCpu_LIBRARY torch_cpu HINTS ${torch_hints} PATH_SUFFIXES lib NO_CACHE)
find_library(TorchCpu_C10_LIBRARY c10 HINTS ${torch_hints} PATH_SUFFIXES lib NO_CACHE)

set(TorchCpu_VERSION)
foreach(header torch/headeronly/version.h torch/csrc/api/include/torch/version.h)
  if(EXISTS ${TorchCpu_INCLUDE_DIR}/${header} AND NOT TorchCpu_VERSION)
    file(STRINGS ${TorchCpu_INCLUDE_DIR}/${header} lines REGEX "define TORCH_VERSION_(MAJOR|MINOR|PATCH) [0-9]")
    string(REGEX REPLACE "[^;]* ([0-9]+)" "\\1" lines "${lines}")
    list(JOIN lines "." TorchCpu_VERSION)
  endif()
endforeach()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(TorchCpu
  REQUIRED_VARS TorchCpu_LIBRARY TorchCpu_C10_LIBRARY TorchCpu_INCLUDE_DIR VERSION_VAR TorchCpu_VERSION
  REASON_FAILURE_MESSAGE "set CMAKE_PREFIX_PATH to torch.utils.cmake_prefix_path of a Python with torch")
if(TorchCpu_FOUND)
  set(TORCH_INCLUDE_DIRS ${TorchCpu_INCLUDE_DIR} ${TorchCpu_INCLUDE_DIR}/torch/csrc/api/include)
  set(TORCH_LIBRARIES ${TorchCpu_LIBRARY} ${TorchCpu_C10_LIBRARY})
  set(TORCH_CXX_FLAGS)
endif()
