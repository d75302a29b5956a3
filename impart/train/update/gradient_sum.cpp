#include "impart/train/update/gradient_sum.h"

#include <span>

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/torch.h>

namespace impart::train {

/// Called when a parameter's gradient has been added to the flat array.
class GradientSum::Hook : public torch::autograd::FunctionPostHook {
 public:
  Hook(GradientSum& sum, std::size_t bucket) : sum_(sum), bucket_(bucket) {}
  torch::autograd::variable_list operator()(const torch::autograd::variable_list& outputs,
                                            const torch::autograd::variable_list&) override {
    sum_.note_ready(bucket_);
    return outputs;
  }

 private:
  GradientSum& sum_;
  std::size_t bucket_;
};

GradientSum::GradientSum(FlatParameters& parameters, comm::Communicator& communicator,
                         const HalfWeights* half_weights, std::int64_t bucket_bytes)
    : parameters_(parameters), communicator_(communicator) {
  if (communicator.size() == 1 || is_staged()) return;
  const auto& slices = parameters.slices();
  for (std::size_t i = slices.size(); i-- > 0;) {
    const FlatParameters::Slice& slice = slices[i];
    const auto full = static_cast<std::int64_t>(bucket_bytes / sizeof(float));
    if (buckets_.empty() || buckets_.back().size >= full) buckets_.emplace_back();
    Bucket& bucket = buckets_.back();
    bucket.start = slice.start;
    bucket.size += slice.size;
    ++bucket.parameters;
    // The gradient of a copy is added after the pass, so that this bucket is not ready before.
    if (half_weights != nullptr && half_weights->copy_of(i).defined()) continue;
    auto node = torch::autograd::impl::grad_accumulator(slice.parameter);
    node->add_post_hook(std::make_unique<Hook>(*this, buckets_.size() - 1));
    hooked_.push_back(std::move(node));
  }
}

GradientSum::~GradientSum() = default;

bool GradientSum::is_staged() const {
  return !parameters_.gradients().device().is_cpu();
}

void GradientSum::expect_backward() {
  if (buckets_.empty()) return;
  for (Bucket& bucket : buckets_) bucket.ready = 0;
  started_ = 0;
  expecting_ = true;
}

void GradientSum::note_ready(std::size_t bucket) {
  if (!expecting_) return;
  ++buckets_[bucket].ready;
  start_ready_buckets();
}

/// In order, whichever is ready first: all processes must start the same all-reduces in the same
/// order. What is under way moves on meanwhile.
void GradientSum::start_ready_buckets() {
  for (std::size_t i = 0; i < started_; ++i) {
    if (buckets_[i].reduce) buckets_[i].reduce->test();
  }
  while (started_ < buckets_.size() && buckets_[started_].ready == buckets_[started_].parameters) {
    Bucket& bucket = buckets_[started_++];
    float* const first = parameters_.gradients().data_ptr<float>() + bucket.start;
    bucket.reduce =
        communicator_.start_all_reduce_sum({first, static_cast<std::size_t>(bucket.size)});
  }
}

void GradientSum::finish() {
  if (communicator_.size() > 1 && is_staged()) {
    torch::Tensor host = parameters_.gradients().to(torch::kCPU);
    communicator_.all_reduce_sum(
        std::span(host.data_ptr<float>(), static_cast<std::size_t>(host.numel())));
    parameters_.gradients().copy_(host);
    return;
  }
  if (!expecting_) return;
  // A parameter without a gradient in this pass: its bucket was not started.
  for (Bucket& bucket : buckets_) bucket.ready = bucket.parameters;
  start_ready_buckets();
  for (Bucket& bucket : buckets_) bucket.reduce->wait();
  for (Bucket& bucket : buckets_) bucket.reduce.reset();
  expecting_ = false;
}

}  // namespace impart::train
