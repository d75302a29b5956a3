#include "impart/train/output/hardest_images.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <torch/torch.h>

#include "impart/data/images/png_writer.h"
#include "impart/placement/ranking.h"

namespace impart::train {
namespace {

constexpr std::size_t kMostOfClass = 4;   ///< at each end
constexpr std::size_t kMostClasses = 12;  ///< that are shown one by one
constexpr std::int64_t kMostPixels = 64;  ///< of a side
constexpr std::size_t kPictureBatch = 64;

/// Images in the order in which they are chosen, each once.
class Choice {
 public:
  Choice(const placement::Partition& partition, const RunData& data)
      : partition_(partition), data_(data) {}

  void add(ExampleId id, run::ImageRank rank) { record_of(id).ranks.push_back(std::move(rank)); }
  void add(ExampleId id, const run::HiddenRank& hidden) { record_of(id).hidden = hidden; }

  std::vector<run::ImageRecord> take() { return std::move(images_); }

 private:
  run::ImageRecord& record_of(ExampleId id) {
    const auto [place, is_new] = places_.try_emplace(index(id), images_.size());
    if (is_new) {
      const std::uint32_t label = data_.labels[index(id)];
      images_.push_back({.id = index(id),
                         .class_number = label,
                         .label = class_name(data_, label),
                         .worker = index(partition_.owners()[index(id)])});
    }
    return images_[place->second];
  }

