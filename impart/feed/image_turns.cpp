#include "impart/feed/image_turns.h"

#include <algorithm>
#include <exception>
#include <utility>

#include <torch/torch.h>

#include "impart/tensors/id_tensor.h"

namespace impart::feed {
namespace {

/// One that is used, and one that is filled.
constexpr std::size_t kPlaces = 2;

std::int64_t largest_batch(std::span<const std::int64_t> ends) {
  std::int64_t largest = 0, start = 0;
  for (const std::int64_t end : ends) {
    largest = std::max(largest, end - start);
    start = end;
  }
  return largest;
}

}  // namespace

std::vector<std::int64_t> take_turns(std::span<const std::int64_t> ends, std::size_t places,
                                     std::int64_t room) {
  std::vector<std::int64_t> rows;
  std::int64_t start = 0;
  for (std::size_t batch = 0; batch < ends.size(); ++batch) {
    const std::int64_t place = static_cast<std::int64_t>(batch % places) * room;
    for (std::int64_t row = start; row < ends[batch]; ++row) rows.push_back(place + row - start);
    start = ends[batch];
  }
  return rows;
}

ImageTurns::ImageTurns(std::vector<std::int64_t> shape, torch::Tensor mean, torch::Tensor std)
    : shape_(std::move(shape)), copies_(kPlaces) {
  images_.mean = std::move(mean);
  images_.std = std::move(std);
}

ImageTurns::~ImageTurns() {
  try {
    copies_.wait();
  } catch (const std::exception&) {  // the device is lost, and whoever used it knows
  }
}

void ImageTurns::begin(std::span<const std::int64_t> ends, bool has_choices) {
  ends_.assign(ends.begin(), ends.end());
  has_choices_ = has_choices;
  next_ = 0;
  make_room(largest_batch(ends));
  ids_ = tensors::numbers_tensor(take_turns(ends, kPlaces, room_)).to(images_.mean.device());
  for (std::size_t place = 0; place < kPlaces; ++place) copies_.release(place);
}

void ImageTurns::make_room(std::int64_t rows) {
  if (rows <= room_) return;
  // What was recorded reads the old places, and is worth nothing now.
  for (torch::Tensor* old : {&images_.pixels, &images_.labels, &choices_}) old->reset();
  const auto options = torch::TensorOptions().device(images_.mean.device());
  const auto all = static_cast<std::int64_t>(kPlaces) * rows;
  std::vector<std::int64_t> shape{all};
  shape.insert(shape.end(), shape_.begin(), shape_.end());
  images_.pixels = torch::empty(shape, options.dtype(torch::kByte));
  images_.labels = torch::zeros({all}, options.dtype(torch::kInt64));
  choices_ = torch::zeros({all}, options.dtype(torch::kInt32));
  room_ = rows;
}

void ImageTurns::bring(const Rows& rows) {
  const std::size_t place = next_ % kPlaces;
  if (next_ > 0) copies_.release((next_ - 1) % kPlaces);
  const std::int64_t first = static_cast<std::int64_t>(place) * room_;
  const std::int64_t count = rows.pixels.size(0);
  copies_.fill(place, [&] {
    const auto put = [&](torch::Tensor& there, const torch::Tensor& here) {
      there.narrow(0, first, count).copy_(here, /*non_blocking=*/true);
    };
    put(images_.pixels, rows.pixels);
    put(images_.labels, rows.targets);
    if (has_choices_) put(choices_, rows.choices);
  });
  copies_.join(place);
  ++next_;
}

bool ImageTurns::has_copied() const {
  return next_ == 0 || copies_.is_filled((next_ - 1) % kPlaces);
}

DevicePlan ImageTurns::plan() const {
  return {.images = &images_,
          .ids = ids_,
          .choices = has_choices_ ? choices_ : torch::Tensor(),
          .in_turn = true};
}

torch::Tensor ImageTurns::ids() const {
  const std::int64_t start = next_ < 2 ? 0 : ends_[next_ - 2];
  return ids_.narrow(0, start, ends_[next_ - 1] - start);
}

}  // namespace impart::feed
