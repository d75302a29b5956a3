#include "impart/config/schema.h"

#include <optional>
#include <type_traits>

#include <fmt/format.h>

#include "impart/config/model_names.h"
#include "impart/data/datasets.h"
#include "impart/data/images/augment.h"
#include "impart/data/text/tokenizer.h"
#include "impart/importance/notions.h"
#include "impart/placement/exchanges.h"
#include "impart/placement/heuristics.h"
#include "impart/placement/outers.h"
#include "impart/placement/selections.h"
#include "impart/placement/starts.h"
#include "impart/store/stores.h"

namespace impart::config {
namespace {

constexpr std::uint32_t kMostEpochs = 1'000'000;
constexpr bool kSameResult = false;

/// The keys of one section, which is a member of the config, or the config itself.
template <class Section>
class SectionKeys {
 public:
  SectionKeys(Schema& schema, std::string_view name, Section RunConfig::*section)
      : schema_(schema), name_(name), section_(section) {}
  explicit SectionKeys(Schema& schema) : schema_(schema) {}

  template <class T>
  ConfigKey& key(std::string_view name, T Section::*member, const ValueRule<T>& rule,
                 std::string_view help, bool changes_result = true) {
    const auto set = [section = section_, member, read = rule.read](RunConfig& config,
                                                                    const WrittenValue& value) {
      part(config, section).*member = read(value);
    };
    const auto get = [section = section_, member, write = rule.write](const RunConfig& config) {
      return write(part(config, section).*member);
    };
    schema_.push_back({.section = name_,
                       .name = name,
                       .help = help,
                       .allowed = rule.allowed,
                       .is_list = rule.is_list,
                       .joins_lists = rule.joins_lists,
                       .changes_result = changes_result,
                       .set = set,
                       .get = get});
    if constexpr (std::is_base_of_v<Epochs, T> || std::is_same_v<T, std::optional<Epochs>>) {
      schema_.back().resolve_share = [section = section_, member](RunConfig& config) {
        count_epochs(part(config, section).*member, config.epochs);
      };
    }
    return schema_.back();
  }

 private:
  template <class T>
  static void count_epochs(T& value, std::uint32_t epochs) {
    value = T(value.of(epochs));
  }
  template <class T>
  static void count_epochs(std::optional<T>& value, std::uint32_t epochs) {
    if (value) count_epochs(*value, epochs);
  }

  template <class Config>
  static auto& part(Config& config, [[maybe_unused]] Section RunConfig::*section) {
    if constexpr (std::is_same_v<Section, RunConfig>) {
      return config;
    } else {
      return config.*section;
    }
  }

