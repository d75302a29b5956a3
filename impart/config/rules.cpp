#include "impart/config/rules.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "impart/config/model_names.h"
#include "impart/config/placeholders.h"
#include "impart/config/value_rules.h"
#include "impart/core/error.h"
#include "impart/core/named_table.h"
#include "impart/data/datasets.h"
#include "impart/data/remote/object_url.h"
#include "impart/placement/exchanges.h"
#include "impart/placement/norm_groups.h"
#include "impart/placement/schedule.h"
#include "impart/store/stores.h"

namespace impart::config {
namespace {

/// Whether the run computes on the CPU, as far as it is known.
bool is_on_cpu(const Situation& s) {
  return s.config.device == RunConfig::Device::kCpu || !s.facts.has_gpu.value_or(true);
}

bool is_partitioned(const Situation& s) {
  return !find_entry(store::kStores, "store", s.config.store.kind).holds_all;
}

const store::CachePolicyEntry& cache_policy(const StoreConfig& store) {
  return find_entry(store::kCachePolicies, "cache policy", store.cache_policy);
}

/// Whether anything is said of caches but their size, which every run has.
bool has_own_caches(const StoreConfig& store) {
  return cache_policy(store).is_planned || !store.cache_path.empty() || store.cooperative;
}

bool synchronises_steps(const Situation& s) {
  return s.config.workers.sync.kind == SyncRule::Kind::kStep;
}

/// The first key that is set and only matters where models differ; "" if none is.
std::string key_of_models(const Situation& s) {
  const WorkersConfig& workers = s.config.workers;
  if (workers.outer != placement::kPlainOuter) return "workers.outer: " + workers.outer;
  if (workers.sync_start.of(s.config.epochs) > 0) return "workers.sync_start";
  if (workers.outer_overlap) return "workers.outer_overlap: true";
  return s.config.eval.workers ? "eval.workers: true" : "";
}

/// Whether it is known that the run computes on a GPU.
bool is_on_gpu(const Situation& s) {
  return s.config.device == RunConfig::Device::kCuda ||
         (s.config.device == RunConfig::Device::kAuto && s.facts.has_gpu.value_or(false));
}

bool shares_batch_norm(const Situation& s) {
  return s.config.workers.norm_group() > 1;
}

bool wants_nccl(const Situation& s) {
  return s.config.workers.transport == WorkersConfig::Transport::kNccl;
}

bool exchanges(const Situation& s) {
  return s.config.exchange.strategy != kNoExchange;
}

bool selects(const Situation& s) {
  return s.config.selection.strategy != kNoSelection;
}

placement::PlacementSpec decisions(const Situation& s) {
  return placement_spec(s.config, s.facts.own.rows);
}

std::vector<placement::ScheduleEvent> schedule(const Situation& s) {
  return placement::make_schedule(placement::schedule_spec(decisions(s)));
}

/// Why there is no schedule; "" if there is one.
std::string schedule_error(const Situation& s) {
  try {
    schedule(s);
    return "";
  } catch (const ConfigError& error) {
    return error.what();
  }
}

/// The first epoch that starts with an exchange; none if no epoch does.
std::optional<std::uint32_t> first_exchange(const Situation& s) {
  for (const placement::ScheduleEvent& event : schedule(s)) {
    if (event.kind == placement::ScheduleEvent::Kind::kExchange) return event.epoch;
  }
  return std::nullopt;
}

/// The model from the table that is trained; nullptr if a program brings another.
const ModelName* model_of(const Situation& s) {
  return s.facts.own.model ? nullptr : find_model_name(s.config.model.name);
}

bool is_tensors(const Situation& s) {
  return s.facts.data && s.facts.data->is_tensors;
}

/// As loaded, or as the name tells; none if neither says it.
std::optional<DataKind> kind_of_data(const Situation& s) {
  if (s.facts.data && !s.facts.data->input) return std::nullopt;
  if (s.facts.data) return DataKind{*s.facts.data->input, s.facts.data->task};
  return s.facts.own.data ? std::nullopt : find_data_kind(s.config.data);
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

bool is_text(const Situation& s) {
  const auto kind = kind_of_data(s);
  return kind && kind->input == data::Input::kTokens;
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

/// The first notion that is kept and needs to be told how hard examples are; "" if none does.
std::string notion_of_truth(const Situation& s) {
  for (const importance::AnyNotion& notion : placement::tracked_notions(decisions(s))) {
    if (importance::overlap(notion.needs, importance::StateSet::kTruth)) {
      return std::string(notion.name);
    }
  }
  return "";
}

bool uses_labels(const Situation& s) {
  return decisions(s).heuristic.uses_labels;
}

constexpr Rule kRules[] = {
    {"name-is-given",
     {"name"},
     [](const Situation& s) { return s.config.name.empty(); },
     [](const Situation&) -> std::string { return "name is empty; reports need one"; }},
    {"name-in-paths",
     {"name"},
     [](const Situation& s) { return s.config.name.find_first_of("/{}") != std::string::npos; },
     [](const Situation& s) {
       return fmt::format("name: '{}' has one of / {{ }}; it becomes a part of a path",
                          s.config.name);
     }},
    {"output-is-given",
     {"output"},
     [](const Situation& s) { return s.config.output.empty(); },
     [](const Situation&) -> std::string { return "output is empty; expected the run directory"; }},
    {"output-placeholders",
     {"output"},
     [](const Situation& s) { return !find_unknown_placeholder(s.config.output).empty(); },
     [](const Situation& s) { return describe_unknown_placeholder("output", s.config.output); }},

    {"precision-of-cpu",
     {"precision", "device"},
     [](const Situation& s) {
       return s.config.precision != RunConfig::Precision::kFp32 && is_on_cpu(s);
     },
     [](const Situation&) -> std::string {
       return "precision: tf32 and bf16 are for NVIDIA GPUs; on the CPU take fp32";
     }},
    {"transport-of-cpu",
     {"workers.transport", "device"},
     [](const Situation& s) { return wants_nccl(s) && is_on_cpu(s); },
     [](const Situation&) -> std::string {
       return "workers.transport: nccl is for NVIDIA GPUs; on the CPU take auto or mpi";
     }},
    {"device-is-there",
     {"device"},
     [](const Situation& s) {
       return s.config.device == RunConfig::Device::kCuda && !s.facts.has_gpu.value_or(true);
     },
     [](const Situation&) -> std::string {
       return "device: cuda, but no CUDA device can be used; take device=cpu or auto";
     }},

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
    {"workers-have-examples",
     {"workers.count"},
     [](const Situation& s) {
       return s.facts.data && s.config.workers.count > s.facts.data->examples;
     },
     [](const Situation& s) {
       return fmt::format("workers.count: there are {} workers, but only {} training examples",
                          s.config.workers.count, s.facts.data->examples);
     }},
    {"processes-have-workers",
     {"workers.count"},
     [](const Situation& s) { return s.facts.processes.value_or(1) > s.config.workers.count; },
     [](const Situation& s) {
       return fmt::format(
           "workers.count: {} processes for {} workers: every process hosts at least one worker",
           *s.facts.processes, s.config.workers.count);
     }},
    {"batch-norm-of-one-model",
     {"workers.batch_norm", "workers.sync"},
     [](const Situation& s) { return shares_batch_norm(s) && !synchronises_steps(s); },
     [](const Situation& s) {
       return fmt::format(
           "workers.batch_norm: {} needs workers.sync: step; models that differ have no common "
           "statistics",
           norm_sharing().write(s.config.workers.batch_norm).front());
     }},
    {"outer-of-models",
     {"workers.outer", "workers.sync_start", "workers.outer_overlap", "eval.workers",
      "workers.sync"},
     [](const Situation& s) { return synchronises_steps(s) && !key_of_models(s).empty(); },
     [](const Situation& s) {
       return fmt::format(
           "{} needs workers.sync: epoch or a number of steps; models that average every gradient "
           "never differ",
           key_of_models(s));
     }},
    {"outer-rates",
     {"workers.outer_lr", "workers.outer_momentum", "workers.outer"},
     [](const Situation& s) {
       const WorkersConfig& workers = s.config.workers;
       return workers.outer == placement::kPlainOuter &&
              (workers.outer_lr || workers.outer_momentum);
     },
     [](const Situation&) -> std::string {
       return "workers.outer_lr, workers.outer_momentum: the mean of models has no rates; take "
              "workers.outer: nesterov or slowmo";
     }},
    {"models-come-apart",
     {"workers.sync_start", "epochs"},
     [](const Situation& s) {
       return s.config.workers.sync_start.of(s.config.epochs) >= s.config.epochs;
     },
     [](const Situation& s) {
       return fmt::format("workers.sync_start is {}, but epochs is {}: take workers.sync: step",
                          s.config.workers.sync_start.of(s.config.epochs), s.config.epochs);
     }},
    {"overlap-of-steps",
     {"workers.outer_overlap", "workers.sync"},
     [](const Situation& s) {
       return s.config.workers.outer_overlap &&
              s.config.workers.sync.kind == SyncRule::Kind::kEpoch;
     },
     [](const Situation&) -> std::string {
       return "workers.outer_overlap: the sum at the end of an epoch is waited for; take "
              "workers.sync: a number of steps";
     }},
    {"batch-norm-over-gpus",
     {"workers.batch_norm", "workers.count", "device"},
     [](const Situation& s) {
       return is_on_gpu(s) && placement::NormGroups{.workers = s.config.workers.count,
                                                    .size = s.config.workers.norm_group(),
                                                    .processes = s.facts.processes.value_or(1)}
                                  .are_cut();
     },
     [](const Situation& s) {
       const WorkersConfig& workers = s.config.workers;
       return fmt::format(
           "workers.batch_norm: {} of {} workers share statistics, but GPUs share none, and {} "
           "processes part them; take fewer processes, device=cpu, or groups that lie within a "
           "process",
           workers.norm_group(), workers.count, *s.facts.processes);
     }},
    {"batch-norm-exactly",
     {"workers.batch_norm", "workers.reduce", "device"},
     [](const Situation& s) {
       return is_on_gpu(s) && shares_batch_norm(s) &&
              s.config.workers.reduce == WorkersConfig::Reduce::kExact;
     },
     [](const Situation&) -> std::string {
       return "workers.batch_norm: workers that share statistics under workers.reduce: exact wait "
              "for each other inside of a pass, which is for the CPU; take device=cpu or "
              "reduce=fast";
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
    {"transport-of-steps",
     {"workers.transport", "workers.sync", "workers.reduce", "workers.micro_batch"},
     [](const Situation& s) {
       const bool one_pass = !synchronises_steps(s) || s.facts.updates_on_device.value_or(true);
       return wants_nccl(s) &&
              !(one_pass && s.config.workers.reduce == WorkersConfig::Reduce::kFast);
     },
     [](const Situation&) -> std::string {
       return "workers.transport: nccl needs workers.reduce: fast, and where gradients are "
              "averaged "
              "in every step those of one forward pass (workers.micro_batch); take auto";
     }},

    {"nesterov",
     {"optimizer.nesterov", "optimizer.momentum"},
     [](const Situation& s) {
       const OptimizerConfig& optimizer = s.config.optimizer;
       return optimizer.name == OptimizerConfig::Name::kSgd && optimizer.nesterov &&
              optimizer.momentum == 0;
     },
     [](const Situation&) -> std::string {
       return "optimizer.nesterov: true needs optimizer.momentum above 0";
     }},
    {"learning-rate-warm-up",
     {"optimizer.warmup_epochs", "epochs"},
     [](const Situation& s) {
       return s.config.optimizer.warmup_epochs.of(s.config.epochs) > s.config.epochs;
     },
     [](const Situation& s) {
       return fmt::format("optimizer.warmup_epochs is {}, but epochs is {}",
                          s.config.optimizer.warmup_epochs.of(s.config.epochs), s.config.epochs);
     }},

    {"root-on-server",
     {"data.root", "data.name"},
     [](const Situation& s) {
       const std::string& name = s.config.data.name;
       return data::is_remote(s.config.data.root) && name != "mds" && name != "imagefolder";
     },
     [](const Situation& s) {
       return fmt::format(
           "data.root is on a server, but data.name is {}: only mds and imagefolder are read from "
           "there; 'impart data pack' makes shards of other data",
           s.config.data.name);
     }},
    {"secrets-in-root",
     {"data.root"},
     [](const Situation& s) {
       return data::is_remote(s.config.data.root) &&
              !data::find_fault_in_root(s.config.data.root).empty();
     },
     [](const Situation& s) { return data::find_fault_in_root(s.config.data.root); }},
    {"files-of-parts",
     {"store.files", "store.kind"},
     [](const Situation& s) { return is_partitioned(s) && s.config.store.files; },
     [](const Situation&) -> std::string {
       return "store.files: true needs store.kind: replicated; parts have a store.path";
     }},
    {"path-of-parts",
     {"store.path", "store.kind"},
     [](const Situation& s) { return !is_partitioned(s) && !s.config.store.path.empty(); },
     [](const Situation&) -> std::string {
       return "store.path needs store.kind: partitioned; replicated stores have no parts";
     }},
    {"path-placeholders",
     {"store.path"},
     [](const Situation& s) { return !find_unknown_placeholder(s.config.store.path).empty(); },
     [](const Situation& s) {
       return describe_unknown_placeholder("store.path", s.config.store.path);
     }},
    {"cache-of-parts",
     {"store.cache_policy", "store.cache_path", "store.cooperative", "store.kind"},
     [](const Situation& s) { return is_partitioned(s) && has_own_caches(s.config.store); },
     [](const Situation&) -> std::string {
       return "store.cache_policy, store.cache_path and store.cooperative need store.kind: "
              "replicated; a partitioned store holds all that its workers visit";
     }},
    {"cache-on-disk",
     {"store.cache_path", "store.cache_disk"},
     [](const Situation& s) {
       return s.config.store.cache_path.empty() != (s.config.store.cache_disk == 0);
     },
     [](const Situation& s) -> std::string {
       return s.config.store.cache_disk == 0
                  ? "store.cache_path needs store.cache_disk: how many MiB each process may keep"
                  : "store.cache_disk needs store.cache_path: the local folder that it is for";
     }},
    {"cache-without-room",
     {"store.cache_policy", "store.cache", "store.cache_disk"},
     [](const Situation& s) {
       const StoreConfig& store = s.config.store;
       return cache_policy(store).is_planned && store.cache == 0 && store.cache_disk == 0;
     },
     [](const Situation& s) {
       return fmt::format(
           "store.cache_policy: {} has no room to keep anything: give store.cache (MiB in memory), "
           "or store.cache_path and store.cache_disk",
           s.config.store.cache_policy);
     }},
    {"cooperating-caches",
     {"store.cooperative", "store.cache_policy"},
     [](const Situation& s) {
       return s.config.store.cooperative && !cache_policy(s.config.store).is_planned;
     },
     [](const Situation& s) {
       return fmt::format(
           "store.cooperative: true needs store.cache_policy: pin or importance; nobody knows what "
           "others keep with {}",
           s.config.store.cache_policy);
     }},
    {"files-of-text",
     {"store.files", "data.name"},
     [](const Situation& s) { return s.config.store.files && is_text(s); },
     [](const Situation&) -> std::string {
       return "store.files: text is read into memory once; take store.files: false";
     }},
    {"store-of-tensors",
     {"store.kind", "store.files"},
     [](const Situation& s) {
       return is_tensors(s) && (is_partitioned(s) || s.config.store.files);
     },
     [](const Situation&) -> std::string {
       return "store: tensors of your own are in memory on every process; for store.kind: "
              "partitioned or store.files give images or an ExampleData";
     }},

    {"partition-warm-up",
     {"partition.warmup", "epochs"},
     [](const Situation& s) {
       return s.config.partition.warmup.of(s.config.epochs) > s.config.epochs;
     },
     [](const Situation& s) {
       return fmt::format(
           "partition.warmup is {}, but epochs is {}; warm up for fewer epochs, or train for more",
           s.config.partition.warmup.of(s.config.epochs), s.config.epochs);
     }},
    {"schedule",
     {"importance.ignore", "partition.warmup", "partition.interval", "epochs"},
     [](const Situation& s) { return !schedule_error(s).empty(); },
     [](const Situation& s) {
       return fmt::format("importance.ignore {}, partition.warmup {}, interval {}: {}",
                          s.config.importance.ignore.of(s.config.epochs),
                          s.config.partition.warmup.of(s.config.epochs),
                          s.config.partition.interval.of(s.config.epochs), schedule_error(s));
     }},
    {"labels-of-heuristic",
     {"partition.heuristic", "data.name"},
     [](const Situation& s) {
       const auto kind = kind_of_data(s);
       return kind && kind->task == data::kLanguage && uses_labels(s);
     },
     [](const Situation& s) {
       return fmt::format("partition.heuristic: {} needs the label of every example",
                          s.config.partition.heuristic);
     }},
    {"labels-of-start",
     {"partition.start", "data.name"},
     [](const Situation& s) {
       const auto kind = kind_of_data(s);
       return kind && kind->task == data::kLanguage && decisions(s).start.uses_labels;
     },
     [](const Situation& s) {
       return fmt::format(
           "partition.start: {} needs the label of every example, and language has none; take "
           "random, contiguous or file",
           s.config.partition.start);
     }},
    {"file-of-start",
     {"partition.start", "partition.start_file"},
     [](const Situation& s) {
       return decisions(s).start.needs_file == s.config.partition.start_file.empty();
     },
     [](const Situation& s) -> std::string {
       return s.config.partition.start_file.empty()
                  ? fmt::format("partition.start: {} needs partition.start_file",
                                s.config.partition.start)
                  : "partition.start_file needs partition.start: file";
     }},
    {"truth-of-notion",
     {"importance.notion", "importance.record", "data.name"},
     [](const Situation& s) {
       return s.facts.data && !s.facts.data->has_truth && !notion_of_truth(s).empty();
     },
     [](const Situation& s) {
       return fmt::format(
           "importance.notion: the notion '{}' needs a data set that knows how hard its examples "
           "are",
           notion_of_truth(s));
     }},

    {"exchange-of-workers",
     {"exchange.strategy", "workers.count"},
     [](const Situation& s) { return exchanges(s) && s.config.workers.count < 2; },
     [](const Situation& s) {
       return fmt::format("exchange.strategy: {} needs workers.count of 2 or more",
                          s.config.exchange.strategy);
     }},
    {"exchange-of-something",
     {"exchange.strategy", "exchange.fraction"},
     [](const Situation& s) { return exchanges(s) && s.config.exchange.fraction == 0; },
     [](const Situation& s) {
       return fmt::format("exchange.strategy: {} needs exchange.fraction above 0",
                          s.config.exchange.strategy);
     }},
    {"exchange-happens",
     {"exchange.strategy", "epochs", "partition.warmup", "partition.interval"},
     [](const Situation& s) { return exchanges(s) && !first_exchange(s); },
     [](const Situation& s) {
       return fmt::format(
           "exchange.strategy: {} would never exchange: with epochs {}, partition.warmup {} and "
           "partition.interval {} every epoch starts with a new partition",
           s.config.exchange.strategy, s.config.epochs,
           s.config.partition.warmup.of(s.config.epochs),
           s.config.partition.interval.of(s.config.epochs));
     }},
    {"exchange-by-importance",
     {"exchange.strategy", "importance.ignore"},
     [](const Situation& s) {
       return exchanges(s) &&
              decisions(s).exchange->source == placement::ImportanceSource::kNotion &&
              s.config.importance.ignore.of(s.config.epochs) >= *first_exchange(s);
     },
     [](const Situation& s) {
       return fmt::format(
           "exchange.strategy: {} exchanges by importance from epoch {} on, but importance.ignore "
           "is {}; ignore fewer epochs",
           s.config.exchange.strategy, *first_exchange(s) + 1,
           s.config.importance.ignore.of(s.config.epochs));
     }},

    {"selection-of-parts",
     {"selection.strategy", "workers.uneven"},
     [](const Situation& s) {
       return selects(s) && s.config.workers.uneven != placement::Uneven::kWeight;
     },
     [](const Situation& s) {
       return fmt::format(
           "selection.strategy: {} needs workers.uneven: weight; repeated or dropped visits would "
           "undo the selection",
           s.config.selection.strategy);
     }},
    {"selection-of-something",
     {"selection.strategy", "selection.final", "epochs"},
     [](const Situation& s) {
       return selects(s) && decisions(s).selecting.final_epochs >= s.config.epochs;
     },
     [](const Situation& s) {
       return fmt::format(
           "selection.strategy: {} would never select: selection.final is {} of {} epochs",
           s.config.selection.strategy, decisions(s).selecting.final_epochs, s.config.epochs);
     }},
    {"prune-happens",
     {"selection.after", "epochs"},
     [](const Situation& s) {
       return decisions(s).selection.needs.for_good &&
              decisions(s).selecting.after >= s.config.epochs;
     },
     [](const Situation& s) {
       return fmt::format("selection.after is {}, but epochs is {}: nothing would be pruned",
                          decisions(s).selecting.after, s.config.epochs);
     }},
    {"learning-rate-of-hidden",
     {"selection.lr", "selection.strategy"},
     [](const Situation& s) {
       return s.config.selection.lr == SelectionConfig::Rate::kScale && selects(s) &&
              decisions(s).selection.needs.keeps_sum;
     },
     [](const Situation& s) {
       return fmt::format(
           "selection.lr: scale counts twice with selection.strategy: {}, whose weights make up "
           "for what is hidden; take keep",
           s.config.selection.strategy);
     }},
};
static_assert(names_are_unique(kRules));

}  // namespace

std::span<const Rule> all_rules() {
  return kRules;
}

const Rule* find_broken_rule(const RunConfig& config, const Facts& facts) {
  const Situation situation{config, facts};
  const auto* found = std::find_if(std::begin(kRules), std::end(kRules),
                                   [&](const Rule& rule) { return rule.is_broken(situation); });
  return found == std::end(kRules) ? nullptr : found;
}

void check_rules(const RunConfig& config, const Facts& facts) {
  const Rule* broken = find_broken_rule(config, facts);
  if (broken != nullptr) throw ConfigError(broken->message({config, facts}));
}

std::optional<DataKind> find_data_kind(const DataConfig& data) {
  const auto* row = std::find_if(std::begin(data::kDatasets), std::end(data::kDatasets),
                                 [&](const auto& entry) { return entry.name == data.name; });
  if (row == std::end(data::kDatasets)) return std::nullopt;
  if (row->input == data::Input::kImages) return DataKind{row->input, data::kClasses};
  const bool has_classes = data.name == "table" && !data.label_column.empty();
  return DataKind{row->input, has_classes ? data::kClasses : data::kLanguage};
}

}  // namespace impart::config
