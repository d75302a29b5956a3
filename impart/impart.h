#pragma once

/// @file
/// The decision core under short names: what a program types often is lifted out of the rooms into
/// `impart::`. `impart::placement::Partition` and `impart::Partition` are the same. Needs neither
/// LibTorch nor MPI.

#include "impart/core/column_file.h"
#include "impart/core/error.h"
#include "impart/core/ids.h"
#include "impart/core/random.h"
#include "impart/core/scores.h"
#include "impart/importance/importance_table.h"
#include "impart/importance/notions.h"
#include "impart/importance/signals.h"
#include "impart/placement/contract.h"
#include "impart/placement/epoch_order.h"
#include "impart/placement/exchanges.h"
#include "impart/placement/heuristics.h"
#include "impart/placement/measures/imbalance.h"
#include "impart/placement/move_plan.h"
#include "impart/placement/own_rows.h"
#include "impart/placement/partition.h"
#include "impart/placement/placement.h"
#include "impart/placement/ranking.h"
#include "impart/placement/schedule.h"
#include "impart/placement/selections.h"
#include "impart/placement/starts.h"
#include "impart/placement/step_plan.h"

namespace impart {

// How hard is it?
using importance::ImportanceTable;
using importance::kNotions;
using importance::notions_named;
using importance::Signals;
using importance::TableSpec;

// Who trains on it?
using placement::check_spec;
using placement::check_start;
using placement::cut_into_blocks;
using placement::cut_into_graded_blocks;
using placement::deal_balanced;
using placement::deal_classes_in_stripes;
using placement::deal_in_snake;
using placement::deal_in_stripes;
using placement::find_breaches;
using placement::Heuristic;
using placement::Imbalance;
using placement::kHeuristics;
using placement::kStarts;
using placement::measure_imbalance;
using placement::Partition;
using placement::PartitionSpec;
using placement::rank_by_importance;
using placement::read_partition;
using placement::shuffle_evenly;
using placement::Start;
using placement::StartSpec;
using placement::visit_by_importance;
using placement::write_partition;

// What changes between two epochs, and what has to travel?
using placement::diff;
using placement::Exchange;
using placement::exchange_by_importance;
using placement::exchange_in_pairs;
using placement::exchange_to_balance;
using placement::exchange_uniformly;
using placement::ExchangeSpec;
using placement::kExchanges;
using placement::Move;
using placement::MovePlan;

// What of it is visited, and with which weight?
using placement::AnySelection;
using placement::kSelections;
using placement::select_visits;
using placement::Selected;
using placement::Selection;
using placement::SelectionInput;
using placement::SelectionSpec;

// When, and in which order?
using placement::EpochOrderSpec;
using placement::make_schedule;
using placement::order_epoch;
using placement::OwnRows;
using placement::Parts;
using placement::Placement;
using placement::PlacementSpec;
using placement::ScheduleEvent;
using placement::ScheduleSpec;
using placement::StepPlan;

}  // namespace impart