  Schema& schema_;
  std::string_view name_ = "";
  Section RunConfig::*section_ = nullptr;
};

using Names = std::vector<std::string_view>;

/// A rule without names takes any.
Names none_if(bool any, const Names& names) {
  return any ? Names{} : names;
}

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

void add_data(Schema& schema, bool any_name) {
  SectionKeys data(schema, "data", &RunConfig::data);
  data.key("name", &DataConfig::name,
           name_of("data set", none_if(any_name, names_of(data::kDatasets))), "data set");
  data.key("root", &DataConfig::root, text(),
           "folder that holds its files; also https://, http:// and s3:// (mds, imagefolder)");
  data.key("augment", &DataConfig::augment, name_of("augmentation", names_of(data::kAugmentations)),
           "random changes to training images");
  data.key("limit", &DataConfig::limit, whole<std::uint64_t>(0),
           "use only the first so many training examples; 0: all");
  data.key("validation", &DataConfig::validation, share_or_none(),
           "share of the training examples that is held out and evaluated on, instead of the test "
           "set")
      .counts_at_default = false;
  data.key("train_examples", &DataConfig::train_examples, whole<std::uint64_t>(1),
           "training examples to make (shapes, generated)");
  data.key("test_examples", &DataConfig::test_examples, whole<std::uint64_t>(1),
           "test examples to make (shapes, generated)");
  data.key("seed", &DataConfig::seed, whole<std::uint64_t>(0),
           "seed of made data (shapes, generated)");
  data.key("image_size", &DataConfig::image_size, whole(0u, 4096u),
           "height and width of photos (imagefolder, mds); 0: 224");
  data.key("image_column", &DataConfig::image_column, text(),
           "column of the images (mds); empty: found out from their encodings");
  data.key("label_column", &DataConfig::label_column, text(),
           "column of the classes (mds, where empty means found out; table)");
  data.key("coarse", &DataConfig::coarse, flag(),
           "the 20 coarse classes instead of the 100 fine ones (cifar100)")
      .counts_at_default = false;
  data.key("train_file", &DataConfig::train_file, text(),
           "name of the training file in root (text); empty: the usual ones");
  data.key("test_file", &DataConfig::test_file, text(),
           "name of the test file in root (text); empty: the usual ones");
  data.key("test_share", &DataConfig::test_share,
           number({.most = 1, .without_least = true, .without_most = true}),
           "share of the training text that is cut off for testing if there is no test file");
  data.key("text_column", &DataConfig::text_column, joined_texts(),
           "column of the texts, or several that are joined: title,body (table)");
  data.key("header", &DataConfig::header, name_of("header", {"auto", "true", "false"}),
           "whether the first line names the columns, which else are numbers from 1 (table)")
      .counts_at_default = false;
  data.key("block", &DataConfig::block, whole(1u, 1u << 20),
           "tokens that a model sees of an example, at most (text)");
  data.key("stride", &DataConfig::stride, whole(0u, 1u << 20),
           "tokens from the start of a block to that of the next (text); 0: as block");
  data.key("pack", &DataConfig::pack, flag(),
           "blocks go from one document into the next, and short documents share one (text)");
  data.key("tokenizer", &DataConfig::tokenizer, name_of("tokenizer", names_of(data::kTokenizers)),
           "how text becomes tokens");
  data.key("vocabulary", &DataConfig::vocabulary, whole(0u, 65536u),
           "tokens that there are (bpe, at most; 0: 8192) (tokens; 0: found out)");
  data.key("vocabulary_file", &DataConfig::vocabulary_file, text(),
           "a saved tokenizer to use; empty: one is made from the text");
  using OnError = DataConfig::OnError;
  data.key("on_error", &DataConfig::on_error,
           choice<OnError>("on_error", {{"fail", OnError::kFail}, {"skip", OnError::kSkip}}),
           "an example that cannot be read: end the run, or leave it out and count it");
  data.key("decode_threads", &DataConfig::decode_threads, whole(0u, 256u),
           "threads per process that read and decode; 0: the one that trains", kSameResult);
  data.key("prefetch", &DataConfig::prefetch, whole(1u, 1024u), "batches made ready in advance",
           kSameResult);
}

void add_model(Schema& schema, bool any_name) {
  SectionKeys model(schema, "model", &RunConfig::model);
  model.key("name", &ModelConfig::name, name_of("model", none_if(any_name, names_of(kModelNames))),
            "model");
  using Stem = ModelConfig::Stem;
  model.key("stem", &ModelConfig::stem,
            choice<Stem>("stem", {{"imagenet", Stem::kImagenet}, {"cifar", Stem::kCifar}}),
            "first layers of a ResNet: 7x7/2 and pooling, or 3x3");
  model
      .key("norm", &ModelConfig::norm,
           choice<Norm>("norm", {{"batch", Norm::kBatch}, {"group", Norm::kGroup}}),
           "norm of image models: over the images of a batch, or of each image by itself")
      .counts_at_default = false;
  model.key("dropout", &ModelConfig::dropout, number({.most = 1, .without_most = true}),
            "share of activations that text models leave out in training");
  model
      .key("from", &ModelConfig::from, text(),
           "weights to start from: safetensors of torchvision or Hugging Face, their folder, or a "
           "run; empty: drawn")
      .counts_at_default = false;
}

/// How models that were apart become one. These keys came when there were runs already.
void add_outer(SectionKeys<WorkersConfig>& workers) {
  const auto published = [](const NumberRange& range) {
    return or_word("published", number(range));
  };
  workers
      .key("sync_start", &WorkersConfig::sync_start, epochs<Epochs>(0, kMostEpochs),
           "epochs at the start that average gradients in every step (post-local SGD)")
      .counts_at_default = false;
  workers
      .key("outer", &WorkersConfig::outer, name_of("outer", names_of(placement::kOuters)),
           "how the mean of models becomes the next model (sync epoch, or so many steps)")
      .counts_at_default = false;
  workers
      .key("outer_lr", &WorkersConfig::outer_lr, published({.without_least = true}),
           "outer learning rate (nesterov: 0.7, slowmo: 1)")
      .counts_at_default = false;
  workers
      .key("outer_momentum", &WorkersConfig::outer_momentum,
           published({.most = 1, .without_most = true}),
           "outer momentum (nesterov: 0.9, slowmo: 0.7)")
      .counts_at_default = false;
  workers
      .key("outer_overlap", &WorkersConfig::outer_overlap, flag(),
           "models are summed during the next steps, and the outer step comes after these")
      .counts_at_default = false;
}

void add_workers(Schema& schema) {
  SectionKeys workers(schema, "workers", &RunConfig::workers);
  workers.key("count", &WorkersConfig::count, whole(1u, placement::kMostWorkers),
              "logical workers");
  workers.key("batch", &WorkersConfig::batch, whole(1u), "examples per worker and step");
  workers.key("sync", &WorkersConfig::sync, sync_rule(),
              "average gradients every step, or models every epoch or so many steps");
  add_outer(workers);
  workers.key(
      "batch_norm", &WorkersConfig::batch_norm, norm_sharing(),
      "normalise with each worker's own batch, with the whole step, or with the batches of so "
      "many neighbouring workers together");
  using RunningStats = WorkersConfig::RunningStats;
  workers.key(
      "running_stats", &WorkersConfig::running_stats,
      choice<RunningStats>("running_stats", {{"mean", RunningStats::kMean},
                                             {"worker0", RunningStats::kWorker0},
                                             {"pooled", RunningStats::kPooled}}),
      "whose running batch-norm statistics evaluation uses; pooled: the mean, with the spread "
      "of the workers' means in the variance");
  using Uneven = placement::Uneven;
  workers.key(
      "uneven", &WorkersConfig::uneven,
      choice<Uneven>("uneven",
                     {{"weight", Uneven::kWeight}, {"pad", Uneven::kPad}, {"drop", Uneven::kDrop}}),
      "parts of unequal size: weight by examples, repeat some, or leave some out");
  workers.key(
      "shuffle", &WorkersConfig::shuffle,
      choice<placement::ShuffleKind>("shuffle", {{"per-worker", placement::ShuffleKind::kPerWorker},
                                                 {"shared", placement::ShuffleKind::kShared}}),
      "each worker shuffles on its own, or all by the same permutation");
  using Reduce = WorkersConfig::Reduce;
  workers.key("reduce", &WorkersConfig::reduce,
              choice<Reduce>("reduce", {{"fast", Reduce::kFast}, {"exact", Reduce::kExact}}),
              "exact: the same bits for every number of processes");
  workers.key("micro_batch", &WorkersConfig::micro_batch, whole(0u),
              "most examples in one forward pass; 0: chosen by the run");
  using Transport = WorkersConfig::Transport;
  workers.key("transport", &WorkersConfig::transport,
              choice<Transport>("transport", {{"auto", Transport::kAuto},
                                              {"mpi", Transport::kMpi},
                                              {"nccl", Transport::kNccl}}),
              "what sums gradients of GPUs; auto: NCCL where every process has its own, else MPI",
              kSameResult);
}

void add_optimizer(Schema& schema) {
  using Config = OptimizerConfig;
  SectionKeys optimizer(schema, "optimizer", &RunConfig::optimizer);
  optimizer.key("name", &Config::name,
                choice<Config::Name>(
                    "optimizer", {{"sgd", Config::Name::kSgd}, {"adamw", Config::Name::kAdamw}}),
                "optimizer");
  optimizer.key("lr", &Config::lr, number({.without_least = true}), "learning rate");
  optimizer.key("momentum", &Config::momentum, number({.most = 1, .without_most = true}),
                "momentum (sgd)");
  optimizer.key("nesterov", &Config::nesterov, flag(), "Nesterov's momentum (sgd)");
  optimizer.key("weight_decay", &Config::weight_decay, number({}), "weight decay");
  optimizer.key("beta1", &Config::beta1, number({.most = 1, .without_most = true}),
                "decay of the mean gradient (adamw)");
  optimizer.key("beta2", &Config::beta2, number({.most = 1, .without_most = true}),
                "decay of the mean squared gradient (adamw)");
  optimizer.key("epsilon", &Config::epsilon, number({.without_least = true}),
                "added to the root of the mean squared gradient (adamw)");
  using Schedule = Config::Schedule;
  optimizer.key("schedule", &Config::schedule,
                choice<Schedule>("schedule", {{"constant", Schedule::kConstant},
                                              {"step", Schedule::kStep},
                                              {"cosine", Schedule::kCosine},
                                              {"linear", Schedule::kLinear}}),
                "how the learning rate changes");
  using By = Config::ScheduleBy;
  optimizer
      .key("schedule_by", &Config::schedule_by,
           choice<By>("unit of the schedule", {{"epoch", By::kEpoch}, {"visits", By::kVisits}}),
           "what the schedule counts: epochs, or visits / examples, where a selection visits fewer")
      .counts_at_default = false;
  optimizer.key("warmup_epochs", &Config::warmup_epochs, epochs<Epochs>(0, kMostEpochs),
                "epochs in which the learning rate rises to lr");
  optimizer.key("step_epochs", &Config::step_epochs, epochs<EpochInterval>(1, kMostEpochs),
                "epochs between two changes (schedule step)");
  optimizer.key("step_factor", &Config::step_factor, number({.most = 1, .without_least = true}),
                "what lr is multiplied with then (schedule step)");
  optimizer.key("final_lr_factor", &Config::final_lr_factor, number({.most = 1}),
                "last learning rate as a share of lr (schedules cosine, linear)");
  optimizer.key("clip_norm", &Config::clip_norm, number({}),
                "largest norm of a step's gradient; 0: no limit");
  optimizer.key("label_smoothing", &Config::label_smoothing,
                number({.most = 1, .without_most = true}),
                "share of every target that training spreads over all classes");
}

void add_train(Schema& schema) {
  SectionKeys train(schema, "train", &RunConfig::train);
  train.key("stop_on_nan", &TrainConfig::stop_on_nan, flag(),
            "end the run after an epoch whose training loss is NaN or infinite", kSameResult);
}

void add_start(Schema& schema, const placement::OwnRows& own) {
  using Config = PartitionConfig;
  using Sizes = placement::PartSizes;
  SectionKeys partition(schema, "partition", &RunConfig::partition);
  const auto add = [&](std::string_view name, auto Config::*member, const auto& rule,
                       std::string_view help) {  // they came when there were runs already
    partition.key(name, member, rule, help).counts_at_default = false;
  };
  add("start", &Config::start, name_of("start", names_of(placement::kStarts, own.starts)),
      "who owns what in the first epoch");
  add("alpha", &Config::alpha,
      number({.least = placement::kLeastAlpha, .most = placement::kMostAlpha}),
      "small for few classes per worker, large for a mix like that of all (dirichlet)");
  add("sizes", &Config::sizes,
      choice<Sizes>("sizes", {{"free", Sizes::kFree}, {"even", Sizes::kEven}}),
      "parts of the sizes that are drawn, or of equal ones (dirichlet)");
  add("start_file", &Config::start_file, text(),
      "owners: .csv with id,worker, .npy, or .txt (start file)");
  add("strength", &Config::strength, number({.most = 1}),
      "how much importance counts against chance: 0 is random, 1 is blocks (graded-blocks)");
  add("warmup_shuffle", &Config::warmup_shuffle, flag(),
      "warm up with new random partitions after a start that is not random, too; else it stays");
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

void add_placement(Schema& schema, const placement::OwnRows& own) {
  SectionKeys importance(schema, "importance", &RunConfig::importance);
  importance.key("notion", &ImportanceConfig::notion,
                 name_of("notion", names_of(importance::kNotions, own.notions)),
                 "what makes an example important");
  importance.key("ignore", &ImportanceConfig::ignore, epochs<Epochs>(0, kMostEpochs),
                 "first epochs whose signals do not count");
  importance.key(
      "window", &ImportanceConfig::window,
      choice<importance::WindowKind>("window", {{"interval", importance::WindowKind::kInterval},
                                                {"run", importance::WindowKind::kRun}}),
      "which visits count: those since the last repartitioning, or all");
  importance.key("history", &ImportanceConfig::history, flag(),
                 "record every loss (4 bytes per example and epoch)", kSameResult);
  importance.key("record", &ImportanceConfig::record,
                 names_of_many("notion", names_of(importance::kNotions, own.notions)),
                 "further notions to measure and write", kSameResult);
  importance.key("images", &ImportanceConfig::images, whole(0u, 1000u),
                 "how many of the hardest and easiest images of each notion to write (images)",
                 kSameResult);
  importance.key("texts", &ImportanceConfig::texts, whole(0u, 100000u),
                 "how many of the hardest and easiest texts of each notion to write (text)",
                 kSameResult);
  importance.key("token_losses", &ImportanceConfig::token_losses, flag(),
                 "write the losses of these texts' single tokens, too", kSameResult);
  importance.key(
      "dissimilarity", &ImportanceConfig::dissimilarity, epochs<EpochInterval>(0, kMostEpochs),
      "epochs between two measurements of how much the workers' gradients differ; 0: none",
      kSameResult);

  SectionKeys partition(schema, "partition", &RunConfig::partition);
  partition.key("heuristic", &PartitionConfig::heuristic,
                name_of("heuristic", names_of(placement::kHeuristics, own.heuristics)),
                "how importance becomes a partition");
  partition.key("warmup", &PartitionConfig::warmup, epochs<Epochs>(0, kMostEpochs),
                "epochs at the start, each with a new random partition");
  partition.key("interval", &PartitionConfig::interval, epochs<EpochInterval>(0, kMostEpochs),
                "epochs between two repartitionings; 0: never again");
  partition.key("sticky", &PartitionConfig::sticky, flag(),
                "move as few examples as the heuristic allows");
  partition.key("save", &PartitionConfig::save, flag(), "write every partition", kSameResult);
  add_start(schema, own);

  SectionKeys exchange(schema, "exchange", &RunConfig::exchange);
  std::vector<std::string_view> strategies = names_of(placement::kExchanges, own.exchanges);
  strategies.insert(strategies.begin(), kNoExchange);
  exchange.key("strategy", &ExchangeConfig::strategy, name_of("exchange", strategies),
               "what workers exchange between two epochs");
  exchange.key("fraction", &ExchangeConfig::fraction, number({.most = 1}),
               "share of its part that a worker gives away");
  exchange.key("arrivals_last", &ExchangeConfig::arrivals_last, flag(),
               "visit what has just moved after the rest: the first steps need not wait for it");
}

void add_store(Schema& schema) {
  SectionKeys store(schema, "store", &RunConfig::store);
  store.key("kind", &StoreConfig::kind, name_of("store", names_of(store::kStores)),
            "every process can read all examples, or holds only those of its workers");
  store.key("files", &StoreConfig::files, flag(),
            "replicated: read examples from their files at every visit, not once into memory");
  store.key("cache", &StoreConfig::cache, whole(0u, 1u << 24),
            "MiB per process that keep what was read from files; 0: none");
  store
      .key("cache_policy", &StoreConfig::cache_policy,
           name_of("cache policy", names_of(store::kCachePolicies)),
           "what a cache keeps: what was used last, what was read first, or what will be visited")
      .counts_at_default = false;
  store.key("cache_path", &StoreConfig::cache_path, text(),
            "local folder that keeps what was read from files, for the next run as well; empty: "
            "none",
            kSameResult);
  store
      .key("cache_disk", &StoreConfig::cache_disk, whole(0u, 1u << 30),
           "MiB per process in store.cache_path")
      .counts_at_default = false;
  store
      .key("cooperative", &StoreConfig::cooperative, flag(),
           "what another process keeps comes from there, over MPI, not from files")
      .counts_at_default = false;
  using enum store::MoveFrom;
  store
      .key("move_from", &StoreConfig::move_from,
           choice<store::MoveFrom>("move_from",
                                   {{"peer", kPeer}, {"source", kSource}, {"auto", kAuto}}),
           "where what is cached comes from when its owner changes: the process that has it, "
           "files, or whichever was measured to be faster")
      .counts_at_default = false;
  store.key(
      "path", &StoreConfig::path, text(),
      "partitioned: local folder for the workers' parts, may have {name} and {seed}; empty: in "
      "memory",
      kSameResult);
}

void add_remote(Schema& schema) {
  SectionKeys store(schema, "store", &RunConfig::store);
  store.key("prefetch", &StoreConfig::prefetch, whole(0u, 1u << 20),
            "MiB per process for payloads read ahead from a server; 0: none are", kSameResult);
  SectionKeys remote(schema, "remote", &RunConfig::remote);
  remote.key("connections", &RemoteConfig::connections, whole(1u, 1024u),
             "to a server at once, of each process and part of the data", kSameResult);
  remote.key("retries", &RemoteConfig::retries, whole(0u, 1000u),
             "of a request to a server, after failures that may pass", kSameResult);
  remote.key("timeout", &RemoteConfig::timeout, whole(1u, 3600u),
             "seconds after which an answer that does not come, or too slowly, is a failure",
             kSameResult);
  remote.key("least_rate", &RemoteConfig::least_rate, whole(0u, 1u << 20),
             "KiB per second below which a server is too slow", kSameResult);
  remote.key("gap", &RemoteConfig::gap, whole(0u, 1u << 20),
             "KiB between two examples that are fetched rather than asked for separately",
             kSameResult);
}

void add_selection(Schema& schema, const placement::OwnRows& own) {
  using Config = SelectionConfig;
  using enum placement::SelectionScope;
  SectionKeys selection(schema, "selection", &RunConfig::selection);
  const NumberRange share{.most = 1}, positive_share{.most = 1, .without_least = true};
  selection.key("strategy", &Config::strategy,
                name_of("selection", names_of(placement::kSelections, own.selections)),
                "what of its part a worker visits in an epoch");
  selection.key("share", &Config::share,
                or_word("published", number({.most = 1, .without_most = true})),
                "share that is left out (random, infobatch, kakurenbo, prune)");
  selection.key("scope", &Config::scope,
                choice<placement::SelectionScope>("scope", {{"part", kPart}, {"all", kAll}}),
                "whose mean, or easiest, is meant: of each part, or of all examples");
  selection.key("final", &Config::final, or_word("published", epochs<Epochs>(0, kMostEpochs)),
                "epochs at the end of the run that visit everything with weight 1");
  selection.key("whole_steps", &Config::whole_steps, flag(),
                "leave out so much less that all workers make the same whole steps (not prune)");
  selection.key("confidence", &Config::confidence, number(positive_share),
                "probability of the right class from which on an example is hidden (kakurenbo)");
  using Rate = Config::Rate;
  selection.key("lr", &Config::lr,
                choice<Rate>("rate", {{"keep", Rate::kKeep}, {"scale", Rate::kScale}}),
                "scale: learning rate x 1/(1 - share that was really hidden)");
  selection.key("budget", &Config::budget, number({.most = 100, .without_least = true}),
                "visits for each example of a part (sampling)");
  selection.key("mix", &Config::mix, number(share),
                "how much importance counts against equal chances (sampling)");
  selection.key("threshold", &Config::threshold, number({}),
                "gain from which on an epoch is sampled (sampling)");
  selection.key("after", &Config::after, epochs<Epochs>(0, kMostEpochs),
                "epochs before examples go for good (prune)");
  using Side = placement::PruneSide;
  selection.key("prune", &Config::prune,
                choice<Side>("side", {{"easiest", Side::kEasiest}, {"hardest", Side::kHardest}}),
                "which examples go (prune)");
  selection.key("start", &Config::start, number(positive_share),
                "share that is visited first (curriculum)");
  selection.key("ramp", &Config::ramp, epochs<Epochs>(0, kMostEpochs),
                "epochs until everything is visited (curriculum)");
  using Growth = placement::CurriculumGrowth;
  selection.key("growth", &Config::growth,
                choice<Growth>("growth", {{"linear", Growth::kLinear}, {"root", Growth::kRoot}}),
                "how the share grows (curriculum)");
  selection.key("epsilon", &Config::epsilon, number({}), "added to the importance (weights)");
  for (ConfigKey& key : schema) {  // they came when there were runs already
    if (key.section == "selection") key.counts_at_default = false;
  }
}

void add_comm(Schema& schema) {
  SectionKeys comm(schema, "comm", &RunConfig::comm);
  comm.key("timeout", &CommConfig::timeout, whole(0u, 1'000'000u),
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

  SectionKeys<RunConfig> run(schema);
  run.key("output", &RunConfig::output, text(),
          "run directory; {name} and {seed} stand for those of the run", kSameResult);
}

}  // namespace

std::string ConfigKey::path() const {
  return section.empty() ? std::string(name) : fmt::format("{}.{}", section, name);
}

Schema make_schema(const OwnParts& own) {
  Schema schema;
  add_run(schema);
  add_data(schema, own.data);
  add_model(schema, own.model);
  add_workers(schema);
  add_optimizer(schema);
  add_train(schema);
  add_stop(schema);
  add_placement(schema, own.rows);
  add_selection(schema, own.rows);
  add_store(schema);
  add_remote(schema);
  add_comm(schema);
  add_outputs(schema);
  return schema;
}

RunConfig without_shares(RunConfig config) {
  for (const ConfigKey& key : make_schema(kAnyProgram)) {
    if (key.resolve_share) key.resolve_share(config);
  }
  return config;
}

}  // namespace impart::config
