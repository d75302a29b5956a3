#include "impart/data/payloads/read_ahead.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>

#include "impart/core/error.h"

namespace impart::data {
namespace {

constexpr std::uint64_t kFirstGroup = std::uint64_t{128} << 10;
constexpr std::size_t kMostInGroup = 4096;

/// One planned visit.
struct Visit {
  enum class State {
    kPlanned,
    kFetching,
    kHeld,
    kAside,  ///< not wanted, or damaged: whoever needs it reads it
    kFailed,
    kTaken,
  };
  ExampleId id{};
  State state = State::kPlanned;
  std::vector<std::byte> payload = {};
  std::uint64_t cost = 0;  ///< bytes that came from the source, with its share of gaps
  std::exception_ptr error = nullptr;
};
using VisitPtr = std::shared_ptr<Visit>;

class SourceReadAhead final : public PayloadSource {
 public:
  SourceReadAhead(std::shared_ptr<const PayloadSource> source, const ReadAheadSpec& spec)
      : source_(std::move(source)), ahead_(std::make_unique<ReadAhead>(source_, spec)) {}

  std::uint64_t examples() const override { return source_->examples(); }
  std::uint64_t payload_bytes(ExampleId id) const override { return source_->payload_bytes(id); }
  std::uint64_t read(ExampleId id, std::span<std::byte> payload) const override {
    std::uint64_t bytes = 0;
    if (ahead_->take(id, payload, bytes)) return bytes;
    return bytes + source_->read(id, payload);
  }
  std::uint64_t read_all(std::span<const PayloadWish> wishes) const override {
    return source_->read_all(wishes);
  }
  bool is_remote() const override { return source_->is_remote(); }
  std::uint64_t requests() const override { return source_->requests(); }
  std::string describe(ExampleId id) const override { return source_->describe(id); }
  ReadAhead* read_ahead() const override { return ahead_.get(); }

 private:
  std::shared_ptr<const PayloadSource> source_;
  std::unique_ptr<ReadAhead> ahead_;
};

}  // namespace

/// The threads and what they share; `mutex_` guards it. Payloads are filled outside, by the thread
/// that set their visits to kFetching.
class ReadAhead::Crew {
 public:
  Crew(std::shared_ptr<const PayloadSource> source, const ReadAheadSpec& spec)
      : source_(std::move(source)), spec_(spec) {}

  ~Crew() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    work_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  void plan(std::span<const ExampleId> visits, NeedsSource needs);
  void plan_more(std::span<const ExampleId> visits);
  bool take(ExampleId id, std::span<std::byte> payload, std::uint64_t& bytes);
  void end_visit(ExampleId id);
  std::uint64_t held_bytes() const {
    const std::lock_guard lock(mutex_);
    return held_;
  }

 private:
  void work();
  bool has_room() const;
  std::vector<VisitPtr> next_group();
  void fetch(const std::vector<VisitPtr>& group, std::unique_lock<std::mutex>& lock);
  VisitPtr find_untaken(ExampleId id);
  void release(const Visit& visit);
  std::uint64_t bytes_of(const Visit& visit) const { return source_->payload_bytes(visit.id); }

  std::shared_ptr<const PayloadSource> source_;
  ReadAheadSpec spec_;
  NeedsSource needs_;

  mutable std::mutex mutex_;
  std::condition_variable work_, news_;
  std::unordered_map<ExampleId, std::deque<VisitPtr>> visits_;  ///< in the order of the plan
  std::deque<VisitPtr> ahead_;                                  ///< not looked at yet
  std::uint64_t held_ = 0;                                      ///< fetched and on their way
  std::uint64_t group_bytes_ = kFirstGroup;
  std::uint64_t unbooked_ = 0;  ///< bytes that came from the source and nobody was told of
  bool stopped_ = false;
  std::vector<std::thread> threads_;  ///< from the first plan on
};

void ReadAhead::Crew::plan(std::span<const ExampleId> visits, NeedsSource needs) {
  {
    const std::lock_guard lock(mutex_);
    std::unordered_map<ExampleId, std::deque<VisitPtr>> before = std::exchange(visits_, {});
    for (const VisitPtr& visit : std::exchange(ahead_, {})) visit->state = Visit::State::kAside;
    needs_ = std::move(needs);
    group_bytes_ = kFirstGroup;
    // What is there or on its way serves the first visits of the new plan.
    for (const ExampleId id : visits) {
      const auto kept = before.find(id);
      VisitPtr visit;
      while (kept != before.end() && !visit && !kept->second.empty()) {
        const Visit::State state = kept->second.front()->state;
        if (state == Visit::State::kHeld || state == Visit::State::kFetching) {
          visit = kept->second.front();
        }
        kept->second.pop_front();
      }
      if (!visit) {
        visit = std::make_shared<Visit>(Visit{.id = id});
        ahead_.push_back(visit);
      }
      visits_[id].push_back(std::move(visit));
    }
    for (const auto& [id, rest] : before) {
      for (const VisitPtr& visit : rest) {
        if (visit->state == Visit::State::kHeld) release(*visit);
        // One on its way is let go when it has come: nobody will take it.
        if (visit->state == Visit::State::kFetching) visit->state = Visit::State::kAside;
      }
    }
    while (threads_.size() < spec_.threads) threads_.emplace_back([this] { work(); });
  }
  work_.notify_all();
  news_.notify_all();
}

void ReadAhead::Crew::plan_more(std::span<const ExampleId> visits) {
  {
    const std::lock_guard lock(mutex_);
    for (const ExampleId id : visits) {
      ahead_.push_back(std::make_shared<Visit>(Visit{.id = id}));
      visits_[id].push_back(ahead_.back());
    }
  }
  work_.notify_all();
}

/// Room for a whole group, or nothing to wait for that would make more.
bool ReadAhead::Crew::has_room() const {
  return held_ == 0 || held_ + group_bytes_ <= spec_.bytes;
}

void ReadAhead::Crew::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    work_.wait(lock, [this] { return stopped_ || (!ahead_.empty() && has_room()); });
    if (stopped_) return;
    const std::vector<VisitPtr> group = next_group();
    if (!group.empty()) fetch(group, lock);
    news_.notify_all();
  }
}

