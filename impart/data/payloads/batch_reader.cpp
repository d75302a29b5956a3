#include "impart/data/payloads/batch_reader.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/data/payloads/batch_slot.h"

namespace impart::data {
namespace {

using Clock = std::chrono::steady_clock;

/// Between two looks at rows that were not ready, and between two calls of pump.
constexpr auto kPatience = std::chrono::milliseconds(1);
/// Without threads, before looking again when no row is ready.
constexpr auto kNap = std::chrono::microseconds(100);
/// Rows are handed to threads in portions of about so many bytes, so that small images do not cost
/// a lock each.
constexpr std::uint64_t kPortionBytes = 1 << 16;
constexpr std::uint64_t kLargestPortion = 64;

/// Rows of one batch that one thread reads.
struct Portion {
  BatchSlot* slot = nullptr;
  std::vector<std::size_t> rows = {};     ///< to read
  std::vector<std::size_t> unready = {};  ///< of them, those that were not ready
  std::vector<FailedRow> failures = {};
  std::vector<std::byte> payload = {};
};

}  // namespace

/// The threads of a reader and what they share. `mutex_` guards all that is not constant while a
/// list is read; a portion belongs to its thread.
class BatchReader::Crew {
 public:
  explicit Crew(BatchReaderSpec spec);
  ~Crew();

  void begin(BatchList list);
  ReadBatch next(const std::function<void()>& pump);
  void abandon();
  std::uint64_t memory_bytes() const;

 private:
  void make_room(std::size_t bytes);
  void open_batch();
  void wait_for(BatchSlot& slot, const std::function<void()>& pump);
  void read_here(BatchSlot& slot, const std::function<void()>& pump);

  void work();
  bool take(Portion& portion);
  void look_at_unready(BatchSlot& slot);
  void read(Portion& portion);
  void read_row(const BatchSlot& slot, std::size_t row, Portion& portion);
  void put_back(Portion& portion);
  std::string place_of(ExampleId id) const;
  FailedRow failure_of(std::size_t row, ExampleId id) const;
  void stop();

  BatchReaderSpec spec_;
  std::size_t portion_rows_;
  BatchList list_;
  std::vector<std::vector<std::uint8_t>> own_buffers_;
  std::vector<std::span<std::uint8_t>> buffers_;  ///< one per slot, own or the caller's
  std::atomic<std::uint64_t> payload_bytes_ = 0;

