#include "impart/data/images/cifar_records.h"
#include "impart/data/images/datasets.h"

namespace impart::data {
namespace {

CifarFormat cifar10_format() {
  static constexpr std::string_view kTrain[] = {"data_batch_1.bin", "data_batch_2.bin",
                                                "data_batch_3.bin", "data_batch_4.bin",
                                                "data_batch_5.bin"};
  static constexpr std::string_view kTest[] = {"test_batch.bin"};
  static constexpr std::uint32_t kLabelClasses[] = {10};
  return {.train_files = kTrain,
          .test_files = kTest,
          .label_classes = kLabelClasses,
          .mean = {0.4914f, 0.4822f, 0.4465f},
          .std = {0.2023f, 0.1994f, 0.2010f},
          .class_names = {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse",
                          "ship", "truck"},
          .advice =
              "data.root must name the folder cifar-10-batches-bin of CIFAR-10's binary version "
              "(https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz); "
              "'impart data fetch cifar10 DIR' downloads it"};
}

}  // namespace

ImageData load_cifar10(const DataSpec& spec) {
  return load_cifar(spec, cifar10_format());
}

ExampleData open_cifar10(const DataSpec& spec) {
  return open_cifar(spec, cifar10_format());
}

}  // namespace impart::data
