#include "impart/cuda/torch_stream.h"

#include <iterator>

#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

namespace impart::cuda {

Stream current_stream() {
  return c10::cuda::getCurrentCUDAStream().stream();
}

struct SideStream::State {
  c10::cuda::CUDAStream stream = c10::cuda::getStreamFromPool();
  at::cuda::CUDAEvent before, after, before_last;
  std::vector<at::Tensor> kept;
  at::Tensor last;
  bool is_used = false;
};

SideStream::SideStream() : state_(std::make_unique<State>()) {}
SideStream::~SideStream() = default;

void SideStream::wait() {
  state_->before.record();
  state_->before.block(state_->stream);
  state_->is_used = true;
}

void SideStream::run(const std::function<void()>& work, const at::Tensor& about,
                     std::vector<at::Tensor> read) {
  state_->last = about;
  std::move(read.begin(), read.end(), std::back_inserter(state_->kept));
  state_->before_last.record(state_->stream);
  const c10::cuda::CUDAStreamGuard guard(state_->stream);
  work();
}

const at::Tensor& SideStream::last() const {
  return state_->last;
}

void SideStream::join_all_but_last() {
  if (state_->is_used) state_->before_last.block(c10::cuda::getCurrentCUDAStream());
}

void SideStream::join() {
  if (!state_->is_used) return;
  state_->after.record(state_->stream);
  state_->after.block(c10::cuda::getCurrentCUDAStream());
  state_->kept.clear();
  state_->last.reset();
  state_->is_used = false;
}

}  // namespace impart::cuda
