#include "impart/models/init.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <torch/torch.h>

#include "impart/core/error.h"
#include "impart/core/random.h"
#include "impart/models/module_tree.h"

namespace impart::models {
namespace {

using Fill = std::function<void(std::span<float> values, RandomStream& random)>;

Fill fill_with(float constant) {
  return
      [constant](std::span<float> values, RandomStream&) { std::ranges::fill(values, constant); };
}

Fill fill_normal(double deviation) {
  return [deviation](std::span<float> values, RandomStream& random) {
    for (float& value : values) value = static_cast<float>(deviation * random.normal());
  };
}

Fill fill_uniform(double bound) {
  return [bound](std::span<float> values, RandomStream& random) {
    for (float& value : values) {
      value = static_cast<float>(bound * (2.0 * random.uniform() - 1.0));
    }
  };
}

/// Filters [in, height, width] one after the other: the first ones pass a channel on each, the rest
/// are normal.
Fill fill_with_identity(const torch::Tensor& weight, double deviation) {
  const auto channels = static_cast<std::size_t>(weight.size(1));
  const auto pixels = static_cast<std::size_t>(weight.size(2) * weight.size(3));
  const std::int64_t middle = weight.size(2) / 2 * weight.size(3) + weight.size(3) / 2;
  return [=](std::span<float> values, RandomStream& random) {
    const std::size_t size = channels * pixels;
    for (std::size_t filter = 0; filter * size < values.size(); ++filter) {
      const std::span<float> own = values.subspan(filter * size, size);
      if (filter >= channels) {
        fill_normal(deviation)(own, random);
        continue;
      }
      std::ranges::fill(own, 0.0F);
      own[filter * pixels + static_cast<std::size_t>(middle)] = 1;
    }
  };
}

Fill fill_as(const InitialDraw& draw, const torch::Tensor& weight) {
  switch (draw.kind) {
    case InitialDraw::Kind::kIdentity:
      return fill_with_identity(weight, draw.size);
    case InitialDraw::Kind::kNormal:
      return fill_normal(draw.size);
    case InitialDraw::Kind::kUniform:
      return fill_uniform(draw.size);
    case InitialDraw::Kind::kConstant:
      break;
  }
  return fill_with(static_cast<float>(draw.size));
}

/// How a module's parameter is drawn: as the module says, or else the weight's shape tells what
/// kind of layer it is.
Fill choose_fill(const torch::nn::Module& module, const std::string& name,
                 const std::string& parameter) {
  if (const auto* own = dynamic_cast<const DrawsItself*>(&module)) {
    return fill_as(own->initial_draw(parameter), module.named_parameters(false)[parameter]);
  }
  const auto parameters = module.named_parameters(/*recurse=*/false);
  const torch::Tensor* weight = parameters.find("weight");
  const std::int64_t dimensions = weight ? weight->dim() : 0;
  const bool is_weight = parameter == "weight", is_bias = parameter == "bias";
  if (dimensions == 4 && is_weight) {
    const std::int64_t fan_out = weight->numel() / weight->size(1);
    return fill_normal(std::sqrt(2.0 / static_cast<double>(fan_out)));
  }
  if (dimensions == 2 && (is_weight || is_bias)) {
    return fill_uniform(1.0 / std::sqrt(static_cast<double>(weight->size(1))));
  }
  if (dimensions == 1 && is_weight) return fill_with(1);
  if (dimensions == 1 && is_bias) return fill_with(0);
  throw Error(fmt::format("no rule to initialise parameter '{}' of module '{}'", parameter, name));
}

struct Draw {
  std::uint32_t position;  ///< in named_parameters()
  torch::Tensor parameter;
  Fill fill;
};

void draw(const Draw& what, std::uint64_t seed) {
  RandomStream random({.seed = seed, .purpose = Purpose("init"), .epoch = what.position});
  const auto size = static_cast<std::size_t>(what.parameter.numel());
  what.fill({what.parameter.data_ptr<float>(), size}, random);
}

void check_storage(const torch::Tensor& parameter, const std::string& name) {
  if (parameter.device().is_cpu() && parameter.scalar_type() == torch::kFloat &&
      parameter.is_contiguous()) {
    return;
  }
  throw Error(fmt::format("module '{}' has parameters that are not floats on the CPU", name));
}

}  // namespace

void initialise_parameters(torch::nn::Module& model, std::uint64_t seed) {
  const torch::NoGradGuard no_grad;
  std::vector<Draw> draws;
  visit_modules(model, [&](const std::string& name, torch::nn::Module& module) {
    for (const auto& item : module.named_parameters(/*recurse=*/false)) {
      check_storage(item.value(), name);
      draws.push_back({static_cast<std::uint32_t>(draws.size()), item.value(),
                       choose_fill(module, name, item.key())});
    }
  });
  // Threads take the parameters in turns, from the largest to the smallest, for equal work.
  std::ranges::stable_sort(draws, std::greater{},
                           [](const Draw& what) { return what.parameter.numel(); });
  const auto threads = static_cast<std::size_t>(at::get_num_threads());
  at::parallel_for(0, at::get_num_threads(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto thread = static_cast<std::size_t>(begin); std::cmp_less(thread, end); ++thread) {
      for (std::size_t i = thread; i < draws.size(); i += threads) draw(draws[i], seed);
    }
  });
}

}  // namespace impart::models
