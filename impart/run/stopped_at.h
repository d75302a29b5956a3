#pragma once

#include <cstdint>

namespace impart::run {

/// The evaluation that ended a run by stop.at or stop.patience.
struct StoppedAt {
  bool reached = false;      ///< stop.at
  std::uint32_t epoch = 0;   ///< counted from 0, as in all files
  std::uint64_t visits = 0;  ///< of examples, in training steps, so far
  std::uint64_t steps = 0;
  double seconds = 0;  ///< as seconds_total counts them
  bool operator==(const StoppedAt&) const = default;
};

template <class At, class Function>
void for_each_stop_member(At& at, Function&& f) {
  f("reached", at.reached);
  f("epoch", at.epoch);
  f("visits", at.visits);
  f("steps", at.steps);
  f("seconds", at.seconds);
}

template <class Json>
void to_json(Json& json, const StoppedAt& at) {
  for_each_stop_member(at, [&](const char* name, const auto& value) { json[name] = value; });
}
template <class Json>
void from_json(const Json& json, StoppedAt& at) {
  for_each_stop_member(at, [&](const char* name, auto& value) { json.at(name).get_to(value); });
}

}  // namespace impart::run
