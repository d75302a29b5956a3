#include "impart/data/remote/s3_access.h"

#include <cstdlib>

#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "tests/support/temporary_folder.h"

namespace impart::data {
namespace {

constexpr const char* kVariables[] = {
    "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN",
    "AWS_REGION",        "AWS_DEFAULT_REGION",    "AWS_ENDPOINT_URL",
    "AWS_PROFILE",       "AWS_ENDPOINT_URL_S3",   "AWS_SHARED_CREDENTIALS_FILE",
    "AWS_CONFIG_FILE"};

/// A home without anything in it, and no variable set.
class S3AccessTest : public ::testing::Test {
 protected:
  void SetUp() override {
    TearDown();
    ::setenv("HOME", folder_.path().c_str(), 1);
  }
  void TearDown() override {
    for (const char* name : kVariables) ::unsetenv(name);
  }
  void write(const std::string& name, const char* text) { folder_.write(".aws/" + name, text); }

  testing::TemporaryFolder folder_;
};

TEST_F(S3AccessTest, WithoutAnythingRequestsAreAnonymousAndGoToAmazon) {
  const S3Access access = find_s3_access();
  EXPECT_TRUE(access.is_anonymous());
  EXPECT_EQ(access.region, "us-east-1");
  EXPECT_EQ(access.endpoint, "");
}

TEST_F(S3AccessTest, VariablesComeBeforeFiles) {
  write("credentials", "[default]\naws_access_key_id = file\naws_secret_access_key = hidden\n");
  write("config", "[default]\nregion = eu-north-1\nendpoint_url = http://other/\n");
  ::setenv("AWS_ACCESS_KEY_ID", "mine", 1);
  ::setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
  ::setenv("AWS_SESSION_TOKEN", "token", 1);
  ::setenv("AWS_DEFAULT_REGION", "eu-west-9", 1);
  ::setenv("AWS_ENDPOINT_URL", "http://all", 1);
  ::setenv("AWS_ENDPOINT_URL_S3", "http://s3/", 1);
  const S3Access access = find_s3_access();
  EXPECT_EQ(access.key, "mine");
  EXPECT_EQ(access.secret, "secret");
  EXPECT_EQ(access.token, "token");
  EXPECT_EQ(access.region, "eu-west-9");
  EXPECT_EQ(access.endpoint, "http://s3");
}

TEST_F(S3AccessTest, AProfileIsFoundInBothFiles) {
  write("credentials",
        "[default]\naws_access_key_id=no\naws_secret_access_key=no\n"
        "# a comment\n[lab]\naws_access_key_id = lab\naws_secret_access_key = a+b/c=\n"
        "aws_session_token = t\n");
  write("config",
        "[profile lab]\nregion = ap-1\ns3 =\n  addressing_style = path\n"
        "endpoint_url = https://store.example\n[profile other]\nregion = no\n");
  ::setenv("AWS_PROFILE", "lab", 1);
  const S3Access access = find_s3_access();
  EXPECT_EQ(access.key, "lab");
  EXPECT_EQ(access.secret, "a+b/c=");
  EXPECT_EQ(access.token, "t");
  EXPECT_EQ(access.region, "ap-1");
  EXPECT_EQ(access.endpoint, "https://store.example");
}

TEST_F(S3AccessTest, AProfileThatIsNowhereIsAnError) {
  write("credentials", "[default]\naws_access_key_id=a\naws_secret_access_key=b\n");
  ::setenv("AWS_PROFILE", "lba", 1);
  EXPECT_THROW(find_s3_access(), ConfigError);
}

TEST_F(S3AccessTest, HalfAPairOfKeysIsAnErrorThatDoesNotQuoteIt) {
  ::setenv("AWS_SECRET_ACCESS_KEY", "hunter2", 1);
  try {
    find_s3_access();
    ADD_FAILURE();
  } catch (const ConfigError& error) {
    EXPECT_EQ(std::string(error.what()).find("hunter2"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("AWS_ACCESS_KEY_ID"), std::string::npos);
  }
}

TEST_F(S3AccessTest, AnEndpointMustBeAServerWithoutAPassword) {
  for (const char* endpoint : {"ftp://host", "host:9000", "http://me:pw@host"}) {
    ::setenv("AWS_ENDPOINT_URL", endpoint, 1);
    EXPECT_THROW(find_s3_access(), ConfigError) << endpoint;
  }
}

}  // namespace
}  // namespace impart::data
