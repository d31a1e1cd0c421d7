// Normalisations. The pass itself runs one kernel of the core; when the pass is recorded, the same gradient is computed
// from public operators, so that it has derivatives of any order.
#include "torch/core/ops/norm.h"

#include <functional>
#include <numeric>

#include "math.h"
#include "register.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/reduce.h"
#include "torch/core/ops/unary.h"
#include "torch/core/ops/view.h"

namespace torch::autograd {

namespace {

// With x^ = (x - mean) * rstd over `dims` and y = x^ * w + c, and G = g * w:
//   dx = rstd * (G - mean(G) - x^ * mean(G * x^)),  dw = sum(g * x^),  dc = sum(g)
struct Statistics {
  Tensor normal, rstd;
  std::vector<int64_t> dims;
  Statistics(const Tensor& x, std::vector<int64_t> over, double eps) : dims(std::move(over)) {
    Tensor centred = x - torch::mean(x, IntArrayRef(dims), true);
    rstd = torch::rsqrt(torch::mean(centred * centred, IntArrayRef(dims), true) + eps);
    normal = centred * rstd;
  }
  Tensor input_gradient(const Tensor& scaled_g) const {
    Tensor mean_g = torch::mean(scaled_g, IntArrayRef(dims), true),
           mean_gx = torch::mean(scaled_g * normal, IntArrayRef(dims), true);
    return rstd * (scaled_g - mean_g - normal * mean_gx);
  }
};

struct BatchNorm {
  Saved input, weight, running_mean, running_var, save_mean, save_invstd;
  bool training;
  double eps;
  BatchNorm(Recorder& r, const Tensor& input, const Tensor& weight, const Tensor&, const Tensor& running_mean,
            const Tensor& running_var, bool training, double, double eps)
      : input(r, input),
        weight(r, weight),
        running_mean(r, running_mean, !training),
        running_var(r, running_var, !training),
        save_mean(r, 1),
        save_invstd(r, 2),
        training(training),
        eps(eps) {}

  void grad(Backward& b) const {
    const Tensor& g = b.output(0);
    if (!g) return;
    if (grad_enabled()) return recorded(g, b);
    auto [gx, gw, gb] = torch::native_batch_norm_backward(g, input, weight, running_mean, running_var, save_mean,
                                                          save_invstd, training, eps);
    if (b.needs(0)) b[0] = gx;
    if (b.needs(1)) b[1] = gw;
    if (b.needs(2)) b[2] = gb;
  }

  void recorded(const Tensor& g, Backward& b) const {
    const Tensor& x = input;
    std::vector<int64_t> channels(size_t(x.dim()), 1), dims;
    channels[1] = x.size(1);
    for (int64_t d = 0; d < x.dim(); ++d)
      if (d != 1) dims.push_back(d);
    auto per_channel = [&](const Tensor& t) { return torch::reshape(t, channels); };
    Tensor normal, scaled_g = weight ? g * per_channel(weight) : g;
    if (training) {
      Statistics s(x, dims, eps);
      normal = s.normal;
      if (b.needs(0)) b[0] = s.input_gradient(scaled_g);
    } else {
      Tensor rstd = torch::rsqrt(per_channel(running_var) + eps);
      normal = (x - per_channel(running_mean)) * rstd;
      if (b.needs(0)) b[0] = scaled_g * rstd;
    }
    if (b.needs(1)) b[1] = torch::sum(g * normal, IntArrayRef(dims));
    if (b.needs(2)) b[2] = torch::sum(g, IntArrayRef(dims));
  }
};

struct LayerNorm {
  Saved input, weight, bias, mean, rstd;
  Dims shape;
  double eps;
  LayerNorm(Recorder& r, const Tensor& input, IntArrayRef normalized_shape, const Tensor& weight, const Tensor& bias,
            double eps)
      : input(r, input), weight(r, weight), bias(r, bias), mean(r, 1), rstd(r, 2), shape(normalized_shape), eps(eps) {}

