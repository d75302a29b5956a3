#pragma once

#include <cstdint>
#include <functional>

#include "impart/comm/communicator.h"

namespace impart::comm {

/// The value of an environment variable, or null: std::getenv.
using Environment = std::function<const char*(const char* name)>;

/// The place of this process among those of its job on one machine.
struct Neighbours {
  std::uint32_t processes = 1;  ///< of the job on this machine, this one included
  std::uint32_t number = 0;     ///< which of them this one is, from 0
};

/// As launchers tell it:
///   OMPI_COMM_WORLD_LOCAL_SIZE, OMPI_COMM_WORLD_LOCAL_RANK    mpirun of Open MPI
///   MPI_LOCALNRANKS, MPI_LOCALRANKID                          mpirun of MPICH and its relatives
///   SLURM_NTASKS_PER_NODE, SLURM_LOCALID                      srun
/// Where none does, all processes of the job are taken to be on this machine.
Neighbours find_neighbours(const Communicator& communicator, const Environment& environment);

/// Whether mpirun of Open MPI says that all processes of the job are on this machine.
bool is_on_one_machine(const Environment& environment);

/// Whether this is the only process of a job on this machine, the first of several, or of no job.
bool is_first_on_machine(const Environment& environment);

}  // namespace impart::comm
