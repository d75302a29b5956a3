#include "impart/core/base64.h"

#include <gtest/gtest.h>

#include "impart/core/error.h"

namespace impart {
namespace {

TEST(Base64, HasTheTextsOfRfc4648) {
  const std::pair<std::string, std::string> known[] = {{"", ""},
                                                       {"f", "Zg=="},
                                                       {"fo", "Zm8="},
                                                       {"foo", "Zm9v"},
                                                       {"foob", "Zm9vYg=="},
                                                       {"fooba", "Zm9vYmE="},
                                                       {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : known) {
    EXPECT_EQ(to_base64(bytes), text);
    EXPECT_EQ(from_base64(text), bytes);
  }
}

TEST(Base64, KeepsEveryByte) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  EXPECT_EQ(from_base64(to_base64(bytes)), bytes);
}

TEST(Base64, RefusesWhatIsNone) {
  for (const char* text : {"A", "AAA", "A=AA", "AA A", "AAA\n", "====", "AAé"}) {
    EXPECT_THROW(from_base64(text), DataError) << text;
  }
}

}  // namespace
}  // namespace impart
