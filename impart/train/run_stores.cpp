#include "impart/train/run_stores.h"

namespace impart::train {

void RunStores::settle(const placement::Partition& partition) {
  if (settled_) return;
  const PhaseTimer timer(clock_, &store::PhaseSeconds::exchange);
  data_.train_store->settle(partition);
  data_.test_store->settle({{}, partition.workers()});
  settled_ = true;
}

void RunStores::move(const placement::MovePlan& plan, bool overlap) {
  if (!settled_) return;
  const PhaseTimer timer(clock_, &store::PhaseSeconds::exchange);
  data_.train_store->start_moves(plan);
  if (!overlap) data_.train_store->finish_moves();
}

void RunStores::advance() {
  const PhaseTimer timer(clock_, &store::PhaseSeconds::exchange);
  data_.train_store->advance_moves();
}

void RunStores::begin_epoch(const store::EpochReads& reads) {
  const PhaseTimer timer(clock_, &store::PhaseSeconds::exchange);
  data_.train_store->begin_epoch(reads);
}

void RunStores::end_epoch() {
  const PhaseTimer timer(clock_, &store::PhaseSeconds::exchange);
  data_.train_store->end_epoch();
}

void RunStores::finish() {
  const PhaseTimer timer(clock_, &store::PhaseSeconds::exchange);
  data_.train_store->finish_moves();
}

}  // namespace impart::train
