# What `cmake --install` installs: the commands, the presets, and a package that
# find_package(impart) finds. Its parts, each of which needs those before it:
#   core    decisions: impart::core, impart::importance, impart::placement; needs fmt and xxHash
#   study   all else that does without LibTorch: configurations, studies, results, reports
#   train   models and the engine; needs LibTorch and what else the engine was built with
# Those are of the component `development`; all else is of the component `command`.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)
include(ImpartHeaders)

set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME command)
set(IMPART_CORE_ROOMS core importance placement)
set(IMPART_TRAIN_ROOMS cuda tensors models feed train)
set(IMPART_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/impart)

# A room's library, as impart::NAME of its part of the package.
function(impart_install_library name)
  if(NOT IMPART_INSTALL)
    return()
  endif()
  set(part Study)
  if(name IN_LIST IMPART_CORE_ROOMS)
    set(part Core)
  elseif(name IN_LIST IMPART_TRAIN_ROOMS)
    set(part Train)
  endif()
  set_target_properties(impart_${name} PROPERTIES EXPORT_NAME ${name})
  install(TARGETS impart_${name} EXPORT impart${part}Targets
    COMPONENT development INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endfunction()

# A command; it finds the libraries where the build found them.
function(impart_install_command name)
  set_target_properties(${name} PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
  install(TARGETS ${name})
endfunction()

# The stand-ins that a command starts with (ImpartSpareLibraries), and where it finds them.
function(impart_install_spares name)
  if(NOT IMPART_SPARES)
    return()
  endif()
  set(place ${CMAKE_INSTALL_LIBDIR}/impart/spare)
  install(DIRECTORY ${IMPART_SPARES}/ DESTINATION ${place} USE_SOURCE_PERMISSIONS)
  file(RELATIVE_PATH from_bin ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR}/impart/spare)
  set_target_properties(${name} PROPERTIES INSTALL_RPATH "$ORIGIN/${from_bin}")
endfunction()

# The headers and the targets of a part, PART as impartPARTTargets.cmake spells it.
function(impart_install_part part)
  string(TOLOWER ${part} list)
  foreach(header ${IMPART_HEADERS_${list}})
    cmake_path(GET header PARENT_PATH folder)
    install(FILES ${PROJECT_SOURCE_DIR}/${header}
      DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${folder} COMPONENT development)
  endforeach()
  install(EXPORT impart${part}Targets NAMESPACE impart:: DESTINATION ${IMPART_PACKAGE_DIR}
    COMPONENT development)
endfunction()

# All that is not a target. After the folders with the targets.
function(impart_install_package)
  if(NOT IMPART_INSTALL)
    return()
  endif()
  set(parts core)
  impart_install_part(Core)
  if(NOT IMPART_DECISIONS_ONLY)
    list(APPEND parts study)
    impart_install_part(Study)
  endif()
  if(IMPART_TORCH AND NOT IMPART_DECISIONS_ONLY)
    list(APPEND parts train)
    impart_install_part(Train)
    install(FILES ${PROJECT_SOURCE_DIR}/cmake/ImpartTorchTarget.cmake
      DESTINATION ${IMPART_PACKAGE_DIR} COMPONENT development)
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
    ${PROJECT_BINARY_DIR}/impartConfigVersion.cmake DESTINATION ${IMPART_PACKAGE_DIR}
    COMPONENT development)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/cmake/ DESTINATION ${IMPART_PACKAGE_DIR}
    COMPONENT development FILES_MATCHING PATTERN "Find*.cmake")
endfunction()
