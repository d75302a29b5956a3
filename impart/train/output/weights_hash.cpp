#include "impart/train/output/weights_hash.h"

#include <array>
#include <memory>

#include <fmt/format.h>
#include <openssl/evp.h>
#include <torch/torch.h>

#include "impart/models/module_tree.h"

namespace impart::train {

std::string hash_weights(torch::nn::Module& model) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                        &EVP_MD_CTX_free);
  EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr);
  for (const models::NamedTensor& named : models::state_of(model)) {
    // How many batches a layer has seen depends on how workers are grouped, and changes nothing.
    if (!named.tensor.is_floating_point()) continue;
    const auto host = named.tensor.detach().to(torch::kCPU).contiguous();
    EVP_DigestUpdate(context.get(), named.name.data(), named.name.size());
    EVP_DigestUpdate(context.get(), host.data_ptr(), host.nbytes());
  }
  std::array<unsigned char, 32> digest{};
  EVP_DigestFinal_ex(context.get(), digest.data(), nullptr);
  std::string text;
  for (const unsigned char byte : digest) text += fmt::format("{:02x}", byte);
  return text;
}

}  // namespace impart::train
