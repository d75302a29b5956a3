#include "impart/data/mds/hashes.h"

#include <array>

#include <fmt/format.h>
#include <openssl/evp.h>
#include <xxhash.h>

#include "impart/core/error.h"

namespace impart::data {
namespace {

std::string digest(const EVP_MD* kind, std::span<const std::byte> bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> hash{};
  unsigned int length = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), hash.data(), &length, kind, nullptr) != 1) {
    throw Error("OpenSSL cannot compute this hash here");
  }
  std::string text;
  for (const unsigned char byte : std::span(hash).first(length))
    text += fmt::format("{:02x}", byte);
  return text;
}

}  // namespace

std::string xxh64_of(std::span<const std::byte> bytes) {
  return fmt::format("{:016x}", XXH64(bytes.data(), bytes.size(), 0));
}

std::string xxh3_64_of(std::span<const std::byte> bytes) {
  return fmt::format("{:016x}", XXH3_64bits(bytes.data(), bytes.size()));
}

std::string sha256_of(std::span<const std::byte> bytes) {
  return digest(EVP_sha256(), bytes);
}

std::string sha1_of(std::span<const std::byte> bytes) {
  return digest(EVP_sha1(), bytes);
}

std::string md5_of(std::span<const std::byte> bytes) {
  return digest(EVP_md5(), bytes);
}

}  // namespace impart::data
