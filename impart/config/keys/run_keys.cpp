#include "impart/config/keys/keys.h"
#include "impart/config/keys/section_keys.h"

namespace impart::config {

void add_run(Schema& schema) {
  SectionKeys<RunConfig> run(schema);
  run.key("name", &RunConfig::name, text(), "what the run is called", kSameResult);
  run.key("seed", &RunConfig::seed, whole<std::uint64_t>(0), "where all random choices come from");
  run.key("seed.init", &RunConfig::seed_init, own_seed(), "of the initial weights alone")
      .counts_at_default = false;
  run.key("seed.order", &RunConfig::seed_order, own_seed(),
          "of partitions, exchanges and the orders of epochs alone")
      .counts_at_default = false;
  run.key("seed.augment", &RunConfig::seed_augment, own_seed(),
          "of augmentations and dropout alone")
      .counts_at_default = false;
  run.key("epochs", &RunConfig::epochs, whole(1u, kMostEpochs), "passes over the training data");
  using Device = RunConfig::Device;
  run.key("device", &RunConfig::device,
          choice<Device>("device",
                         {{"auto", Device::kAuto}, {"cpu", Device::kCpu}, {"cuda", Device::kCuda}}),
          "where to compute; auto: a GPU if there is one", kSameResult);
  using Precision = RunConfig::Precision;
  run.key("precision", &RunConfig::precision,
          choice<Precision>(
              "precision",
              {{"fp32", Precision::kFp32}, {"tf32", Precision::kTf32}, {"bf16", Precision::kBf16}}),
          "arithmetic of the matrix products");
  run.key("threads", &RunConfig::threads, whole(0u, 4096u), "threads per process; 0: all cores",
          kSameResult);
}

void add_train(Schema& schema) {
  SectionKeys train(schema, "train", &RunConfig::train);
  train.key("stop_on_nan", &TrainConfig::stop_on_nan, flag(),
            "end the run after an epoch whose training loss is NaN or infinite", kSameResult);
}

void add_stop(Schema& schema) {
  SectionKeys stop(schema, "stop", &RunConfig::stop);
  stop.key("at", &StopConfig::at, or_word("none", stop_target()),
           "end the run at the first evaluation that reaches this")
      .counts_at_default = false;
  stop.key("patience", &StopConfig::patience, whole(0u, kMostEpochs),
           "end the run after so many evaluations without a better one; 0: never")
      .counts_at_default = false;
}

void add_comm(Schema& schema) {
  SectionKeys comm(schema, "comm", &RunConfig::comm);
  comm.key("timeout", &CommConfig::timeout, whole(0u, 1'000'000u, "seconds"),
           "seconds without a sign of life after which a process is given up; 0: never",
           kSameResult);
}

void add_outputs(Schema& schema) {
  SectionKeys eval(schema, "eval", &RunConfig::eval);
  using Protocol = EvalConfig::Protocol;
  eval.key("protocol", &EvalConfig::protocol,
           choice<Protocol>("protocol", {{"clean", Protocol::kClean}, {"paper", Protocol::kPaper}}),
           "paper: augmented test images and training mode, as the 2023 prototype");
  eval.key("every", &EvalConfig::every, epochs<EpochInterval>(1, kMostEpochs),
           "epochs between two evaluations; the last epoch always has one");
  eval.key("batch", &EvalConfig::batch, whole(1u), "test examples per forward pass");
  eval.key("mirror", &EvalConfig::mirror, flag(),
           "test images are looked at twice, once mirrored, and the logits averaged")
      .counts_at_default = false;
  eval.key("workers", &EvalConfig::workers, flag(),
           "test every worker's own model, too, before they become one (sync epoch, or so many "
           "steps)")
      .counts_at_default = false;

  SectionKeys checkpoint(schema, "checkpoint", &RunConfig::checkpoint);
  checkpoint.key("every", &CheckpointConfig::every, epochs<EpochInterval>(0, kMostEpochs),
                 "epochs between two checkpoints; 0: none", kSameResult);
  checkpoint.key("keep", &CheckpointConfig::keep, whole(1u), "how many of the newest stay",
                 kSameResult);
  using Last = CheckpointConfig::Last;
  checkpoint.key("last", &CheckpointConfig::last,
                 choice<Last>("last", {{"whole", Last::kWhole}, {"model", Last::kModel}}),
                 "model: of a run that is over stays one checkpoint, without the state of training",
                 kSameResult);

  SectionKeys<RunConfig> run(schema);
  run.key("output", &RunConfig::output, text(),
          "run directory; {name} and {seed} stand for those of the run", kSameResult);
}

}  // namespace impart::config
