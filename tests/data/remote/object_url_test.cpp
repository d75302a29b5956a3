#include "impart/data/remote/object_url.h"

#include <gtest/gtest.h>

#include "impart/core/error.h"

namespace impart::data {
namespace {

TEST(ObjectUrl, PathsOfThisMachineAreNotOnAServer) {
  for (const char* root : {"data/cats", "/data", "", "https", "://host/x", "S3/cats"}) {
    EXPECT_FALSE(is_remote(root)) << root;
  }
  for (const char* root : {"https://host/x", "http://host", "s3://bucket", "ftp://host"}) {
    EXPECT_TRUE(is_remote(root)) << root;
  }
}

TEST(ObjectUrl, ABucketIsTheFirstPartOfAnS3UrlAndThePrefixTheRest) {
  const ObjectUrl url = parse_object_url("s3://cats/photos/small/");
  EXPECT_EQ(url.kind, ObjectUrl::Kind::kS3);
  EXPECT_EQ(url.bucket, "cats");
  EXPECT_EQ(url.prefix, "photos/small");
  EXPECT_EQ(url.shown, "s3://cats/photos/small");
  EXPECT_EQ(parse_object_url("s3://cats").prefix, "");
}

TEST(ObjectUrl, SecretsInARootAreRefusedAndNotRepeated) {
  for (const char* root :
       {"https://me:hunter2@host/x", "http://hunter2@host", "s3://hunter2@bucket/x",
        "https://host/x?token=hunter2", "https://host/x#hunter2"}) {
    try {
      parse_object_url(root);
      ADD_FAILURE() << root;
    } catch (const ConfigError& error) {
      EXPECT_EQ(std::string(error.what()).find("hunter2"), std::string::npos) << error.what();
    }
  }
}

TEST(ObjectUrl, AnAtSignBehindTheServerIsPartOfAName) {
  EXPECT_EQ(find_fault_in_root("https://host/cats@home"), "");
}

TEST(ObjectUrl, ARootWithoutServerOrWithBlanksIsRefused) {
  EXPECT_NE(find_fault_in_root("https:///x"), "");
  EXPECT_NE(find_fault_in_root("https://host/a b"), "");
  EXPECT_NE(find_fault_in_root("https://host/a\nb"), "");
}

TEST(ObjectUrl, OtherSchemesAndBucketsThatCannotBeAreNamed) {
  EXPECT_NE(find_fault_in_root("ftp://host/x").find("begins with ftp://"), std::string::npos);
  EXPECT_NE(find_fault_in_root("file:///data"), "");
  EXPECT_NE(find_fault_in_root("s3://cats!/x").find("bucket"), std::string::npos);
  EXPECT_EQ(find_fault_in_root("s3://cats.and-dogs_2/x"), "");
}

TEST(ObjectUrl, NamesAreEscapedByteByByte) {
  EXPECT_EQ(escape_name("a/b-c_d.e~f"), "a/b-c_d.e~f");
  EXPECT_EQ(escape_name("a b+c%\xC3\xA4"), "a%20b%2Bc%25%C3%A4");
}

}  // namespace
}  // namespace impart::data