  mutable std::mutex mutex_;
  std::condition_variable work_, done_;
  std::vector<BatchSlot> slots_;  ///< batch b is in slot b modulo their number
  std::size_t current_ = 0;       ///< the batch that next() returns next
  std::size_t opened_ = 0;        ///< batches current_..opened_-1 are being read
  bool is_held_ = false;          ///< whether the caller holds batch current_ - 1
  std::size_t unready_ = 0;       ///< rows in all slots
  std::size_t busy_ = 0;          ///< threads that have a portion
  Clock::time_point next_look_;
  std::atomic<bool> is_abandoned_ = false;
  bool is_stopped_ = false;
  Portion here_;  ///< of the calling thread, without threads
  std::vector<std::thread> threads_;
};

BatchReader::Crew::Crew(BatchReaderSpec spec) : spec_(std::move(spec)) {
  if (spec_.decoder == nullptr || !spec_.read || spec_.row_bytes == 0) {
    throw Error("BatchReader: it needs a decoder, a way to read and the size of images");
  }
  portion_rows_ = std::clamp<std::uint64_t>(kPortionBytes / spec_.row_bytes, 1, kLargestPortion);
  slots_.resize(spec_.threads == 0 ? 1 : spec_.batches_ahead + std::size_t{1});
  buffers_.resize(slots_.size());
  try {
    for (std::uint32_t i = 0; i < spec_.threads; ++i) threads_.emplace_back([this] { work(); });
  } catch (...) {
    stop();
    throw;
  }
}

BatchReader::Crew::~Crew() {
  stop();
}

void BatchReader::Crew::stop() {
  is_abandoned_ = true;
  {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
  }
  work_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void BatchReader::Crew::begin(BatchList list) {
  abandon();
  std::size_t start = 0, largest = 0;
  for (const std::size_t end : list.ends) {
    if (end < start || end > list.rows.size()) throw Error("BatchReader: wrong ends of batches");
    largest = std::max(largest, end - start);
    start = end;
  }
  make_room(largest * spec_.row_bytes);
  list_ = std::move(list);
  {
    const std::lock_guard lock(mutex_);
    while (opened_ < std::min(slots_.size(), list_.ends.size())) open_batch();
  }
  work_.notify_all();
}

/// For batches of so many bytes.
void BatchReader::Crew::make_room(std::size_t bytes) {
  if (bytes <= buffers_.front().size()) return;
  if (spec_.room) {
    std::ranges::fill(buffers_, std::span<std::uint8_t>());  // they may be gone by now
    std::vector<std::span<std::uint8_t>> given = spec_.room(slots_.size(), bytes);
    const auto is_small = [&](std::span<std::uint8_t> buffer) { return buffer.size() < bytes; };
    if (given.size() != slots_.size() || std::ranges::any_of(given, is_small)) {
      throw Error(fmt::format("BatchReader: not the {} buffers of {} bytes that it asked for",
                              slots_.size(), bytes));
    }
    buffers_ = std::move(given);
    return;
  }
  own_buffers_.resize(slots_.size());
  for (std::vector<std::uint8_t>& buffer : own_buffers_) buffer.resize(bytes);
  buffers_.assign(own_buffers_.begin(), own_buffers_.end());
}

void BatchReader::Crew::abandon() {
  is_abandoned_ = true;
  std::unique_lock lock(mutex_);
  current_ = opened_ = unready_ = 0;
  is_held_ = false;
  done_.wait(lock, [this] { return busy_ == 0; });
  is_abandoned_ = false;
  list_ = {};
}

void BatchReader::Crew::open_batch() {
  const std::size_t place = opened_ % slots_.size();
  const std::size_t start = opened_ == 0 ? 0 : list_.ends[opened_ - 1];
  const std::size_t rows = list_.ends[opened_] - start;
  slots_[place].open(std::span(list_.rows).subspan(start, rows),
                     buffers_[place].first(rows * spec_.row_bytes));
  ++opened_;
}

ReadBatch BatchReader::Crew::next(const std::function<void()>& pump) {
  const Clock::time_point start = Clock::now();
  if (current_ >= list_.ends.size()) throw Error("BatchReader: there is no further batch");
  if (is_held_) {
    is_held_ = false;
    {
      const std::lock_guard lock(mutex_);
      if (opened_ < list_.ends.size()) open_batch();
    }
    work_.notify_all();
  }
  BatchSlot& slot = slots_[current_ % slots_.size()];
  threads_.empty() ? read_here(slot, pump) : wait_for(slot, pump);
  ReadBatch batch{.rows = slot.rows, .decoded = slot.pixels, .valid = slot.valid};
  try {
    batch.skipped = settle_failures(slot, spec_.on_bad_example);
  } catch (...) {
    abandon();
    throw;
  }
  {
    const std::lock_guard lock(mutex_);
    ++current_;
  }
  is_held_ = true;
  batch.had_unready = slot.had_unready;
  batch.seconds_waited = std::chrono::duration<double>(Clock::now() - start).count();
  return batch;
}

void BatchReader::Crew::wait_for(BatchSlot& slot, const std::function<void()>& pump) {
  std::unique_lock lock(mutex_);
  while (!done_.wait_for(lock, kPatience, [&] { return slot.left == 0; })) {
    if (!pump) continue;
    lock.unlock();
    pump();
    lock.lock();
    if (unready_ == 0) continue;
    next_look_ = {};
    work_.notify_one();
  }
}

void BatchReader::Crew::read_here(BatchSlot& slot, const std::function<void()>& pump) {
  Clock::time_point last_pump = Clock::now();
  while (slot.left > 0) {
    const bool has_work = take(here_);
    if (has_work) {
      read(here_);
      put_back(here_);
    }
    if (pump && (!has_work || Clock::now() - last_pump >= kPatience)) {
      pump();
      last_pump = Clock::now();
    }
    if (!has_work) std::this_thread::sleep_for(kNap);
    next_look_ = {};
  }
}

void BatchReader::Crew::work() {
  Portion portion;
  std::unique_lock lock(mutex_);
  while (!is_stopped_) {
    if (take(portion)) {
      ++busy_;
      lock.unlock();
      read(portion);
      lock.lock();
      --busy_;
      put_back(portion);
    } else if (unready_ > 0) {
      work_.wait_for(lock, kPatience);
    } else {
      work_.wait(lock);
    }
  }
}

/// Fills the portion with rows of the earliest batch that has any to begin.
bool BatchReader::Crew::take(Portion& portion) {
  portion.rows.clear();
  const bool is_time_to_look = unready_ > 0 && Clock::now() >= next_look_;
  if (is_time_to_look) next_look_ = Clock::now() + kPatience;
  for (std::size_t batch = current_; batch < opened_; ++batch) {
    BatchSlot& slot = slots_[batch % slots_.size()];
    if (is_time_to_look) look_at_unready(slot);
    slot.take(portion_rows_, portion.rows);
    if (portion.rows.empty()) continue;
    portion.slot = &slot;
    return true;
  }
  return false;
}

void BatchReader::Crew::look_at_unready(BatchSlot& slot) {
  const auto is_unready = [&](std::size_t row) {
    try {
      return !spec_.ready(slot.rows[row].id, slot.rows[row].worker);
    } catch (...) {
      return false;  // whoever reads it asks again, and reports what is thrown
    }
  };
  const auto arrived = std::partition(slot.unready.begin(), slot.unready.end(), is_unready);
  unready_ -= static_cast<std::size_t>(slot.unready.end() - arrived);
  slot.arrived.insert(slot.arrived.end(), arrived, slot.unready.end());
  slot.unready.erase(arrived, slot.unready.end());
}

void BatchReader::Crew::read(Portion& portion) {
  const std::uint64_t capacity = portion.payload.capacity();
  const BatchSlot& slot = *portion.slot;
  for (const std::size_t row : portion.rows) {
    if (is_abandoned_) break;
    try {
      read_row(slot, row, portion);
    } catch (...) {
      portion.failures.push_back(failure_of(row, slot.rows[row].id));
    }
  }
  payload_bytes_ += portion.payload.capacity() - capacity;
}

void BatchReader::Crew::read_row(const BatchSlot& slot, std::size_t row, Portion& portion) {
  const auto [id, worker] = slot.rows[row];
  if (spec_.ready && !spec_.ready(id, worker)) {
    portion.unready.push_back(row);
    return;
  }
  spec_.read(id, worker, portion.payload);
  const DecodeChoices choices =
      list_.random_decode ? decode_choices(list_.seed, list_.epoch, id) : DecodeChoices{};
  spec_.decoder->decode(portion.payload, choices, slot.image(row));
}

/// Records what has become of the portion.
void BatchReader::Crew::put_back(Portion& portion) {
  if (!is_abandoned_) {
    BatchSlot& slot = *portion.slot;
    slot.unready.insert(slot.unready.end(), portion.unready.begin(), portion.unready.end());
    slot.had_unready = slot.had_unready || !portion.unready.empty();
    unready_ += portion.unready.size();
    slot.left -= portion.rows.size() - portion.unready.size();
    std::move(portion.failures.begin(), portion.failures.end(), std::back_inserter(slot.failures));
    if (slot.left == 0) done_.notify_one();
  } else if (busy_ == 0) {
    done_.notify_one();
  }
  portion.unready.clear();
  portion.failures.clear();
}

std::string BatchReader::Crew::place_of(ExampleId id) const {
  try {
    if (spec_.describe) return spec_.describe(id);
  } catch (const std::exception&) {  // the error that is being reported matters more
  }
  return fmt::format("example {}", index(id));
}

/// What is being thrown, for next() to throw or to report.
FailedRow BatchReader::Crew::failure_of(std::size_t row, ExampleId id) const {
  try {
    throw;
  } catch (const DataError& error) {
    const std::string place = place_of(id);
    std::string reason = error.what();
    if (!reason.starts_with(place)) reason = place + ": " + reason;
    return {row, reason, std::make_exception_ptr(DataError(reason)), true};
  } catch (...) {
    return {row, "", std::current_exception(), false};
  }
}

std::uint64_t BatchReader::Crew::memory_bytes() const {
  std::uint64_t bytes = payload_bytes_;
  for (const std::span<std::uint8_t> buffer : buffers_) bytes += buffer.size();
  return bytes;
}

BatchReader::BatchReader(BatchReaderSpec spec) : crew_(std::make_unique<Crew>(std::move(spec))) {}
BatchReader::~BatchReader() = default;

void BatchReader::begin(BatchList list) {
  crew_->begin(std::move(list));
}
ReadBatch BatchReader::next(const std::function<void()>& pump) {
  return crew_->next(pump);
}
void BatchReader::abandon() {
  crew_->abandon();
}
std::uint64_t BatchReader::memory_bytes() const {
  return crew_->memory_bytes();
}

}  // namespace impart::data
