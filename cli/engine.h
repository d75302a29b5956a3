#pragma once

namespace impart::cli {

/// LibTorch takes half a second to load, so what trains is a program of its own, impart-engine,
/// next to this one or in PATH. If `argv` asks for a run, this becomes that program and does not
/// return. Does nothing if there is no such program, or in that program itself.
void hand_over_to_engine(int argc, char** argv);

/// ConfigError if there is no such program.
void require_engine();

}  // namespace impart::cli
