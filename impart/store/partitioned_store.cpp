#include "impart/store/partitioned_store.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <exception>
#include <filesystem>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "impart/comm/job.h"
#include "impart/core/error.h"
#include "impart/placement/hosted_workers.h"
#include "impart/store/lane_thread.h"
#include "impart/store/lanes.h"
#include "impart/store/settlement.h"
#include "impart/store/stores.h"

namespace impart::store {
namespace {

constexpr std::string_view kFolderPrefix = "worker-";

std::string folder_of(const std::string& path, std::uint32_t worker) {
  const std::string name = fmt::format("{}{:04}", kFolderPrefix, worker);
  return (std::filesystem::path(path) / name).string();
}

std::vector<std::unique_ptr<Shelf>> open_shelves(const PartitionedStoreSpec& spec,
                                                 const placement::HostedWorkers& hosted,
                                                 const data::PayloadSource& source) {
  std::vector<std::unique_ptr<Shelf>> shelves;
  for (std::uint32_t w = hosted.first; w < hosted.first + hosted.count; ++w) {
    if (spec.path.empty()) {
      shelves.push_back(make_memory_shelf());
    } else {
      shelves.push_back(open_directory_shelf({folder_of(spec.path, w), spec.data_id}, source));
    }
  }
  return shelves;
}

/// A number of workers in a folder's name; nothing if it is no shelf's.
std::optional<std::uint32_t> worker_of(const std::filesystem::path& folder) {
  const std::string name = folder.filename().string();
  if (!name.starts_with(kFolderPrefix)) return std::nullopt;
  std::uint32_t worker = 0;
  const char* end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + kFolderPrefix.size(), end, worker);
  if (error != std::errc() || stop != end) return std::nullopt;
  return worker;
}

/// An earlier run may have had more workers. Their parts are removed, each by one process.
void remove_left_over(const PartitionedStoreSpec& spec, const placement::HostedWorkers& hosted,
                      const data::PayloadSource& source) {
  if (spec.path.empty()) return;
  std::vector<std::string> left_over;
  for (const auto& entry : std::filesystem::directory_iterator(spec.path)) {
    const auto worker = worker_of(entry.path());
    if (!worker || *worker < spec.workers) continue;
    if (hosted.contains(WorkerId{*worker % spec.workers})) left_over.push_back(entry.path());
  }
  for (const std::string& folder : left_over) {
    if (!std::filesystem::exists(std::filesystem::path(folder) / "journal")) continue;
    remove_directory_shelf({folder, spec.data_id}, source);
  }
}

class PartitionedStore final : public Store {
 public:
  using Clock = LaneThread::Clock;

  PartitionedStore(const PartitionedStoreSpec& spec, const placement::HostedWorkers& hosted,
                   comm::Communicator& communicator,
                   std::shared_ptr<const data::PayloadSource> source)
      : lanes_(spec.moves_behind ? LaneSpec{.workers = spec.workers, .window = 1, .at_once = 1}
                                 : LaneSpec{.workers = spec.workers, .window = spec.window}),
        moves_behind_(spec.moves_behind),
        communicator_(communicator),
        source_(std::move(source)),
        parts_(hosted, open_shelves(spec, hosted, *source_), source_->examples(), spec.observer),
        pool_(spec.flow.piece_bytes),
        setup_{.parts = parts_,
               .pool = pool_,
               .sizes = [this](ExampleId id) { return source_->payload_bytes(id); },
               .flow = spec.flow},
        exceptions_(std::uncaught_exceptions()) {
    remove_left_over(spec, hosted, *source_);
  }

  ~PartitionedStore() override {
    const bool in_order = !run_ && !failed_ && std::uncaught_exceptions() <= exceptions_;
    thread_.reset();
    run_.reset();
    if (in_order) parts_.close();
  }

  void settle(const placement::Partition& partition) override {
    require_idle();
    if (partition.examples() != source_->examples() || partition.workers() != lanes_.workers) {
      throw ConfigError(fmt::format(
          "a store of {} examples and {} workers cannot follow a partition of {} and {}",
          source_->examples(), lanes_.workers, partition.examples(), partition.workers()));
    }
    const double seconds_moving = seconds_moving_;
    guarded([&] {
      make_holdings_last(parts_);
      const Holdings holdings = agree_on_holdings(parts_, partition, communicator_);
      forget_duplicates(parts_, holdings);
      read_missing(parts_, holdings, partition, *source_);
      start(moves_to(holdings, partition));
      finish_moves();
    });
    seconds_moving_ = seconds_moving;
  }

  void start_moves(const placement::MovePlan& plan) override {
    require_idle();
    guarded([&] {
      start(plan);
      if (moves_behind_ && !plan_.moves.empty()) thread_.emplace(*run_, parts_, communicator_);
    });
  }

