// Configurations, studies and machines.

#include "impart/config/config_file.h"
#include "impart/config/config_text.h"
#include "impart/cost/machine.h"
#include "impart/results/run_results.h"
#include "impart/study/plan.h"
#include "tests/fuzz/folder.h"

namespace impart::fuzz {

void read_config(Bytes input) {
  static const Folder folder;
  const auto config = config::load_config(folder.write("c.yaml", input), {}, {});
  results::flatten_config(std::string(text_of(input)));
  config::config_hash(config);
}

std::vector<std::string> config_seeds() {
  return {config::to_yaml(config::load_config({}, {}, {})), "base: c.yaml\nepochs: 5\n",
          "data: {name: cifar10, root: &a x}\nname: *a\n", ", ", "a: |\n  b\n---\n"};
}

void read_study(Bytes input) {
  static const Folder folder;
  static const config::Schema schema = config::make_schema();
  study::make_plan(study::load_study(folder.write("s.yaml", input), {}, schema), schema);
}

std::vector<std::string> study_seeds() {
  return {
      "name: s\nconfig: {epochs: 2}\narms:\n  a: {baseline: true}\n  b: {partition.warmup: 1}\n"
      "seeds: {count: 3, master: 1}\n",
      "grid:\n  optimizer.lr: [0.1, 0.2]\n  partition.warmup: {from: 1, to: 9, step: 2}\n"
      "exclude:\n  - {optimizer.lr: 0.1, partition.warmup: 3}\nseeds: [1, 2]\n"
      "search: {kind: halving, eta: 3, min_epochs: 2}\nconfirmation_seeds: 3\n"};
}

void read_machine(Bytes input) {
  static const Folder folder;
  cost::load_machine(folder.write("m.yaml", input));
}

std::vector<std::string> machine_seeds() {
  return {"disk: 2GB/s\nnetwork: 10Gb/s\nlatency: 20us\nfile_system: 10 GB/s\nstep: 0.25s\n",
          "network: 10Gbps\n", "step: 5\n"};
}

}  // namespace impart::fuzz
