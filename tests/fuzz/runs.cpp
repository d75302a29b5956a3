// What runs and studies leave behind.

#include <nlohmann/json.hpp>

#include "impart/core/error.h"
#include "impart/results/results.h"
#include "impart/run/checkpoint.h"
#include "impart/run/image_file.h"
#include "impart/run/ledger_file.h"
#include "impart/run/summary.h"
#include "impart/run/text_file.h"
#include "impart/study/record.h"
#include "impart/study/result_table.h"
#include "impart/trained/model_card.h"
#include "tests/fuzz/folder.h"

namespace impart::fuzz {

void read_manifest(Bytes input) {
  static const Folder folder;
  folder.write("manifest.json", input);
  folder.write("state", "state");
  run::verify_checkpoint(folder.path());
}

std::vector<std::string> manifest_seeds() {
  const Folder folder;
  run::CheckpointWriter writer(folder.path(), 7);
  std::ofstream(writer.path("state")) << "state";
  writer.finish(1);
  return {folder.read("checkpoints/step-0000000007/manifest.json")};
}

void read_ledger_file(Bytes input) {
  static const Folder folder;
  run::read_ledger(folder.write("ledger.jsonl", input));
}

std::vector<std::string> ledger_seeds() {
  run::LedgerEpoch epoch;
  epoch.workers.resize(2);
  epoch.processes.resize(1);
  return {run::ledger_record(epoch).dump() + "\n"};
}

void read_summary_file(Bytes input) {
  static const Folder folder;
  folder.write("summary.json", input);
  run::read_summary(folder.path());
}

std::vector<std::string> summary_seeds() {
  const Folder folder;
  run::write_summary(folder.path(), {});
  return {folder.read("summary.json")};
}

void read_model_card(Bytes input) {
  static const Folder folder;
  trained::read_card(folder.write("model.json", input));
}

std::vector<std::string> model_card_seeds() {
  trained::ModelCard images{.model = "mlp", .classes = 2, .class_names = {"a", "b"}};
  images.images = {.channels = 1, .size = 8, .resize = 9, .mean = {0.5f}, .std = {1}};
  trained::ModelCard text{.model = "lstm", .task = data::kLanguage};
  text.tokens = {.vocabulary = 256, .length = 12};
  return {trained::describe(images).dump(), trained::describe(text).dump()};
}

void read_text_records(Bytes input) {
  static const Folder folder;
  run::read_texts(folder.write("texts.jsonl", input));
}

std::vector<std::string> text_record_seeds() {
  const Folder folder;
  run::write_texts(folder / "texts", {{.notion = "margin", .text = "a\nb"}});
  return {folder.read("texts")};
}

void read_image_records(Bytes input) {
  static const Folder folder;
  run::read_images(folder.write("images.jsonl", input));
}

std::vector<std::string> image_record_seeds() {
  return {run::image_lines({{.id = 1, .label = "a", .ranks = {{.notion = "margin"}}, .png = "x"}})};
}

void read_study_record(Bytes input) {
  static const Folder folder;
  folder.write("study.json", input);
  study::read_study(folder.path());
}

std::vector<std::string> study_record_seeds() {
  const Folder folder;
  study::StudyRecord record;
  record.name = "s";
  record.seeds = {1, 2};
  record.arms.push_back({.name = "a", .settings = {{"epochs", "3"}}});
  record.runs.push_back({.arm = "a", .seed = 1, .folder = "a/1", .config_hash = "0"});
  record.search.emplace().rungs.emplace_back().arms = {"a"};
  study::write_study(folder.path(), record);
  return {folder.read("study.json")};
}

void read_published(Bytes input) {
  static const Folder folder;
  folder.write("runs.csv", input);
  results::read_published_results(folder.path());
}

std::vector<std::string> published_seeds() {
  return {
      "heuristic,dataset,model,measure,warmup_epochs,interval_epochs,best_accuracy,best_epoch,"
      "epoch_1,epoch_2\nnone,\"cifar10\",vgg,average,1,2,0.5,2,0.4,0.5\n"};
}

void read_kept(Bytes input) {
  static const Folder folder;
  folder.write("results.csv", input);
  results::read_kept_results(folder.path() + "/results.csv");
}

std::vector<std::string> kept_seeds() {
  study::ResultTable table;
  table.study.name = "s";
  table.study.baseline = "a";
  table.study.arms.push_back({.name = "a", .settings = {{"epochs", "3"}}});
  table.study.growing = study::SeedPlan{.until = 1, .planned = {2, 4}, .taken = {}};
  study::ResultRow row{
      .run = {.arm = "a", .seed = 1, .folder = {}, .config_hash = "0123456789abcdef"}};
  row.summary.numbers = {{"best_accuracy", 50.5}, {"visits", 7}};
  study::add_row(table, row);
  return {study::to_csv(table)};
}

}  // namespace impart::fuzz
