#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/io/measures.h"
#include "cli/io/strategy_table.h"
#include "cli/io/tables.h"
#include "cli/output.h"
#include "cli/terminal/text_table.h"

namespace impart::cli {
namespace {

using Row = IoPrediction::Row;

bool has_caches(const IoPrediction& prediction) {
  return prediction.spec.cache_bytes > 0 || prediction.spec.cache_disk_bytes > 0;
}

/// "pin, 64.0 MB in memory, cooperative"
std::string describe_caches(const cost::IoSpec& spec, bool raw) {
  std::vector<std::string> parts = {std::string(spec.cache_policy->name)};
  const auto add = [&](std::uint64_t bytes, const char* where) {
    if (bytes == 0) return;
    parts.push_back(fmt::format("{} {}", bytes_text(static_cast<double>(bytes), raw), where));
  };
  add(spec.cache_bytes, "in memory");
  add(spec.cache_disk_bytes, "on disk");
  if (spec.cooperative) parts.emplace_back("cooperative");
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string caches_table(const IoPrediction& prediction, const IoOutput& output) {
  const auto share = [](std::string head, double cost::IoCost::*hits) {
    return StrategyColumn{
        std::move(head), true, [=](const Row& row) {
          const cost::IoCost& cost = row.cost.later;
          const double reads =
              cost.cache_hits + cost.cache_hits_disk + cost.cache_hits_peers + cost.cache_misses;
          return fmt::format("{:.1f} %", reads == 0 ? 0 : 100 * (cost.*hits) / reads);
        }};
  };
  std::vector<StrategyColumn> columns = {
      share("memory", &cost::IoCost::cache_hits),
      share("disk", &cost::IoCost::cache_hits_disk),
      share("peers", &cost::IoCost::cache_hits_peers),
      share("source", &cost::IoCost::cache_misses),
      bytes_column("source/epoch", true, &cost::IoCost::replicated_source_bytes, output.raw_bytes),
      bytes_column("peers/epoch", true, &cost::IoCost::peer_bytes, output.raw_bytes),
      bytes_column("source/run", true, &cost::IoCost::replicated_source_bytes, output.raw_bytes),
  };
  if (has_price(prediction)) {
    columns.push_back({"price/run", true, [&](const Row& row) {
                         return fmt::format("{:.2f}", money_of(prediction, row.cost.run));
                       }});
  }
  return strategy_table(prediction, columns, output.wide);
}

}  // namespace

void print_caches(const IoPrediction& prediction, const IoOutput& output) {
  if (!has_caches(prediction) && !has_price(prediction)) return;
  answer("Reads of a replicated store{}\n{}\n",
         has_caches(prediction) ? fmt::format(" with caches in each process: {}",
                                              describe_caches(prediction.spec, output.raw_bytes))
                                : "",
         caches_table(prediction, output));
}

}  // namespace impart::cli
