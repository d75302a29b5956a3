// impart schedule: prints when a run would repartition and exchange.

#include "impart/placement/schedule.h"

#include <memory>

#include "cli/commands.h"
#include "cli/output.h"
#include <CLI/CLI.hpp>

namespace impart::cli {

void add_schedule_command(CLI::App& app) {
  auto* command = app.add_subcommand("schedule", "Show when a run repartitions and exchanges");
  auto spec = std::make_shared<placement::ScheduleSpec>();
  command->add_option("--epochs", spec->epochs, "length of the run")->capture_default_str();
  command->add_option("--warmup", spec->warmup, "epochs with a new random partition each")
      ->capture_default_str();
  command->add_flag("--start", spec->has_start, "a start that is not random, kept by the warm-up");
  command->add_flag("--warmup-shuffle", spec->warmup_shuffle,
                    "the warm-up deals anew after a start, too");
  command
      ->add_option("--interval", spec->interval, "epochs between repartitionings; 0: never again")
      ->capture_default_str();
  command->add_option("--ignore", spec->ignore, "first epochs whose signals do not count")
      ->capture_default_str();
  command->add_flag("--exchange", spec->exchange, "exchange examples before the other epochs");
  command->callback([spec] {
    for (const placement::ScheduleEvent& event : placement::make_schedule(*spec))
      answer("{}\n", placement::describe(event));
  });
}

}  // namespace impart::cli
