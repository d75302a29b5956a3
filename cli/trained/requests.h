#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace impart::cli {

// What users ask of a trained model. Only impart-engine can do it: in impart a ConfigError says why
// not.

struct EvaluateRequest {
  std::string folder;
  std::vector<std::string> overrides;  ///< of the run's configuration
  bool json = false;
};
void evaluate_here(const EvaluateRequest& request);

struct PredictRequest {
  std::string folder;
  std::vector<std::string> files;
  std::size_t top = 5;
  std::string device = "auto";
  bool json = false;
};
void predict_here(const PredictRequest& request);

struct SampleRequest {
  std::string folder;
  std::string prompt;
  std::uint32_t tokens = 100;
  bool greedy = false;
  double temperature = 1;
  std::uint32_t top_k = 0;
  std::uint64_t seed = 1;
  std::string device = "auto";
  bool json = false;
};
void sample_here(const SampleRequest& request);

}  // namespace impart::cli
