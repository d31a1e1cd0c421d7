#include "dispatch/cuda_casts.h"

#include <algorithm>
#include <string_view>

namespace torch::autocast {

namespace {

// PyTorch's lists for CUDA, as far as they differ from those for the CPU. Half types of GPUs lose range or digits in
// these, which compute in float32; the second ones compute in the widest dtype, and prelu in the lower precision.
constexpr std::string_view kFullOnCuda[] = {
    "acos",       "asin",        "cosh",          "erfinv",      "exp",        "expm1",
    "log",        "log10",       "log2",          "log1p",       "reciprocal", "rsqrt",
    "sinh",       "tan",         "pow",           "softplus",    "layer_norm", "native_layer_norm",
    "group_norm", "nll_loss",    "cross_entropy", "l1_loss",     "mse_loss",   "dist",
    "logsumexp",  "prod",        "softmax",       "log_softmax", "softmin",    "cumprod",
    "cumsum",     "vector_norm", "matrix_norm",   "sum",         "norm"};
constexpr std::string_view kWidestOnCuda[] = {"addcdiv", "addcmul",   "atan2",       "bilinear", "cross", "dot",
                                              "vdot",    "index_put", "scatter_add", "cat",      "stack"};
constexpr std::string_view kAsGivenOnCuda[] = {"reflection_pad", "replication_pad", "trace", "polar",
                                               "view_as_complex"};
constexpr std::string_view kLowOnCuda[] = {"prelu"};

}  // namespace

Cast cast_on_cuda(const Row& row) {
  const std::string_view name = row.schema.op_name();
  const auto is_among = [&](const auto& names) {
    return std::find(std::begin(names), std::end(names), name) != std::end(names);
  };
  return is_among(kFullOnCuda)      ? Cast::Full
         : is_among(kWidestOnCuda)  ? Cast::Widest
         : is_among(kAsGivenOnCuda) ? Cast::None
         : is_among(kLowOnCuda)     ? Cast::Low
                                    : row.attr.cast;
}

}  // namespace torch::autocast
