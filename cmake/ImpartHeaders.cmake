# The headers that are installed: those a program of one's own includes, and those that these
# include. tests/install/headers_test.py checks that the list is closed and that nothing of it is
# missing; the install test compiles each of them alone. The API page is made of the same list.

# Decisions: who trains on what.
set(IMPART_HEADERS_core
  impart/impart.h
  impart/core/column_file.h
  impart/core/error.h
  impart/core/file.h
  impart/core/ids.h
  impart/core/named_table.h
  impart/core/philox.h
  impart/core/progress.h
  impart/core/random.h
  impart/core/scores.h
  impart/importance/columns.h
  impart/importance/importance_table.h
  impart/importance/known_importance.h
  impart/importance/logit_signals.h
  impart/importance/notions.h
  impart/importance/signals.h
  impart/importance/table_file.h
  impart/placement/classes.h
  impart/placement/contract.h
  impart/placement/epoch_order.h
  impart/placement/exchanges.h
  impart/placement/heuristics.h
  impart/placement/hosted_workers.h
  impart/placement/measures/imbalance.h
  impart/placement/measures/mixing.h
  impart/placement/move_plan.h
  impart/placement/outers.h
  impart/placement/own_rows.h
  impart/placement/ownership.h
  impart/placement/partition.h
  impart/placement/placement.h
  impart/placement/placement_spec.h
  impart/placement/ranking.h
  impart/placement/rows.h
  impart/placement/schedule.h
  impart/placement/selections.h
  impart/placement/starts.h
  impart/placement/step_plan.h)

# Configurations, processes, studies, results and reports.
set(IMPART_HEADERS_study
  impart/comm/communicator.h
  impart/comm/job.h
  impart/config/config.h
  impart/config/config_file.h
  impart/config/config_text.h
  impart/config/epochs.h
  impart/config/model_names.h
  impart/config/schema.h
  impart/config/stop_target.h
  impart/config/value_rules.h
  impart/data/dataset.h
  impart/data/images/image_set.h
  impart/data/payloads/example_set.h
  impart/data/payloads/payload_source.h
  impart/data/task.h
  impart/data/text/token_set.h
  impart/data/text/tokenizer.h
  impart/report/analysis.h
  impart/report/document.h
  impart/report/report.h
  impart/report/sections.h
  impart/results/results.h
  impart/run/run_files.h
  impart/run/stopped_at.h
  impart/run/summary.h
  impart/statistics/comparison.h
  impart/statistics/describe.h
  impart/statistics/interval.h
  impart/statistics/paired.h
  impart/statistics/power.h
  impart/statistics/sign_flip.h
  impart/statistics/student.h
  impart/statistics/time_to_target.h
  impart/statistics/variance.h
  impart/statistics/wilcoxon.h
  impart/store/cache/policies.h
  impart/store/ledger.h
  impart/study/arms.h
  impart/study/plan.h
  impart/study/record.h
  impart/study/spec.h)

# The engine, with data and a model of one's own.
set(IMPART_HEADERS_train
  impart/feed/own_data.h
  impart/models/classifier.h
  impart/models/layers/dropout.h
  impart/models/layers/norm_layer.h
  impart/models/layers/shared_sums.h
  impart/models/layers/worker_batch_norm.h
  impart/train/run.h)
