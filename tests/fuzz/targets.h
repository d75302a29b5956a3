#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "impart/core/named_table.h"

namespace impart::fuzz {

using Bytes = std::span<const std::byte>;

/// Reads the bytes as one kind of file. Whatever they are, it may only return, or throw DataError
/// or ConfigError, soon and in little memory.
using Target = void(Bytes input);
/// Files to start from, as they are written in earnest.
using Seeds = std::vector<std::string>();

Target read_config, read_study, read_machine, read_scores_csv, read_integers_csv, read_integers_txt,
    read_npy, read_losses, read_tensors, read_table, read_mds_index_file, read_mds_shard,
    read_mds_zip, read_mds_array, read_idx, read_packed_idx, read_cifar, read_photo, read_tokenizer,
    read_tokens, read_pickle, read_text_table, read_manifest, read_ledger_file, read_summary_file,
    read_text_records, read_image_records, read_model_card, read_study_record, read_published,
    read_kept, read_sums_file, read_stamp_file, read_archive, read_journal, read_folder_index,
    read_file_sums;
Seeds config_seeds, study_seeds, machine_seeds, csv_seeds, txt_seeds, npy_seeds, losses_seeds,
    tensors_seeds, table_seeds, mds_index_seeds, mds_shard_seeds, mds_zip_seeds, mds_array_seeds,
    idx_seeds, packed_idx_seeds, cifar_seeds, photo_seeds, tokenizer_seeds, tokens_seeds,
    pickle_seeds, text_table_seeds, manifest_seeds, ledger_seeds, summary_seeds, model_card_seeds,
    text_record_seeds, image_record_seeds, study_record_seeds, published_seeds, kept_seeds,
    sums_seeds, stamp_seeds, archive_seeds, journal_seeds, folder_index_seeds, file_sums_seeds;

struct TargetRow {
  std::string_view name;
  Target* read;
  Seeds* seeds;
  std::size_t most_bytes = 4096;  ///< of inputs that are tried
};

inline constexpr TargetRow kTargets[] = {
    {"config", read_config, config_seeds},
    {"study", read_study, study_seeds},
    {"machine", read_machine, machine_seeds},
    {"scores-csv", read_scores_csv, csv_seeds},
    {"integers-csv", read_integers_csv, csv_seeds},
    {"integers-txt", read_integers_txt, txt_seeds},
    {"npy", read_npy, npy_seeds},
    {"history", read_losses, losses_seeds},
    {"safetensors", read_tensors, tensors_seeds},
    {"importance-table", read_table, table_seeds},
    {"mds-index", read_mds_index_file, mds_index_seeds},
    {"mds-shard", read_mds_shard, mds_shard_seeds},
    {"mds-zip", read_mds_zip, mds_zip_seeds},
    {"mds-array", read_mds_array, mds_array_seeds},
    {"idx", read_idx, idx_seeds},
    {"idx-gz", read_packed_idx, packed_idx_seeds},
    {"cifar", read_cifar, cifar_seeds, 8192},
    {"photo", read_photo, photo_seeds, 16384},
    {"tokenizer", read_tokenizer, tokenizer_seeds},
    {"tokens", read_tokens, tokens_seeds},
    {"pickle", read_pickle, pickle_seeds, 256},
    {"text-table", read_text_table, text_table_seeds},
    {"manifest", read_manifest, manifest_seeds},
    {"ledger", read_ledger_file, ledger_seeds},
    {"summary", read_summary_file, summary_seeds},
    {"card", read_model_card, model_card_seeds},
    {"texts", read_text_records, text_record_seeds},
    {"images", read_image_records, image_record_seeds},
    {"study-record", read_study_record, study_record_seeds},
    {"published", read_published, published_seeds},
    {"kept-results", read_kept, kept_seeds},
    {"sums", read_sums_file, sums_seeds},
    {"stamp", read_stamp_file, stamp_seeds},
    {"archive", read_archive, archive_seeds, 16384},
    {"journal", read_journal, journal_seeds},
    {"folder-index", read_folder_index, folder_index_seeds},
    {"file-sums", read_file_sums, file_sums_seeds},
};
static_assert(names_are_unique(kTargets));

/// Calls the target, and takes the errors it may throw.
void try_input(const TargetRow& target, Bytes input);

}  // namespace impart::fuzz
