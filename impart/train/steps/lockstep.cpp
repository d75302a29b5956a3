#include "impart/train/steps/lockstep.h"

#include <algorithm>
#include <thread>

#include "impart/tensors/threads.h"

namespace impart::train {

void Lockstep::run(std::span<const Pass> passes) {
  passes_ = passes;
  failure_ = nullptr;
  turns_.clear();
  for (std::size_t pass = 0; pass < passes.size(); ++pass) turns_.emplace_back(pass == 0 ? 1 : 0);
  std::vector<std::thread> threads;
  for (std::size_t pass = 0; pass < passes.size(); ++pass) {
    threads.emplace_back([this, pass] { live(pass); });
  }
  for (std::thread& thread : threads) thread.join();
  if (failure_) std::rethrow_exception(failure_);
}

void Lockstep::live(std::size_t pass) {
  try {
    wait_for_turn(pass);
    tensors::set_threads(1);  // OpenMP has a number for each thread that asks
    passes_[pass].resume();
    passes_[pass].run();
  } catch (const CalledOff&) {
  } catch (...) {
    failure_ = std::current_exception();
  }
  end_turn(pass);
}

void Lockstep::wait_for_turn(std::size_t pass) {
  turns_[pass].acquire();
  running_ = pass;
  if (failure_) throw CalledOff{};
}

void Lockstep::end_turn(std::size_t pass) {
  turns_[(pass + 1) % turns_.size()].release();
}

void Lockstep::add_up(std::span<double> sums, std::int64_t width) {
  const std::size_t pass = running_;
  const std::uint32_t worker = passes_[pass].worker;
  const auto row = static_cast<std::size_t>(width);
  if (pass == 0) rows_.assign(exchange_.hosted().count * row, 0.0);
  std::ranges::copy(sums.subspan(exchange_.place_of(worker) * row, row),
                    rows_.begin() + static_cast<std::ptrdiff_t>(worker * row));
  if (pass + 1 == passes_.size()) {
    sums_.resize(sums.size());
    exchange_.add_rows(rows_, width, sums_);
  }
  end_turn(pass);
  wait_for_turn(pass);
  passes_[pass].resume();
  std::ranges::copy(sums_, sums.begin());
}

}  // namespace impart::train
