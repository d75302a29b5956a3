#pragma once

namespace impart::cli {

/// LibTorch takes half a second to load, so what trains is a program of its own, impart-engine,
/// next to this one or in PATH. This one reads and checks what is asked for, and then becomes that
/// program, with the arguments that are kept here; they live as long as the process. `impart
/// serve`, which only a study asks for, becomes it at once. Does nothing in impart-engine itself.
void keep_arguments(char** argv);

/// ConfigError if there is no such program.
void require_engine();

/// Ends impart-engine without taking LibTorch apart, which takes a tenth of a second. Returns in
/// impart.
void end_engine(int code);

}  // namespace impart::cli
