#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/core/file.h"
#include "impart/data/images/cifar_records.h"
#include "impart/data/images/datasets.h"

namespace impart::data {
namespace {

/// The lines of the names file that the archive holds beside the records, or none without it.
std::vector<std::string> read_class_names(const std::string& root, std::string_view name,
                                          std::size_t classes) {
  const std::filesystem::path path = std::filesystem::path(root) / name;
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return {};
  const InputFile file(path.string());
  std::vector<std::string> names;
  std::string_view rest = file.text();
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (!line.empty()) names.emplace_back(line);
  }
  if (names.size() != classes) {
    throw DataError(
        fmt::format("{}: there are {} names for {} classes", file.path(), names.size(), classes));
  }
  return names;
}

CifarFormat cifar100_format(const DataSpec& spec) {
  static constexpr std::string_view kTrain[] = {"train.bin"};
  static constexpr std::string_view kTest[] = {"test.bin"};
  static constexpr std::uint32_t kLabelClasses[] = {20, 100};  // coarse, fine
  const std::size_t used = spec.coarse ? 0 : 1;
  return {.train_files = kTrain,
          .test_files = kTest,
          .label_classes = kLabelClasses,
          .used_label = used,
          .mean = {0.5071f, 0.4865f, 0.4409f},
          .std = {0.2673f, 0.2564f, 0.2762f},
          .class_names = read_class_names(
              spec.root, spec.coarse ? "coarse_label_names.txt" : "fine_label_names.txt",
              kLabelClasses[used]),
          .advice =
              "data.root must name the folder cifar-100-binary of CIFAR-100's binary version "
              "(https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz); "
              "'impart data fetch cifar100 DIR' downloads it"};
}

}  // namespace

ImageData load_cifar100(const DataSpec& spec) {
  return load_cifar(spec, cifar100_format(spec));
}

ExampleData open_cifar100(const DataSpec& spec) {
  return open_cifar(spec, cifar100_format(spec));
}

}  // namespace impart::data
