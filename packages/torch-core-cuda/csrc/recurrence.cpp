// Recurrent layers' way through a sequence. Arguments are checked here, once.
#include "cuda/recurrence.h"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "cuda/limits.h"
#include "iterate/dense.h"
#include "torch/python/caster.h"

namespace py = pybind11;
using namespace torch::cuda;
using torch::DType;
using torch::Tensor;

namespace {

Recurrence kind_of(const char* op, const std::string& name) {
  if (name == "LSTM") return Recurrence::LSTM;
  if (name == "GRU") return Recurrence::GRU;
  if (name == "RNN_TANH") return Recurrence::Tanh;
  TORCH_CHECK(name == "RNN_RELU", op, ": expected LSTM, GRU, RNN_TANH or RNN_RELU, got ", name);
  return Recurrence::Relu;
}
// The tensor without gaps; it must live until the launch.
Tensor checked(const char* op, const char* what, const Tensor& t, const Tensor& like, torch::IntArrayRef sizes) {
  TORCH_CHECK(t.has_memory() && t.sizes() == sizes && t.dtype() == like.dtype() && t.device() == like.device(), op,
              ": ", what, " must be ", like.dtype(), " of shape ", sizes, " on ", like.device(), ", got ", t, " on ",
              t.device());
  return torch::as_contiguous(t, t.dtype());
}
struct Given {
  RecurrenceCall call{};
  Tensor gates, w, b, h0, c0;
};
Given given_of(const char* op, const Tensor& gates, const Tensor& h0, const std::optional<Tensor>& c0, const Tensor& w,
               const Tensor& b, const std::string& name, bool reverse) {
  Given g;
  RecurrenceCall& c = g.call;
  c.kind = kind_of(op, name), c.reverse = reverse;
  TORCH_CHECK(gates.has_memory() && gates.dim() == 3 && h0.dim() == 2 &&
                  gates.device().type == torch::DeviceType::CUDA && gates.size(0) > 0,
              op, ": gates of the input must have the dims (steps, batch, gates) on CUDA, got ", gates, " on ",
              gates.device());
  c.dtype = gates.dtype();
  TORCH_CHECK_IMPLEMENTED(
      c.dtype == DType::Float16 || c.dtype == DType::BFloat16 || c.dtype == DType::Float32 || c.dtype == DType::Float64,
      op, ": no kernel for ", c.dtype, " tensors on ", gates.device());
  c.steps = gates.size(0), c.batch = gates.size(1), c.size = h0.size(1);
  const int64_t wide = gates_of(c.kind) * c.size;
  g.gates = checked(op, "gates of the input", gates, gates, {c.steps, c.batch, wide});
  g.h0 = checked(op, "the state", h0, gates, {c.batch, c.size});
  g.w = checked(op, "the weight", w, gates, {wide, c.size});
  g.b = checked(op, "the bias", b, gates, {wide});
  TORCH_CHECK((c.kind == Recurrence::LSTM) == c0.has_value(), op, ": LSTM, and nothing else, has a cell");
  if (c0) g.c0 = checked(op, "the cell", *c0, gates, {c.batch, c.size});
  c.gates = g.gates.data(), c.h0 = g.h0.data(), c.w = g.w.data(), c.b = g.b.data();
  c.c0 = c0 ? g.c0.data() : nullptr;
  return g;
}
Tensor fresh(const RecurrenceCall& c, const Tensor& like, int64_t steps, int64_t columns) {
  return torch::empty_tensor({steps, c.batch, columns}, c.dtype, like.device());
}

// Outputs, the last cell, cells, and gates as they acted; what a kind does not have is empty.
py::tuple recurrence(const Tensor& gates, const Tensor& h0, const std::optional<Tensor>& c0, const Tensor& w,
                     const Tensor& b, const std::string& kind, bool reverse) {
  Given g = given_of("recurrence", gates, h0, c0, w, b, kind, reverse);
  RecurrenceCall& c = g.call;
  const int64_t acted_size = gates_of(c.kind) > 1 ? 4 * c.size : 0;
  Tensor out = fresh(c, gates, c.steps, c.size), cells = fresh(c, gates, c0 ? c.steps : 0, c.size),
         acted = fresh(c, gates, c.steps, acted_size);
  Tensor last = torch::empty_tensor({c0 ? c.batch : 0, c.size}, c.dtype, gates.device());
  c.last_cell = last.data(), c.out = out.data(), c.cells = cells.data(), c.acted = acted.data();
  if (out.numel()) run_recurrence(c);
  return py::make_tuple(out, last, cells, acted);
}

// Gradients of the gates of the input and of the state, of the first state and of the first cell.
py::tuple recurrence_backward(const std::optional<Tensor>& grad_out, const std::optional<Tensor>& grad_c,
                              const Tensor& gates, const Tensor& h0, const std::optional<Tensor>& c0, const Tensor& w,
                              const Tensor& b, const Tensor& out, const Tensor& cells, const Tensor& acted,
                              const std::string& kind, bool reverse) {
  const char* const op = "recurrence_backward";
  Given g = given_of(op, gates, h0, c0, w, b, kind, reverse);
  RecurrenceCall& c = g.call;
  const Tensor made = checked(op, "the result", out, gates, {c.steps, c.batch, c.size});
  const Tensor of_cells = checked(op, "cells", cells, gates, {c0 ? c.steps : 0, c.batch, c.size});
  const Tensor gates_acted =
      checked(op, "acted", acted, gates, {c.steps, c.batch, gates_of(c.kind) > 1 ? 4 * c.size : 0});
  Tensor kept[2];
  const auto maybe = [&](int i, const std::optional<Tensor>& t, const char* what, torch::IntArrayRef sizes) {
    if (t) kept[i] = checked(op, what, *t, gates, sizes);
    return t ? kept[i].data() : nullptr;
  };
  c.grad_out = maybe(0, grad_out, "the gradient", {c.steps, c.batch, c.size});
  c.grad_c = maybe(1, grad_c, "the gradient of the last cell", {c.batch, c.size});
  const int64_t wide = gates_of(c.kind) * c.size;
  Tensor of_gates = fresh(c, gates, c.steps, wide),
         of_state = c.kind == Recurrence::GRU ? fresh(c, gates, c.steps, wide) : of_gates;
  Tensor of_h = torch::empty_tensor({c.batch, c.size}, c.dtype, gates.device()),
         of_c = torch::empty_tensor({c0 ? c.batch : 0, c.size}, c.dtype, gates.device());
  c.out = const_cast<void*>(made.data()), c.cells = const_cast<void*>(of_cells.data());
  c.acted = const_cast<void*>(gates_acted.data());
  c.grad_gates = of_gates.data(), c.grad_of_state = of_state.data(), c.grad_h0 = of_h.data(), c.grad_c0 = of_c.data();
  if (out.numel()) run_recurrence_backward(c);
  return py::make_tuple(of_gates, of_state, of_h, of_c);
}

}  // namespace

void add_recurrence(py::module_& m) {
  // Whether the weights of a layer's state have room in the shared memory of a device.
  m.def("has_recurrence", [](int device, DType dtype, const std::string& kind, int64_t size) {
    const Recurrence of = kind_of("has_recurrence", kind);
    return size > 0 && size < 4096 && recurrence_shared_bytes(dtype, of, size) <= shared_bytes_of_block(device);
  });
  m.def("recurrence", recurrence);
  m.def("recurrence_backward", recurrence_backward);
}
