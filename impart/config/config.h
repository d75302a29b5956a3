#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "impart/config/epochs.h"
#include "impart/config/model_names.h"
#include "impart/config/stop_target.h"
#include "impart/importance/importance_table.h"
#include "impart/placement/epoch_order.h"
#include "impart/placement/outers.h"
#include "impart/placement/own_rows.h"
#include "impart/placement/placement.h"
#include "impart/placement/schedule.h"
#include "impart/placement/selections.h"
#include "impart/placement/step_plan.h"
#include "impart/store/cache/policies.h"

namespace impart::config {

// Everything that says what one run is. Plain values: nothing here is checked or looked up. The
// members are the keys of the YAML file, in its order; keys/ gives each its help, its range
// and its place in the file, config_file.h reads and checks them, rules.h says what goes with what.

/// The examples.
struct DataConfig {
  std::string name = "shapes";        ///< row of the table of data sets
  std::string root = {};              ///< folder of its files; built-in data needs none
  std::string augment = "crop-flip";  ///< row of the table of augmentations
  std::uint64_t limit = 0;            ///< use only the first so many training examples; 0: all
  double validation = 0;  ///< share of them that is held out, and evaluated on; 0: the test set is
  std::uint64_t train_examples = 10000;  ///< how many to make, where data is made
  std::uint64_t test_examples = 2000;
  std::uint64_t seed = 1;        ///< of made data; the run's seed does not change the data
  std::uint32_t image_size = 0;  ///< height and width that photos are brought to; 0: 224
  std::string image_column = {}, label_column = {};  ///< of shards; empty: found out
  bool coarse = false;  ///< the 20 coarse classes of cifar100 instead of the 100 fine ones
  /// Text:
  std::string train_file = {}, test_file = {};  ///< names in root; empty: the usual ones
  double test_share = 0.1;         ///< of the training text that tests, if there is no test file
  std::string text_column = {};    ///< of tables; a label_column makes them data with classes
  std::string header = "auto";     ///< of tables: whether the first line names columns
  std::uint32_t block = 128;       ///< tokens that a model sees of an example, at most
  std::uint32_t stride = 0;        ///< tokens from one block to the next; 0: block
  bool pack = true;                ///< blocks may span documents
  std::string tokenizer = "byte";  ///< row of the table of tokenizers
  std::uint32_t vocabulary = 0;    ///< tokens that a trained tokenizer has; 0: 8192
  std::string vocabulary_file =
      {};  ///< a saved tokenizer to use instead; empty: made from the text
  /// Examples that are read when they are visited:
  enum class OnError {
    kFail,  ///< one that cannot be read ends the run
    kSkip,  ///< it is left out, and counted
  };
  OnError on_error = OnError::kFail;
  std::uint32_t decode_threads = 1;  ///< of each process; 0: decode where training runs
  std::uint32_t prefetch = 4;        ///< batches that are made ready in advance
  bool operator==(const DataConfig&) const = default;
};

/// The model.
struct ModelConfig {
  enum class Stem {
    kImagenet,  ///< 7x7 convolution with stride 2, then max-pooling
    kCifar,     ///< 3x3 convolution
  };
  std::string name = "small-cnn";  ///< row of the table of models
  Stem stem = Stem::kImagenet;     ///< first layers of a residual network
  Norm norm = Norm::kBatch;        ///< between the convolutions of image models
  double dropout = 0;              ///< share of activations that text models leave out in training
  std::string from = {};           ///< file or folder of weights to start from; empty: drawn
  bool operator==(const ModelConfig&) const = default;
};

/// When the workers' models become equal again.
struct SyncRule {
  enum class Kind {
    kStep,        ///< gradients are averaged in every step: the models never differ
    kEverySteps,  ///< models are averaged after `steps` steps on their own
    kEpoch,       ///< models are averaged at the end of the epoch
  };
  Kind kind = Kind::kStep;
  std::uint32_t steps = 0;  ///< for kEverySteps, else 0
  bool operator==(const SyncRule&) const = default;
};

/// The logical workers and how their steps become one.
struct WorkersConfig {
  /// For batch_norm: the statistics are those of the whole step.
  static constexpr std::uint32_t kWholeStep = 0;
  enum class RunningStats {
    kMean,     ///< evaluation uses the mean of the workers' running statistics
    kWorker0,  ///< those of worker 0, as PyTorch's DDP does
    kPooled,   ///< the mean, and in the variance also how far the workers' means are apart
  };
  enum class Reduce {
    kFast,
    kExact,  ///< the sum has the same bits for every number of processes
  };
  enum class Transport {
    kAuto,  ///< NCCL where every process has a GPU of its own, else MPI
    kMpi,
    kNccl,
  };
  std::uint32_t count = 4;
  std::uint32_t batch = 256;  ///< examples per worker and step
  SyncRule sync = {};
  Epochs sync_start = 0;  ///< epochs at the start in which gradients are averaged in every step
  std::string outer = placement::kPlainOuter;  ///< row of kOuters: what becomes of the models' mean
  std::optional<double> outer_lr = {}, outer_momentum = {};  ///< none: as published
  bool outer_overlap = false;  ///< a sum of models travels during the steps after it
  /// Neighbouring workers whose batches are normalised with common statistics: 0 to g - 1,
  /// g to 2g - 1 and so on.
  std::uint32_t batch_norm = 1;
  RunningStats running_stats = RunningStats::kMean;
  placement::Uneven uneven = placement::Uneven::kWeight;
  placement::ShuffleKind shuffle = placement::ShuffleKind::kPerWorker;
  Reduce reduce = Reduce::kFast;
  std::uint32_t micro_batch = 0;  ///< most examples in one forward pass; 0: chosen by the run
  Transport transport = Transport::kAuto;  ///< what sums gradients of GPUs over the processes

