#include "impart/train/run_state.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <torch/torch.h>

#include "impart/core/column_file.h"
#include "impart/core/error.h"
#include "impart/core/file.h"
#include "impart/core/json.h"
#include "impart/core/safetensors.h"
#include "impart/importance/table_file.h"
#include "impart/models/state.h"
#include "impart/run/checkpoint.h"
#include "impart/run/epoch_record.h"
#include "impart/tensors/tensor_bytes.h"

namespace impart::train {
namespace {

using nlohmann::json;

constexpr const char* kVisitIds = "visits.ids";
constexpr const char* kVisitValues = "visits.values";
constexpr const char* kArrivals = "arrivals";
constexpr const char* kGone = "gone";
constexpr const char* kStartOwners = "start";
constexpr const char* kSeen = "seen";
constexpr const char* kTimesHidden = "times_hidden";

template <class Value>
void put(json& into, const char* name, const Value& value) {
  into[name] = value;
}
template <class Value>
void put(json& into, const char* name, const std::optional<Value>& value) {
  if (value) into[name] = *value;
}

/// NaN is written as null.
double number_of(const json& written) {
  return written.is_null() ? std::nan("") : written.get<double>();
}

void take(const json& from, const char* name, std::optional<double>& value) {
  if (from.contains(name)) value = number_of(from.at(name));
}
template <class Value>
void take(const json& from, const char* name, std::optional<Value>& value) {
  if (from.contains(name)) value = from.at(name).get<Value>();
}
/// Checkpoints of older versions may lack what came later.
template <class Value>
void take(const json& from, const char* name, Value& value) {
  if (from.contains(name)) from.at(name).get_to(value);
}

json describe(const RunState& state) {
  json summary;
  run::for_each_summary_member(state.summary,
                               [&](const char* name, const auto& value, run::OnResume on_resume) {
                                 if (on_resume != run::OnResume::kFromState)
                                   put(summary, name, value);
                               });
  json content = {{"epoch", state.epoch},
                  {"step", state.step},
                  {"total_steps", state.total_steps},
                  {"config_hash", state.config_hash},
                  {"seconds_total", state.seconds_total},
                  {"threads", state.threads},
                  {"summary", summary}};
  for (const SyncRecord& sync : state.syncs) {
    content["syncs"].push_back({sync.step, sync.divergence});
  }
  if (state.change) {
    json change = {static_cast<int>(state.change->kind)};
    run::for_each_change_member(*state.change, [&](const char*, const auto& value, const char*) {
      change.push_back(value);
    });
    content["change"] = change;
  }
  return content;
}

placement::PlacementChange parse_change(const json& written) {
  placement::PlacementChange change{
      .kind = static_cast<placement::ScheduleEvent::Kind>(written.at(0).get<int>())};
  std::size_t at = 1;
  run::for_each_change_member(change, [&]<class Value>(const char*, Value& value, const char*) {
    if (at == written.size()) return;  // checkpoints of older versions have fewer
    const json& number = written.at(at++);
    if constexpr (std::is_floating_point_v<Value>) {
      value = number_of(number);
    } else {
      value = number.get<Value>();
    }
  });
  return change;
}

RunState parse(const json& content) {
  RunState state{.epoch = content.at("epoch"),
                 .step = content.at("step"),
                 .total_steps = content.at("total_steps"),
                 .config_hash = content.at("config_hash"),
                 .seconds_total = content.at("seconds_total"),
                 .threads = content.value("threads", 0)};
  const json& summary = content.at("summary");
  run::for_each_summary_member(state.summary,
                               [&](const char* name, auto& value, run::OnResume on_resume) {
                                 if (on_resume == run::OnResume::kGoesOn)
                                   take(summary, name, value);
                               });
  if (content.contains("change")) state.change = parse_change(content.at("change"));
  for (const json& sync : content.value("syncs", json::array())) {
    state.syncs.push_back(
        {.step = sync.at(0).get<std::uint32_t>(), .divergence = number_of(sync.at(1))});
  }
  return state;
}

torch::Tensor tensor_of(const std::vector<ExampleId>& ids) {
  std::vector<std::int64_t> numbers;
  for (const ExampleId id : ids) numbers.push_back(static_cast<std::int64_t>(index(id)));
  return torch::tensor(numbers, torch::kInt64);
}

std::vector<ExampleId> ids_of(const torch::Tensor& tensor, std::uint64_t examples,
                              const std::string& path) {
  const auto* numbers = tensor.data_ptr<std::int64_t>();
  std::vector<ExampleId> ids;
  for (std::int64_t i = 0; i < tensor.numel(); ++i) {
    ids.push_back(ExampleId{static_cast<std::uint64_t>(numbers[i])});
    if (index(ids.back()) >= examples) {
      throw DataError(
          fmt::format("{}: names example {}, but there are {}", path, index(ids.back()), examples));
    }
  }
  return ids;
}

void write_tensors(const std::string& path, const RunState& state,
                   const placement::Placement& placement) {
  std::vector<torch::Tensor> keep_alive;
  std::vector<TensorView> views;
  const auto add = [&](const std::string& name, const torch::Tensor& tensor) {
    keep_alive.push_back(tensor.contiguous());
    views.push_back(tensors::view_of(name, keep_alive.back()));
  };
  for (const auto& [name, tensor] : state.tensors) add(name, tensor);
  if (!state.visit_ids.empty()) {
    add(kVisitIds, tensor_of(state.visit_ids));
    add(kVisitValues, torch::tensor(state.visit_values, torch::kFloat32));
  }
  if (!state.times_hidden.empty()) {
    const std::vector<std::int32_t> times(state.times_hidden.begin(), state.times_hidden.end());
    add(kTimesHidden, torch::tensor(times, torch::kInt32));
  }
  if (!placement.arrivals().empty()) add(kArrivals, tensor_of(placement.arrivals()));
  if (!placement.gone().empty()) add(kGone, tensor_of(placement.gone()));
  if (placement.mixing()) {
    std::vector<std::int32_t> owners;
    for (const WorkerId owner : placement.mixing()->start().owners()) {
      owners.push_back(static_cast<std::int32_t>(index(owner)));
    }
    const auto bits = placement.mixing()->bits();
    add(kStartOwners, torch::tensor(owners, torch::kInt32));
    add(kSeen, torch::tensor(at::ArrayRef<std::uint8_t>(bits.data(), bits.size()), torch::kUInt8));
  }
  write_safetensors(path, views);
}

/// What a placement is restored with, besides its files.
struct PlacementIds {
  std::vector<ExampleId> arrivals, gone;
  std::vector<WorkerId> start;
  std::vector<std::uint8_t> seen;
};

PlacementIds read_tensors(const std::string& path, std::uint64_t examples, RunState& state) {
  const SafetensorsFile file(path);
  PlacementIds found;
  for (const TensorView& view : file.tensors()) {
    const torch::Tensor tensor = tensors::copy_of(view);
    if (view.name == kVisitIds) {
      state.visit_ids = ids_of(tensor, examples, path);
    } else if (view.name == kArrivals) {
      found.arrivals = ids_of(tensor, examples, path);
    } else if (view.name == kGone) {
      found.gone = ids_of(tensor, examples, path);
    } else if (view.name == kStartOwners) {
      const auto* owners = tensor.data_ptr<std::int32_t>();
      for (std::int64_t i = 0; i < tensor.numel(); ++i) {
        found.start.push_back(WorkerId{static_cast<std::uint32_t>(owners[i])});
      }
    } else if (view.name == kSeen) {
      const auto* bytes = tensor.data_ptr<std::uint8_t>();
      found.seen.assign(bytes, bytes + tensor.numel());
    } else if (view.name == kTimesHidden) {
      const auto* times = tensor.data_ptr<std::int32_t>();
      state.times_hidden.assign(times, times + tensor.numel());
    } else if (view.name == kVisitValues) {
      const auto* values = tensor.data_ptr<float>();
      state.visit_values.assign(values, values + tensor.numel());
    } else {
      state.tensors.emplace_back(view.name, tensor);
    }
  }
  return found;
}

/// A table of other examples or notions than the run's cannot go on.
void check_fits(const importance::TableSpec& found, const importance::TableSpec& wanted,
                const std::string& path) {
  const auto same_name = [](const importance::AnyNotion& a, const importance::AnyNotion& b) {
    return a.name == b.name;
  };
  const bool same_notions = std::equal(found.notions.begin(), found.notions.end(),
                                       wanted.notions.begin(), wanted.notions.end(), same_name);
  if (found.examples == wanted.examples && same_notions && found.history == wanted.history) return;
  throw ConfigError(
      fmt::format("{}: is of other data or notions than this run; resume it with the "
                  "importance.* settings it was started with",
                  path));
}

}  // namespace

void save_run_state(const std::string& run_folder, const RunState& state,
                    const CheckpointParts& parts, std::uint32_t keep) {
  const placement::Placement& placement = parts.placement;
  run::CheckpointWriter checkpoint(run_folder, state.total_steps);
  models::save_model(checkpoint.path(trained::kWeightsFile), parts.model);
  trained::write_card(checkpoint.path(trained::kCardFile), parts.card);
  if (parts.tokenizer) {
    data::save_tokenizer(*parts.tokenizer, checkpoint.path(trained::kTokenizerFile));
  }
  write_tensors(checkpoint.path("training.safetensors"), state, placement);
  importance::save_table(checkpoint.path("importance.table"), placement.table());
  placement::write_partition(checkpoint.path("partition.npy"), placement.partition());
  write_scores(checkpoint.path("dealt_by.npy"), "importance", placement.dealt_by());
  write_file(checkpoint.path("state.json"), describe(state).dump(2) + "\n");
  checkpoint.finish(keep);
}

RunState load_run_state(const std::string& checkpoint, placement::Placement& placement,
                        models::Classifier& model) {
  const auto path = [&](const char* file) { return fmt::format("{}/{}", checkpoint, file); };
  RunState state;
  const InputFile file(path("state.json"));
  try {
    state = parse(parse_json(file.text(), file.path()));
  } catch (const json::exception& error) {
    throw DataError(fmt::format("{}: {}", file.path(), error.what()));
  }
  const importance::TableSpec& wanted = placement.table().spec();
  importance::ImportanceTable table =
      importance::load_table(path("importance.table"), wanted.notions);
  check_fits(table.spec(), wanted, path("importance.table"));
  placement::Partition partition =
      placement::read_partition(path("partition.npy"), placement.partition().workers());
  const ScoresFile scores(path("dealt_by.npy"));
  std::vector<float> dealt_by;
  scores.scores().visit([&](auto values) { dealt_by.assign(values.begin(), values.end()); });
  models::load_model(path(trained::kWeightsFile), model);
  PlacementIds ids = read_tensors(path("training.safetensors"), partition.examples(), state);
  std::optional<placement::Mixing> mixing;
  if (!ids.seen.empty()) {
    mixing.emplace(placement::Partition(std::move(ids.start), partition.workers()),
                   std::move(ids.seen));
  }
  placement.restore(std::move(partition), std::move(table), std::move(dealt_by),
                    std::move(ids.arrivals), std::move(ids.gone), std::move(mixing));
  return state;
}

}  // namespace impart::train
