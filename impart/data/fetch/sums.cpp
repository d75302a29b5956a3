#include "impart/data/fetch/sums.h"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>
#include <openssl/evp.h>

#include "impart/core/error.h"
#include "impart/core/file.h"

namespace impart::data {
namespace {

constexpr std::size_t kDigits = 64;

bool is_hexadecimal(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char letter) { return std::isxdigit(letter) != 0; });
}

std::string in_lower_case(std::string_view text) {
  std::string lower(text);
  for (char& letter : lower) {
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  return lower;
}

bool is_sum_line(std::string_view line) {
  if (line.size() < kDigits + 3 || !is_hexadecimal(line.substr(0, kDigits))) return false;
  const std::string_view mark = line.substr(kDigits, 2);
  return mark == "  " || mark == " *";
}

}  // namespace

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  EVP_DigestInit_ex(context_, EVP_sha256(), nullptr);
}

Sha256::~Sha256() {
  EVP_MD_CTX_free(context_);
}

void Sha256::add(std::span<const std::byte> bytes) {
  EVP_DigestUpdate(context_, bytes.data(), bytes.size());
}

std::string Sha256::finish() {
  std::array<unsigned char, kDigits / 2> digest{};
  EVP_DigestFinal_ex(context_, digest.data(), nullptr);
  std::string text;
  for (const unsigned char byte : digest) text += fmt::format("{:02x}", byte);
  return text;
}

std::string sha256_of_file(const std::string& path, const Progress& progress) {
  constexpr std::size_t kStep = std::size_t{4} << 20;
  const InputFile file(path);
  const std::size_t size = file.bytes().size();
  Sha256 sum;
  for (std::size_t done = 0; done < size;) {
    const std::size_t step = std::min(kStep, size - done);
    sum.add(file.bytes().subspan(done, step));
    done += step;
    if (progress) progress(done, size);
  }
  return sum.finish();
}

std::map<std::string, std::string> read_sums(const std::string& path) {
  const InputFile file(path);
  std::map<std::string, std::string> sums;
  std::string_view rest = file.text();
  for (std::size_t number = 1; !rest.empty(); ++number) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.starts_with('#')) continue;
    if (!is_sum_line(line)) {
      throw DataError(fmt::format(
          "{}:{}: is not a line of sha256sum: 64 hexadecimal digits, two blanks, a name", path,
          number));
    }
    const std::string_view place = line.substr(kDigits + 2);
    const std::string name(place.substr(place.rfind('/') + 1));
    const std::string digits = in_lower_case(line.substr(0, kDigits));
    if (sums.emplace(name, digits).first->second != digits) {
      throw DataError(fmt::format("{}:{}: another sum for '{}' than before", path, number, name));
    }
  }
  return sums;
}

}  // namespace impart::data