  /// batch_norm as a number from 1 to count.
  std::uint32_t norm_group() const {
    return batch_norm == kWholeStep ? count : std::min(batch_norm, count);
  }
  bool operator==(const WorkersConfig&) const = default;
};

/// What an update does with a gradient, and how the learning rate goes.
struct OptimizerConfig {
  enum class Name { kSgd, kAdamw };
  enum class Schedule {
    kConstant,
    kStep,    ///< times step_factor every step_epochs epochs
    kCosine,  ///< half a cosine from lr to lr * final_lr_factor
    kLinear,  ///< a line from lr to lr * final_lr_factor
  };
  Name name = Name::kSgd;
  double lr = 0.1;
  double momentum = 0.9;  ///< sgd
  bool nesterov = true;   ///< sgd
  double weight_decay = 5e-4;
  double beta1 = 0.9;     ///< adamw
  double beta2 = 0.999;   ///< adamw
  double epsilon = 1e-8;  ///< adamw
  /// What the schedule counts: once epochs have different numbers of visits, these are different
  /// experiments.
  enum class ScheduleBy {
    kEpoch,   ///< an epoch is 1, however short
    kVisits,  ///< as many visits as there are examples are 1
  };
  Schedule schedule = Schedule::kConstant;
  ScheduleBy schedule_by = ScheduleBy::kEpoch;
  Epochs warmup_epochs = 0;  ///< epochs in which the learning rate rises to lr
  EpochInterval step_epochs = 30;
  double step_factor = 0.1;
  double final_lr_factor = 0;
  double clip_norm = 0;        ///< largest norm of a step's gradient; 0: no limit
  double label_smoothing = 0;  ///< share of every target that is spread over all classes
  bool operator==(const OptimizerConfig&) const = default;
};

/// How training goes on.
struct TrainConfig {
  bool stop_on_nan = true;  ///< end the run after an epoch whose training loss is not finite
  bool operator==(const TrainConfig&) const = default;
};

/// When a run ends before its last epoch.
struct StopConfig {
  std::optional<StopTarget> at = {};  ///< at the first evaluation that reaches it
  std::uint32_t patience = 0;         ///< after so many evaluations without a better one; 0: never
  bool operator==(const StopConfig&) const = default;
};

/// How hard examples are, and what is written of it.
struct ImportanceConfig {
  std::string notion = "loss-variance";  ///< row of kNotions, or own: what the heuristic ranks by
  Epochs ignore = 1;                     ///< first epochs whose signals do not count
  importance::WindowKind window = importance::WindowKind::kInterval;
  bool history = false;                  ///< record every loss of every epoch
  std::vector<std::string> record = {};  ///< further notions that are measured and written
  std::uint32_t images = 8;              ///< hardest and easiest images of each notion to write
  std::uint32_t texts = 20;              ///< hardest and easiest texts of each notion to write
  bool token_losses = false;             ///< write the losses of these texts' single tokens
  EpochInterval dissimilarity = 0;       ///< epochs between two measurements of it; 0: none
  bool operator==(const ImportanceConfig&) const = default;
};

/// Who trains on what, and when that is decided.
struct PartitionConfig {
  std::string start = "random";  ///< row of kStarts, or own: the partition of the first epoch
  double alpha = 0.5;            ///< start dirichlet: small for few classes per worker
  placement::PartSizes sizes = placement::PartSizes::kFree;  ///< start dirichlet
  std::string start_file = {};                               ///< start file: the owners
  std::string heuristic = "stripes";                         ///< row of kHeuristics, or own
  double strength = 0.5;        ///< graded-blocks: importance against chance, 0..1
  Epochs warmup = 3;            ///< epochs at the start, each with a new random partition
  bool warmup_shuffle = false;  ///< so it is after a start that is not random, too
  EpochInterval interval = 3;   ///< epochs between two repartitionings; 0: never again
  bool sticky = false;          ///< move as few examples as the heuristic allows
  bool save = false;            ///< write every partition
  bool operator==(const PartitionConfig&) const = default;
};

/// The name of no exchange at all.
inline constexpr const char* kNoExchange = "none";

/// What changes owner between two epochs.
struct ExchangeConfig {
  std::string strategy = kNoExchange;  ///< row of kExchanges, own, or kNoExchange
  double fraction = 0.1;               ///< which share of its part a worker gives away
  /// Visit examples that have just moved after those that stayed, so that the first steps of the
  /// epoch need not wait for them. Also after a repartitioning.
  bool arrivals_last = false;
  bool operator==(const ExchangeConfig&) const = default;
};

/// The name of the selection that leaves everything in.
inline constexpr const char* kNoSelection = "all";

/// What of its part a worker visits in an epoch, and with which weight. The numbers are those of
/// placement::SelectionSpec.
struct SelectionConfig {
  enum class Rate {
    kKeep,
    kScale,  ///< times 1 / (1 - the share that was really hidden)
  };
  std::string strategy = kNoSelection;  ///< row of kSelections, or own
  std::optional<double> share = {};     ///< that is left out; none: as published
  placement::SelectionScope scope = placement::SelectionScope::kPart;
  std::optional<Epochs> final = {};  ///< epochs at the end that visit all; none: as published
  bool whole_steps = false;          ///< leave out so much less that all make the same steps
  double confidence = 0.7;
  Rate lr = Rate::kKeep;
  double budget = 1;
  double mix = 1;
  double threshold = 1.5;
  Epochs after = Epochs::share(25);
  placement::PruneSide prune = placement::PruneSide::kEasiest;
  double start = 0.5;
  Epochs ramp = Epochs::share(50);
  placement::CurriculumGrowth growth = placement::CurriculumGrowth::kLinear;
  double epsilon = 0.1;
  bool operator==(const SelectionConfig&) const = default;
};

/// Where the bytes of examples live.
struct StoreConfig {
  std::string kind = "replicated";  ///< a row of store::kStores
  bool files = false;               ///< replicated: read examples from their files at every visit
  std::uint32_t cache = 256;        ///< MiB per process for what was read from files; 0: none
  std::string cache_policy = "clock";  ///< a row of store::kCachePolicies
  std::string cache_path = {};         ///< a local folder that keeps it, too; empty: none
  std::uint32_t cache_disk = 0;        ///< MiB per process there
  bool cooperative = false;            ///< processes ask each other's caches before the files
  /// Where what is cached comes from when its owner changes.
  store::MoveFrom move_from = store::MoveFrom::kAuto;
  std::string path = {};  ///< partitioned: the local folder of the parts; empty: in memory
  std::uint32_t prefetch =
      64;  ///< MiB per process for what is read ahead from a server; 0: nothing
  bool operator==(const StoreConfig&) const = default;
};

/// How a server is asked, where data.root is on one.
struct RemoteConfig {
  std::uint32_t connections = 16;  ///< at once, of each process
  std::uint32_t retries = 8;       ///< of a request, after failures that may pass
  std::uint32_t timeout = 30;      ///< seconds without an answer, or with less than least_rate
  std::uint32_t least_rate = 1;    ///< KiB per second
  std::uint32_t gap = 1;           ///< KiB between payloads that one request may span
  bool operator==(const RemoteConfig&) const = default;
};

/// How the processes of a job wait for each other.
struct CommConfig {
  std::uint32_t timeout = 300;  ///< seconds of silence after which a process is lost; 0: never
  bool operator==(const CommConfig&) const = default;
};

/// How a model is tested.
struct EvalConfig {
  enum class Protocol {
    kClean,  ///< evaluation mode, test images unchanged
    kPaper,  ///< as the 2023 prototype: training mode, and test images augmented
  };
  Protocol protocol = Protocol::kClean;
  EpochInterval every = 1;    ///< epochs between two evaluations; the last epoch always has one
  std::uint32_t batch = 256;  ///< examples per forward pass
  bool mirror = false;   ///< images are looked at twice, once mirrored, and the logits averaged
  bool workers = false;  ///< every worker's own model, too, before they become one
  bool operator==(const EvalConfig&) const = default;
};

/// What a run can go on from.
struct CheckpointConfig {
  enum class Last {
    kWhole,  ///< stays as it is
    kModel,  ///< stays alone, without what training would go on from
  };
  EpochInterval every = 1;   ///< epochs between two checkpoints; 0: none
  std::uint32_t keep = 2;    ///< how many of the newest stay
  Last last = Last::kWhole;  ///< the one of a run that is over
  bool operator==(const CheckpointConfig&) const = default;
};

/// One run.
struct RunConfig {
  enum class Device { kAuto, kCpu, kCuda };
  enum class Precision { kFp32, kTf32, kBf16 };

