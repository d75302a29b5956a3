#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "impart/models/classifier.h"
#include "impart/placement/placement.h"
#include "impart/run/run_files.h"
#include "impart/train/run.h"
#include "impart/train/run_data.h"

namespace impart::train {

/// Writes what a run that is done has found out into its directory: importance, history,
/// labels, the hardest texts, and the summary. IoError.
void write_results(const RunSpec& spec, const RunData& data, const placement::Placement& placement,
                   models::Classifier& model, run::RunSummary& summary);

/// Writes hidden.npy, how often a selection hid each example; nothing if it is empty. IoError.
void write_hidden(const std::string& folder, std::span<const std::uint32_t> times_hidden);

}  // namespace impart::train
