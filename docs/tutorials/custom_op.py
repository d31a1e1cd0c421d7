# %% [markdown]
# # An operator in C++
#
# When a function is called often on small tensors, or needs a loop of its own, write it in C++. It is compiled while the program runs,
# once, and kept. It needs a compiler and `pip install pybind11`. More in [C++ extensions](../extensions.md).

# %%
import torch
from torch.utils.cpp_extension import load_inline

_ = torch.manual_seed(0)

# %% [markdown]
# ## Composed of operators
#
# Every operator is a function of `torch::`. What is called is recorded by autograd: there is a gradient already.
#
# ## A loop of its own
#
# The second function counts runs of equal values, which operators could only do in several passes. It takes a contiguous tensor and
# says so where it gets another.

# %%
module = load_inline(
    "tutorial_ops",
    """
    #include <algorithm>
    #include <vector>

    torch::Tensor swish(const torch::Tensor& x, double beta) { return x * torch::sigmoid(x * beta); }

    torch::Tensor run_lengths(const torch::Tensor& x) {
      TORCH_CHECK(x.dim() == 1 && x.dtype() == torch::kInt64 && x.is_contiguous(),
                  "run_lengths: expected a contiguous int64 tensor of one dim");
      const int64_t* values = x.data_ptr<int64_t>();
      std::vector<int64_t> lengths;
      for (int64_t i = 0; i < x.numel(); ++i) {
        if (i == 0 || values[i] != values[i - 1]) lengths.push_back(0);
        ++lengths.back();
      }
      torch::Tensor result = torch::empty({static_cast<int64_t>(lengths.size())}, torch::kInt64);
      std::copy(lengths.begin(), lengths.end(), result.data_ptr<int64_t>());
      return result;
    }
    """,
    functions=["swish", "run_lengths"],
)
module.run_lengths(torch.tensor([7, 7, 7, 2, 9, 9]))

# %%
try:
    module.run_lengths(torch.ones(2, 2))
except RuntimeError as error:
    print(error)

# %% [markdown]
# ## Is it right?
#
# `gradcheck` compares the gradients with finite differences, in float64.

# %%
x = torch.randn(8, dtype=torch.float64, requires_grad=True)
assert torch.autograd.gradcheck(lambda x: module.swish(x, 1.5), (x,))
assert torch.allclose(module.swish(x, 1.0), torch.nn.functional.silu(x))

# %% [markdown]
# ## A gradient of your own
#
# A function that is not composed of operators has no gradient until you say what it is: wrap it into a
# `torch.autograd.Function`. Here the forward is C++ and the backward is two operators.


# %%
class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x)
        ctx.beta = beta
        return module.swish(x, beta)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x * ctx.beta)
        return g * (s + ctx.beta * x * s * (1 - s)), None


torch.autograd.gradcheck(lambda x: Swish.apply(x, 1.5), (x,))