  std::string name = "run";
  std::uint64_t seed = 1;
  /// Seeds of single streams; absent: `seed`.
  std::optional<std::uint64_t> seed_init = {};     ///< initial weights
  std::optional<std::uint64_t> seed_order = {};    ///< partitions, exchanges, orders of epochs
  std::optional<std::uint64_t> seed_augment = {};  ///< augmentations and dropout
  std::uint32_t epochs = 10;
  Device device = Device::kAuto;
  Precision precision = Precision::kFp32;
  std::uint32_t threads = 0;  ///< of each process; 0: all cores
  DataConfig data = {};
  ModelConfig model = {};
  WorkersConfig workers = {};
  OptimizerConfig optimizer = {};
  TrainConfig train = {};
  StopConfig stop = {};
  ImportanceConfig importance = {};
  PartitionConfig partition = {};
  ExchangeConfig exchange = {};
  SelectionConfig selection = {};
  StoreConfig store = {};
  RemoteConfig remote = {};
  CommConfig comm = {};
  EvalConfig eval = {};
  CheckpointConfig checkpoint = {};
  std::string output = "runs/{name}-{seed}";  ///< the run directory
  bool operator==(const RunConfig&) const = default;
};

/// The seed of one of the streams: seed_of(config, &RunConfig::seed_init).
inline std::uint64_t seed_of(const RunConfig& config,
                             std::optional<std::uint64_t> RunConfig::*stream) {
  return (config.*stream).value_or(config.seed);
}

/// Whether the workers train models of their own in this epoch, counted from 0.
inline bool trains_apart(const RunConfig& config, std::uint32_t epoch) {
  return config.workers.sync.kind != SyncRule::Kind::kStep &&
         epoch >= config.workers.sync_start.of(config.epochs);
}

/// The row of kOuters and its rates. ConfigError with a suggestion if there is none of that name.
const placement::OuterEntry& outer_rule(const WorkersConfig& workers);
placement::OuterRates outer_rates(const WorkersConfig& workers, double inner_lr);

/// The decisions of a run. ConfigError with a suggestion if a row that it names is unknown.
placement::PlacementSpec placement_spec(const RunConfig& config,
                                        const placement::OwnRows& own = {});

}  // namespace impart::config
