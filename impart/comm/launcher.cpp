#include "impart/comm/launcher.h"

#include <charconv>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "impart/core/error.h"

namespace impart::comm {
namespace {

/// 0 if the variable is not set.
std::uint32_t number_in(const Environment& environment, const char* name) {
  const char* text = environment(name);
  if (text == nullptr) return 0;
  std::uint32_t number = 0;
  const char* end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, number);
  if (error != std::errc() || stop != end || number == 0) {
    throw ConfigError(fmt::format("{}={}: not a number of processes", name, text));
  }
  return number;
}

std::optional<Launcher> if_several(const char* name, std::uint32_t processes) {
  if (processes == 1) return std::nullopt;
  return Launcher{name, processes};
}

}  // namespace

std::optional<Launcher> detect_launcher(const Environment& environment) {
  if (const auto size = number_in(environment, "OMPI_COMM_WORLD_SIZE")) {
    return if_several("mpirun", size);
  }
  const std::uint32_t tasks = number_in(environment, "SLURM_STEP_NUM_TASKS");
  const char* name = tasks > 0 ? "srun" : "mpirun";
  if (const auto size = number_in(environment, "PMI_SIZE")) return if_several(name, size);
  if (environment("PMIX_RANK") != nullptr || environment("PMI_RANK") != nullptr) {
    return if_several(name, tasks);
  }
  if (tasks > 1) {
    throw ConfigError(fmt::format(
        "srun started {} tasks without MPI; use srun --mpi=pmix, or mpirun -n {}", tasks, tasks));
  }
  return std::nullopt;
}

std::unique_ptr<Communicator> make_communicator(const CommunicatorSpec& spec) {
  const auto launcher = detect_launcher([](const char* name) { return std::getenv(name); });
  return launcher ? make_mpi_communicator(*launcher, spec) : make_single_communicator();
}

}  // namespace impart::comm
