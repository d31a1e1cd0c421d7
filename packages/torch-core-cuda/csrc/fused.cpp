// What stands for several operators: steps of optimizers over many tensors, attention, steps of recurrent layers.
// Arguments are checked here, once.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cmath>

#include "cuda/attention.h"
#include "cuda/cells.h"
#include "cuda/limits.h"
#include "cuda/norms.h"
#include "cuda/runtime.h"
#include "cuda/steps.h"
#include "iterate/dense.h"
#include "torch/core/backend.h"
#include "torch/core/random.h"
#include "torch/python/caster.h"

namespace py = pybind11;
using namespace torch::cuda;
using torch::DType;
using torch::Tensor;
using Tensors = std::vector<Tensor>;

namespace {

bool is_computed(DType t) {
  return t == DType::Float32 || t == DType::Float64 || t == DType::Float16 || t == DType::BFloat16;
}

// No gaps, and no place twice.
bool is_dense(const Tensor& t) {
  if (t.is_contiguous()) return true;
  int64_t reached = 1;
  uint64_t taken = 0;
  for (int64_t round = 0; round < t.dim(); ++round)
    for (int64_t d = 0; d < t.dim(); ++d)
      if (!(taken >> d & 1) && t.size(d) > 1 && t.stride(d) == reached) taken |= uint64_t{1} << d, reached *= t.size(d);
  return reached == t.numel();
}

// --- steps of optimizers ---

Unscaling unscaling_of(const char* op, const Tensor& like, const std::optional<Tensor>& scale,
                       const std::optional<Tensor>& found_inf) {
  Unscaling u{scale.value_or(Tensor()), found_inf.value_or(Tensor())};
  for (const Tensor& t : {u.scale, u.found_inf})
    TORCH_CHECK(!t || (t.dtype() == DType::Float32 && t.numel() == 1 && t.device() == like.device()), op,
                ": grad_scale and found_inf must be torch.float32 of one element on ", like.device(), ", got ", t,
                " on ", t.device());
  return u;
}
// Lists have as many tensors as the first, and each is like its parameter; those of states that are not used are empty.
void check_lists(const char* op, const std::vector<Tensors>& given) {
  std::vector<Tensors> lists;
  for (size_t k = 0; k < given.size(); ++k)
    if (k < 2 || !given[k].empty()) lists.push_back(given[k]);
  const Tensors& params = lists[0];
  for (const Tensors& list : lists)
    TORCH_CHECK(list.size() == params.size(), op, ": expected lists of ", params.size(),
                " tensors, one for each "
                "parameter, got one of ",
                list.size());
  for (size_t i = 0; i < params.size(); ++i) {
    const Tensor& p = params[i];
    TORCH_CHECK(p.device().type == torch::DeviceType::CUDA && p.device() == params[0].device() &&
                    p.dtype() == params[0].dtype() && is_computed(p.dtype()),
                op, ": parameters must be floating point tensors of one dtype on one device of CUDA, got ", params[0],
                " on ", params[0].device(), " and ", p, " on ", p.device());
    for (const Tensors& list : lists) {
      const Tensor& t = list[i];
      TORCH_CHECK(t.has_memory() && t.sizes() == p.sizes() && t.strides() == p.strides() && t.dtype() == p.dtype() &&
                      t.device() == p.device(),
                  op, ": gradients and states must have the shape, strides, dtype and device of their parameter ", p,
                  ", got ", t, " on ", t.device());
    }
    TORCH_CHECK(is_dense(p), op, ": parameters must lie in memory without gaps, got strides ", p.strides());
  }
}
void written(const std::vector<Tensors>& lists, bool gradients) {
  for (size_t k = 0; k < lists.size(); ++k)
    if (k != 1 || gradients)
      for (const Tensor& t : lists[k]) t.bump_version();
}

void fused_sgd(const Tensors& params, const Tensors& grads, const Tensors& buffers, double lr, double momentum,
               double dampening, double weight_decay, bool nesterov, bool maximize, bool is_first,
               const std::optional<Tensor>& grad_scale, const std::optional<Tensor>& found_inf) {
  std::vector<Tensors> lists{params, grads};
  if (momentum != 0) lists.push_back(buffers);
  if (params.empty()) return;
  check_lists("_fused_sgd_", lists);
  step_sgd(lists, {lr, momentum, dampening, weight_decay, nesterov, maximize, is_first},
           unscaling_of("_fused_sgd_", params[0], grad_scale, found_inf));
  written(lists, grad_scale.has_value());
}

void fused_adam(const Tensors& params, const Tensors& grads, const Tensors& averages, const Tensors& squares,
                const Tensors& largest, const std::vector<double>& counts, const Tensors& counted, double lr,
                double beta1, double beta2, double weight_decay, double eps, bool amsgrad, bool maximize,
                bool decoupled, const std::optional<Tensor>& grad_scale, const std::optional<Tensor>& found_inf) {
  const char* const op = decoupled ? "_fused_adamw_" : "_fused_adam_";
  std::vector<Tensors> lists{params, grads, averages, squares};
  if (amsgrad) lists.push_back(largest);
  if (params.empty()) return;
  check_lists(op, lists);
  TORCH_CHECK(counts.empty() ? counted.size() == params.size() : counts.size() == params.size(), op, ": expected ",
              params.size(), " numbers of steps, one for each parameter, got ", counts.size() + counted.size());
  for (const Tensor& t : counted)
    TORCH_CHECK(t.dtype() == DType::Float32 && t.numel() == 1 && t.device() == params[0].device(), op,
                ": numbers of steps must be torch.float32 of one element on ", params[0].device(), ", got ", t, " on ",
                t.device());
  step_adam(lists, counts, counted, {lr, beta1, beta2, weight_decay, eps, amsgrad, maximize, decoupled},
            unscaling_of(op, params[0], grad_scale, found_inf));
  written(lists, grad_scale.has_value());
}

// The other algorithms. `numbers` are values, or tensors of the device, of which each parameter has its own.
void fused_step(const std::string& name, const std::vector<Tensors>& lists,
                const std::vector<std::vector<double>>& values, const std::vector<Tensors>& on_device,
                const std::map<std::string, double, std::less<>>& options) {
  const AlgorithmOfSteps algorithm = algorithm_of_steps(name);
  const char* const op = algorithm.op;
  TORCH_CHECK(lists.size() == size_t(2 + algorithm.states), op, ": expected ", 2 + algorithm.states,
              " lists of tensors, got ", lists.size());
  if (lists[0].empty()) return;
  check_lists(op, lists);
  const size_t count = values.empty() ? on_device.size() : values.size();
  TORCH_CHECK(count == size_t(algorithm.own), op, ": expected ", algorithm.own, " numbers for each parameter, got ",
              count);
  for (size_t k = 0; k < count; ++k) {
    const size_t length = values.empty() ? on_device[k].size() : values[k].size();
    TORCH_CHECK(length == lists[0].size(), op, ": expected ", lists[0].size(), " numbers, one for each parameter, got ",
                length);
    for (size_t i = 0; values.empty() && i < length; ++i) {
      const Tensor& t = on_device[k][i];
      TORCH_CHECK(t.dtype() == DType::Float64 && t.numel() == 1 && t.device() == lists[0][0].device(), op,
                  ": numbers of parameters must be torch.float64 of one element on ", lists[0][0].device(), ", got ", t,
                  " on ", t.device());
    }
  }
  algorithm.step(op, lists, {values, on_device, {}}, {options});
  written(lists, false);
}

// --- norms ---

Tensor norms(const Tensors& tensors, double order) {
  const char* const op = "norms";
  TORCH_CHECK(!tensors.empty() && (order == 1 || order == 2 || order == HUGE_VAL), op,
              ": expected tensors and the order 1, 2 or inf, got ", tensors.size(), " tensors and the order ", order);
  for (const Tensor& t : tensors)
    TORCH_CHECK(t.has_memory() && is_computed(t.dtype()) && is_dense(t) && t.dtype() == tensors[0].dtype() &&
                    t.device() == tensors[0].device() && t.device().type == torch::DeviceType::CUDA,
                op, ": tensors must be dense, floating point, of one dtype and on one CUDA device, got ", t, " on ",
                t.device(), " beside ", tensors[0], " on ", tensors[0].device());
  return norms_of(tensors, order == 1 ? NormOrder::One : order == 2 ? NormOrder::Two : NormOrder::Infinite);
}

// --- attention ---

// Rows of a head, which kernels read sixteen bytes at a time: laid out anew where they do not begin at such addresses.
HeadsOf heads_of(const char* op, const char* what, Tensor& t, const Tensor& like, int64_t rows, int64_t columns) {
  TORCH_CHECK(t.has_memory() && t.dim() == 4 && t.size(0) == like.size(0) && t.size(1) == like.size(1) &&
                  t.size(2) == rows && t.size(3) == columns && t.dtype() == like.dtype() && t.device() == like.device(),
              op, ": ", what, " must be ", like.dtype(), " of shape (", like.size(0), ", ", like.size(1), ", ", rows,
              ", ", columns, ") on ", like.device(), ", got ", t, " on ", t.device());
  TORCH_CHECK(t.stride(3) == 1 || t.size(3) <= 1, op, ": columns of ", what,
              " must lie beside each other, got strides ", t.strides());
  const int64_t of = 16 / torch::item_size(t.dtype());
  bool fits = reinterpret_cast<uintptr_t>(t.data()) % 16 == 0;
  for (int64_t d = 0; d < 3; ++d) fits &= t.size(d) <= 1 || t.stride(d) % of == 0;
  if (!fits) {
    const Tensor wide =
        torch::empty_tensor({t.size(0), t.size(1), rows, (columns + of - 1) / of * of}, t.dtype(), t.device());
    Tensor laid = torch::view_of(wide, t.sizes(), wide.strides(), 0);
    torch::copy_into(laid, t);
    t = laid;
  }
  return {t.data(), t.stride(0), t.stride(1), t.stride(2)};
}
DType dtype_of_sums(DType t) { return t == DType::Float64 ? t : DType::Float32; }
// q, k and v may become other tensors, which must live until the launch.
AttentionCall call_of(const char* op, Tensor& q, Tensor& k, Tensor& v, const std::optional<Tensor>& mask,
                      bool is_causal, double scale) {
  TORCH_CHECK(q.dim() == 4 && k.dim() == 4 && v.dim() == 4 && q.device().type == torch::DeviceType::CUDA, op,
              ": query, key and value must be tensors of CUDA with 4 dims, got ", q, ", ", k, " and ", v);
  TORCH_CHECK_IMPLEMENTED(is_computed(q.dtype()), op, ": no kernel for ", q.dtype(), " tensors on ", q.device());
  AttentionCall c{};
  c.dtype = q.dtype();
  c.batch = q.size(0), c.heads = q.size(1), c.queries = q.size(2), c.keys = k.size(2);
  c.width = q.size(3), c.depth = v.size(3);
  TORCH_CHECK_IMPLEMENTED(c.width <= kWidestHead && c.depth <= kWidestHead, op, ": no kernel for heads wider than ",
                          kWidestHead, ", got ", c.width, " and ", c.depth);
  TORCH_CHECK_IMPLEMENTED(std::max(c.queries, c.keys) < (int64_t(1) << 30), op, ": no kernel for 2^30 rows, got ",
                          c.queries, " and ", c.keys);
  const Tensor like = q;
  c.q = heads_of(op, "query", q, like, c.queries, c.width);
  c.k = heads_of(op, "key", k, like, c.keys, c.width);
  c.v = heads_of(op, "value", v, like, c.keys, c.depth);
  c.is_causal = is_causal, c.scale = scale;
  if (mask) {
    const Tensor& m = *mask;
    TORCH_CHECK(m.has_memory() && m.dim() == 4 && m.size(0) == c.batch && m.size(1) == c.heads &&
                    m.size(2) == c.queries && m.size(3) == c.keys && m.device() == q.device() &&
                    (m.dtype() == DType::Bool || m.dtype() == dtype_of_sums(c.dtype)),
                op, ": mask must be torch.bool or ", dtype_of_sums(c.dtype), " of shape (", c.batch, ", ", c.heads,
                ", ", c.queries, ", ", c.keys, ") on ", q.device(), ", got ", m, " on ", m.device());
    c.mask = {m.data(), m.dtype() == DType::Bool, m.stride(0), m.stride(1), m.stride(2), m.stride(3)};
  }
  return c;
}

uint64_t threshold_of(const char* op, double dropout) {
  TORCH_CHECK(dropout >= 0 && dropout <= 1, op, ": expected a probability from 0 to 1, got ", dropout);
  return uint64_t((1 - dropout) * double(uint64_t(1) << 32));
}
// `drawn` is where the draws began, two words; of no dropout it has no elements.
void set_dropout(const char* op, AttentionCall& c, double dropout, const Tensor& drawn) {
  c.dropout.threshold = threshold_of(op, dropout);
  if (dropout == 0) return;
  TORCH_CHECK(drawn.numel() == 2 && drawn.dtype() == DType::Int64 && drawn.is_contiguous(), op,
              ": drawn must be what attention gave, got ", drawn);
  c.dropout.on = true;
  c.dropout.scale = dropout == 1 ? 0 : 1 / (1 - dropout);
  c.dropout.stream = reinterpret_cast<torch::RandomStream*>(drawn.data<int64_t>());
}

py::tuple attention(Tensor q, Tensor k, Tensor v, const std::optional<Tensor>& mask, bool is_causal, double scale,
                    double dropout) {
  AttentionCall c = call_of("attention", q, k, v, mask, is_causal, scale);
  Tensor drawn = torch::empty_tensor({dropout == 0 ? 0 : 2}, DType::Int64, q.device());
  set_dropout("attention", c, dropout, drawn);
  if (c.dropout.on) {
    const int64_t n = c.batch * c.heads * c.queries * c.keys;
    const torch::RandomStream stream = torch::backend_of("attention", q.device()).generator(q.device())->reserve(n);
    c.dropout.drawing = drawing_of(stream, q.device().index, (uint64_t(n) + 31) / 32);
  }
  Tensor out = torch::empty_tensor({c.batch, c.heads, c.queries, c.depth}, c.dtype, q.device()),
         log = torch::empty_tensor({c.batch, c.heads, c.queries}, dtype_of_sums(c.dtype), q.device());
  c.out = out.data(), c.log = log.data();
  if (out.numel()) attend(c);
  return py::make_tuple(out, log, drawn);
}
Tensor kept_of_attention(const Tensor& drawn, const std::vector<int64_t>& sizes, double dropout) {
  Tensor kept = torch::empty_tensor(sizes, DType::Bool, drawn.device());
  const uint64_t threshold = threshold_of("attention", dropout);
  const auto* const stream = reinterpret_cast<const torch::RandomStream*>(drawn.data<int64_t>());
  if (kept.numel()) attention_kept(stream, threshold, kept.numel(), kept.data<uint8_t>());
  return kept;
}

// The gradients of query, key and value, and that of the mask, where it is asked for.
py::tuple attention_backward(Tensor grad, Tensor q, Tensor k, Tensor v, const std::optional<Tensor>& mask,
                             const Tensor& out, const Tensor& log, const Tensor& drawn, bool is_causal, double scale,
                             double dropout, bool of_mask) {
  const char* const op = "attention_backward";
  AttentionCall c = call_of(op, q, k, v, mask, is_causal, scale);
  set_dropout(op, c, dropout, drawn);
  c.grad = heads_of(op, "grad", grad, q, c.queries, c.depth);
  TORCH_CHECK(out.has_memory() && out.is_contiguous() && out.dtype() == c.dtype && out.device() == q.device() &&
                  out.numel() == c.batch * c.heads * c.queries * c.depth && log.is_contiguous() &&
                  log.dtype() == dtype_of_sums(c.dtype) && log.numel() == c.batch * c.heads * c.queries &&
                  log.device() == q.device(),
              op, ": out and log must be what attention gave, got ", out, " and ", log);
  c.out = const_cast<void*>(out.data()), c.log = const_cast<void*>(log.data());
  const auto fresh = [&](int64_t rows, int64_t columns, DType dtype) {
    return torch::empty_tensor({c.batch, c.heads, rows, columns}, dtype, q.device());
  };
  Tensor grad_q = fresh(c.queries, c.width, c.dtype), grad_k = fresh(c.keys, c.width, c.dtype),
         grad_v = fresh(c.keys, c.depth, c.dtype);
  c.grad_q = grad_q.data(), c.grad_k = grad_k.data(), c.grad_v = grad_v.data();
  std::optional<Tensor> grad_mask;
  if (of_mask) {
    grad_mask = fresh(c.queries, c.keys, dtype_of_sums(c.dtype));
    c.grad_mask = grad_mask->data();
  }
  attend_backward(c);
  return py::make_tuple(grad_q, grad_k, grad_v, grad_mask);
}

// --- steps of recurrent layers ---

// (n, columns) of a dtype, whose columns lie beside each other.
void check_rows(const char* op, const char* what, const Tensor& t, const Tensor& like, int64_t columns) {
  TORCH_CHECK(t.has_memory() && t.dim() == 2 && t.size(0) == like.size(0) && t.size(1) == columns &&
                  t.dtype() == like.dtype() && t.device() == like.device() && (t.stride(1) == 1 || columns <= 1),
              op, ": ", what, " must be ", like.dtype(), " of shape (", like.size(0), ", ", columns, ") on ",
              like.device(), ", row by row, got ", t, " on ", t.device());
}
void check_state(const char* op, const Tensor& state) {
  TORCH_CHECK(state.has_memory() && state.dim() == 2 && state.device().type == torch::DeviceType::CUDA &&
                  is_computed(state.dtype()),
              op, ": the state must be floating point of shape (batch, size) on CUDA, got ", state, " on ",
              state.device());
  check_rows(op, "the state", state, state, state.size(1));
}

// Fresh, `times` as wide as the state.
Tensor columns_like(const Tensor& state, int64_t times) {
  return torch::empty_tensor({state.size(0), times * state.size(1)}, state.dtype(), state.device());
}

py::tuple lstm_cell(const Tensor& x, const Tensor& h, const Tensor& c) {
  check_state("lstm_cell", c);
  check_rows("lstm_cell", "gates of the input", x, c, 4 * c.size(1));
  check_rows("lstm_cell", "gates of the state", h, c, 4 * c.size(1));
  const LstmStep s{x, h, c, columns_like(c, 1), columns_like(c, 1), columns_like(c, 4)};
  lstm_step(s);
  return py::make_tuple(s.new_h, s.new_c, s.acted);
}
py::tuple lstm_cell_backward(const std::optional<Tensor>& grad_h, const std::optional<Tensor>& grad_c,
                             const Tensor& acted, const Tensor& c, const Tensor& new_c) {
  const char* const op = "lstm_cell_backward";
  check_state(op, c);
  check_rows(op, "acted", acted, c, 4 * c.size(1));
  check_rows(op, "the new state", new_c, c, c.size(1));
  for (const auto* g : {&grad_h, &grad_c})
    if (*g) check_rows(op, "a gradient", **g, c, c.size(1));
  const LstmGradient s{.grad_h = grad_h.value_or(Tensor()),
                       .more = {},
                       .grad_c = grad_c.value_or(Tensor()),
                       .acted = acted,
                       .c = c,
                       .new_c = new_c,
                       .of_gates = columns_like(c, 4),
                       .of_c = columns_like(c, 1)};
  lstm_step_backward(s);
  return py::make_tuple(s.of_gates, s.of_c);
}
py::tuple gru_cell(const Tensor& x, const Tensor& h, const Tensor& before) {
  check_state("gru_cell", before);
  check_rows("gru_cell", "gates of the input", x, before, 3 * before.size(1));
  check_rows("gru_cell", "gates of the state", h, before, 3 * before.size(1));
  const GruStep s{x, h, before, columns_like(before, 1), columns_like(before, 4)};
  gru_step(s);
  return py::make_tuple(s.new_h, s.acted);
}
py::tuple gru_cell_backward(const Tensor& grad, const Tensor& acted, const Tensor& before) {
  const char* const op = "gru_cell_backward";
  check_state(op, before);
  check_rows(op, "acted", acted, before, 4 * before.size(1));
  check_rows(op, "the gradient", grad, before, before.size(1));
  const GruGradient s{
      grad, {}, acted, before, columns_like(before, 3), columns_like(before, 3), columns_like(before, 1)};
  gru_step_backward(s);
  return py::make_tuple(s.of_x, s.of_h, s.of_before);
}

}  // namespace

void add_fused(py::module_& m) {
  m.def("fused_sgd", fused_sgd);
  m.def("fused_adam", fused_adam);
  m.def("fused_step", fused_step);
  m.def("norms", norms);
  // Whether a device has kernels for attention with heads of this width.
  m.def("has_attention", [](int device, DType dtype, int64_t widest) {
    if (!is_computed(dtype) || widest < 1 || widest > kWidestHead) return false;
    return attention_shared_bytes(dtype, widest) <= shared_bytes_of_block(device);
  });
  m.def("attention", attention);
  m.def("attention_backward", attention_backward);
  m.def("attention_kept", kept_of_attention);
  m.def("lstm_cell", lstm_cell);
  m.def("lstm_cell_backward", lstm_cell_backward);
  m.def("gru_cell", gru_cell);
  m.def("gru_cell_backward", gru_cell_backward);
}
