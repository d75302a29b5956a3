// Folders of these tests lie in memory where they can: the tests are about what is written, not
// about a disk's patience, and every acknowledgement waits for a sync.

#include <cstdlib>
#include <filesystem>

namespace {

const bool kFolderIsFast =
    std::filesystem::is_directory("/dev/shm") && ::setenv("TMPDIR", "/dev/shm", 0) == 0;

}  // namespace
