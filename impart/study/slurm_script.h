#pragma once

#include <string>

namespace impart::study {

/// What sbatch is given for a run, whose directory is the script's argument: it resumes the run
/// with `program`, and queues the job again after a checkpoint or a lost process.
std::string job_script(const std::string& program);

}  // namespace impart::study
