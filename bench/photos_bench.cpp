// What it costs to train from a folder of photos: where do images per second go that the engine
// could have?
//
//   build/gpu/bin/photos_bench [KEY=NUMBER...]     photos, copies, threads, rounds, workers, batch
//   build/gpu/bin/photos_bench draw FOLDER [...]   only draws the photos, for other benches
//
// Draws a folder of JPEGs of ImageNet's size and weight, and trains a ResNet-50 at 224 (bf16 on a
// GPU; resnet18 in float where there is none) from it in three ways, epoch by epoch in turns:
//   device  the same crops, decoded before, all on the device: the engine's own limit
//   photos  read, decoded and copied meanwhile, as `impart train` does
//   plain   the same threads decode, but a step waits for its copy, out of pageable memory, and is
//           not recorded
// and prints images per second of each, the share of the first, and beside them what decoding and
// copying could do alone. Before anything is timed: batches of photos must be those of the CPU to
// the bit, and all three ways must see the same losses in their first step. Of 4 096 photos with 4
// names each; two minutes on an idle machine of 16 cores are plenty.

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <stdlib.h>
#include <torch/torch.h>

#include "bench/check.h"
#include "bench/drawn_photos.h"
#include "impart/data/datasets.h"
#include "impart/data/payloads/batch_reader.h"
#include "impart/feed/data_feed.h"
#include "impart/models/images/models.h"
#include "impart/models/init.h"
#include "impart/placement/epoch_order.h"
#include "impart/placement/heuristics.h"
#include "impart/store/replicated_store.h"
#include "impart/tensors/id_tensor.h"
#include "impart/train/engine.h"

