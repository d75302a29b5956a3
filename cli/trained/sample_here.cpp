// For impart-engine: impart sample.

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "cli/output.h"
#include "cli/terminal/terminal_text.h"
#include "cli/trained/machine.h"
#include "cli/trained/requests.h"
#include "impart/train/use/sampling.h"

namespace impart::cli {
namespace {

using Tokens = std::vector<data::Token>;

/// The text, or the numbers if there is no tokenizer.
std::string text_of(const train::Writer& writer, const Tokens& tokens) {
  if (writer.tokenizer()) return writer.tokenizer()->decode(tokens);
  return fmt::format("{}", fmt::join(tokens, " "));
}

/// A terminal gets nothing that could steer it; a file or pipe gets every byte.
void print_text(const std::string& prompt, const std::string& text) {
  const std::string all = prompt + text + "\n";
  answer_text(::isatty(STDOUT_FILENO) != 0 ? harmless(all, "\n\t") : all);
}

void print_json(const Tokens& prompt, const Tokens& tokens, const train::Writer& writer) {
  const nlohmann::ordered_json json = {{"prompt", text_of(writer, prompt)},
                                       {"prompt_tokens", prompt},
                                       {"text", text_of(writer, tokens)},
                                       {"tokens", tokens}};
  answer("{}\n", json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

}  // namespace

void sample_here(const SampleRequest& request) {
  const trained::TrainedModel model = trained::find_trained_model(request.folder);
  const Machine machine(trained::read_config(model, {"device=" + request.device}));
  const train::Writer writer(model, machine.device);
  const Tokens prompt = writer.read_prompt(request.prompt);
  const Tokens tokens = writer.write(prompt, {.tokens = request.tokens,
                                              .greedy = request.greedy,
                                              .temperature = request.temperature,
                                              .top_k = request.top_k,
                                              .seed = request.seed});
  if (request.json) return print_json(prompt, tokens, writer);
  const bool numbers = writer.tokenizer() == nullptr;
  print_text(numbers ? request.prompt + " " : request.prompt, text_of(writer, tokens));
}

}  // namespace impart::cli
