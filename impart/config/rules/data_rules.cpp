#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "impart/config/model_names.h"
#include "impart/config/rules/rules_by_topic.h"
#include "impart/config/rules/situation.h"

namespace impart::config {
namespace {

/// The model from the table that is trained; nullptr if a program brings another.
const ModelName* model_of(const Situation& s) {
  return s.facts.own.model ? nullptr : find_model_name(s.config.model.name);
}

/// What the data is judged by; none if that is not known yet.
std::optional<data::Task> task_of_data(const Situation& s) {
  if (s.facts.data) return s.facts.data->task;
  const auto kind = kind_of_data(s);
  return kind ? std::optional(kind->task) : std::nullopt;
}

std::vector<std::string_view> metric_names(const data::Task& task) {
  std::vector<std::string_view> names;
  for (const data::Metric& metric : task.metrics) names.push_back(metric.name);
  return names;
}

bool has_metric(const data::Task& task, std::string_view metric) {
  const auto names = metric_names(task);
  return std::find(names.begin(), names.end(), metric) != names.end();
}

/// Whether the text that is read has no classes, which a model of classes needs.
bool lacks_classes(const Situation& s) {
  const ModelName* model = model_of(s);
  return model != nullptr && model->input == data::Input::kTokens &&
         model->task == data::kClasses && is_text(s) && kind_of_data(s)->task == data::kLanguage;
}

bool is_for_other_data(const Situation& s) {
  const ModelName* model = model_of(s);
  const auto kind = kind_of_data(s);
  return model != nullptr && kind && (model->input != kind->input || model->task != kind->task);
}

std::string_view describe_kind(data::Input input, const data::Task& task) {
  if (input == data::Input::kImages) return "images";
  return task == data::kLanguage ? "language" : "texts with classes";
}

constexpr Rule kDataRules[] = {
    {"coarse-classes",
     {"data.coarse", "data.name"},
     [](const Situation& s) { return s.config.data.coarse && s.config.data.name != "cifar100"; },
     [](const Situation& s) {
       return fmt::format("data.coarse: true needs data.name: cifar100; {} has one kind of classes",
                          s.config.data.name);
     }},
    {"texts-with-classes",
     {"model.name", "data.name", "data.label_column"},
     lacks_classes,
     [](const Situation& s) {
       return fmt::format(
           "model.name: {} needs texts with classes; data.label_column names the column of a table "
           "that has them",
           s.config.model.name);
     }},
    {"model-of-data",
     {"model.name", "data.name"},
     is_for_other_data,
     [](const Situation& s) {
       const ModelName& model = *model_of(s);
       const DataKind kind = *kind_of_data(s);
       return fmt::format("model.name: {} is for {}, but data.name: {} is {}", model.name,
                          describe_kind(model.input, model.task), s.config.data.name,
                          describe_kind(kind.input, kind.task));
     }},
    {"model-of-tensors",
     {"model.name"},
     [](const Situation& s) {
       return model_of(s) != nullptr && is_tensors(s) && !s.facts.data->input;
     },
     [](const Situation& s) {
       return fmt::format(
           "model.name: {} is for {}; tensors that are no images, square floats [N, channels, "
           "size, "
           "size], need a model of your own",
           s.config.model.name, describe_kind(model_of(s)->input, model_of(s)->task));
     }},
    {"dropout",
     {"model.dropout", "model.name"},
     [](const Situation& s) {
       return s.config.model.dropout > 0 && model_of(s) != nullptr && !model_of(s)->has_dropout;
     },
     [](const Situation& s) {
       return fmt::format("model.dropout: {} has none; only text models do", s.config.model.name);
     }},
    {"norm",
     {"model.norm", "model.name"},
     [](const Situation& s) {
       return s.config.model.norm != Norm::kBatch && model_of(s) != nullptr &&
              model_of(s)->norm_channels == 0;
     },
     [](const Situation& s) {
       return fmt::format(
           "model.norm: {} has none of batch and group; image models with "
           "convolutions do",
           s.config.model.name);
     }},
    {"held-out-blocks-are-unseen",
     {"data.validation", "data.stride", "data.block"},
     [](const Situation& s) {
       const DataConfig& data = s.config.data;
       const auto kind = find_data_kind(data);
       return data.validation > 0 && kind && kind->task == data::kLanguage && data.stride > 0 &&
              data.stride < data.block;
     },
     [](const Situation& s) {
       return fmt::format(
           "data.validation: with data.stride {} below data.block {} blocks that are held out "
           "share "
           "tokens with those that train; data.stride must be 0, or data.block or more",
           s.config.data.stride, s.config.data.block);
     }},
    {"mirrors-show-images",
     {"eval.mirror", "data.name"},
     [](const Situation& s) { return s.config.eval.mirror && is_text(s); },
     [](const Situation&) -> std::string {
       return "eval.mirror: true needs images; texts have no mirror image";
     }},
    {"stop-by-a-result-of-the-task",
     {"stop.at", "data.name"},
     [](const Situation& s) {
       const auto task = task_of_data(s);
       return s.config.stop.at && task && !has_metric(*task, s.config.stop.at->metric);
     },
     [](const Situation& s) {
       const data::Task task = *task_of_data(s);
       return fmt::format("stop.at: '{}', but this data is judged by {}",
                          to_text(*s.config.stop.at), fmt::join(metric_names(task), ", "));
     }},
};

}  // namespace

std::span<const Rule> data_rules() {
  return kDataRules;
}

}  // namespace impart::config
