// Scores, owners and labels; tensors; importance tables.

#include <cstring>

#include <xxhash.h>

#include "impart/core/column_file.h"
#include "impart/core/error.h"
#include "impart/core/safetensors.h"
#include "impart/importance/table_file.h"
#include "tests/fuzz/folder.h"

namespace impart::fuzz {

void read_scores_csv(Bytes input) {
  static const Folder folder;
  ScoresFile(folder.write("s.csv", input), "importance");
}

void read_integers_csv(Bytes input) {
  static const Folder folder;
  read_integers(folder.write("s.csv", input), "importance");
}

void read_integers_txt(Bytes input) {
  static const Folder folder;
  read_integers(folder.write("s.txt", input), "label");
}

std::vector<std::string> txt_seeds() {
  return {"1\n2\n3\n", "+7\r\n\n 8"};
}

std::vector<std::string> csv_seeds() {
  return {"id,importance\n0,1\n1,2\n2,3\n", "\"importance\", id\r\n+3,1\r\n1e5,0\r\n"};
}

void read_npy(Bytes input) {
  static const Folder folder;
  const std::string path = folder.write("s.npy", input);
  try {
    read_integers(path, "");
  } catch (const DataError&) {
  }
  const ScoresFile file(path, "");
  for (std::uint64_t i = 0; i < file.scores().size(); ++i) file.scores()[ExampleId{i}];
}

std::vector<std::string> npy_seeds() {
  const Folder folder;
  const std::vector<float> floats = {1, 2, 3};
  const std::vector<double> doubles = {1, 2, 3};
  const std::vector<std::uint32_t> integers = {1, 2, 3};
  write_scores(folder / "f.npy", "", std::span<const float>(floats));
  write_scores(folder / "d.npy", "", std::span<const double>(doubles));
  write_integers(folder / "i.npy", "", integers);
  return {folder.read("f.npy"), folder.read("d.npy"), folder.read("i.npy")};
}

void read_losses(Bytes input) {
  static const Folder folder;
  importance::read_history(folder.write("history.npy", input));
}

std::vector<std::string> losses_seeds() {
  const Folder folder;
  importance::ImportanceTable table(
      {.examples = 2, .keeps = importance::StateSet::kLossMean, .history = true});
  const std::vector<ExampleId> ids = {ExampleId{0}, ExampleId{1}};
  const std::vector<float> losses = {1, 2};
  for (std::uint32_t epoch = 0; epoch < 3; ++epoch) table.observe(epoch, ids, {.loss = losses});
  importance::write_history(folder / "history.npy", table);
  return {folder.read("history.npy")};
}

void read_tensors(Bytes input) {
  static const Folder folder;
  const SafetensorsFile file(folder.write("m.safetensors", input));
  std::size_t bytes = 0;
  for (const TensorView& tensor : file.tensors()) bytes += tensor.data.size();
  if (bytes > input.size()) throw std::logic_error("tensors outside of the file");
}

std::vector<std::string> tensors_seeds() {
  const Folder folder;
  const std::vector<float> weights = {1, 2, 3, 4, 5, 6};
  const std::vector<std::uint8_t> mask = {1, 0};
  const std::vector<TensorView> tensors = {
      {"weight", ElementType::kF32, {2, 3}, std::as_bytes(std::span(weights))},
      {"mask", ElementType::kBool, {2}, std::as_bytes(std::span(mask))}};
  write_safetensors(folder / "m", tensors, {{"format", "pt"}});
  return {folder.read("m")};
}

namespace {

struct TablePreamble {
  char magic[8];
  std::uint32_t version;
  std::uint32_t header_bytes;
  std::uint64_t header_hash;
};

/// The header's checksum made right, which no chance finds.
std::string with_right_hash(Bytes input) {
  std::string file(text_of(input));
  TablePreamble preamble;
  if (file.size() < sizeof preamble) return file;
  std::memcpy(&preamble, file.data(), sizeof preamble);
  if (preamble.header_bytes > file.size() - sizeof preamble) return file;
  preamble.header_hash = XXH3_64bits(file.data() + sizeof preamble, preamble.header_bytes);
  std::memcpy(file.data(), &preamble, sizeof preamble);
  return file;
}

}  // namespace

void read_table(Bytes input) {
  const std::string file = with_right_hash(input);
  importance::table_from_bytes(std::as_bytes(std::span(file)));
}

std::vector<std::string> table_seeds() {
  importance::ImportanceTable small({.examples = 2, .keeps = importance::StateSet::kLossMean});
  importance::ImportanceTable large(
      {.examples = 3,
       .keeps = importance::StateSet::kForgetting | importance::StateSet::kLossEma,
       .history = true});
  return {importance::table_bytes(small), importance::table_bytes(large)};
}

}  // namespace impart::fuzz
