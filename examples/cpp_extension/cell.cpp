// A recurrent cell with one gate: what it lets through of the old state, it takes less of the new one.
//
//   z  = [x, h] Wᵀ + b        (batch, 2 hidden)
//   f  = σ(first half of z)   c = tanh(second half of z)
//   h' = f h + (1 - f) c
//
// `forward` is written in operators of torch: autograd records them, and the cell differentiates to any order.
// `backward` is the gradient written by hand, for a torch.autograd.Function, with its element-wise part as one loop.
#include <torch/extension.h>

#include <vector>

using torch::Tensor;

// The new state, and what `backward` needs: [x, h], f and c.
std::vector<Tensor> forward(const Tensor& x, const Tensor& h, const Tensor& weight, const Tensor& bias) {
  TORCH_CHECK(x.dim() == 2 && h.dim() == 2 && x.size(0) == h.size(0),
              "cell: x (batch, inputs) and h (batch, hidden), got ", x, " and ", h);
  Tensor both = torch::cat(std::vector<Tensor>{x, h}, 1);
  std::vector<Tensor> z = torch::chunk(torch::addmm(bias, both, torch::t(weight)), 2, 1);
  Tensor f = torch::sigmoid(z[0]), c = torch::tanh(z[1]);
  return {f * h + (1 - f) * c, both, f, c};
}

// With g the gradient of h':  ∂f = g (h - c),  ∂c = g (1 - f),  through the curves to z: f (1 - f) and 1 - c².
template <class T>
void gates_backward(const Tensor& g, const Tensor& h, const Tensor& f, const Tensor& c, const Tensor& dz) {
  auto g_ = torch::accessor<T, 2>(g), h_ = torch::accessor<T, 2>(h), f_ = torch::accessor<T, 2>(f),
       c_ = torch::accessor<T, 2>(c), dz_ = torch::accessor<T, 2>(dz);
  int64_t hidden = h_.size(1);
  torch::parallel_for(g_.size(0), 64, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      for (int64_t j = 0; j < hidden; ++j) {
        T f = f_[i][j], c = c_[i][j], g = g_[i][j];
        dz_[i][j] = g * (h_[i][j] - c) * f * (1 - f);
        dz_[i][hidden + j] = g * (1 - f) * (1 - c * c);
      }
  });
}

// The gradients of x, h, weight and bias.
std::vector<Tensor> backward(const Tensor& g, const Tensor& h, const Tensor& weight, const Tensor& both,
                             const Tensor& f, const Tensor& c) {
  Tensor dz = torch::empty({h.size(0), 2 * h.size(1)}, h.dtype());
  if (h.dtype() == torch::DType::Float64)
    gates_backward<double>(g, h, f, c, dz);
  else
    gates_backward<float>(g, h, f, c, dz);
  int64_t inputs = both.size(1) - h.size(1);
  Tensor dboth = torch::mm(dz, weight);
  return {torch::narrow(dboth, 1, 0, inputs), torch::narrow(dboth, 1, inputs, h.size(1)) + g * f,
          torch::mm(torch::t(dz), both), torch::sum(dz, torch::IntArrayRef{0})};
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("forward", forward, "The new state, [x, h], f and c.");
  m.def("backward", backward, "The gradients of x, h, weight and bias.");
}