namespace impart::bench {
namespace {

constexpr double kMilli = 1e3, kGiga = 1e9;
constexpr std::uint64_t kSeed = 1;
constexpr std::uint32_t kAhead = 4;
constexpr const char* kAugmentation = "resized-crop-flip";

/// Numbers by their names.
using Numbers = std::map<std::string, std::uint32_t>;

Numbers read_numbers(int argc, char** argv, int first) {
  const std::uint32_t cores = std::max(1u, std::thread::hardware_concurrency());
  Numbers numbers{{"photos", 4096}, {"copies", 4},  {"threads", cores},
                  {"rounds", 5},    {"workers", 4}, {"batch", 64}};
  for (int i = first; i < argc; ++i) {
    const std::string argument = argv[i];
    const std::size_t equals = std::min(argument.find('='), argument.size() - 1);
    const auto found = numbers.find(argument.substr(0, equals));
    const char* const end = argument.data() + argument.size();
    const bool fits = found != numbers.end() &&
                      std::from_chars(argument.data() + equals + 1, end, found->second).ptr == end;
    require(fits, fmt::format("'{}' is no KEY=NUMBER", argument));
  }
  return numbers;
}

double draw(const std::string& folder, const Numbers& numbers) {
  return draw_photos(folder, {.photos = numbers.at("photos"),
                              .copies = numbers.at("copies"),
                              .threads = numbers.at("threads")});
}

/// A folder that goes when this does.
class TemporaryFolder {
 public:
  TemporaryFolder() : path_((std::filesystem::temp_directory_path() / "photos.XXXXXX").string()) {
    require(::mkdtemp(path_.data()) != nullptr, "no temporary folder");
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

data::BatchReaderSpec reader_spec(const data::ExampleSet& set, std::uint32_t threads) {
  return {.decoder = set.decoder.get(),
          .row_bytes = set.image_bytes(),
          .threads = threads,
          .batches_ahead = kAhead,
          .read = [&set](ExampleId id, WorkerId, std::vector<std::byte>& payload) {
            payload.resize(set.payloads->payload_bytes(id));
            set.payloads->read(id, payload);
          }};
}

/// Batches of a plan, each waited for: a feed as simple as can be.
class PlainFeed final : public feed::Feed {
 public:
  PlainFeed(const data::ExampleSet& set, std::uint32_t threads, torch::Device device)
      : set_(set),
        images_(
            {.mean = torch::tensor(set.mean).to(device), .std = torch::tensor(set.std).to(device)}),
        reader_(reader_spec(set, threads)) {}

  torch::Device device() const override { return images_.mean.device(); }
  std::uint64_t examples() const override { return set_.count(); }

  void begin(feed::FeedPlan plan) override {
    const torch::Tensor ids = tensors::ids_tensor(plan.ids);
    const auto flips = data::flip({.seed = kSeed, .epoch = plan.epoch, .examples = set_.count()});
    targets_ = tensors::numbers_tensor(set_.labels).index_select(0, ids).to(device());
    choices_ = feed::put_on_device(flips, torch::kCPU).index_select(0, ids).to(device());
    data::BatchList list{.ends = {plan.ends.begin(), plan.ends.end()},
                         .random_decode = true,
                         .seed = kSeed,
                         .epoch = plan.epoch};
    for (const ExampleId id : plan.ids) list.rows.push_back({.id = id});
    reader_.begin(std::move(list));
    first_ = 0;
  }

  feed::Batch next(store::PhaseSeconds&) override {
    const data::ReadBatch read = reader_.next();
    const auto rows = static_cast<std::int64_t>(read.rows.size());
    images_.pixels = torch::from_blob(read.decoded.data(),
                                      {rows, set_.channels, set_.height, set_.width}, torch::kByte)
                         .to(device());
    images_.labels = targets_.narrow(0, first_, rows);
    const auto numbers = torch::arange(rows, torch::TensorOptions(torch::kInt64).device(device()));
    const auto inputs = feed::make_batch(images_, numbers, choices_.narrow(0, first_, rows));
    first_ += rows;
    return {.inputs = inputs, .targets = images_.labels};
  }

 private:
  const data::ExampleSet& set_;
  feed::DeviceImages images_;
  torch::Tensor targets_, choices_;
  std::int64_t first_ = 0;
  data::BatchReader reader_;
};

/// Reads and decodes everything, in batches of so many.
void decode_all(const data::ExampleSet& set, std::uint32_t threads, std::uint32_t rows,
                const std::function<void(std::span<const std::uint8_t>)>& visit) {
  data::BatchReader reader(reader_spec(set, threads));
  data::BatchList list{.random_decode = true, .seed = kSeed};
  for (std::uint64_t i = 0; i < set.count(); ++i) list.rows.push_back({.id = ExampleId{i}});
  for (std::size_t end = 0; end < set.count();) {
    list.ends.push_back(end = std::min<std::size_t>(end + rows, set.count()));
  }
  const std::size_t batches = list.ends.size();
  reader.begin(std::move(list));
  for (std::size_t batch = 0; batch < batches; ++batch) visit(reader.next().decoded);
}

/// All photos as the first epoch crops them.
data::ImageSet decoded(const data::ExampleSet& set, std::uint32_t threads, std::uint32_t rows) {
  data::ImageSet images{.count = set.count(),
                        .channels = set.channels,
                        .height = set.height,
                        .width = set.width,
                        .classes = set.classes,
                        .labels = set.labels,
                        .mean = set.mean,
                        .std = set.std};
  images.pixels.reserve(set.count() * set.image_bytes());
  decode_all(set, threads, rows, [&](auto batch) {
    images.pixels.insert(images.pixels.end(), batch.begin(), batch.end());
  });
  return images;
}

/// One way to train: a feed, and an engine that it feeds.
class Way {
 public:
  Way(std::string name, std::unique_ptr<feed::Feed> feed, const Numbers& numbers)
      : name_(std::move(name)),
        communicator_(comm::make_single_communicator()),
        feed_(std::move(feed)),
        engine_({.config = config_of(numbers, device()),
                 .model = make_model(device()),
                 .feed = feed_.get()},
                *communicator_),
        plan_(order(feed_->examples(), numbers.at("workers")), numbers.at("batch"),
              placement::Uneven::kDrop) {}

  const std::string& name() const { return name_; }
  torch::Device device() const { return feed_->device(); }
  std::uint32_t steps() const { return plan_.steps(); }

  /// Seconds of an epoch, its beginning and the copy of its signals included.
  double run_epoch() {
    const double seconds = seconds_of([&] {
      const train::PhaseTimer timer(engine_.clock(), &store::PhaseSeconds::step);
      engine_.begin_epoch(plan_, epoch_++, 0);
      for (std::uint32_t step = 0; step < plan_.steps(); ++step) engine_.run_step(step, 0.01);
      engine_.end_epoch();
      signals_ = engine_.collected_signals();
    });
    phases_ += engine_.clock().read().seconds;
    require(signals_.size(1) == static_cast<std::int64_t>(plan_.steps() * plan_.examples_in(0)),
            "visits");
    require(signals_.isfinite().all().item<bool>(), "finite signals");
    return seconds;
  }

  /// The mean over the last epoch's first step.
  double first_loss() const {
    return signals_[train::SignalSet::kLossRow]
        .narrow(0, 0, static_cast<std::int64_t>(plan_.examples_in(0)))
        .mean()
        .item<double>();
  }

  const store::PhaseSeconds& phases() const { return phases_; }
  void forget_phases() { phases_ = {}; }

 private:
  static config::RunConfig config_of(const Numbers& numbers, torch::Device device) {
    config::RunConfig config;
    config.workers.count = numbers.at("workers");
    config.workers.batch = numbers.at("batch");
    config.importance.notion = "loss-average";
    if (device.is_cuda()) config.precision = config::RunConfig::Precision::kBf16;
    return config;
  }
  static std::shared_ptr<models::Classifier> make_model(torch::Device device) {
    auto model = find_entry(models::kModels, "model", device.is_cuda() ? "resnet50" : "resnet18")
                     .function({.classes = 1000, .image_size = 224});
    models::initialise_parameters(*model, 1);
    model->to(device);
    return model;
  }
  static placement::Parts order(std::uint64_t examples, std::uint32_t workers) {
    const std::vector<float> nothing(examples);
    return placement::order_epoch(placement::shuffle_evenly(nothing, {.workers = workers}), {});
  }

  std::string name_;
  std::unique_ptr<comm::Communicator> communicator_;
  std::unique_ptr<feed::Feed> feed_;
  train::Engine engine_;
  placement::StepPlan plan_;
  std::uint32_t epoch_ = 0;
  torch::Tensor signals_;
  store::PhaseSeconds phases_;
};

/// The feed that `impart train` would make, and the store that it reads.
class PhotoFolder {
 public:
  PhotoFolder(const std::string& path, const Numbers& numbers)
      : threads_(numbers.at("threads")),
        communicator_(comm::make_single_communicator()),
        data_{.dataset = data::open_dataset({.name = "imagefolder",
                                             .in_memory = false,
                                             .images = {.name = "imagefolder", .root = path}})},
        store_(store::make_replicated_store({.workers = numbers.at("workers")}, *communicator_,
                                            set().payloads)) {}

  const data::ExampleSet& set() const { return data_.dataset.train; }
  std::unique_ptr<feed::Feed> make_feed(torch::Device device) const {
    return feed::make_data_feed(data_, {.device = device,
                                        .store = store_.get(),
                                        .augmentation = kAugmentation,
                                        .seed = kSeed,
                                        .threads = threads_,
                                        .batches_ahead = kAhead});
  }

 private:
  std::uint32_t threads_;
  std::unique_ptr<comm::Communicator> communicator_;
  feed::LoadedData data_;
  std::unique_ptr<store::Store> store_;
};

/// The first batches on the device, of different lengths, are those of the CPU.
void check_batches(const PhotoFolder& folder, torch::Device device) {
  const auto here = folder.make_feed(torch::kCPU), there = folder.make_feed(device);
  feed::FeedPlan plan{.epoch = 3, .ends = {40, 41, 80, 120}};
  for (std::uint64_t row = 0; row < 120; ++row) {
    plan.ids.push_back(ExampleId{row * 7 % folder.set().count()});
    plan.workers.push_back(WorkerId{0});
  }
  here->begin(plan);
  there->begin(plan);
  for (std::size_t batch = 0; batch < plan.ends.size(); ++batch) {
    store::PhaseSeconds ignored;
    const feed::Batch expected = here->next(ignored), found = there->next(ignored);
    require(torch::equal(found.inputs.cpu().contiguous(), expected.inputs.contiguous()) &&
                torch::equal(found.targets.cpu(), expected.targets),
            "batches of photos on the device");
  }
}

/// Seconds to bring one batch out of page-locked memory to a GPU.
double copy_seconds(std::int64_t bytes) {
  const auto from = torch::ones({bytes}, torch::TensorOptions(torch::kByte).pinned_memory(true));
  torch::Tensor to = torch::empty({bytes}, torch::TensorOptions(torch::kByte).device(torch::kCUDA));
  constexpr int kCopies = 20;
  to.copy_(from);
  return seconds_of([&] {
           for (int i = 0; i < kCopies; ++i) to.copy_(from, /*non_blocking=*/true);
           torch::cuda::synchronize();
         }) /
         kCopies;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void print_way(const Way& way, double seconds, double images, double limit) {
  const store::PhaseSeconds& phases = way.phases();
  fmt::print(
      "{:28} {:8.2f} ms a step {:9.0f} images/s {:6.1f} % of the engine's own; waiting for "
      "data {:.1f} % of the device's time\n",
      way.name(), kMilli * seconds / way.steps(), images / seconds, 100 * limit / seconds,
      100 * phases.data_wait / phases.total());
}

/// Lets all ways train in turns, and prints what each reached.
void compare(std::vector<std::unique_ptr<Way>>& ways, std::uint32_t rounds, double images) {
  std::vector<double> losses;
  for (const auto& way : ways) {
    way->run_epoch();
    losses.push_back(way->first_loss());
    require(std::abs(losses.back() / losses.front() - 1) < 1e-2, "losses of " + way->name());
    way->run_epoch();  // what is recorded is recorded by now
    way->forget_phases();
  }
  std::vector<std::vector<double>> seconds(ways.size());
  for (std::uint32_t round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < ways.size(); ++i) seconds[i].push_back(ways[i]->run_epoch());
  }
  const double limit = median(seconds.front());
  for (std::size_t i = 0; i < ways.size(); ++i) {
    print_way(*ways[i], median(seconds[i]), images, limit);
  }
}

void run(const Numbers& numbers) {
  const torch::Device device = torch::cuda::is_available() ? torch::kCUDA : torch::kCPU;
  const std::uint32_t threads = numbers.at("threads");
  const std::uint32_t rows = numbers.at("workers") * numbers.at("batch");
  const TemporaryFolder place;
  double bytes = 0;
  const double drawing = seconds_of([&] { bytes = draw(place.path(), numbers); });
  const PhotoFolder folder(place.path(), numbers);
  const data::ExampleSet& set = folder.set();
  fmt::print(
      "{} photos of 500x375, {:.0f} kB each, drawn in {:.1f} s; {} threads decode to {}x{}, "
      "{} workers x {}\n",
      set.count(), bytes / kMilli, drawing, threads, set.height, set.width, numbers.at("workers"),
      numbers.at("batch"));
  check_batches(folder, device);

  std::vector<std::unique_ptr<Way>> ways;
  {
    const data::ImageSet images = decoded(set, threads, rows);
    const auto flip = [count = set.count()](std::uint32_t epoch) {
      return data::flip({.seed = kSeed, .epoch = epoch, .examples = count});
    };
    ways.push_back(std::make_unique<Way>(
        "device", feed::make_device_feed(feed::put_on_device(images, device), flip), numbers));
  }
  ways.push_back(std::make_unique<Way>("photos", folder.make_feed(device), numbers));
  ways.push_back(
      std::make_unique<Way>("plain", std::make_unique<PlainFeed>(set, threads, device), numbers));

  const double decoding = seconds_of([&] { decode_all(set, threads, rows, [](auto) {}); });
  const double count = static_cast<double>(set.count());
  fmt::print("{:28} {:8.2f} ms a step {:9.0f} images/s, {:.0f} a thread\n", "decoding alone",
             kMilli * decoding * rows / count, count / decoding, count / decoding / threads);
  if (device.is_cuda()) {
    const double copying = copy_seconds(static_cast<std::int64_t>(rows * set.image_bytes()));
    fmt::print("{:28} {:8.2f} ms a step, {:.1f} GB/s\n", "copying alone", kMilli * copying,
               static_cast<double>(rows * set.image_bytes()) / copying / kGiga);
  }
  compare(ways, numbers.at("rounds"), static_cast<double>(ways.front()->steps()) * rows);
}

}  // namespace
}  // namespace impart::bench

int main(int argc, char** argv) {
  using namespace impart::bench;
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);  // a run that is stopped has said what it knew
  if (argc > 2 && std::string(argv[1]) == "draw") {
    const double bytes = draw(argv[2], read_numbers(argc, argv, 3));
    fmt::print("{:.0f} bytes a photo\n", bytes);
    return 0;
  }
  run(read_numbers(argc, argv, 1));
}
