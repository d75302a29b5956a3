# What `cmake --install` installs: the commands, the presets, and a package that
# find_package(impart) finds. Its parts:
#   core    decisions: impart::core, impart::importance, impart::placement; needs fmt and xxHash
#   train   everything else; needs LibTorch and what else the engine was built with
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(IMPART_CORE_LAYERS core importance placement)
set(IMPART_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/impart)

# A layer's library, as impart::NAME of its part of the package.
function(impart_install_library name)
  if(NOT IMPART_INSTALL)
    return()
  endif()
  set(export impartTrainTargets)
  if(name IN_LIST IMPART_CORE_LAYERS)
    set(export impartTargets)
  endif()
  set_target_properties(impart_${name} PROPERTIES EXPORT_NAME ${name})
  install(TARGETS impart_${name} EXPORT ${export}
    INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endfunction()

# A command; it finds the libraries where the build found them.
function(impart_install_command name)
  if(IMPART_INSTALL)
    set_target_properties(${name} PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
    install(TARGETS ${name})
  endif()
endfunction()

# The headers of these folders under impart/.
function(impart_install_headers)
  foreach(folder ${ARGN})
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/impart/${folder}
      DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/impart FILES_MATCHING PATTERN "*.h")
  endforeach()
endfunction()

# All that is not a target. After the folders with the targets.
function(impart_install_package)
  if(NOT IMPART_INSTALL)
    return()
  endif()
  set(parts core)
  impart_install_headers(${IMPART_CORE_LAYERS})
  install(EXPORT impartTargets NAMESPACE impart:: DESTINATION ${IMPART_PACKAGE_DIR})
  if(IMPART_TORCH)
    list(APPEND parts train)
    impart_install_headers(comm config cost cuda data feed models report results run statistics store
      study tensors train)
    install(EXPORT impartTrainTargets NAMESPACE impart:: DESTINATION ${IMPART_PACKAGE_DIR})
    install(FILES ${PROJECT_SOURCE_DIR}/cmake/ImpartTorchTarget.cmake
      DESTINATION ${IMPART_PACKAGE_DIR})
  endif()
  set(IMPART_PARTS "${parts}")
  set(IMPART_HAS_MPI OFF)
  if(TARGET MPI::MPI_CXX)
    set(IMPART_HAS_MPI ON)
  endif()
  set(IMPART_HAS_NCCL OFF)
  if(TARGET NCCL::nccl)
    set(IMPART_HAS_NCCL ON)
  endif()
  configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/impartConfig.cmake.in
    ${PROJECT_BINARY_DIR}/impartConfig.cmake INSTALL_DESTINATION ${IMPART_PACKAGE_DIR})
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/impartConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/impartConfig.cmake
    ${PROJECT_BINARY_DIR}/impartConfigVersion.cmake DESTINATION ${IMPART_PACKAGE_DIR})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/cmake/ DESTINATION ${IMPART_PACKAGE_DIR}
    FILES_MATCHING PATTERN "Find*.cmake")
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/presets DESTINATION ${CMAKE_INSTALL_DATADIR}/impart)
endfunction()
