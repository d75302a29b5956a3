#include "impart/data/fetch/download.h"

#include <algorithm>
#include <thread>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/data/fetch/part.h"
#include "impart/data/fetch/transfer.h"

namespace impart::data {
namespace {

using namespace std::chrono_literals;

void wait_for(std::chrono::milliseconds time, const FetchHooks& hooks) {
  constexpr std::chrono::milliseconds kStep = 50ms;
  for (std::chrono::milliseconds left = time; left > 0ms; left -= kStep) {
    if (hooks.stop_requested && hooks.stop_requested()) throw FetchStopped("stopped");
    std::this_thread::sleep_for(std::min(kStep, left));
  }
}

std::string file_name(const std::string& url) {
  return url.substr(url.rfind('/') + 1);
}

std::optional<TransientFailure> attempt(const DownloadSpec& spec, const FetchHooks& hooks,
                                        PartFile& part) {
  const std::string what = "fetching " + file_name(spec.url);
  return transfer({.url = spec.url,
                   .bytes = spec.bytes,
                   .stall = spec.stall,
                   .least_rate = spec.least_rate,
                   .certificates = spec.certificates,
                   .progress = hooks.phase ? hooks.phase(what) : Progress{},
                   .stop_requested = hooks.stop_requested},
                  part);
}

[[noreturn]] void give_up(const TransientFailure& failure, int attempts, const PartFile& part) {
  std::string message = failure.reason;
  if (attempts > 1) message += fmt::format("; gave up after {} attempts without success", attempts);
  if (part.size() > 0) message += fmt::format("; {} bytes are kept to go on with", part.size());
  if (!failure.reached) {
    message += "; without a network, --from file:///FOLDER takes files from a local folder";
  }
  throw IoError(message);
}

}  // namespace

std::chrono::milliseconds back_off(int attempts, std::chrono::seconds asked_for) {
  const int doublings = std::clamp(attempts - 1, 0, 6);
  const std::chrono::milliseconds own =
      std::min<std::chrono::milliseconds>(500ms * (1 << doublings), 30s);
  return std::max<std::chrono::milliseconds>(own, std::min<std::chrono::seconds>(asked_for, 2min));
}

std::uint64_t download(const DownloadSpec& spec, const FetchHooks& hooks) {
  PartFile part(spec.part);
  std::uint64_t longest = part.size();
  bool was_reached = false;
  for (int fruitless = 0;;) {
    const auto failure = attempt(spec, hooks, part);
    if (!failure) break;
    was_reached = was_reached || failure->reached;
    fruitless = part.size() > longest && !failure->slow ? 1 : fruitless + 1;
    longest = std::max(longest, part.size());
    if (!was_reached || fruitless > spec.retries) give_up(*failure, fruitless, part);
    const auto pause = back_off(fruitless, failure->wait_at_least);
    if (hooks.phase) {
      hooks.phase(fmt::format("{}; trying again in {:.1f} s", failure->reason,
                              std::chrono::duration<double>(pause).count()));
    }
    wait_for(pause, hooks);
  }
  part.sync();
  return part.appended();
}

}  // namespace impart::data
