#include "impart/core/error.h"
#include "impart/cuda/torch_stream.h"

namespace impart::cuda {

Stream current_stream() {
  throw Error("this impart was built without CUDA (IMPART_CUDA=OFF)");
}

}  // namespace impart::cuda
