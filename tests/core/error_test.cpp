#include "impart/core/error.h"

#include <gtest/gtest.h>

namespace impart {
namespace {

TEST(Shorten, LeavesOutTheMiddleOfWhatIsTooLong) {
  EXPECT_EQ(shorten("as it is", 8), "as it is");
  EXPECT_EQ(shorten("0123456789abcdef", 8), "012345 […8 bytes…] ef");
  EXPECT_EQ(shorten(std::string(1 << 20, 'x')).size(),
            120 + std::string(" […1048456 bytes…] ").size());
}

TEST(Shorten, CutsNoCharacterInTwo) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "ä€";
  for (std::size_t most = 20; most < 40; ++most) {
    const std::string cut = shorten(text, most);
    const std::size_t mark = cut.find(" […");
    EXPECT_TRUE(cut.substr(0, mark).ends_with("ä") || cut.substr(0, mark).ends_with("€")) << cut;
    const std::string rest = cut.substr(cut.find("…] ") + 5);
    EXPECT_TRUE(rest.starts_with("ä") || rest.starts_with("€")) << cut;
  }
}

TEST(OneLineOf, IsOneLineWithoutTheStackOfLibTorch) {
  const std::runtime_error foreign(
      "CUDA error: operation not permitted\nFor debugging consider this\n\nException raised from "
      "device_synchronize at /pytorch/c10/cuda/CUDAFunctions.cpp:153 (most recent call first):\n"
      "frame #0: c10::Error::Error + 0x9d\nframe #1: <unknown function>\n");
  EXPECT_EQ(one_line_of(foreign),
            "CUDA error: operation not permitted (in device_synchronize at "
            "/pytorch/c10/cuda/CUDAFunctions.cpp:153)");
  EXPECT_EQ(one_line_of(std::runtime_error("out of luck")), "out of luck");
  EXPECT_EQ(one_line_of(std::runtime_error("cut\nException raised from here")), "cut (in here)");
}

TEST(Error, IsNotLongerThanAnyoneReads) {
  const DataError error("file.csv: " + std::string(1 << 20, 'x') + " is no number");
  const std::string message = error.what();
  EXPECT_LT(message.size(), Error::kLongest + 40);
  EXPECT_TRUE(message.starts_with("file.csv: xxx"));
  EXPECT_TRUE(message.ends_with("xxx is no number"));
}

}  // namespace
}  // namespace impart
