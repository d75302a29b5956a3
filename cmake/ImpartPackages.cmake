# `cpack --config build/release/CPackConfig.cmake` makes Debian packages, one of each component:
#   impart         the command, training, presets and manual pages
#   libimpart-dev  headers, libraries and what find_package(impart) reads
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "the developers of impart <impart@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL command development)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)

set(CPACK_DEBIAN_COMMAND_PACKAGE_NAME impart)
set(CPACK_DEBIAN_COMMAND_PACKAGE_SECTION science)
set(CPACK_DEBIAN_COMMAND_DESCRIPTION "Importance-aware data-parallel training
 Learns, while training, how hard every example is, and decides which worker
 trains on what; measures what that costs and saves.")
# Reports draw with gnuplot, OpenBLAS trains faster than plain BLAS, and mpirun starts jobs of several
# processes.
set(CPACK_DEBIAN_COMMAND_PACKAGE_RECOMMENDS "gnuplot-nox, libopenblas0-pthread, openmpi-bin")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libimpart-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION "Importance-aware data-parallel training: the libraries
 Partitions by importance alone, or the whole training engine, for programs
 in C++: find_package(impart).")
# Static libraries: what they were built from is needed again by whoever links to them.
file(STRINGS ${PROJECT_SOURCE_DIR}/tools/packages-command.txt needed REGEX "-dev$")
if(IMPART_TORCH)
  list(APPEND needed libtorch-dev)
endif()
if(TARGET MPI::MPI_CXX)
  list(APPEND needed libopenmpi-dev)
endif()
list(REMOVE_ITEM needed libboost-dev libcli11-dev)  # only for our own sources
list(JOIN needed ", " CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS)
include(CPack)
