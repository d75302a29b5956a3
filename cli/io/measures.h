#pragma once

#include "cli/io/output.h"

namespace impart::cli {

// What tables and files say of a prediction, computed in one place.

/// Of the examples, in a mean epoch.
double share_moved(const IoPrediction& prediction, const cost::StrategyCost& cost);

/// Of an epoch over the network, where gradients are added up in every step.
double gradient_bytes(const IoPrediction& prediction);
/// Of an epoch over the network, with the sync that is asked about.
double weight_bytes(const IoPrediction& prediction);
/// Of an epoch, that batch norms share.
double statistics_bytes(const IoPrediction& prediction);

bool has_price(const IoPrediction& prediction);
/// What a run's reads of the source cost: each read that no cache answers is one request.
double money_of(const IoPrediction& prediction, const cost::IoCost& cost);

/// One sentence: which strategy to take on this machine. With IoPrediction::time.
std::string advice_of(const IoPrediction& prediction);

}  // namespace impart::cli
