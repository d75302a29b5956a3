// For impart-engine: run after run in one process, as a study asks for them
// (impart/study/server.h).

#include <array>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <torch/cuda.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/stop.h"
#include "cli/terminal/terminal_text.h"
#include "cli/train.h"
#include "cli/train_display.h"
#include "impart/comm/communicator.h"
#include "impart/config/config_text.h"
#include "impart/core/error.h"
#include "impart/train/data_cache.h"
#include "impart/train/run.h"
#include <CLI/CLI.hpp>

namespace impart::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kStopped = 85;
constexpr std::size_t kMostSets = 3;
constexpr int kLook = 100;  ///< milliseconds between looks at whether to stop

struct Order {
  std::uint64_t run = 0;
  std::string folder = {};
  std::uint32_t threads = 0;
};

Order parse_order(const std::string& line) {
  try {
    const Json json = Json::parse(line);
    return {json.at("run"), json.at("folder"), json.at("threads")};
  } catch (const Json::exception& error) {
    throw DataError(fmt::format("stdin: '{}' is no order: {}", harmless(line), error.what()));
  }
}

/// Reads orders from stdin.
class OrderReader {
 public:
  /// Waits for one; nothing after the last, or when this process is asked to stop.
  std::optional<Order> next() {
    std::size_t end = 0;
    while ((end = unread_.find('\n')) == std::string::npos) {
      if (stop_requested() || !read_on()) return std::nullopt;
    }
    const Order order = parse_order(unread_.substr(0, end));
    unread_.erase(0, end + 1);
    return order;
  }

 private:
  /// False at the end.
  bool read_on() {
    pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    if (::poll(&input, 1, kLook) <= 0) return true;
    std::array<char, 4096> piece{};
    const ssize_t length = ::read(STDIN_FILENO, piece.data(), piece.size());
    if (length > 0) unread_.append(piece.data(), static_cast<std::size_t>(length));
    return length > 0;
  }

  std::string unread_;
};

/// Where answers go: what was stdout. Everything else that is printed there goes to stderr.
class Answers {
 public:
  Answers() : descriptor_(::dup(STDOUT_FILENO)) { ::dup2(STDERR_FILENO, STDOUT_FILENO); }
  ~Answers() { ::close(descriptor_); }
  Answers(const Answers&) = delete;
  Answers& operator=(const Answers&) = delete;

  void say(const Json& answer) {
    const std::string line = answer.dump() + "\n";
    const std::lock_guard lock(mutex_);
    // Whoever asked may be gone: then stdin ends, too.
    [[maybe_unused]] const auto written = ::write(descriptor_, line.data(), line.size());
  }

 private:
  std::mutex mutex_;
  int descriptor_;
};

/// Which arithmetic torch may use is the same for the whole process, so runs side by side have the
/// same `precision`; and while cuDNN tries algorithms, as for fp32, there is one run.
class PrecisionGate {
 public:
  using Precision = config::RunConfig::Precision;

  /// A run that may go on; it waits for that.
  class Pass {
   public:
    Pass(PrecisionGate& gate, Precision precision) : gate_(gate) { gate_.enter(precision); }
    ~Pass() { gate_.leave(); }
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;

   private:
    PrecisionGate& gate_;
  };

 private:
  void enter(Precision precision) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] {
      return inside_ == 0 || (precision == precision_ && precision != Precision::kFp32);
    });
    precision_ = precision;
    ++inside_;
  }
  void leave() {
    const std::lock_guard lock(mutex_);
    --inside_;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  Precision precision_ = Precision::kFp32;
  int inside_ = 0;
};

/// The lines that `impart train` would print, for the run's own log.
class RunLog {
 public:
  explicit RunLog(const std::string& folder) : file_(folder + "/log.txt", std::ios::app) {}
  void print(const std::string& line) { file_ << line << std::endl; }

 private:
  std::ofstream file_;
};

/// Carries out orders, as many at a time as it has threads.
class Server {
 public:
  explicit Server(std::uint32_t streams) : streams_(streams) {}

  /// Returns when there are no more orders, and all are carried out. DataError for what is no
  /// order.
  void serve();