  const placement::Partition& partition_;
  const RunData& data_;
  std::map<std::uint64_t, std::size_t> places_;
  std::vector<run::ImageRecord> images_;
};

/// Both ends of a ranking, the hardest first.
void add_ends(std::span<const ExampleId> ranking, std::span<const float> importance,
              const run::ImageRank& kind, std::size_t count, Choice& choice) {
  const std::size_t most = std::min(count, ranking.size());
  for (const bool hardest : {true, false}) {
    for (std::size_t i = 0; i < most; ++i) {
      const ExampleId id = hardest ? ranking[i] : ranking[ranking.size() - 1 - i];
      run::ImageRank rank = kind;
      rank.hardest = hardest;
      rank.rank = static_cast<std::uint32_t>(i + 1);
      rank.importance = double{importance[index(id)]};
      choice.add(id, std::move(rank));
    }
  }
}

/// Those that were hidden most and least often. `ranking` decides among equals: its last are taken
/// as hidden the more often, its first the less.
void add_hidden(std::vector<ExampleId> ranking, std::span<const std::uint32_t> times,
                std::size_t count, Choice& choice) {
  std::stable_sort(ranking.begin(), ranking.end(),
                   [&](ExampleId a, ExampleId b) { return times[index(a)] < times[index(b)]; });
  if (ranking.empty() || times[index(ranking.back())] == 0) return;
  const std::size_t most = std::min(count, ranking.size() / 2);
  for (const bool is_most : {true, false}) {
    for (std::size_t i = 0; i < most; ++i) {
      const ExampleId id = is_most ? ranking[ranking.size() - 1 - i] : ranking[i];
      choice.add(id, run::HiddenRank{.most = is_most,
                                     .rank = static_cast<std::uint32_t>(i + 1),
                                     .times = times[index(id)]});
    }
  }
}

/// The ranking of each class, the class with the highest mean importance first.
std::vector<std::vector<ExampleId>> rank_in_classes(std::span<const ExampleId> ranking,
                                                    std::span<const float> importance,
                                                    const RunData& data) {
  std::vector<std::vector<ExampleId>> rankings(data.classes);
  for (const ExampleId id : ranking) rankings[data.labels[index(id)]].push_back(id);
  std::erase_if(rankings, [](const auto& one) { return one.empty(); });
  const auto mean = [&](const std::vector<ExampleId>& ids) {
    double sum = 0;
    for (const ExampleId id : ids) {
      if (std::isfinite(importance[index(id)])) sum += double{importance[index(id)]};
    }
    return sum / static_cast<double>(ids.size());
  };
  std::stable_sort(rankings.begin(), rankings.end(),
                   [&](const auto& a, const auto& b) { return mean(a) > mean(b); });
  return rankings;
}

/// Pixels of 0 to 255 again, no larger than a thumbnail.
torch::Tensor shrink_to_bytes(const torch::Tensor& inputs, const RunData& data) {
  const auto per_channel = [](const std::vector<float>& values) {
    return torch::tensor(values, torch::kFloat32).view({1, -1, 1, 1});
  };
  auto pixels = inputs.to(torch::kCPU, torch::kFloat32) * per_channel(data.card.images->std) +
                per_channel(data.card.images->mean);
  const double scale = static_cast<double>(kMostPixels) /
                       static_cast<double>(std::max(pixels.size(2), pixels.size(3)));
  if (scale < 1) {
    const auto side = [&](std::int64_t size) {
      return std::max<std::int64_t>(1, std::lround(scale * static_cast<double>(size)));
    };
    pixels = torch::adaptive_avg_pool2d(pixels, {side(pixels.size(2)), side(pixels.size(3))});
  }
  return (pixels * 255).round().clamp(0, 255).to(torch::kUInt8).contiguous();
}

std::string png_of(const torch::Tensor& picture) {
  return data::encode_png(
      {.channels = static_cast<std::uint32_t>(picture.size(0)),
       .height = static_cast<std::uint32_t>(picture.size(1)),
       .width = static_cast<std::uint32_t>(picture.size(2))},
      {picture.data_ptr<std::uint8_t>(), static_cast<std::size_t>(picture.numel())});
}

feed::FeedPlan plan_of(std::span<const run::ImageRecord> images) {
  feed::FeedPlan plan{.augment = false};
  for (const run::ImageRecord& image : images) {
    plan.ids.push_back(ExampleId{image.id});
    plan.workers.push_back(WorkerId{image.worker});
  }
  for (std::size_t end = 0; end < images.size();) {
    end = std::min(end + kPictureBatch, images.size());
    plan.ends.push_back(static_cast<std::int64_t>(end));
  }
  return plan;
}

/// Reads the images, lets the model look at them, and leaves out what cannot be read.
void look_at(std::vector<run::ImageRecord>& images, models::Classifier& model,
             const RunData& data) {
  if (images.empty()) return;
  const torch::NoGradGuard no_grad;
  model.eval();
  feed::FeedPlan plan = plan_of(images);
  const std::vector<std::int64_t> ends = plan.ends;
  data.train->begin(std::move(plan));
  store::PhaseSeconds waiting;
  auto image = images.begin();
  for (std::size_t batch = 0; batch < ends.size(); ++batch) {
    const torch::Tensor inputs = data.train->next(waiting).inputs;
    const auto chances = model.forward(inputs).logits.to(torch::kFloat32).softmax(1);
    const auto [most, chosen] = chances.to(torch::kCPU).max(1);
    const torch::Tensor pictures = shrink_to_bytes(inputs, data);
    for (std::int64_t row = 0; row < inputs.size(0); ++row, ++image) {
      const auto predicted = static_cast<std::uint32_t>(chosen[row].item<std::int64_t>());
      image->prediction = class_name(data, predicted);
      image->probability = std::round(most[row].item<double>() * 1e4) / 1e4;
      image->png = png_of(pictures[row]);
    }
  }
  model.train();
  for (const data::SkippedExample& skipped : data.train->take_skipped()) {
    std::erase_if(images, [&](const auto& one) { return ExampleId{one.id} == skipped.id; });
  }
}

/// All that the processes have. Collective: every process calls it, in the same order.
std::vector<run::ImageRecord> gather_images(const std::vector<run::ImageRecord>& mine,
                                            comm::Communicator& communicator) {
  const std::string lines = run::image_lines(mine);
  std::vector<std::int64_t> sizes(communicator.size());
  sizes[communicator.rank()] = static_cast<std::int64_t>(lines.size());
  communicator.all_reduce_sum(std::span<std::int64_t>(sizes));
  const std::vector<std::size_t> counts(sizes.begin(), sizes.end());
  std::string all;
  for (const std::size_t count : counts) all.resize(all.size() + count);
  communicator.all_gather(std::as_bytes(std::span(lines)), counts,
                          std::as_writable_bytes(std::span(all)));
  return run::parse_image_lines(all, "images of the processes");
}

}  // namespace

std::vector<run::ImageRecord> choose_images(const ImageChoiceSpec& spec) {
  const auto& [placement, data, count, times_hidden] = spec;
  Choice choice(placement.partition(), data);
  const auto notions = placement::tracked_notions(placement.spec());
  for (const importance::AnyNotion& notion : notions) {
    const std::vector<float> importance = placement.table().importance(notion.name);
    const auto ranking = placement::rank_by_importance(importance);
    add_ends(ranking, importance, {.notion = notion.name}, count, choice);
    if (&notion != &notions.front()) continue;
    auto rankings = rank_in_classes(ranking, importance, data);
    rankings.resize(std::min(rankings.size(), kMostClasses));
    for (const std::vector<ExampleId>& of_class : rankings) {
      add_ends(of_class, importance, {.notion = notion.name, .in_class = true},
               std::min(count, kMostOfClass), choice);
    }
    if (!times_hidden.empty()) add_hidden(ranking, times_hidden, count, choice);
  }
  return choice.take();
}

std::vector<run::ImageRecord> add_pictures(std::vector<run::ImageRecord> images,
                                           const ViewerSpec& viewer,
                                           comm::Communicator& communicator) {
  std::vector<std::uint64_t> order;
  for (const run::ImageRecord& image : images) order.push_back(image.id);
  std::erase_if(images, [&](const run::ImageRecord& image) {
    return !viewer.hosted.contains(WorkerId{image.worker});
  });
  look_at(images, viewer.model, viewer.data);
  std::vector<run::ImageRecord> all = gather_images(images, communicator);
  const auto place = [&](const run::ImageRecord& image) {
    return std::find(order.begin(), order.end(), image.id);
  };
  std::sort(all.begin(), all.end(),
            [&](const auto& a, const auto& b) { return place(a) < place(b); });
  return all;
}

}  // namespace impart::train
