#include "impart/train/run.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <torch/torch.h>

#include "impart/comm/job.h"
#include "impart/core/error.h"
#include "impart/core/file.h"
#include "impart/core/processor.h"
#include "impart/data/text/tokenizer.h"
#include "impart/placement/starts.h"
#include "impart/run/checkpoint.h"
#include "impart/run/run_directory.h"
#include "impart/run/run_files.h"
#include "impart/tensors/torch_stream.h"
#include "impart/train/own_model.h"
#include "impart/train/pretrained.h"
#include "impart/train/run_machine.h"
#include "impart/train/run_model.h"
#include "impart/train/trainer.h"

namespace impart::train {
namespace {

/// All processes must take the same checkpoint, so process 0 chooses.
/// Collective: every process calls it, in the same order.
std::string agree_on_checkpoint(const RunSpec& spec, comm::Communicator& communicator,
                                const RunObserver& observer) {
  std::vector<std::byte> path(4096);
  comm::run_on_first(communicator, [&] {
    const auto found = run::find_checkpoint(spec.config.output, [&](const std::string& message) {
      if (observer.note) observer.note(message);
    });
    const std::string chosen = found.value_or("");
    std::transform(chosen.begin(), chosen.end(), path.begin(),
                   [](char letter) { return static_cast<std::byte>(letter); });
  });
  communicator.broadcast(path, 0);
  return reinterpret_cast<const char*>(path.data());
}

run::EarlierRun earlier_run(const RunSpec& spec) {
  if (spec.resume) return run::EarlierRun::kResume;
  return spec.overwrite ? run::EarlierRun::kDelete : run::EarlierRun::kRefuse;
}

/// Without the tokenizer nobody could use a language model.
void keep_tokenizer(const feed::LoadedData& data, const std::string& folder) {
  const auto& text = data.dataset.text;
  if (text && text->tokenizer) data::save_tokenizer(*text->tokenizer, folder + "/tokenizer.txt");
}

/// The files that say what is run.
void write_first_files(const RunSpec& spec, const feed::LoadedData& data) {
  const std::string& folder = spec.config.output;
  run::clear_status(folder);
  write_file(folder + "/config.yaml", spec.config_text);
  run::write_environment(folder, {{"torch", TORCH_VERSION}});
  keep_tokenizer(data, folder);
}

/// What is known before the data is loaded.
config::Facts first_facts(const RunSpec& spec, const comm::Communicator& communicator) {
  return {.own = {.rows = spec.own,
                  .model = spec.own_model != nullptr,
                  .data = spec.own_data != nullptr},
          .has_gpu = torch::cuda::is_available(),
          .cpu_has_bf16 = has_bfloat16_products(read_processor()),
          .processes = communicator.size()};
}

void tell_notes(const feed::LoadedData& data, const RunObserver& observer) {
  if (!observer.note) return;
  for (const std::string& note : data.dataset.notes) observer.note(note);
}

/// `directory` is null on processes that do not write.
RunOutcome train(const RunSpec& spec, comm::Communicator& communicator, const RunObserver& observer,
                 feed::LoadedData data, const run::RunDirectory* directory,
                 Trainer::Clock::time_point began) {
  const torch::Device device = choose_device(spec.config, communicator);
  if (device.is_cuda()) tensors::use_device(device.index());
  const std::string checkpoint =
      spec.resume ? agree_on_checkpoint(spec, communicator, observer) : "";
  Trainer trainer(spec, communicator, observer,
                  prepare_run_data(std::move(data), spec.config, device, communicator), checkpoint);
  if (spec.resume && communicator.rank() == 0 && observer.note) {
    observer.note(checkpoint.empty() ? "no checkpoint to resume from; starting at the beginning"
                                     : "resuming from " + checkpoint);
  }
  return trainer.run(directory, began);
}

feed::LoadedData load_data(const RunSpec& spec) {
  if (spec.own_data) {
    return hold_out_validation(feed::take_own_data(spec.own_data(), spec.config.data.name),
                               spec.config);
  }
  return spec.load_data ? spec.load_data(spec.config) : load_run_data(spec.config);
}

void check_weights(const RunSpec& spec, const feed::LoadedData& data) {
  const std::string& from = spec.config.model.from;
  if (from.empty()) return;
  if (spec.own_model) {
    throw ConfigError(
        "model.from is for the models of 'impart list models'; load the weights into your own "
        "model before the run");
  }
  check_pretrained(from, trained::describe_model(spec.config, data.dataset));
}

/// A run that goes on has its weights and its parts in a checkpoint.
void check_start(const RunSpec& spec, const feed::LoadedData& data, std::uint64_t examples) {
  if (spec.resume) return;
  check_weights(spec, data);
  const std::string& owners = spec.config.partition.start_file;
  if (!owners.empty()) placement::read_start(owners, examples, spec.config.workers.count);
}

run::RunStatus status_of(const RunOutcome& outcome) {
  if (!outcome.failure.empty()) return run::RunStatus::kFailed;
  return outcome.preempted ? run::RunStatus::kPreempted : run::RunStatus::kDone;
}

/// The reason of a failure matters more than that it is written down.
void try_to_mark_failed(const std::string& folder, const run::RunDirectory& directory,
                        std::string_view reason) {
  try {
    directory.check_in_place();
    run::mark_status(folder, run::RunStatus::kFailed, reason);
  } catch (const Error&) {
  }
}

}  // namespace

RunOutcome run_training(const RunSpec& spec, comm::Communicator& communicator,
                        const RunObserver& observer) {
  // Everything that can be wrong with the input is found before the run directory is touched.
  const auto began = Trainer::Clock::now();
  placement::check_rows(spec.own);
  config::Facts facts = first_facts(spec, communicator);
  config::check_rules(spec.config, facts);
  set_threads(spec.config, communicator);
  set_precision(spec.config);
  communicator.set_activity({.phase = "load"});
  feed::LoadedData data = load_data(spec);
  facts.data = data_facts(data);
  config::check_rules(spec.config, facts);
  if (spec.own_model) check_own_model(*spec.own_model);
  check_start(spec, data, facts.data->examples);
  std::optional<run::RunDirectory> directory;  // on the process that writes
  comm::run_on_first(communicator, [&] {
    directory.emplace(spec.config.output, earlier_run(spec));
    write_first_files(spec, data);
    tell_notes(data, observer);
  });
  try {
    RunOutcome outcome = train(spec, communicator, observer, std::move(data),
                               directory ? &*directory : nullptr, began);
    if (directory) {
      directory->check_in_place();
      run::mark_status(spec.config.output, status_of(outcome), outcome.failure);
    }
    return outcome;
  } catch (const std::exception& error) {
    if (directory) try_to_mark_failed(spec.config.output, *directory, one_line_of(error));
    throw;
  }
}

}  // namespace impart::train
