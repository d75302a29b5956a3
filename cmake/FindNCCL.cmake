# NCCL::nccl, of the system or of pip: beside a torch of pip on CMAKE_PREFIX_PATH lies its NCCL.
set(nccl_hints)
foreach(folder ${CMAKE_PREFIX_PATH} $ENV{CMAKE_PREFIX_PATH} ${Torch_DIR})
  foreach(above .. ../../.. ../../../..)
    list(APPEND nccl_hints ${folder}/${above}/nvidia/nccl)
  endforeach()
endforeach()
find_path(NCCL_INCLUDE_DIR nccl.h HINTS ${nccl_hints} PATH_SUFFIXES include)
find_library(NCCL_LIBRARY nccl HINTS ${nccl_hints} PATH_SUFFIXES lib)
# pip's has no name without a version.
find_file(NCCL_LIBRARY libnccl.so.2 HINTS ${nccl_hints} PATH_SUFFIXES lib)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(NCCL REQUIRED_VARS NCCL_LIBRARY NCCL_INCLUDE_DIR)
if(NCCL_FOUND AND NOT TARGET NCCL::nccl)
  add_library(NCCL::nccl UNKNOWN IMPORTED)
  set_target_properties(NCCL::nccl PROPERTIES
    IMPORTED_LOCATION ${NCCL_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${NCCL_INCLUDE_DIR})
endif()
