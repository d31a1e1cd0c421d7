// The functions at the key Profile: one per operator, each the operator itself between two notes.
#include <memory>

#include "profile/profile.h"
#include "torch/core/ops.h"

namespace torch::profile {

namespace {

template <class Tag, class Seq>
struct Profiled;
template <class Tag, size_t... I>
struct Profiled<Tag, std::index_sequence<I...>> {
  using S = detail::Signature<Tag>;
  static typename S::Return run(typename S::template Param<I>... args) {
    const void* const given[] = {std::addressof(args)..., nullptr};
    Range range(begin(S::schema, given));
    return OperatorFunctions<Tag>::Call::below(DispatchKey::Profile, args...);
  }
};

template <class Tag>
void fill() noexcept {
  OperatorFunctions<Tag>::set(DispatchKey::Profile,
                              &Profiled<Tag, std::make_index_sequence<detail::Signature<Tag>::schema.count>>::run);
}

}  // namespace

void fill_functions() noexcept {
#define TORCH_OP(NAME, SCHEMA, ATTR, DOC) fill<op::NAME>();
#include "torch/core/ops/all.def"
#undef TORCH_OP
}

}  // namespace torch::profile
