// Stands in for mpi.cpp where the build found no MPI.

#include <fmt/format.h>

#include "impart/comm/launcher.h"
#include "impart/core/error.h"

namespace impart::comm {

std::unique_ptr<Communicator> make_mpi_communicator(const Launcher& launcher,
                                                    const CommunicatorSpec&) {
  throw ConfigError(fmt::format(
      "{} started several processes, but impart was built without MPI; start one process",
      launcher.name));
}

}  // namespace impart::comm
