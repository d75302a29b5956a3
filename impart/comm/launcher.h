#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "impart/comm/communicator.h"
#include "impart/comm/neighbours.h"

namespace impart::comm {

/// What started this process together with others.
struct Launcher {
  std::string name;             ///< as a user would type it: "mpirun", "srun"
  std::uint32_t processes = 0;  ///< how many it started; 0 if it does not say
};

/// The launcher that started this process as one of several, as far as its environment tells:
///   OMPI_COMM_WORLD_SIZE                           mpirun of Open MPI
///   PMI_SIZE                                       mpirun of MPICH and its relatives, srun
///   PMIX_RANK or PMI_RANK, SLURM_STEP_NUM_TASKS    srun --mpi=pmix, --mpi=pmi2; other PMIx
///   launchers
/// Nothing for one process, and nothing in a batch script that only has a Slurm allocation.
/// ConfigError for srun with several tasks but without MPI: they would be strangers doing the same
/// work.
std::optional<Launcher> detect_launcher(const Environment& environment);

/// Joins the launcher's job through MPI. ConfigError if the program was built without MPI, or if
/// MPI does not find the processes that the launcher has started.
std::unique_ptr<Communicator> make_mpi_communicator(const Launcher& launcher,
                                                    const CommunicatorSpec& spec);

}  // namespace impart::comm
