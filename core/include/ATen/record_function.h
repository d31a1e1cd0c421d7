// The names under which extensions of PyTorch mark ranges for a profiler. What they give as inputs is not noted.
#pragma once
#include "torch/core/profile.h"

namespace torch::profile {
template <class... Ignored>
Range named_range(std::string_view name, const Ignored&...) noexcept {
  return Range(name);
}
}  // namespace torch::profile

#define TORCH_RANGE_NAME_(line) torch_range_of_line_##line
#define TORCH_RANGE_NAME(line) TORCH_RANGE_NAME_(line)
#define RECORD_FUNCTION(...) \
  const ::torch::profile::Range TORCH_RANGE_NAME(__LINE__) = ::torch::profile::named_range(__VA_ARGS__)
#define RECORD_USER_SCOPE(name) RECORD_FUNCTION(name)
