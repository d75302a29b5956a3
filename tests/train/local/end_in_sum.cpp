// A process that goes wrong inside of a sum, for sync_failure_test.py: a library for LD_PRELOAD
// that stands in front of MPI_Iallreduce. In process IMPART_END_RANK the sum of IMPART_END_COUNT
// floats that is the IMPART_END_AT-th of its kind is begun, and then the process raises
// IMPART_END_SIGNAL.

#include <csignal>
#include <cstdlib>

#include <mpi.h>

namespace {

int number_in(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? -1 : std::atoi(text);
}

bool is_the_one(int count, MPI_Datatype type) {
  static int seen = 0;
  if (type != MPI_FLOAT || count != number_in("IMPART_END_COUNT")) return false;
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank == number_in("IMPART_END_RANK") && ++seen == number_in("IMPART_END_AT");
}

}  // namespace

extern "C" int MPI_Iallreduce(const void* from, void* to, int count, MPI_Datatype type,
                              MPI_Op operation, MPI_Comm comm, MPI_Request* request) {
  const int result = PMPI_Iallreduce(from, to, count, type, operation, comm, request);
  if (is_the_one(count, type)) std::raise(number_in("IMPART_END_SIGNAL"));
  return result;
}
