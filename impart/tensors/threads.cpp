#include "impart/tensors/threads.h"

#include <dlfcn.h>
#include <torch/torch.h>

namespace impart::tensors {

void set_threads(int threads) {
  torch::set_num_threads(threads);
  using SetThreads = void(int);
  auto* const set_blas_threads =
      reinterpret_cast<SetThreads*>(::dlsym(RTLD_DEFAULT, "openblas_set_num_threads"));
  if (set_blas_threads != nullptr) set_blas_threads(threads);
}

}  // namespace impart::tensors
