#include "anomaly.h"

#include "torch/core/ops/reduce.h"
#include "torch/core/ops/unary.h"

namespace torch::autograd {

namespace {
void tell(const Node& n, const char* what) {
  if (!python.warn) return;
  std::string text;
  for (const Node* at = &n; at; at = at->extra ? at->extra->parent.get() : nullptr) {
    text += message(at == &n ? what : "\nPrevious calculation was induced by ", at->name(), ". ");
    if (at->extra && !at->extra->traceback.empty())
      text += "Traceback of forward call that caused it:\n" + at->extra->traceback;
    else
      text += "No forward pass information: run the forward pass with anomaly detection on too.";
  }
  python.warn(text);
}
}  // namespace

void apply_watched(Node& n, Backward& b) {
  try {
    n.apply(b);
  } catch (...) {
    tell(n, "Error detected in ");
    throw;
  }
}

void check_nan(const Node& n, uint32_t input, const Tensor& g) {
  if (g.is_meta()) return;
  GradMode off(false);
  if (!number_of(torch::any(torch::isnan(g))).to<bool>()) return;
  tell(n, "Error detected in ");
  throw_error(ErrorKind::Runtime,
              message("Function '", n.name(), "' returned nan values in its ", input, "th output."));
}

}  // namespace torch::autograd
