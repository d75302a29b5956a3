#include "impart/feed/stored_feed.h"

#include <chrono>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include <torch/torch.h>

#include "impart/data/payloads/read_ahead.h"

namespace impart::feed {
namespace {

/// Between two looks at a copy that is under way: short beside a step, of which one more waits for
/// the device.
constexpr auto kNap = std::chrono::microseconds(50);

class StoredFeed final : public Feed {
 public:
  explicit StoredFeed(StoredFeedSpec spec)
      : spec_(std::move(spec)), ahead_(spec_.payloads->read_ahead()), reader_(reader_spec()) {}

  /// Nobody asks the store any more what it needs.
  ~StoredFeed() override {
    if (ahead_ != nullptr) ahead_->plan({});
  }
  StoredFeed(const StoredFeed&) = delete;
  StoredFeed& operator=(const StoredFeed&) = delete;

  torch::Device device() const override { return spec_.device; }
  std::uint64_t examples() const override { return spec_.payloads->examples(); }

  const data::Task& task() const override { return spec_.format->task(); }

  void begin(FeedPlan plan) override {
    spec_.format->begin(plan);
    ends_ = std::move(plan.ends);
    next_ = 0;
    data::BatchList list{.ends = {ends_.begin(), ends_.end()},
                         .random_decode = plan.augment && spec_.random_decode,
                         .seed = spec_.seed,
                         .epoch = plan.epoch};
    for (std::size_t row = 0; row < plan.ids.size(); ++row) {
      list.rows.push_back({plan.ids[row], plan.workers[row]});
    }
    if (ahead_ != nullptr) {
      reader_.abandon();
      ahead_->plan(plan.ids, [store = spec_.store](ExampleId id, bool again) {
        return store->needs_source(id, again);
      });
    }
    reader_.begin(std::move(list));
  }

  Batch next(store::PhaseSeconds& seconds) override {
    const DecodedRows rows = take(seconds);
    return spec_.format->make(rows.bytes, rows.first);
  }

  std::optional<DevicePlan> on_device() const override { return spec_.format->on_device(); }
  void bring(store::PhaseSeconds& seconds) override {
    const DecodedRows rows = take(seconds);
    spec_.format->bring(rows.bytes, rows.first);
  }

  std::vector<data::SkippedExample> take_skipped() override { return std::exchange(skipped_, {}); }

 private:
  /// Rows of the plan from `first` on.
  struct DecodedRows {
    torch::Tensor bytes;  ///< [rows, bytes of a row]
    std::int64_t first = 0;
  };

  DecodedRows take(store::PhaseSeconds& seconds) {
    const bool moving = !spec_.store->advance_moves();
    // The reader decodes into what it handed out last.
    while (!spec_.format->has_copied()) {
      std::this_thread::sleep_for(kNap);
      spec_.store->advance_moves();
    }
    data::ReadBatch read = reader_.next([&] { spec_.store->advance_moves(); });
    const bool awaited_arrivals = moving && read.had_unready;
    (awaited_arrivals ? seconds.exchange : seconds.data_wait) += read.seconds_waited;
    skipped_.insert(skipped_.end(), read.skipped.begin(), read.skipped.end());

    const std::int64_t first = next_ == 0 ? 0 : ends_[next_ - 1];
    const std::int64_t rows = ends_[next_++] - first;
    const auto bytes = static_cast<std::int64_t>(spec_.row_bytes);
    return {torch::from_blob(read.decoded.data(), {rows, bytes}, torch::kByte), first};
  }

  /// Memory that a GPU copies from by itself.
  std::vector<std::span<std::uint8_t>> lock_room(std::size_t count, std::size_t bytes) {
    locked_.clear();
    const auto options = torch::TensorOptions(torch::kByte).pinned_memory(true);
    std::vector<std::span<std::uint8_t>> room;
    for (std::size_t i = 0; i < count; ++i) {
      locked_.push_back(torch::empty({static_cast<std::int64_t>(bytes)}, options));
      room.emplace_back(locked_.back().data_ptr<std::uint8_t>(), bytes);
    }
    return room;
  }

  data::BatchReaderSpec reader_spec() {
    data::BatchReaderSpec::Room room;
    if (spec_.device.is_cuda()) {
      room = [this](std::size_t count, std::size_t bytes) { return lock_room(count, bytes); };
    }
    return {.decoder = spec_.decoder.get(),
            .row_bytes = spec_.row_bytes,
            .threads = spec_.threads,
            .batches_ahead = spec_.batches_ahead,
            .read =
                [store = spec_.store, ahead = ahead_](ExampleId id, WorkerId worker,
                                                      std::vector<std::byte>& payload) {
                  store->read(id, worker, payload);
                  if (ahead != nullptr) ahead->end_visit(id);
                },
            .ready = [store = spec_.store](ExampleId id, WorkerId) { return store->holds(id); },
            .describe = [source = spec_.payloads](ExampleId id) { return source->describe(id); },
            .on_bad_example = spec_.on_bad_example,
            .room = std::move(room)};
  }

  /// What is decoded for a GPU; goes last, for the format waits for copies.
  std::vector<torch::Tensor> locked_;
  StoredFeedSpec spec_;
  data::ReadAhead* ahead_;  ///< of the payloads, or null
  std::vector<std::int64_t> ends_;
  std::size_t next_ = 0;
  std::vector<data::SkippedExample> skipped_;
  data::BatchReader reader_;
};

}  // namespace

std::unique_ptr<Feed> make_stored_feed(StoredFeedSpec spec) {
  return std::make_unique<StoredFeed>(std::move(spec));
}

}  // namespace impart::feed
