// impart evaluate, predict, sample: what is asked for.

#include "cli/trained/requests.h"

#include <memory>

#include "cli/commands.h"
#include "cli/numbers.h"
#include "impart/core/error.h"
#include <CLI/CLI.hpp>

namespace impart::cli {
namespace {

constexpr const char* kTrainedHelp =
    "a run directory (its newest checkpoint), a checkpoint, or a folder of 'impart export'";

void add_evaluate_command(CLI::App& app) {
  auto* command = app.add_subcommand("evaluate", "Test a trained model, on its data or on other");
  auto request = std::make_shared<EvaluateRequest>();
  command->footer(
      "impart evaluate runs/quick-1\n"
      "impart evaluate runs/cats-1 data.root=other/cats\n"
      "The model keeps its own normalisation and tokenizer.");
  command->add_option("RUN", request->folder, kTrainedHelp)->required();
  command->add_option("KEY=VALUE", request->overrides,
                      "changes of the run's configuration: data.…, eval.…, device, threads");
  command->add_flag("--json", request->json, "one JSON object");
  command->callback([request] { evaluate_here(*request); });
}

void add_predict_command(CLI::App& app) {
  auto* command = app.add_subcommand("predict", "Tell the classes of pictures or texts");
  auto request = std::make_shared<PredictRequest>();
  command->footer(
      "impart predict runs/cats-1 a.jpg b.png\n"
      "A file that cannot be read is said, and the others are done; the exit code is then 65.");
  command->add_option("RUN", request->folder, kTrainedHelp)->required();
  command->add_option("FILE", request->files, "JPEG or PNG files, or files of text")->required();
  command->add_option("--top", request->top, "so many of the most probable classes")
      ->check(positive_number())
      ->capture_default_str();
  command->add_option("--device", request->device, "auto, cpu or cuda")->capture_default_str();
  command->add_flag("--json", request->json, "one JSON object per file and line");
  command->callback([request] { predict_here(*request); });
}

/// Greedy leaves nothing to chance.
void check_sampling(const CLI::App& command, const SampleRequest& request) {
  const bool draws =
      command.count("--temperature") + command.count("--top-k") + command.count("--seed") > 0;
  if (request.greedy && draws) {
    throw ConfigError(
        "--greedy always takes the most probable token; leave out --temperature, --top-k and "
        "--seed, or --greedy");
  }
}

void add_sample_command(CLI::App& app) {
  auto* command = app.add_subcommand("sample", "Let a language model write");
  auto request = std::make_shared<SampleRequest>();
  command->footer("impart sample runs/shakespeare-1 --prompt 'ROMEO:' --tokens 200 --top-k 40");
  command->add_option("RUN", request->folder, kTrainedHelp)->required();
  command->add_option("--prompt", request->prompt,
                      "how the text begins; of models of token files, numbers of tokens");
  command->add_option("--tokens", request->tokens, "how many to write, at most")
      ->check(number_between(1, 1e6))
      ->capture_default_str();
  command->add_flag("--greedy", request->greedy, "always the most probable token");
  command->add_option("--temperature", request->temperature, "below 1 more of what is probable")
      ->check(number_between(1e-6, 1e6))
      ->capture_default_str();
  command->add_option("--top-k", request->top_k, "only among so many tokens; 0: among all")
      ->capture_default_str();
  command->add_option("--seed", request->seed, "of what is left to chance")->capture_default_str();
  command->add_option("--device", request->device, "auto, cpu or cuda")->capture_default_str();
  command->add_flag("--json", request->json, "one JSON object");
  command->callback([command, request] {
    check_sampling(*command, *request);
    sample_here(*request);
  });
}

}  // namespace

void add_trained_commands(CLI::App& app) {
  add_evaluate_command(app);
  add_predict_command(app);
  add_sample_command(app);
}

}  // namespace impart::cli
