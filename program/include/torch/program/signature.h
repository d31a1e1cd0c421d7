// What nodes of kind aten:: call: a row of the core, or a primitive on numbers, texts and containers. Both have a
// schema in TorchScript's words:
//
//   aten::add(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor      a row
//   aten::append.t(t[](a!) self, t el) -> t[](a!)                          a primitive; t stands for one type
//   throughout
#pragma once
#include <string>
#include <vector>

#include "torch/core/row.h"
#include "torch/program/cell.h"

namespace torch::program {

struct Argument {
  std::string name;
  TypePtr type;
  int list_size = 0;            // int[2]: one int stands for two
  bool accepts_number = false;  // a tensor or a number
  bool keyword_only = false;
  bool has_default = false;
  bool written = false;
  Cell fallback;
};

// Takes its arguments, in order, and gives one value; a tuple of several where the schema returns several.
using Primitive = Cell (*)(Cell* arguments);

struct Signature {
  std::string kind;      // "aten::add"
  std::string overload;  // "dim" in aten::max.dim; "" of the first
  std::string text;
  std::vector<Argument> arguments, results;
  const Row* row = nullptr;
  Primitive primitive = nullptr;
  bool has_effects = false;  // writes to an argument, prints, raises
  bool is_random = false;
};

// In the order in which they are tried. Empty when there are none; under an alias of a row, the row's.
// "aten::add"; of an operator that a program brings, its own name: "mine::twice".
TORCH_PROGRAM_API std::string kind_of(const Row& row);
TORCH_PROGRAM_API const std::vector<const Signature*>& signatures(const std::string& kind);
TORCH_PROGRAM_API std::vector<const Signature*> all_signatures();
// "aten::pop(t[](a!) self, int idx=-1) -> t"
TORCH_PROGRAM_API Signature parse_signature(const std::string& text);
// The same of the schema of a row, in the words that rows have for types.
TORCH_PROGRAM_API Signature parse_row_signature(const std::string& text);

// Adds a primitive to the table, for who extends it. The text as above.
TORCH_PROGRAM_API void add_primitive(const char* text, Primitive f, bool has_effects = false, bool is_random = false);

}  // namespace torch::program
