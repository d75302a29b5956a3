#include "impart/core/json.h"

#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"

namespace impart {
namespace {

using testing::message_of;

std::string nested(std::size_t depth) {
  return std::string(depth, '[') + std::string(depth, ']');
}

std::string parse_complaint(const std::string& text) {
  return message_of<DataError>([&] { parse_json(text, "a.json"); });
}

TEST(ParseJson, ReadsWhatIsJson) {
  EXPECT_EQ(parse_json(R"({"a": [1, "]]]\\\"[["]})", "a.json").at("a").at(1), "]]]\\\"[[");
  EXPECT_EQ(parse_json(nested(64), "a.json").size(), 1u);
}

TEST(ParseJson, RefusesADepthThatWouldOverflowTheStack) {
  EXPECT_EQ(parse_complaint(nested(65)), "a.json: offset 64: nested deeper than 64 levels");
  EXPECT_EQ(parse_complaint(nested(300'000)), "a.json: offset 64: nested deeper than 64 levels");
  std::string objects;
  for (int i = 0; i < 300'000; ++i) objects += "{\"a\":";
  EXPECT_NE(parse_complaint(objects).find("nested deeper"), std::string::npos);
}

TEST(ParseJson, SaysBrieflyWhatIsNoJson) {
  EXPECT_EQ(parse_complaint("{\"a\": }"), "a.json: offset 7: is not JSON");
  EXPECT_LT(parse_complaint("\"" + std::string(1 << 20, 'x')).size(), 60u);
  const std::string huge = parse_complaint("1" + std::string(1 << 20, '0') + "e999");
  EXPECT_TRUE(huge.starts_with("a.json: is not JSON: ")) << huge.substr(0, 100);
  EXPECT_LT(huge.size(), 300u);
}

TEST(WholeNumber, IsNoneOfWhatTheLibraryRounds) {
  const auto read = [](const char* text) { return whole_number(parse_json(text, "a")); };
  EXPECT_EQ(read("18446744073709551615"), 18446744073709551615u);
  for (const char* text : {"-1", "1.5", "104374147212387527896", "1e3", "\"1\"", "null"}) {
    EXPECT_THROW(read(text), DataError) << text;
  }
  EXPECT_EQ(message_of<DataError>([] { whole_number<std::uint8_t>(nlohmann::json(256u)); }),
            "256 is not a whole number up to 255");
}

TEST(Shown, IsShort) {
  EXPECT_EQ(shown(nlohmann::json("a")), "\"a\"");
  EXPECT_EQ(shown(nlohmann::json{1, "a"}), "a list");
  EXPECT_EQ(shown(nlohmann::json::object()), "an object");
  EXPECT_LT(shown(nlohmann::json(std::string(1 << 20, 'x'))).size(), 200u);
}

}  // namespace
}  // namespace impart
