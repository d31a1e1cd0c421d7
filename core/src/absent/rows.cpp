// Stands for rows.cpp where a build leaves a family out (TORCH_FAMILIES): its operators can be named, and raise when
// they are called. The table of all operators does not have them.
#include "dispatch/register.h"
#include "torch/core/operator.h"

#define TORCH_TEXT(PATH) #PATH
#define TORCH_FILE(PATH) TORCH_TEXT(PATH)
// clang-format off
#define TORCH_HEADER TORCH_FILE(torch/core/ops/TORCH_FAMILY.h)
#define TORCH_ROWS TORCH_FILE(torch/core/ops/TORCH_FAMILY.def)
// clang-format on
#include TORCH_HEADER

namespace torch {

namespace {

[[noreturn, gnu::noinline]] void refuse(const char* name) {
  throw_error(ErrorKind::NotImplemented, std::string(name) +
                                             ": not in this build of torch-core, which leaves out the family " +
                                             TORCH_TEXT(TORCH_FAMILY) + " of operators (TORCH_FAMILIES)");
}

template <class Tag, class Seq>
struct Absent;
template <class Tag, size_t... I>
struct Absent<Tag, std::index_sequence<I...>> {
  using S = detail::Signature<Tag>;
  static inline const char* name;
  static typename S::Return run(DispatchKey, typename S::template Param<I>...) { refuse(name); }
};
template <class Tag>
void leave_out(const char* name) noexcept {
  using Out = Absent<Tag, std::make_index_sequence<detail::Signature<Tag>::schema.count>>;
  Out::name = name;
  Tag::functions[kOutlet] = reinterpret_cast<void*>(&Out::run);
}

}  // namespace

#define TORCH_OP(NAME, SCHEMA, ATTR, DOC)             \
  constinit void* op::NAME::functions[kEntries] = {}; \
  const Operator<op::NAME> NAME;
#include TORCH_ROWS
#undef TORCH_OP

ArrayRef<Row> rows::TORCH_FAMILY::table() noexcept { return {}; }

void rows::TORCH_FAMILY::connect() noexcept {
#define TORCH_OP(NAME, SCHEMA, ATTR, DOC) leave_out<op::NAME>(#NAME);
#include TORCH_ROWS
#undef TORCH_OP
}

}  // namespace torch

#include "dispatch/one_device.h"

void torch::rows::TORCH_FAMILY::guard_devices() noexcept {}
