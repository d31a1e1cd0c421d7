// What the files of the module torch.jit._native share.
#pragma once
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "torch/program/call.h"
#include "torch/program/function.h"
#include "torch/program/graph.h"
#include "torch/program/text.h"
#include "torch/python/caster.h"

// pybind11 takes None for a pointer to whatever it binds. Here an argument that may be None is a std::optional.
namespace pybind11::detail {
template <class Caster>
struct NotNone : Caster {
  bool load(handle src, bool convert) { return !src.is_none() && Caster::load(src, convert); }
};
// clang-format off
#define TORCH_NOT_NONE(T)                                                                                        \
  template <> struct type_caster<T> : NotNone<type_caster_base<T>> {};                                           \
  template <> struct type_caster<std::shared_ptr<T>> : NotNone<copyable_holder_caster<T, std::shared_ptr<T>>> {}
// clang-format on
TORCH_NOT_NONE(torch::program::Type);
TORCH_NOT_NONE(torch::program::Value);
TORCH_NOT_NONE(torch::program::Node);
TORCH_NOT_NONE(torch::program::Block);
TORCH_NOT_NONE(torch::program::Graph);
#undef TORCH_NOT_NONE
}  // namespace pybind11::detail

namespace torch::program {

namespace py = pybind11;

// Python holds blocks, nodes and values by their graph.
template <class T>
std::shared_ptr<T> held(T* of) {
  return of ? std::shared_ptr<T>(of->graph()->shared_from_this(), of) : nullptr;
}
template <class T>
std::vector<std::shared_ptr<T>> held(const std::vector<T*>& all) {
  std::vector<std::shared_ptr<T>> out;
  for (T* each : all) out.push_back(held(each));
  return out;
}
template <size_t N>
std::vector<std::shared_ptr<Value>> held(const Few<Value*, N>& all) {
  return held(std::vector<Value*>(all));
}

// The nodes of a kind in blocks, in order; with `deep` those in the blocks of their nodes too, after them.
inline std::vector<std::shared_ptr<Node>> nodes_of(const std::vector<Block*>& blocks, const std::string& kind,
                                                   bool deep) {
  std::vector<std::shared_ptr<Node>> out;
  auto look = [&](auto& self, Block* b) -> void {
    for (Node* n : b->nodes()) {
      if (n->is(kind)) out.push_back(held(n));
      if (deep)
        for (Block* inner : n->blocks()) self(self, inner);
    }
  };
  for (Block* b : blocks) look(look, b);
  return out;
}
inline py::object first_of(const std::vector<std::shared_ptr<Node>>& nodes) {
  return nodes.empty() ? py::none() : py::cast(nodes.front());
}

using MaybeType = std::optional<std::shared_ptr<Type>>;
inline std::shared_ptr<Type> given(const TypePtr& t) { return std::const_pointer_cast<Type>(t); }
inline std::vector<std::shared_ptr<Type>> given(const std::vector<TypePtr>& all) {
  std::vector<std::shared_ptr<Type>> out;
  for (const TypePtr& t : all) out.push_back(given(t));
  return out;
}
inline std::vector<TypePtr> taken(const std::vector<std::shared_ptr<Type>>& all) { return {all.begin(), all.end()}; }

// An instance of a class, or another counted cell, as Python holds it.
struct Instance {
  Cell cell;
};

Cell to_cell(py::handle value);
py::object to_python(const Cell& c);
Location to_location(py::handle value);

// Sets Python's error for an OverloadError or a Raised in flight; others go on.
void raise_as_python();

void bind_types(py::module_& m);
void bind_graph(py::module_& m);
void bind_nodes(py::module_& m);
void bind_functions(py::module_& m);
void bind_cells(py::module_& m);
void bind_modes(py::module_& m);
void bind_trace(py::module_& m);
void bind_door(py::module_& m);
void bind_plan(py::module_& m);
void bind_archive(py::module_& m);
void bind_callable(py::module_& m);
void bind_containers(py::module_& m);

}  // namespace torch::program
