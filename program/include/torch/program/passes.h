// What rewrites graphs and keeps their meaning.
#pragma once
#include "torch/program/graph.h"

namespace torch::program {

// Whether a node does more than give its outputs: writes to something, prints, raises, calls what may.
TORCH_PROGRAM_API bool has_effects(const Node& n);
// Whether a norm changes its running statistics, as it does while it trains: an effect that its schema does not tell
// of.
TORCH_PROGRAM_API bool trains(const Node& n);
// Whether a node draws random numbers; some primitives do only where an argument, like the share of a dropout, says so.
TORCH_PROGRAM_API bool is_random(const Node& n);
// Whether running a graph, and what it calls, changes nothing but elements of tensors.
TORCH_PROGRAM_API bool is_quiet(const Graph& g);
// Removes nodes whose outputs nobody uses and that have no effects.
TORCH_PROGRAM_API void eliminate_dead_code(Graph& g);
// One node in place of several that compute the same. Graphs that write to tensors or containers stay as they are.
TORCH_PROGRAM_API void eliminate_common_subexpressions(Graph& g);
// Computes what depends on constants only, and takes the branches whose conditions do. Random operators stay as they
// are, and tensors and containers of graphs that write; a computation that fails is left to fail when it runs.
TORCH_PROGRAM_API void fold_constants(Graph& g);
// Puts the graphs of called functions and methods in the place of their calls; a recursive call stays one.
TORCH_PROGRAM_API void inline_calls(Graph& g);

}  // namespace torch::program
