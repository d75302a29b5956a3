#pragma once

namespace impart::cli {

/// LibTorch takes half a second to load, so the commands that need it live in a program of their
/// own, impart-engine, next to this one. If `argv` asks for one of them, this becomes that program
/// and does not return. Does nothing if there is no such program, or in that program itself.
void hand_over_to_engine(int argc, char** argv);

}  // namespace impart::cli