  bool advance_moves() override {
    if (failed_) throw Error("a store whose exchange failed cannot go on");
    if (!run_) return true;
    guarded([&] {
      if (thread_ ? thread_->is_done() : run_->advance()) end_run();
    });
    return !run_;
  }

  void finish_moves() override {
    if (thread_ && !failed_) guarded([&] { thread_->wait(); });
    Store::finish_moves();
  }

  double take_seconds_moving() override { return std::exchange(seconds_moving_, 0); }

  bool holds(ExampleId id) const override { return parts_.holds(id); }
  void read(ExampleId id, WorkerId worker, std::vector<std::byte>& payload) override {
    parts_.read(id, worker, payload);
  }
  std::vector<StorageCost> take_costs() override {
    if (thread_) throw Error("a store does not know yet what the moves under way will cost");
    return parts_.take_costs();
  }

 private:
  void require_idle() const {
    if (failed_) throw Error("a store whose exchange failed cannot go on");
    if (run_) throw Error("a store cannot start moves while others are under way");
  }

  /// Other processes wait for the bytes of this one: a failure must reach them, and while the
  /// buffers that MPI may still use are there.
  template <class Body>
  void guarded(Body&& body) {
    try {
      comm::run_job(communicator_, std::forward<Body>(body));
    } catch (...) {
      failed_ = true;
      throw;
    }
  }

  /// Keeps what concerns this process of a plan for all: with thousands of processes that is little
  /// of it.
  void start(const placement::MovePlan& plan) {
    const placement::HostedWorkers& hosted = parts_.hosted();
    std::vector<std::uint64_t> incoming(lanes_.workers);
    plan_.moves.clear();
    for (const placement::Move& move : plan.moves) {
      if (std::max(index(move.from), index(move.to)) >= lanes_.workers ||
          index(move.example) >= source_->examples()) {
        throw ConfigError(fmt::format("cannot move example {} from worker {} to worker {}",
                                      index(move.example), index(move.from), index(move.to)));
      }
      if (!hosted.contains(move.from) && !hosted.contains(move.to)) continue;
      ++incoming[index(move.to)];
      plan_.moves.push_back(move);
    }
    for (std::uint32_t w = hosted.first; w < hosted.first + hosted.count; ++w) {
      parts_.allow(WorkerId{w}, parts_.shelf(WorkerId{w}).examples() + incoming[w]);
    }
    run_.emplace(plan_, setup_, lanes_, communicator_);
    started_ = Clock::now();
  }

  void end_run() {
    const Clock::time_point ended = thread_ ? thread_->done_at() : Clock::now();
    seconds_moving_ += std::chrono::duration<double>(ended - started_).count();
    thread_.reset();
    run_.reset();
  }

  LaneSpec lanes_;
  bool moves_behind_;
  comm::Communicator& communicator_;
  std::shared_ptr<const data::PayloadSource> source_;
  HeldParts parts_;
  PiecePool pool_;
  FlowSetup setup_;
  int exceptions_;
  placement::MovePlan plan_;    ///< what run_ carries out: moves from and to hosted workers
  std::optional<LaneRun> run_;  ///< while moves are under way
  Clock::time_point started_{};
  double seconds_moving_ = 0;
  std::optional<LaneThread> thread_;  ///< of run_, where it does not advance here
  bool failed_ = false;
};

void check(const PartitionedStoreSpec& spec) {
  constexpr std::uint64_t kMostBytes = std::numeric_limits<std::int32_t>::max();
  const bool possible = spec.workers > 0 && spec.window > 0 && spec.flow.batch_examples > 0 &&
                        spec.flow.piece_bytes > 0 && spec.flow.piece_bytes <= kMostBytes;
  if (possible) return;
  throw ConfigError(fmt::format(
      "a store of {} workers cannot move pieces of {} bytes, {} at a time, in batches of {}",
      spec.workers, spec.flow.piece_bytes, spec.window, spec.flow.batch_examples));
}

}  // namespace

std::unique_ptr<Store> make_partitioned_store(const PartitionedStoreSpec& spec,
                                              comm::Communicator& communicator,
                                              std::shared_ptr<const data::PayloadSource> source) {
  check(spec);
  const placement::HostedWorkers hosted =
      placement::hosted_workers(spec.workers, communicator.rank(), communicator.size());
  return std::make_unique<PartitionedStore>(spec, hosted, communicator, std::move(source));
}

std::unique_ptr<Store> open_partitioned(const StoreSpec& spec, comm::Communicator& communicator,
                                        std::shared_ptr<const data::PayloadSource> source) {
  return make_partitioned_store({.workers = spec.workers,
                                 .path = spec.path,
                                 .data_id = spec.data_id,
                                 .moves_behind = spec.moves_behind},
                                communicator, std::move(source));
}

}  // namespace impart::store
