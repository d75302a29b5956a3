#include "impart/study/slurm_script.h"

#include <string_view>

namespace impart::study {
namespace {

// @PROGRAM@ is replaced. A stop that is new is a reason to go on later, and so is a lost process.
constexpr std::string_view kJobScript = R"(#!/bin/bash
# A run of a study; $1 is its run directory. Written by impart study --launcher slurm: what is changed
# here is written over, but a copy may be given as --job-script.
#SBATCH --requeue --signal=USR1@120
threads=${SLURM_CPUS_PER_TASK:-1}
mpi=()
if [ "${SLURM_NTASKS:-1}" -gt 1 ]; then mpi=(--mpi=pmix); fi
stopped_at() { stat -c %.Y "$1/PREEMPTED" 2> /dev/null; }
before=$(stopped_at "$1")
srun "${mpi[@]}" --kill-on-bad-exit=1 --cpus-per-task="$threads" \
  @PROGRAM@ train --resume "$1" threads="$threads"
code=$?
after=$(stopped_at "$1")
if { [ -n "$after" ] && [ "$after" != "$before" ]; } || [ $code = 75 ]; then
  scontrol requeue "$SLURM_JOB_ID"
fi
exit $code
)";

/// As one word of a shell.
std::string shell_word(const std::string& text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

}  // namespace

std::string job_script(const std::string& program) {
  constexpr std::string_view kPlace = "@PROGRAM@";
  std::string text(kJobScript);
  text.replace(text.find(kPlace), kPlace.size(), shell_word(program));
  return text;
}

}  // namespace impart::study
