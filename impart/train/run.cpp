#include "impart/train/run.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <torch/torch.h>

#include "impart/comm/launcher.h"
#include "impart/core/error.h"
#include "impart/core/file.h"
#include "impart/data/text/tokenizer.h"
#include "impart/run/checkpoint.h"
#include "impart/run/run_directory.h"
#include "impart/run/run_files.h"
#include "impart/tensors/threads.h"
#include "impart/tensors/torch_stream.h"
#include "impart/train/own_model.h"
#include "impart/train/run_model.h"
#include "impart/train/trainer.h"

namespace impart::train {
namespace {

comm::Neighbours neighbours_of(const comm::Communicator& communicator) {
  return comm::find_neighbours(communicator, [](const char* name) { return std::getenv(name); });
}

void set_threads(const config::RunConfig& config, const comm::Communicator& communicator) {
  const std::uint32_t cores = std::max(1u, std::thread::hardware_concurrency());
  const std::uint32_t share = std::max(1u, cores / neighbours_of(communicator).processes);
  tensors::set_threads(static_cast<int>(config.threads > 0 ? config.threads : share));
}

/// All processes must take the same checkpoint, so process 0 chooses.
/// Collective: every process calls it, in the same order.
std::string agree_on_checkpoint(const RunSpec& spec, comm::Communicator& communicator,
                                const RunObserver& observer) {
  std::vector<std::byte> path(4096);
  if (communicator.rank() == 0) {
    const auto found = run::find_checkpoint(spec.config.output, [&](const std::string& message) {
      if (observer.note) observer.note(message);
    });
    const std::string chosen = found.value_or("");
    std::transform(chosen.begin(), chosen.end(), path.begin(),
                   [](char letter) { return static_cast<std::byte>(letter); });
  }
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

bool runs_on_gpu(const config::RunConfig& config) {
  return config.device != config::RunConfig::Device::kCpu && torch::cuda::is_available();
}

/// The GPUs of a machine go round its processes.
torch::Device choose_device(const config::RunConfig& config,
                            const comm::Communicator& communicator) {
  if (!runs_on_gpu(config)) return torch::kCPU;
  const auto index = neighbours_of(communicator).number % torch::cuda::device_count();
  return {torch::kCUDA, static_cast<c10::DeviceIndex>(index)};
}

/// What is known before the data is loaded.
config::Facts first_facts(const RunSpec& spec, const comm::Communicator& communicator) {
  return {.own = {.rows = spec.own,
                  .model = spec.own_model != nullptr,
                  .data = spec.own_data != nullptr},
          .has_gpu = torch::cuda::is_available(),
          .processes = communicator.size()};
}

/// Which arithmetic torch's libraries may use for floats on a GPU. They take their first guess of
/// an algorithm: to try several takes longer than it saves in a run of seconds, and may end
/// differently every time. But their guess for exact floats is bad.
void set_precision(const config::RunConfig& config) {
  const bool tf32 = config.precision != config::RunConfig::Precision::kFp32;
  at::globalContext().setAllowTF32CuDNN(tf32);
  at::globalContext().setAllowTF32CuBLAS(tf32);
  at::globalContext().setBenchmarkCuDNN(!tf32);
}

void tell_notes(const feed::LoadedData& data, const RunObserver& observer) {
  if (!observer.note) return;
  for (const std::string& note : data.dataset.notes) observer.note(note);
}

/// `directory` is null on processes that do not write.
RunOutcome train(const RunSpec& spec, comm::Communicator& communicator, const RunObserver& observer,
                 feed::LoadedData data, const run::RunDirectory* directory) {
  const torch::Device device = choose_device(spec.config, communicator);
  if (device.is_cuda()) tensors::use_device(device.index());
  Trainer trainer(spec, communicator, observer,
                  prepare_run_data(std::move(data), spec.config, device, communicator));
  if (!spec.resume) return trainer.run(directory);
  const std::string checkpoint = agree_on_checkpoint(spec, communicator, observer);
  if (!checkpoint.empty()) trainer.restore(checkpoint);
  if (communicator.rank() == 0 && observer.note) {
    observer.note(checkpoint.empty() ? "no checkpoint to resume from; starting at the beginning"
                                     : "resuming from " + checkpoint);
  }
  return trainer.run(directory);
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
  placement::check_rows(spec.own);
  config::Facts facts = first_facts(spec, communicator);
  config::check_rules(spec.config, facts);
  set_threads(spec.config, communicator);
  set_precision(spec.config);
  communicator.set_activity({.phase = "load"});
  feed::LoadedData data = spec.own_data
                              ? feed::take_own_data(spec.own_data(), spec.config.data.name)
                              : load_run_data(spec.config);
  facts.data = data_facts(data);
  config::check_rules(spec.config, facts);
  if (spec.own_model) check_own_model(*spec.own_model);
  std::optional<run::RunDirectory> directory;  // on the process that writes
  if (communicator.rank() == 0) {
    directory.emplace(spec.config.output, earlier_run(spec));
    write_first_files(spec, data);
    tell_notes(data, observer);
  }
  communicator.barrier();
  try {
    RunOutcome outcome =
        train(spec, communicator, observer, std::move(data), directory ? &*directory : nullptr);
    if (directory) {
      directory->check_in_place();
      run::mark_status(spec.config.output, status_of(outcome), outcome.failure);
    }
    return outcome;
  } catch (const std::exception& error) {
    if (directory) try_to_mark_failed(spec.config.output, *directory, error.what());
    throw;
  }
}

}  // namespace impart::train
