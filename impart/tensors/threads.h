#pragma once

namespace impart::tensors {

/// Lets torch compute with so many threads, and OpenBLAS too, which torch does not tell: by itself
/// it takes one thread for each core that the process may use, and the last bits of a matrix
/// product would depend on taskset, on how mpirun binds processes, and on OPENBLAS_NUM_THREADS.
void set_threads(int threads);

}  // namespace impart::tensors
