#pragma once

#include "impart/config/schema.h"

namespace impart::config {

// The keys of each section, in files by topic, in the order of the configuration file. With
// `any_name` a program brings data or a model of its own, whose name may be anything.

void add_run(Schema& schema);
void add_data(Schema& schema, bool any_name);
void add_model(Schema& schema, bool any_name);
void add_workers(Schema& schema);
void add_optimizer(Schema& schema);
void add_train(Schema& schema);
void add_stop(Schema& schema);
void add_placement(Schema& schema, const placement::OwnRows& own);
void add_selection(Schema& schema, const placement::OwnRows& own);
void add_store(Schema& schema);
void add_remote(Schema& schema);
void add_comm(Schema& schema);
void add_outputs(Schema& schema);

}  // namespace impart::config
