// How a front end writes a call: by name, with the arguments that the user gave. The overload follows from their types.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "torch/program/graph.h"
#include "torch/program/signature.h"

namespace torch::program {

// Nothing fits; the message lists all candidates, each with the reason.
class TORCH_PROGRAM_API OverloadError : public Error {
 public:
  explicit OverloadError(std::string message) : Error(ErrorKind::Type, std::move(message)) {}
};

// Inserts the call into the graph. An int stands for a Scalar or an int[2], None for an optional, a tuple of ints for a
// list, several ints for a last list; at second choice a tensor of one element stands for a number. Defaults become
// constants.
TORCH_PROGRAM_API Node* insert_call(Graph& g, const std::string& kind, const std::vector<Value*>& args,
                                    const std::vector<std::pair<std::string, Value*>>& kwargs = {});
// The signature that a node's inputs fit as they are, or null.
TORCH_PROGRAM_API const Signature* resolve(const Node& n);
// What a value of type `from` needs to stand where `to` is asked for: itself, a conversion (inserted), or null.
TORCH_PROGRAM_API Value* convert(Graph& g, Value* v, const TypePtr& to, bool allow_implicit);

}  // namespace torch::program
