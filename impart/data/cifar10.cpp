#include "impart/data/cifar_records.h"
#include "impart/data/datasets.h"

namespace impart {

ImageData load_cifar10(const DataSpec& spec) {
  static constexpr std::string_view kTrain[] = {"data_batch_1.bin", "data_batch_2.bin",
                                                "data_batch_3.bin", "data_batch_4.bin",
                                                "data_batch_5.bin"};
  static constexpr std::string_view kTest[] = {"test_batch.bin"};
  static constexpr std::uint32_t kLabelClasses[] = {10};
  const CifarFormat format{
      .label_classes = kLabelClasses,
      .mean = {0.4914f, 0.4822f, 0.4465f},
      .std = {0.2023f, 0.1994f, 0.2010f},
      .class_names = {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse",
                      "ship", "truck"},
      .advice =
          "data.root must name the folder cifar-10-batches-bin of CIFAR-10's binary version "
          "(https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz)"};
  return {.train = read_cifar_records(spec.root, kTrain, format, spec.limit),
          .test = read_cifar_records(spec.root, kTest, format, 0)};
}

}  // namespace impart
