// Sorting and selecting on other devices than the CPU: one order of each line, and public operators over it.
#pragma once
#include <optional>
#include <tuple>

#include "torch/core/tensor.h"

namespace torch::elsewhere {

inline bool is(const Tensor& t) { return t.device().type != DeviceType::CPU && !t.is_meta(); }

// Values and their places along dim, of any number of dims; dims and k were checked.
std::tuple<Tensor, Tensor> sort(const char* op, const Tensor& self, int64_t dim, bool descending);
std::tuple<Tensor, Tensor> topk(const Tensor& self, int64_t k, int64_t dim, bool largest);
// Along dim, which stays with size 1.
std::tuple<Tensor, Tensor> kthvalue(const Tensor& self, int64_t k, int64_t dim);
std::tuple<Tensor, Tensor> median(const char* op, const Tensor& self, int64_t dim, bool ignore_nan);
std::tuple<Tensor, Tensor> mode(const Tensor& self, int64_t dim);

// Distinct elements of all dims (dim is not given) or slices of one; `sorts`, or only neighbours count as equal.
std::tuple<Tensor, Tensor, Tensor> unique(const Tensor& self, std::optional<int64_t> dim, bool sorts,
                                          bool return_inverse, bool return_counts);
// Each element among sorted ones: whether it is there.
Tensor isin(const Tensor& elements, const Tensor& sorted, bool invert);
Tensor histc(const Tensor& self, int64_t bins, double low, double high);

}  // namespace torch::elsewhere