  void grad(Backward& b) const {
    const Tensor& g = b.output(0);
    const bool statistics = b.output(1) || b.output(2);
    if (g && !statistics && !grad_enabled()) {
      auto [gx, gw, gb] = torch::native_layer_norm_backward(g, input, shape, mean, rstd, weight, bias);
      if (b.needs(0)) b[0] = gx;
      if (b.needs(1)) b[1] = gw;
      if (b.needs(2)) b[2] = gb;
      return;
    }
    const Tensor& x = input;
    std::vector<int64_t> dims;
    double n = 1;
    for (int64_t d = x.dim() - int64_t(shape.size()); d < x.dim(); ++d) dims.push_back(d), n *= double(x.size(d));
    Statistics s(x, dims, eps);
    if (b.needs(0)) {
      if (g) b[0] = s.input_gradient(weight ? g * weight : g);
      if (b.output(1)) add_into(b[0], b.output(1) / n + torch::zeros_like(x));
      if (b.output(2)) add_into(b[0], -(b.output(2) * square(s.rstd) * s.normal / n));
    }
    if (b.needs(1) && g) b[1] = g * s.normal;
    if (b.needs(2) && g) b[2] = g;
  }
};

struct GroupNorm {
  Saved input, weight, mean, rstd;
  int64_t groups;
  double eps;
  GroupNorm(Recorder& r, const Tensor& input, int64_t groups, const Tensor& weight, const Tensor&, double eps)
      : input(r, input), weight(r, weight), mean(r, 1), rstd(r, 2), groups(groups), eps(eps) {}

  void grad(Backward& b) const {
    const Tensor& g = b.output(0);
    if (g && !b.output(1) && !b.output(2) && !grad_enabled()) {
      auto [gx, gw, gb] = torch::native_group_norm_backward(g, input, groups, mean, rstd, weight);
      if (b.needs(0)) b[0] = gx;
      if (b.needs(1)) b[1] = gw;
      if (b.needs(2)) b[2] = gb;
      return;
    }
    // A group is a row, (n, groups, channels of a group, *).
    const Tensor& x = input;
    const int64_t n = x.size(0), c = x.size(1);
    const int64_t pixels = std::accumulate(x.sizes().begin() + 2, x.sizes().end(), int64_t(1), std::multiplies<>());
    const std::vector<int64_t> rows{n, groups, c / groups, pixels};
    const auto by_group = [&](const Tensor& t) { return torch::reshape(t, rows); };
    const Tensor grouped = by_group(x);
    const Statistics s(grouped, {2, 3}, eps);
    const double width = double(grouped.size(2)) * double(grouped.size(3));
    const auto statistic = [&](const Tensor& t) { return torch::reshape(t, {n, groups, 1, 1}); };
    if (b.needs(0)) {
      Tensor dx;
      if (g) {
        const Tensor scaled = weight ? by_group(g) * torch::reshape(weight, {1, groups, c / groups, 1}) : by_group(g);
        dx = s.input_gradient(scaled);
      }
      if (b.output(1)) add_into(dx, statistic(b.output(1)) / width + torch::zeros_like(grouped));
      if (b.output(2)) add_into(dx, -(statistic(b.output(2)) * square(s.rstd) * s.normal / width));
      if (dx) b[0] = torch::reshape(dx, x.sizes());
    }
    if (!g) return;
    const std::vector<int64_t> others{0, 2}, planes{n, c, pixels};
    if (b.needs(1)) b[1] = torch::sum(torch::reshape(by_group(g) * s.normal, planes), IntArrayRef(others));
    if (b.needs(2)) b[2] = torch::sum(torch::reshape(g, planes), IntArrayRef(others));
  }
};

}  // namespace

void register_norm() {
  record<BatchNorm, op::native_batch_norm>();
  record<LayerNorm, op::layer_norm_statistics>();
  record<GroupNorm, op::group_norm_statistics>();
  refuse<op::native_batch_norm_backward, op::native_layer_norm_backward, op::native_group_norm_backward>(
      "it works below autograd; differentiate batch_norm, layer_norm or group_norm instead");
}

}  // namespace torch::autograd
