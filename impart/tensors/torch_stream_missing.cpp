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

struct CopyStream::State {};
CopyStream::CopyStream(std::size_t) {
  fail();
}
CopyStream::~CopyStream() = default;
void CopyStream::release(std::size_t) {
  fail();
}
void CopyStream::fill(std::size_t, const std::function<void()>&) {
  fail();
}
void CopyStream::join(std::size_t) {
  fail();
}
bool CopyStream::is_filled(std::size_t) const {
  fail();
}
void CopyStream::wait() const {
  fail();
}

struct StreamLanes::State {};
StreamLanes::StreamLanes(std::size_t) {
  fail();
}
StreamLanes::~StreamLanes() = default;
std::size_t StreamLanes::count() const {
  fail();
}
void StreamLanes::fork() {
  fail();
}
void StreamLanes::run(std::size_t, const std::function<void()>&) {
  fail();
}
void StreamLanes::join() {
  fail();
}

}  // namespace impart::tensors
