// impart export: a trained model as other libraries load it.

#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/terminal/terminal_text.h"
#include "impart/trained/exports.h"
#include <CLI/CLI.hpp>

namespace impart::cli {
namespace {

struct ExportOptions {
  std::string run;
  trained::ExportSpec spec;
};

/// Beside the run: runs/quick-1-torchvision.
std::string usual_folder(std::string run, const std::string& to) {
  while (run.size() > 1 && run.ends_with('/')) run.pop_back();
  return run + "-" + to;
}

void run_export(ExportOptions options) {
  find_entry(trained::kExports, "library", options.spec.to);
  if (options.spec.folder.empty()) {
    options.spec.folder = usual_folder(options.run, options.spec.to);
  }
  const trained::TrainedModel model = trained::find_trained_model(options.run);
  for (const std::string& remark : trained::export_model(model, options.spec)) {
    say("impart: {}\n", harmless(remark));
  }
  answer("{}\n", harmless(options.spec.folder));
}

}  // namespace

void add_export_command(CLI::App& app) {
  auto* command = app.add_subcommand("export", "A trained model as other libraries load it");
  auto options = std::make_shared<ExportOptions>();
  std::string footer;
  for (const trained::ExportEntry& row : trained::kExports) {
    footer += fmt::format("{:<12} {}\n", row.name, row.summary);
  }
  command->footer(footer + "Prints the folder. docs/export.md shows how to load it.");
  command->add_option("RUN", options->run, "a run directory, or one of its checkpoints")
      ->required();
  command->add_option("--to", options->spec.to, "torchvision or huggingface")->required();
  command->add_option("-o,--output", options->spec.folder, "folder to make; RUN-torchvision, …");
  command->add_flag("--overwrite", options->spec.overwrite, "replace an earlier export there");
  command->callback([options] { run_export(*options); });
}

}  // namespace impart::cli
