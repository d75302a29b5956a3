// Counts what a program asks of MPI, from outside of it: a library for LD_PRELOAD that stands in
// front of MPI's functions (their PMPI_ names are the real ones). At MPI_Finalize process R writes
// IMPART_COUNT_MPI/mpi-R.json: calls and bytes by function, as this process passed them.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include <mpi.h>

namespace {

struct Count {
  const char* name;
  std::uint64_t calls = 0;
  std::uint64_t bytes = 0;

  void add(int elements, MPI_Datatype type) {
    int size = 0;
    PMPI_Type_size(type, &size);
    ++calls;
    bytes += static_cast<std::uint64_t>(elements) * static_cast<std::uint64_t>(size);
  }
};

Count sends{"isend"}, receives{"irecv"}, reduces{"iallreduce"}, barriers{"ibarrier"};

/// Signs of life are no traffic of what is tested: how many there are depends on the clock.
bool is_for_pulses(MPI_Comm comm) {
  char name[MPI_MAX_OBJECT_NAME] = {};
  int length = 0;
  PMPI_Comm_get_name(comm, name, &length);
  return std::string_view(name) == "impart pulses";
}

void write_counts() {
  const char* folder = std::getenv("IMPART_COUNT_MPI");
  if (folder == nullptr) return;
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const std::string path = std::string(folder) + "/mpi-" + std::to_string(rank) + ".json";
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) return;
  const char* separator = "{";
  for (const Count* count : {&sends, &receives, &reduces, &barriers}) {
    std::fprintf(file, "%s\"%s\": {\"calls\": %llu, \"bytes\": %llu}", separator, count->name,
                 static_cast<unsigned long long>(count->calls),
                 static_cast<unsigned long long>(count->bytes));
    separator = ", ";
  }
  std::fputs("}\n", file);
  std::fclose(file);
}

}  // namespace

extern "C" {

int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request* request) {
  if (!is_for_pulses(comm)) sends.add(count, type);
  return PMPI_Isend(data, count, type, to, tag, comm, request);
}

int MPI_Irecv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request* request) {
  receives.add(count, type);
  return PMPI_Irecv(data, count, type, from, tag, comm, request);
}

int MPI_Iallreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op operation,
                   MPI_Comm comm, MPI_Request* request) {
  reduces.add(count, type);
  return PMPI_Iallreduce(from, to, count, type, operation, comm, request);
}

int MPI_Ibarrier(MPI_Comm comm, MPI_Request* request) {
  barriers.add(0, MPI_BYTE);
  return PMPI_Ibarrier(comm, request);
}

int MPI_Finalize() {
  write_counts();
  return PMPI_Finalize();
}
}
