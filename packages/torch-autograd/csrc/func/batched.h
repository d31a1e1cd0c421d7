// Examples of a batch, for vmap: a tensor that stands for one example and holds the values of all, the batch in front.
//
//   Batched(level 1) of shape (3,) ──> value (B, 3)        what f sees in vmap(f)(x) where x is (B, 3)
//
// Such tensors carry the key DispatchKey::Wrapped, which stands beneath Autograd: a layer takes the batches out, runs
// the operator on them by a rule (rules.cpp), or example by example where there is none, and wraps what came of it.
// What it calls is an ordinary call. Values may therefore need gradients, which gives grad(vmap(f)), and so may
// wrappers, which gives vmap(grad(f)); or they are wrappers of an outer vmap.
#pragma once
#include <deque>
#include <string_view>
#include <vector>

#include "torch/autograd/state.h"
#include "torch/core/layer.h"
#include "torch/core/operator.h"

namespace torch::autograd {

enum class Randomness : uint8_t { Error, Different, Same };

enum class Form : uint8_t { Batched, Dual, Functional };

// A vmap, a level of dual numbers (dual.h) or a functionalize (functional.h) that is running on this thread. They nest;
// the outermost has number 1.
struct VmapLevel {
  const VmapLevel* outer;
  int number;
  int64_t size;  // of the batch
  Randomness randomness;
  ThreadKeys before;
  Form form = Form::Batched;
  uint64_t id = 0;            // its number among all levels there ever were that are no vmap
  bool copies_views = false;  // functionalize: views are copies beneath
};
TORCH_API const VmapLevel* innermost_level() noexcept;
TORCH_API const VmapLevel* innermost_vmap() noexcept;
TORCH_API int enter_vmap(int64_t size, Randomness randomness);    // the number of the new level
TORCH_API int enter_level(Form form, bool copies_views = false);  // another one than a vmap
TORCH_API void leave_level() noexcept;

// What a wrapper consists of.
struct Wrapper : Payload {
  const Form form;

 protected:
  explicit Wrapper(Form f) noexcept : Payload(Kind::Wrapped), form(f) {}
};
inline const Wrapper* wrapper(const TensorImpl* t) noexcept {
  if (!t || !t->payload || t->payload->kind != Payload::Kind::Wrapped) return nullptr;
  return t->keys & key(DispatchKey::Wrapped) ? static_cast<Wrapper*>(t->payload) : nullptr;  // else a class made it
}
struct Batched final : Wrapper {
  Batched(Tensor v, int level) noexcept : Wrapper(Form::Batched), value(std::move(v)), level(level) {}
  const Tensor value;  // the batch is its first dim
  const int level;
};
inline const Batched* batched(const TensorImpl* t) noexcept {
  const Wrapper* w = wrapper(t);
  return w && w->form == Form::Batched ? static_cast<const Batched*>(w) : nullptr;
}

// A call on behalf of what is outside of a level: its values have graphs of their own, which record unless the user
// has said no_grad.
class TORCH_API Outside {
 public:
  explicit Outside(const VmapLevel& level) noexcept;
  ~Outside();

 private:
  const VmapLevel* before_;
  KeyScope keys_;
  GradMode mode_;
  bool recorded_;
};
// One example of `value`, whose first dim is the batch.
TORCH_API Tensor example_of(Tensor value, int level);
// Where the elements of wrappers seem to lie that have none: whoever reads there without asking is stopped at once.
void* no_memory();
// Makes `view` a view of `of` for the graph: changes of one are seen by the graph of the other.
void become_view(const Tensor& view, const Tensor& of);
// The same memory and version, without being its view.
void share_memory(const Tensor& t, const Tensor& of);

// A call of an operator some arguments of which are batched at `level`. Rules change the arguments, and run the
// operator on what they have made of them.
class BatchedCall {
 public:
  BatchedCall(const Row& row, const Value* arguments, const VmapLevel& level);

  const Row& row;
  const VmapLevel& level;
  Value values[kMaxParameters];

  const Schema& schema() const noexcept { return row.schema; }
  int count() const noexcept { return schema().count; }
  std::string_view name(int i) const { return schema().view(schema().params[i].name); }
  int find(std::string_view name) const;  // -1: no such parameter
  bool is_tensor(int i) const { return schema().params[i].kind == Kind::Tensor; }

  // The argument as it was given: undefined for None.
  const Tensor& given(int i) const { return reinterpret_cast<const Tensor&>(arguments_[i].tensor); }
  bool is_batched(int i) const { return is_batched(given(i)); }
  bool is_batched(const Tensor& t) const {
    const Batched* b = t ? batched(t.get()) : nullptr;
    return b && b->level == level.number;
  }
  int64_t rank(int i) const { return given(i).dim(); }  // of one example
  ArrayRef<Tensor> given_list(int i) const {
    return {static_cast<const Tensor*>(arguments_[i].data), arguments_[i].present ? size_t(arguments_[i].size) : 0};
  }
  // All examples of an argument, the batch in front; one that is not batched as it is.
  const Tensor& value(int i) const { return value(given(i)); }
  const Tensor& value(const Tensor& t) const { return is_batched(t) ? batched(t.get())->value : t; }
  // With the batch in front in any case.
  Tensor front(const Tensor& t) const;
  Tensor front(int i) const { return front(given(i)); }
  // All examples with dims of size 1 behind the batch, so that an example has `rank` dims.
  Tensor aligned(const Tensor& t, int64_t rank) const;

  void set(int i, Tensor t);
  void set(int i, std::vector<Tensor> list);
  void set(int i, std::vector<int64_t> list);
  void set(int i, int64_t number) { values[i].i = number, values[i].present = true; }

  // Runs the operator on `values`.
  void run(Result& result) const { row.invoke(values, result); }

 private:
  const Value* arguments_;
  std::deque<Tensor> tensors_;
  std::deque<std::vector<Tensor>> lists_;
  std::deque<std::vector<int64_t>> numbers_;
};

// Fills `result` with values whose first dim is the batch, or says that it does not know these arguments, and has
// changed no memory then.
using BatchRule = bool (*)(BatchedCall& call, Result& result);
// Null: none. A composite without a rule is seen through.
BatchRule batch_rule(const Row& row);
// For each example by itself.
void each_example(BatchedCall& call, Result& result);

}  // namespace torch::autograd