 private:
  void take(const Order& order);
  void finish();
  void work();
  std::optional<Order> next_order();
  int carry_out(const Order& order);
  train::RunOutcome run_request(const TrainRequest& request, RunLog& log);

  const std::uint32_t streams_;
  Answers answers_;
  PrecisionGate gate_;
  train::DataCache cache_{kMostSets};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Order> orders_;
  std::size_t idle_ = 0;
  bool is_over_ = false;
  std::vector<std::thread> threads_;
};

void Server::serve() {
  answers_.say({{"cards", torch::cuda::device_count()}});
  OrderReader reader;
  try {
    while (const auto order = reader.next()) take(*order);
  } catch (const Error&) {
    finish();
    throw;
  }
  finish();
}

void Server::finish() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    if (stop_requested()) orders_.clear();
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Server::take(const Order& order) {
  const std::lock_guard lock(mutex_);
  orders_.push_back(order);
  if (orders_.size() > idle_ && threads_.size() < streams_) {
    threads_.emplace_back([this] { work(); });
  }
  changed_.notify_one();
}

std::optional<Order> Server::next_order() {
  std::unique_lock lock(mutex_);
  ++idle_;
  changed_.wait(lock, [&] { return is_over_ || !orders_.empty(); });
  --idle_;
  if (orders_.empty() || stop_requested()) return std::nullopt;
  const Order order = orders_.front();
  orders_.pop_front();
  return order;
}

void Server::work() {
  while (const auto order = next_order()) {
    answers_.say({{"run", order->run}, {"started", true}});
    const int code = carry_out(*order);
    answers_.say({{"run", order->run}, {"code", code}});
  }
}

int Server::carry_out(const Order& order) {
  RunLog log(order.folder);
  try {
    const TrainRequest request =
        resume_request(order.folder, {fmt::format("threads={}", order.threads)});
    const train::RunOutcome outcome = run_request(request, log);
    for (const std::string& line : summary_lines(request, outcome)) log.print(line);
    if (!outcome.failure.empty()) log.print("impart: " + outcome.failure);
    return exit_code(outcome);
  } catch (...) {
    const Failure failure = current_failure();
    log.print("impart: " + harmless(failure.message, "\n"));
    return failure.code;
  }
}

train::RunOutcome Server::run_request(const TrainRequest& request, RunLog& log) {
  const config::RunConfig& config = request.config;
  const PrecisionGate::Pass pass(gate_, config.precision);
  const auto communicator = comm::make_single_communicator();
  TrainDisplay display(request.verbosity, config,
                       [&](const std::string& line) { log.print(line); });
  return train::run_training(
      {.config = config,
       .config_text = config::to_yaml(config),
       .config_hash = config::config_hash(config),
       .resume = true,
       .stop_requested = stop_requested,
       .load_data = [this](const config::RunConfig& wanted) { return cache_.load(wanted); }},
      *communicator, display.observer());
}

/// Before CUDA starts. Where the user has named cards, these are counted.
void use_card(std::uint32_t card) {
  const char* named = std::getenv("CUDA_VISIBLE_DEVICES");
  if (card == 0) return;
  std::vector<std::string> cards;
  std::istringstream list(named == nullptr ? "" : named);
  for (std::string one; std::getline(list, one, ',');) cards.push_back(one);
  const std::string chosen = card < cards.size() ? cards[card] : fmt::to_string(card);
  ::setenv("CUDA_VISIBLE_DEVICES", chosen.c_str(), /*overwrite=*/1);
}

struct ServeOptions {
  std::uint32_t card = 0, streams = 1;
};

void run_serve(const ServeOptions& options) {
  use_card(options.card);
  count_stop_signals();
  Server(options.streams).serve();
  if (stop_requested()) throw ExitCode{kStopped};
}

}  // namespace

void add_serve_command(CLI::App& app) {
  auto* command =
      app.add_subcommand("serve", "Train run after run, as 'impart study' asks for them");
  command->group("");  // not for people
  auto options = std::make_shared<ServeOptions>();
  command->add_option("--card", options->card, "the GPU to use, where there are several");
  command->add_option("--streams", options->streams, "runs at a time")
      ->check(CLI::Range(1u, 4096u));
  command->callback([options] { run_serve(*options); });
}

}  // namespace impart::cli
