#include "impart/data/text/token_set.h"

#include <bit>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "impart/core/error.h"

namespace impart::data {
namespace {

static_assert(std::endian::native == std::endian::little, "tokens are copied in native order");

std::span<const Token> find_example(const TokenSet& set, ExampleId id) {
  if (index(id) >= set.count()) {
    throw Error(fmt::format("there is no example {}, only {}", index(id), set.count()));
  }
  return set.example(id);
}

class TokenSource final : public PayloadSource {
 public:
  explicit TokenSource(std::shared_ptr<const TokenSet> set) : set_(std::move(set)) {}

  std::uint64_t examples() const override { return set_->count(); }
  std::uint64_t payload_bytes(ExampleId id) const override {
    return set_->lengths[index(id)] * sizeof(Token);
  }

  std::uint64_t read(ExampleId id, std::span<std::byte> payload) const override {
    const auto tokens = std::as_bytes(find_example(*set_, id));
    if (payload.size() != tokens.size()) {
      throw Error(fmt::format("example {}: {} bytes to fill instead of {}", index(id),
                              payload.size(), tokens.size()));
    }
    std::memcpy(payload.data(), tokens.data(), tokens.size());
    return 0;
  }

  std::string describe(ExampleId id) const override { return describe_origin(*set_, id); }

 private:
  std::shared_ptr<const TokenSet> set_;
};

}  // namespace

std::string describe_origin(const TokenSet& set, ExampleId id) {
  const TextOrigin& origin = set.origins[index(id)];
  const std::string& file = set.files[origin.file];
  if (origin.line > 0 && !set.is_corpus()) return fmt::format("{}:{}", file, origin.line);
  if (origin.line > 0) return fmt::format("{}:{}, byte {}", file, origin.line, origin.offset);
  return fmt::format("{}, {} {}", file, set.origins_count_tokens ? "token" : "byte", origin.offset);
}

std::string text_of(const TokenSet& set, const Tokenizer* tokenizer, ExampleId id) {
  const std::span<const Token> tokens = find_example(set, id);
  if (tokenizer == nullptr) return fmt::format("{}", fmt::join(tokens, " "));
  std::string text;
  for (const Token token : tokens) {
    text += token == tokenizer->end_of_text() ? "<|endoftext|>" : tokenizer->piece(token);
  }
  return text;
}

std::shared_ptr<const PayloadSource> make_token_source(std::shared_ptr<const TokenSet> set) {
  return std::make_shared<TokenSource>(std::move(set));
}

}  // namespace impart::data
