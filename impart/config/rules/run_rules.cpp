#include <string>

#include <fmt/format.h>

#include "impart/config/placeholders.h"
#include "impart/config/rules/rules_by_topic.h"
#include "impart/config/rules/situation.h"

namespace impart::config {
namespace {

/// Whether the run computes on the CPU, as far as it is known.
bool is_on_cpu(const Situation& s) {
  return s.config.device == RunConfig::Device::kCpu || !s.facts.has_gpu.value_or(true);
}

constexpr Rule kRunRules[] = {
    {"name-is-given",
     {"name"},
     [](const Situation& s) { return s.config.name.empty(); },
     [](const Situation&) -> std::string { return "name is empty; reports need one"; }},
    {"name-in-paths",
     {"name"},
     [](const Situation& s) { return s.config.name.find_first_of("/{}") != std::string::npos; },
     [](const Situation& s) {
       return fmt::format("name: '{}' has one of / {{ }}; it becomes a part of a path",
                          s.config.name);
     }},
    {"output-is-given",
     {"output"},
     [](const Situation& s) { return s.config.output.empty(); },
     [](const Situation&) -> std::string { return "output is empty; expected the run directory"; }},
    {"output-placeholders",
     {"output"},
     [](const Situation& s) { return !find_unknown_placeholder(s.config.output).empty(); },
     [](const Situation& s) { return describe_unknown_placeholder("output", s.config.output); }},
    {"precision-of-cpu",
     {"precision", "device"},
     [](const Situation& s) {
       return s.config.precision == RunConfig::Precision::kTf32 && is_on_cpu(s);
     },
     [](const Situation&) -> std::string {
       return "precision: tf32 is for NVIDIA GPUs; on the CPU take bf16 or fp32";
     }},
    {"bf16-of-cpu",
     {"precision", "device"},
     [](const Situation& s) {
       return s.config.precision == RunConfig::Precision::kBf16 && is_on_cpu(s) &&
              !s.facts.cpu_has_bf16.value_or(true);
     },
     [](const Situation&) -> std::string {
       return "precision: bf16, but this machine's CPU does not multiply bfloat16 (neither AVX-512 "
              "BF16 nor AMX), and would be slower with it; take fp32";
     }},
    {"transport-of-cpu",
     {"workers.transport", "device"},
     [](const Situation& s) { return wants_nccl(s) && is_on_cpu(s); },
     [](const Situation&) -> std::string {
       return "workers.transport: nccl is for NVIDIA GPUs; on the CPU take auto or mpi";
     }},
    {"device-is-there",
     {"device"},
     [](const Situation& s) {
       return s.config.device == RunConfig::Device::kCuda && !s.facts.has_gpu.value_or(true);
     },
     [](const Situation&) -> std::string {
       return "device: cuda, but no CUDA device can be used; take device=cpu or auto";
     }},
};

}  // namespace

std::span<const Rule> run_rules() {
  return kRunRules;
}

}  // namespace impart::config
