#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <span>
#include <string>
#include <vector>

#include <cuda_runtime.h>
#include <fmt/format.h>
#include <nccl.h>

#include "impart/comm/device_sum.h"
#include "impart/core/error.h"

namespace impart::comm {
namespace {

void check(cudaError_t code, const char* call) {
  if (code != cudaSuccess) throw Error(fmt::format("{}: {}", call, cudaGetErrorString(code)));
}

void check(ncclResult_t code, const char* call) {
  if (code == ncclSuccess) return;
  throw PeerError(
      fmt::format("{}: {}; NCCL_DEBUG=WARN tells more", call, ncclGetErrorString(code)));
}

/// Whether no two processes of the job use the same GPU.
bool have_own_gpus(Communicator& communicator) {
  int device = 0;
  cudaDeviceProp properties{};
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
  using Id = std::array<std::byte, sizeof(properties.uuid)>;
  Id mine;
  std::memcpy(mine.data(), &properties.uuid, mine.size());
  std::vector<Id> all(communicator.size());
  const std::vector<std::size_t> counts(communicator.size(), mine.size());
  communicator.all_gather(mine, counts, std::as_writable_bytes(std::span(all)));
  std::sort(all.begin(), all.end());
  return std::adjacent_find(all.begin(), all.end()) == all.end();
}

class NcclSum final : public DeviceSum {
 public:
  explicit NcclSum(Communicator& communicator)
      : communicator_(communicator), exceptions_(std::uncaught_exceptions()) {
    ncclUniqueId id{};
    if (communicator.rank() == 0) check(ncclGetUniqueId(&id), "ncclGetUniqueId");
    communicator.broadcast(std::as_writable_bytes(std::span(&id, 1)), 0);
    check(ncclCommInitRank(&nccl_, static_cast<int>(communicator.size()), id,
                           static_cast<int>(communicator.rank())),
          "ncclCommInitRank");
    check(cudaEventCreateWithFlags(&reached_, cudaEventDisableTiming), "cudaEventCreate");
  }

  ~NcclSum() override {
    // After a failure, sums may be under way that never end.
    const bool failed = std::uncaught_exceptions() > exceptions_;
    failed ? ncclCommAbort(nccl_) : ncclCommDestroy(nccl_);
    cudaEventDestroy(reached_);
  }

  void sum(float* values, std::size_t count, CUstream_st* stream) override {
    check(ncclAllReduce(values, values, count, ncclFloat, ncclSum, nccl_, stream), "ncclAllReduce");
  }

  void note_sum(std::size_t count) override {
    communicator_.note_all_reduce(count * sizeof(float));
  }

  void wait(CUstream_st* stream) override {
    check(cudaEventRecord(reached_, stream), "cudaEventRecord");
    communicator_.wait_until([&] {
      const cudaError_t code = cudaEventQuery(reached_);
      if (code == cudaErrorNotReady) return false;
      check(code, "cudaEventQuery");
      return true;
    });
  }

 private:
  Communicator& communicator_;
  int exceptions_;
  ncclComm_t nccl_ = nullptr;
  cudaEvent_t reached_ = nullptr;
};

}  // namespace

std::unique_ptr<DeviceSum> make_device_sum(Communicator& communicator, DeviceSumUse use) {
  const bool always = use == DeviceSumUse::kAlways;
  if (!always && (communicator.size() == 1 || !have_own_gpus(communicator))) return nullptr;
  return std::make_unique<NcclSum>(communicator);
}

}  // namespace impart::comm
