#include "impart/core/error.h"
#include "impart/tensors/torch_stream.h"

namespace impart::tensors {
namespace {

[[noreturn]] void fail() {
  throw Error("this impart was built without CUDA (IMPART_CUDA=OFF)");
}

}  // namespace

void use_device(int) {
  fail();
}
cuda::Stream current_stream() {
  fail();
}

struct SideStream::State {};
SideStream::SideStream() {
  fail();
}
SideStream::~SideStream() = default;
void SideStream::wait() {
  fail();
}
void SideStream::run(const std::function<void()>&, std::vector<at::Tensor>) {
  fail();
}
void SideStream::join() {
  fail();
}

}  // namespace impart::tensors
