#include "impart/cuda/torch_stream.h"

#include <c10/cuda/CUDAStream.h>

namespace impart::cuda {

Stream current_stream() {
  return c10::cuda::getCurrentCUDAStream().stream();
}

}  // namespace impart::cuda
