#include "cli/failure.h"

#include <exception>
#include <filesystem>
#include <new>

#include <fmt/format.h>

#include "impart/core/error.h"

namespace impart::cli {
namespace {

constexpr int kDataError = 65;
constexpr int kInternalError = 70;
constexpr int kIoError = 74;
constexpr int kPeerError = 75;

}  // namespace

Failure current_failure() {
  try {
    throw;
  } catch (const ConfigError& error) {
    return {kUsageError, error.what()};
  } catch (const DataError& error) {
    return {kDataError, error.what()};
  } catch (const IoError& error) {
    return {kIoError, error.what()};
  } catch (const PeerError& error) {
    return {kPeerError, error.what()};
  } catch (const std::filesystem::filesystem_error& error) {
    return {kIoError, fmt::format("{}: {}", error.path1().string(), error.code().message())};
  } catch (const std::bad_alloc&) {
    return {kInternalError, "out of memory"};
  } catch (const std::exception& error) {
    return {kInternalError, one_line_of(error)};
  }
}

}  // namespace impart::cli
