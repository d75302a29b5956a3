#include "impart/cost/units.h"

#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "tests/support/temporary_folder.h"

namespace impart::cost {
namespace {

TEST(ParseRate, TellsBitsFromBytesAndThousandsFrom1024) {
  EXPECT_DOUBLE_EQ(parse_rate("2GB/s"), 2e9);
  EXPECT_DOUBLE_EQ(parse_rate("25Gb/s"), 25e9 / 8);
  EXPECT_DOUBLE_EQ(parse_rate("1.5GiB/s"), 1.5 * (1 << 30));
  EXPECT_DOUBLE_EQ(parse_rate("8Kib/s"), 1024);
  EXPECT_DOUBLE_EQ(parse_rate("100 MB/s"), 1e8);
  EXPECT_DOUBLE_EQ(parse_rate("3kB/s"), parse_rate("3KB/s"));
  EXPECT_DOUBLE_EQ(parse_rate("7B/s"), 7);
  EXPECT_DOUBLE_EQ(parse_rate("1TB/s"), 1e12);
}

TEST(ParseSeconds, TakesTheUsualUnits) {
  EXPECT_DOUBLE_EQ(parse_seconds("5us"), 5e-6);
  EXPECT_DOUBLE_EQ(parse_seconds("250ms"), 0.25);
  EXPECT_DOUBLE_EQ(parse_seconds("1.5 s"), 1.5);
  EXPECT_DOUBLE_EQ(parse_seconds("800ns"), 8e-7);
  EXPECT_EQ(parse_seconds("50us"), 5e-5);
  EXPECT_DOUBLE_EQ(parse_seconds("0s"), 0);
}

TEST(ParseRate, SaysWhatWasProbablyMeant) {
  const auto message = [](const std::string& text) {
    return testing::message_of<ConfigError>([&] { parse_rate(text); });
  };
  EXPECT_EQ(message("25Gbps"), "'25Gbps' is no rate; did you mean '25Gb/s'?");
  EXPECT_EQ(message("25gb/s"), "'25gb/s' is no rate; did you mean '25Gb/s'?");
  EXPECT_EQ(message("2GB"), "'2GB' is no rate; did you mean '2GB/s'?");
  EXPECT_EQ(message("1Gbit/s"), "'1Gbit/s' is no rate; did you mean '1Gb/s'?");
  EXPECT_EQ(message("3 MByte/s"), "'3 MByte/s' is no rate; did you mean '3MB/s'?");
  EXPECT_EQ(message("25G"), "'25G' is no rate: bits or bytes? write '25Gb/s' or '25GB/s'");
  const std::string general = " is no rate; write '25Gb/s' for bits or '2GB/s' for bytes, above 0";
  for (const std::string text : {"", "fast", "0GB/s", "-1GB/s", "nanGB/s", "infGB/s", "2XB/s"}) {
    EXPECT_EQ(message(text), "'" + text + "'" + general);
  }
}

TEST(ParseSeconds, SaysWhatWasProbablyMeant) {
  const auto message = [](const std::string& text) {
    return testing::message_of<ConfigError>([&] { parse_seconds(text); });
  };
  EXPECT_EQ(message("5µs"), "'5µs' is no time; did you mean '5us'?");
  EXPECT_EQ(message("250MS"), "'250MS' is no time; did you mean '250ms'?");
  EXPECT_EQ(message("5"), "'5' is no time: it needs a unit; write '5us', '5ms' or '5s'");
  for (const std::string text : {"", "soon", "-1s", "2min", "nans"}) {
    EXPECT_EQ(message(text), "'" + text + "' is no time; write '5us', '250ms' or '1.5s'");
  }
}

TEST(Units, AreShownShort) {
  EXPECT_EQ(seconds_text(0), "0 s");
  EXPECT_EQ(seconds_text(1.2e-5), "12.0 us");
  EXPECT_EQ(seconds_text(0.0042), "4.20 ms");
  EXPECT_EQ(seconds_text(0.31), "310 ms");
  EXPECT_EQ(seconds_text(9.996), "10.0 s");
  EXPECT_EQ(seconds_text(62.4), "62.4 s");
  EXPECT_EQ(seconds_text(1080), "18.0 min");
  EXPECT_EQ(seconds_text(8280), "2.30 h");
  EXPECT_EQ(bit_rate_text(25e9 / 8), "25 Gb/s");
  EXPECT_EQ(byte_rate_text(2.5e9), "2.5 GB/s");
  EXPECT_EQ(byte_rate_text(999), "999 B/s");
}

}  // namespace
}  // namespace impart::cost
