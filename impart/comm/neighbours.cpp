#include "impart/comm/neighbours.h"

#include <cstdlib>
#include <initializer_list>
#include <string_view>

namespace impart::comm {
namespace {

constexpr std::initializer_list<const char*> kNumberHere = {"OMPI_COMM_WORLD_LOCAL_RANK",
                                                            "MPI_LOCALRANKID", "SLURM_LOCALID"};

/// The first of these variables that holds a number of at least `least`.
std::uint32_t first_number(const Environment& environment, std::initializer_list<const char*> names,
                           int least, std::uint32_t otherwise) {
  for (const char* name : names) {
    const char* text = environment(name);
    if (text != nullptr && std::atoi(text) >= least) {
      return static_cast<std::uint32_t>(std::atoi(text));
    }
  }
  return otherwise;
}

}  // namespace

Neighbours find_neighbours(const Communicator& communicator, const Environment& environment) {
  return {
      .processes = first_number(
          environment, {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "SLURM_NTASKS_PER_NODE"},
          1, communicator.size()),
      .number = first_number(environment, kNumberHere, 0, communicator.rank())};
}

bool is_on_one_machine(const Environment& environment) {
  const char* all = environment("OMPI_COMM_WORLD_SIZE");
  const char* here = environment("OMPI_COMM_WORLD_LOCAL_SIZE");
  return all != nullptr && here != nullptr && std::string_view(all) == here;
}

bool is_first_on_machine(const Environment& environment) {
  return first_number(environment, kNumberHere, 0, 0) == 0;
}

}  // namespace impart::comm