std::vector<VisitPtr> ReadAhead::Crew::next_group() {
  std::vector<VisitPtr> group;
  std::uint64_t bytes = 0;
  while (!ahead_.empty() && bytes < group_bytes_ && group.size() < kMostInGroup) {
    VisitPtr visit = std::move(ahead_.front());
    ahead_.pop_front();
    if (visit->state != Visit::State::kPlanned) continue;  // somebody read it meanwhile
    if (needs_ && !needs_(visit->id, visits_.at(visit->id).front() != visit)) {
      visit->state = Visit::State::kAside;
      continue;
    }
    bytes += bytes_of(*visit);
    visit->state = Visit::State::kFetching;
    group.push_back(std::move(visit));
  }
  held_ += bytes;
  group_bytes_ =
      std::clamp(2 * group_bytes_, std::uint64_t{1}, std::max(spec_.bytes / 8, kFirstGroup));
  return group;
}

void ReadAhead::Crew::fetch(const std::vector<VisitPtr>& group,
                            std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  std::vector<PayloadWish> wishes;
  std::uint64_t took = 0;
  auto outcome = Visit::State::kHeld;
  std::exception_ptr error;
  try {
    for (const VisitPtr& visit : group) {
      visit->payload.resize(bytes_of(*visit));
      wishes.push_back({visit->id, visit->payload});
    }
    took = source_->read_all(wishes);
  } catch (const DataError&) {
    outcome = Visit::State::kAside;  // whoever reads it alone finds out which one is damaged
  } catch (...) {
    outcome = Visit::State::kFailed;
    error = std::current_exception();
  }
  lock.lock();
  for (const VisitPtr& visit : group) {
    const bool is_needed = visit->state == Visit::State::kFetching;
    visit->cost = std::min(took, bytes_of(*visit));
    took -= visit->cost;
    visit->error = error;
    if (is_needed) visit->state = outcome;
    if (!is_needed || outcome != Visit::State::kHeld) release(*visit);
  }
  unbooked_ += took;
  work_.notify_all();
}

/// Its bytes are not held any more; what they cost is told to the next one who asks.
void ReadAhead::Crew::release(const Visit& visit) {
  held_ -= bytes_of(visit);
  unbooked_ += visit.cost;
}

VisitPtr ReadAhead::Crew::find_untaken(ExampleId id) {
  const auto found = visits_.find(id);
  if (found == visits_.end()) return nullptr;
  for (const VisitPtr& visit : found->second) {
    if (visit->state != Visit::State::kTaken) return visit;
  }
  return nullptr;
}

bool ReadAhead::Crew::take(ExampleId id, std::span<std::byte> payload, std::uint64_t& bytes) {
  using State = Visit::State;
  std::unique_lock lock(mutex_);
  const VisitPtr visit = find_untaken(id);
  if (visit) {
    news_.wait(lock, [&] {
      const bool may_come = visit->state == State::kPlanned && has_room();
      return stopped_ || (visit->state != State::kFetching && !may_come);
    });
  }
  const State state = visit ? std::exchange(visit->state, State::kTaken) : State::kAside;
  if (state == State::kHeld) release(*visit);
  bytes += std::exchange(unbooked_, 0);
  if (state == State::kFailed) std::rethrow_exception(visit->error);
  if (state != State::kHeld) return false;
  const std::vector<std::byte> held = std::move(visit->payload);
  lock.unlock();
  work_.notify_one();
  std::copy(held.begin(), held.end(), payload.begin());
  return true;
}

void ReadAhead::Crew::end_visit(ExampleId id) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = visits_.find(id);
    if (found == visits_.end()) return;
    const VisitPtr visit = std::move(found->second.front());
    found->second.pop_front();
    if (found->second.empty()) visits_.erase(found);
    if (visit->state == Visit::State::kHeld) release(*visit);
    visit->state = Visit::State::kTaken;
  }
  work_.notify_one();
}

ReadAhead::ReadAhead(std::shared_ptr<const PayloadSource> source, const ReadAheadSpec& spec)
    : crew_(std::make_unique<Crew>(std::move(source), spec)) {}
ReadAhead::~ReadAhead() = default;

void ReadAhead::plan(std::span<const ExampleId> visits, NeedsSource needs) {
  crew_->plan(visits, std::move(needs));
}
void ReadAhead::plan_more(std::span<const ExampleId> visits) {
  crew_->plan_more(visits);
}
bool ReadAhead::take(ExampleId id, std::span<std::byte> payload, std::uint64_t& bytes) {
  return crew_->take(id, payload, bytes);
}
void ReadAhead::end_visit(ExampleId id) {
  crew_->end_visit(id);
}
std::uint64_t ReadAhead::held_bytes() const {
  return crew_->held_bytes();
}

std::shared_ptr<const PayloadSource> with_read_ahead(std::shared_ptr<const PayloadSource> source,
                                                     const ReadAheadSpec& spec) {
  return std::make_shared<SourceReadAhead>(std::move(source), spec);
}

}  // namespace impart::data
