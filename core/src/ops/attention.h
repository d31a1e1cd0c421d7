// What a device does for attention. Without kernels of its own it holds all weights.
#pragma once
#include <tuple>

#include "torch/core/tensor.h"

namespace torch {

struct AttentionWork {
  std::tuple<Tensor, Tensor> (*forward)(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
                                        bool is_causal, double scale, bool keep_weights);
  std::tuple<Tensor, Tensor, Tensor> (*backward)(const Tensor& grad, const Tensor& query, const Tensor& key,
                                                 const Tensor& value, const Tensor& mask, const Tensor& weights,
                                                 bool is_causal, double scale);
};
extern const AttentionWork attention_on_cpu, attention_by_operators;

}  // namespace torch
