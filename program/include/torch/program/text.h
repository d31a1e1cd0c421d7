// Graphs as text, both ways.
#pragma once
#include <map>
#include <string>

#include "torch/program/graph.h"

namespace torch::program {

TORCH_PROGRAM_API std::string print(const Graph& g, bool with_locations = true);
TORCH_PROGRAM_API std::string print(const Node& n, bool with_locations = true);
TORCH_PROGRAM_API std::string print_signature(const Graph& g);  // of a function: its inputs and what it returns

using Classes = std::map<std::string, TypePtr>;
// ErrorKind::Value says the line and what was expected. Classes that are not known are made, without attributes.
TORCH_PROGRAM_API GraphPtr parse_graph(const std::string& text, Classes* classes = nullptr);
TORCH_PROGRAM_API TypePtr parse_type(const std::string& text, Classes* classes = nullptr);
// A number, text, list, tuple or dictionary as Python writes it; where a type is given, as one of that type.
TORCH_PROGRAM_API Cell parse_value(const std::string& text, const TypePtr& type = nullptr);

}  // namespace torch::program
