#include "impart/tensors/torch_stream.h"

#include <iterator>

#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

namespace impart::tensors {

void use_device(int index) {
  c10::cuda::set_device(static_cast<c10::DeviceIndex>(index));
}

cuda::Stream current_stream() {
  return c10::cuda::getCurrentCUDAStream().stream();
}

namespace {

/// Streams that no lanes of this thread use. They are none of torch's pool, which is smaller than
/// what runs side by side may need, and they stay: torch remembers where memory was used.
std::vector<c10::cuda::CUDAStream>& idle_lanes() {
  static thread_local std::vector<c10::cuda::CUDAStream> lanes;
  return lanes;
}

c10::cuda::CUDAStream take_lane() {
  auto& idle = idle_lanes();
  if (idle.empty()) {
    return c10::cuda::getStreamFromExternal(cuda::make_stream(), c10::cuda::current_device());
  }
  const c10::cuda::CUDAStream lane = idle.back();
  idle.pop_back();
  return lane;
}

/// One for each thread that trains: torch's pool hands out the same stream again after a while, and
/// what one run records must not meet another's work.
c10::cuda::CUDAStream side_stream_of_thread() {
  static thread_local const c10::cuda::CUDAStream stream = c10::cuda::getStreamFromPool();
  return stream;
}

}  // namespace

struct SideStream::State {
  c10::cuda::CUDAStream stream = side_stream_of_thread();
  at::cuda::CUDAEvent before, after;
  std::vector<at::Tensor> kept;
  bool is_used = false;
};

SideStream::SideStream() : state_(std::make_unique<State>()) {}
SideStream::~SideStream() = default;

void SideStream::wait() {
  state_->before.record();
  state_->before.block(state_->stream);
  state_->is_used = true;
}

void SideStream::run(const std::function<void()>& work, std::vector<at::Tensor> read) {
  std::move(read.begin(), read.end(), std::back_inserter(state_->kept));
  const c10::cuda::CUDAStreamGuard guard(state_->stream);
  work();
}

void SideStream::join() {
  if (!state_->is_used) return;
  state_->after.record(state_->stream);
  state_->after.block(c10::cuda::getCurrentCUDAStream());
  state_->kept.clear();
  state_->is_used = false;
}

struct CopyStream::State {
  struct Place {
    at::cuda::CUDAEvent released, filled;
  };
  c10::cuda::CUDAStream stream = take_lane();
  std::vector<Place> places;
};

CopyStream::CopyStream(std::size_t places) : state_(std::make_unique<State>()) {
  state_->places.resize(places);
}
CopyStream::~CopyStream() {
  idle_lanes().push_back(state_->stream);
}

void CopyStream::release(std::size_t place) {
  state_->places[place].released.record();
}

void CopyStream::fill(std::size_t place, const std::function<void()>& copies) {
  state_->places[place].released.block(state_->stream);
  const c10::cuda::CUDAStreamGuard guard(state_->stream);
  copies();
  state_->places[place].filled.record(state_->stream);
}

void CopyStream::join(std::size_t place) {
  state_->places[place].filled.block(c10::cuda::getCurrentCUDAStream());
}

bool CopyStream::is_filled(std::size_t place) const {
  return state_->places[place].filled.query();
}

void CopyStream::wait() const {
  for (const State::Place& place : state_->places) place.filled.synchronize();
}

struct StreamLanes::State {
  struct Lane {
    c10::cuda::CUDAStream stream;
    at::cuda::CUDAEvent after;
  };
  std::vector<Lane> lanes;
  at::cuda::CUDAEvent before;
};

StreamLanes::StreamLanes(std::size_t count) : state_(std::make_unique<State>()) {
  for (std::size_t lane = 0; lane < count; ++lane) {
    state_->lanes.push_back({take_lane(), {}});
  }
}
StreamLanes::~StreamLanes() {
  for (const State::Lane& lane : state_->lanes) idle_lanes().push_back(lane.stream);
}

std::size_t StreamLanes::count() const {
  return state_->lanes.size();
}

void StreamLanes::fork() {
  state_->before.record();
  for (State::Lane& lane : state_->lanes) state_->before.block(lane.stream);
}

void StreamLanes::run(std::size_t lane, const std::function<void()>& work) {
  const c10::cuda::CUDAStreamGuard guard(state_->lanes[lane].stream);
  work();
}

void StreamLanes::join() {
  const auto current = c10::cuda::getCurrentCUDAStream();
  for (State::Lane& lane : state_->lanes) {
    lane.after.record(lane.stream);
    lane.after.block(current);
  }
}

}  // namespace impart::tensors
