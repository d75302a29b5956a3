#include <algorithm>
#include <utility>

#include <torch/torch.h>

#include "impart/train/feed.h"

namespace impart {
namespace {

/// Numbers of a container as an int64 tensor.
template <class Range, class Number>
torch::Tensor tensor_of(const Range& range, Number number) {
  auto tensor = torch::empty({static_cast<std::int64_t>(range.size())}, torch::kInt64);
  std::transform(range.begin(), range.end(), tensor.template data_ptr<std::int64_t>(), number);
  return tensor;
}

torch::Tensor floats_of(const std::vector<float>& values, torch::Device device) {
  return torch::tensor(values, torch::kFloat32).to(device);
}

class StoredFeed final : public Feed {
 public:
  explicit StoredFeed(StoredFeedSpec spec)
      : spec_(std::move(spec)),
        labels_(
            tensor_of(spec_.set->labels, [](std::uint32_t label) { return std::int64_t{label}; })),
        mean_(floats_of(spec_.set->mean, spec_.device)),
        std_(floats_of(spec_.set->std, spec_.device)),
        reader_(reader_spec()) {}

  torch::Device device() const override { return spec_.device; }
  std::uint64_t examples() const override { return spec_.set->count(); }

  void begin(FeedPlan plan) override {
    const auto ids =
        tensor_of(plan.ids, [](ExampleId id) { return static_cast<std::int64_t>(index(id)); });
    targets_ = labels_.index_select(0, ids).to(device());
    choices_.reset();
    if (plan.augment && spec_.augmentation) {
      const auto choices = put_on_device(spec_.augmentation(plan.epoch), torch::kCPU);
      if (choices.defined()) choices_ = choices.index_select(0, ids).to(device());
    }
    ends_ = std::move(plan.ends);
    next_ = 0;
    BatchList list{.ends = {ends_.begin(), ends_.end()},
                   .random_decode = plan.augment && spec_.random_decode,
                   .seed = spec_.seed,
                   .epoch = plan.epoch};
    for (std::size_t row = 0; row < plan.ids.size(); ++row) {
      list.rows.push_back({plan.ids[row], plan.workers[row]});
    }
    reader_.begin(std::move(list));
  }

  Batch next(PhaseSeconds& seconds) override {
    const bool moving = !spec_.store->advance_moves();
    ReadBatch read = reader_.next([&] { spec_.store->advance_moves(); });
    (moving ? seconds.exchange : seconds.data_wait) += read.seconds_waited;
    skipped_.insert(skipped_.end(), read.skipped.begin(), read.skipped.end());

    const std::int64_t start = next_ == 0 ? 0 : ends_[next_ - 1];
    const std::int64_t rows = ends_[next_++] - start;
    const ExampleSet& set = *spec_.set;
    const auto pixels = torch::from_blob(read.pixels.data(),
                                         {rows, set.channels, set.height, set.width}, torch::kByte)
                            .to(device());
    const DeviceImages images{.pixels = pixels, .labels = targets_, .mean = mean_, .std = std_};
    const auto numbers = torch::arange(rows, torch::TensorOptions(torch::kInt64).device(device()));
    const auto choices = choices_.defined() ? choices_.narrow(0, start, rows) : choices_;
    return {.inputs = make_batch(images, numbers, choices),
            .targets = targets_.narrow(0, start, rows)};
  }

  std::vector<SkippedExample> take_skipped() override { return std::exchange(skipped_, {}); }

 private:
  BatchReaderSpec reader_spec() const {
    return {.decoder = spec_.set->decoder.get(),
            .image_bytes = spec_.set->image_bytes(),
            .threads = spec_.threads,
            .batches_ahead = spec_.batches_ahead,
            .read = [store = spec_.store](
                        ExampleId id, WorkerId worker,
                        std::vector<std::byte>& payload) { store->read(id, worker, payload); },
            .ready = [store = spec_.store](ExampleId id, WorkerId) { return store->holds(id); },
            .describe = [set = spec_.set](ExampleId id) { return set->payloads->describe(id); },
            .on_bad_example = spec_.on_bad_example};
  }

  StoredFeedSpec spec_;
  torch::Tensor labels_;  ///< of all examples, on the host
  torch::Tensor mean_, std_;
  torch::Tensor targets_, choices_;  ///< of the plan's rows, on the device
  std::vector<std::int64_t> ends_;
  std::size_t next_ = 0;
  std::vector<SkippedExample> skipped_;
  BatchReader reader_;
};

}  // namespace

std::unique_ptr<Feed> make_stored_feed(StoredFeedSpec spec) {
  return std::make_unique<StoredFeed>(std::move(spec));
}

}  // namespace impart
