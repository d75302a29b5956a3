#include "cli/simulate/output.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/output.h"
#include "cli/terminal/text_table.h"
#include "impart/cost/units.h"

namespace impart::cli {
namespace {

/// The mean of a number over the exchanges of a row.
template <class Number>
double mean_of(const SimulatedRow& row, Number cost::SimulatedExchange::*number) {
  double sum = 0;
  for (const cost::EpochExchange& one : row.exchanges) {
    sum += static_cast<double>(one.exchange.*number);
  }
  return row.exchanges.empty() ? 0 : sum / static_cast<double>(row.exchanges.size());
}

double exchange_per_epoch(const SimulatedRow& row) {
  return mean_of(row, &cost::SimulatedExchange::seconds) / row.interval;
}

std::string ratio_text(double a, double b) {
  return b > 0 ? fmt::format("{:.2f}", a / b) : "-";
}

void print_exchanges(const SimulatedTable& table, std::uint32_t nodes) {
  TextTable text(
      {"strategy", "network", "messages", "seconds", "alone", "times", "busiest link", "busy"});
  for (const SimulatedRow& row : table.rows) {
    if (row.nodes != nodes) continue;
    if (row.exchanges.empty()) {
      text.add({row.strategy, "-", "-", "-", "-", "-", "-", "-"});
      continue;
    }
    const double seconds = mean_of(row, &cost::SimulatedExchange::seconds);
    const double alone = mean_of(row, &cost::SimulatedExchange::least_seconds);
    const cost::SimulatedExchange& last = row.exchanges.back().exchange;
    const cost::BusyLink& link = last.busiest_inside.share > 0 ? last.busiest_inside : last.busiest;
    text.add({row.strategy, bytes_text(mean_of(row, &cost::SimulatedExchange::bytes), false),
              count_text(mean_of(row, &cost::SimulatedExchange::messages)),
              cost::seconds_text(seconds), cost::seconds_text(alone), ratio_text(seconds, alone),
              link.name, fmt::format("{:.0f} %", 100 * link.share)});
  }
  answer("{}", text.text());
}

void print_epochs(const SimulatedTable& table, std::uint32_t nodes) {
  TextTable text({"seconds of an epoch", "compute", "gradients", "exchange", "importance", "all"});
  for (const SimulatedRow& row : table.rows) {
    if (row.nodes != nodes) continue;
    const double exchange = exchange_per_epoch(row);
    text.add({row.strategy, cost::seconds_text(row.compute), cost::seconds_text(row.gradients),
              cost::seconds_text(exchange), cost::seconds_text(row.importance_pass),
              cost::seconds_text(row.compute + row.gradients + exchange + row.importance_pass)});
  }
  answer("\n{}", text.text());
}

void print_clusters(const SimulatedTable& table) {
  std::vector<std::uint32_t> nodes;
  for (const SimulatedRow& row : table.rows) {
    if (nodes.empty() || nodes.back() != row.nodes) nodes.push_back(row.nodes);
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    answer("{}{} nodes, {}\n{}\n\n", i == 0 ? "" : "\n", nodes[i], table.network,
           table.topologies[i]);
    print_exchanges(table, nodes[i]);
    if (table.has_epochs) print_epochs(table, nodes[i]);
  }
  answer(
      "\nalone: the busiest node's own link, with nobody in its way; times: seconds over that. The "
      "link is\nthe busiest between switches, where there is one.\n");
}

nlohmann::ordered_json exchange_json(const cost::EpochExchange& one) {
  const cost::SimulatedExchange& exchange = one.exchange;
  nlohmann::ordered_json json = {{"epoch", one.epoch},
                                 {"seconds", exchange.seconds},
                                 {"mean_seconds", exchange.mean_seconds},
                                 {"least_seconds", exchange.least_seconds},
                                 {"bytes", exchange.bytes},
                                 {"examples", exchange.examples},
                                 {"messages", exchange.messages}};
  for (const auto& [name, link] : {std::pair{"busiest_link", &exchange.busiest},
                                   std::pair{"busiest_inner_link", &exchange.busiest_inside}}) {
    if (link->name.empty()) continue;
    json[name] = {{"name", link->name}, {"bytes", link->bytes}, {"busy", link->share}};
  }
  return json;
}

void print_json_rows(const SimulatedTable& table) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const SimulatedRow& row : table.rows) {
    nlohmann::ordered_json exchanges = nlohmann::ordered_json::array();
    for (const cost::EpochExchange& one : row.exchanges) exchanges.push_back(exchange_json(one));
    nlohmann::ordered_json json = {
        {"nodes", row.nodes}, {"strategy", row.strategy}, {"exchanges", exchanges}};
    if (table.has_epochs) {
      json["epoch"] = {{"compute", row.compute},
                       {"gradients", row.gradients},
                       {"exchange", exchange_per_epoch(row)},
                       {"importance_pass", row.importance_pass}};
    }
    rows.push_back(json);
  }
  const nlohmann::ordered_json json = {{"network", table.network},
                                       {"topologies", table.topologies},
                                       {"payload_bytes", table.payload_bytes},
                                       {"strategies", rows}};
  answer("{}\n", json.dump(2));
}

void print_csv_rows(const SimulatedTable& table) {
  answer(
      "nodes,strategy,epoch,examples,bytes,messages,seconds,mean_seconds,least_seconds,"
      "busiest_link,busy,busiest_inner_link,inner_busy,epoch_compute,epoch_gradients,"
      "epoch_exchange,epoch_importance\n");
  for (const SimulatedRow& row : table.rows) {
    for (const cost::EpochExchange& one : row.exchanges) {
      const cost::SimulatedExchange& exchange = one.exchange;
      answer("{},{},{},{},{:.0f},{},{:.6g},{:.6g},{:.6g},\"{}\",{:.4f},\"{}\",{:.4f},", row.nodes,
             row.strategy, one.epoch, exchange.examples, exchange.bytes, exchange.messages,
             exchange.seconds, exchange.mean_seconds, exchange.least_seconds, exchange.busiest.name,
             exchange.busiest.share, exchange.busiest_inside.name, exchange.busiest_inside.share);
      answer("{:.6g},{:.6g},{:.6g},{:.6g}\n", row.compute, row.gradients, exchange_per_epoch(row),
             row.importance_pass);
    }
  }
}

}  // namespace

void print_simulation(const SimulatedTable& table, SimulatedFormat format) {
  if (format == SimulatedFormat::kCsv) return print_csv_rows(table);
  if (format == SimulatedFormat::kJson) return print_json_rows(table);
  print_clusters(table);
}

}  // namespace impart::cli
