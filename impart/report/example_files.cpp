#include "impart/report/example_files.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>

#include "impart/core/column_file.h"
#include "impart/core/csv.h"
#include "impart/core/error.h"
#include "impart/core/npy.h"
#include "impart/importance/notions.h"
#include "impart/run/image_file.h"

namespace impart::report {
namespace {

namespace fs = std::filesystem;

std::string importance_path(const std::string& folder) {
  return folder + "/importance.csv";
}

}  // namespace

std::vector<std::string> recorded_notions(const std::string& run_folder) {
  const std::string path = importance_path(run_folder);
  if (!fs::exists(path)) return {};
  const InputFile file(path);
  std::string header(file.text().substr(0, file.text().find('\n')));
  std::erase(header, '\r');
  std::vector<std::string> found;
  for (const importance::NotionEntry& notion : importance::kNotions) {
    const std::string wrapped = fmt::format(",{},", notion.name);
    if (("," + header + ",").find(wrapped) != std::string::npos) found.emplace_back(notion.name);
  }
  return found;
}

NotionColumns read_notions(const std::string& run_folder, const std::vector<std::string>& names) {
  const InputFile file(importance_path(run_folder));
  NotionColumns columns;
  for (const std::string& name : names) columns[name] = read_dense_csv<double>(file, name, {});
  return columns;
}

std::vector<std::size_t> evenly_spaced(std::size_t count, std::size_t most) {
  std::vector<std::size_t> chosen;
  const std::size_t kept = std::min(count, most);
  for (std::size_t i = 0; i < kept; ++i) chosen.push_back(i * count / kept);
  return chosen;
}

std::vector<std::vector<double>> read_history(const std::string& run_folder, std::size_t most) {
  const std::string path = run_folder + "/history.npy";
  if (!fs::exists(path)) return {};
  const InputFile file(path);
  const NpyArray array = parse_npy(file);
  if (array.type != "f4" || array.shape.size() != 2 || array.fortran_order) {
    throw DataError(path + ": not float32 of shape (examples, epochs)");
  }
  const std::size_t epochs = array.shape[1];
  std::vector<std::vector<double>> history(epochs);
  for (const std::size_t example : evenly_spaced(array.shape[0], most)) {
    for (std::size_t epoch = 0; epoch < epochs; ++epoch) {
      float loss = 0;
      std::memcpy(&loss, array.data.data() + (example * epochs + epoch) * sizeof loss, sizeof loss);
      history[epoch].push_back(loss);
    }
  }
  return history;
}

std::string images_path(const std::string& run_folder) {
  return run_folder + "/images.jsonl";
}

Labels read_labels(const std::string& run_folder) {
  const std::string path = run_folder + "/labels.npy";
  if (!fs::exists(path)) return {};
  Labels labels{.numbers = read_integers(path, "label")};
  const std::size_t classes =
      labels.numbers.empty() ? 0 : std::size_t{std::ranges::max(labels.numbers)} + 1;
  if (classes > labels.numbers.size()) {
    throw DataError(
        fmt::format("{}: class {} of {} examples", path, classes - 1, labels.numbers.size()));
  }
  for (std::size_t i = 0; i < classes; ++i) labels.names.push_back(fmt::format("class {}", i));
  if (!fs::exists(images_path(run_folder))) return labels;
  for (const run::ImageRecord& image : run::read_images(images_path(run_folder))) {
    if (image.class_number < classes) labels.names[image.class_number] = image.label;
  }
  return labels;
}

std::vector<std::uint32_t> read_hidden(const std::string& run_folder) {
  const std::string path = run_folder + "/hidden.npy";
  if (!fs::exists(path)) return {};
  return read_integers(path, "hidden");
}

std::map<std::uint32_t, std::string> saved_partitions(const std::string& run_folder) {
  std::map<std::uint32_t, std::string> found;
  const std::string folder = run_folder + "/partitions";
  if (!fs::is_directory(folder)) return found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    std::uint32_t epoch = 0;
    constexpr std::string_view kStart = "epoch-";
    if (!name.starts_with(kStart) || entry.path().extension() != ".csv") continue;
    const char* digits = name.data() + kStart.size();
    if (std::from_chars(digits, name.data() + name.size(), epoch).ec != std::errc()) continue;
    found[epoch] = entry.path().string();
  }
  return found;
}

}  // namespace impart::report
