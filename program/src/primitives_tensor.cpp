// What tensors answer, and operators that have no row: conversions, tensors made of numbers.
#include "primitives.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/index.h"
#include "torch/core/ops/view.h"

namespace torch::program {

Scalar item(const Tensor& t) {
  if (t.numel() != 1)
    throw_error(ErrorKind::Runtime, message("a Tensor with ", t.numel(), " elements cannot be converted to Scalar"));
  TORCH_CHECK(t.has_memory() && t.device().type == DeviceType::CPU, "item: the tensor on ", t.device(),
              " has no values here");
  return visit_dtype(t.dtype(), [&](auto zero) -> Scalar {
    using E = decltype(zero);
    E v = *t.data<E>();
    if constexpr (std::is_same_v<E, Complex64> || std::is_same_v<E, Complex128>)
      return Scalar(std::complex<double>(v));
    else if constexpr (std::is_same_v<E, bool>)
      return Scalar(v);
    else if constexpr (std::is_integral_v<E>)
      return Scalar(int64_t(v));
    else
      return Scalar(double(static_cast<float>(v)) == double(v) ? double(static_cast<float>(v)) : double(v));
  });
}

namespace {

using T = const Tensor&;

std::optional<DType> dtype_of(const Cell& c) {
  return c.is_none() ? std::optional<DType>() : dtype_of_number(c.to_int());
}
std::optional<Device> device_of(const Cell& c) { return c.is_none() ? std::optional<Device>() : c.to_device(); }
std::optional<MemoryFormat> format_of(const Cell& c) {
  if (c.is_none()) return std::nullopt;
  TORCH_CHECK(c.to_int() >= 0 && c.to_int() <= int64_t(MemoryFormat::ChannelsLast3d), "there is no memory format ",
              c.to_int());
  return MemoryFormat(c.to_int());
}

bool lies_in(T t, std::optional<MemoryFormat> format) {
  TORCH_CHECK(format && *format != MemoryFormat::Preserve, "is_contiguous: preserve_format is no layout to ask for");
  if (*format == MemoryFormat::Contiguous) return t.is_contiguous();
  const int n = *format == MemoryFormat::ChannelsLast ? 4 : 5;
  if (t.dim() != n) return false;
  int64_t expected = 1;
  const auto fits = [&](int d) {
    const bool fit = t.size(d) == 1 || t.strides()[size_t(d)] == expected;
    expected *= t.size(d);
    return fit;
  };
  bool all = fits(1);
  for (int d = n - 1; d >= 2; --d) all = fits(d) && all;
  return (fits(0) && all) || t.numel() == 0;
}

Tensor to(T t, std::optional<DType> dtype, std::optional<Device> device, bool copy,
          std::optional<MemoryFormat> format) {
  const bool same = (!dtype || *dtype == t.dtype()) && (!device || device->type == t.device().type);
  if (same && !copy && (!format || *format == MemoryFormat::Preserve)) return t;
  if (same && !copy && format && *format == MemoryFormat::Contiguous && t.is_contiguous()) return t;
  return torch::_to_copy(t, dtype, device, format);
}
Tensor as(T t, DType d) { return to(t, d, std::nullopt, false, std::nullopt); }

// torch.tensor of a nested list
void measure(const Cell& c, size_t depth, std::vector<int64_t>& sizes, Scalar::Kind& kind) {
  if (c.is(Cell::Tag::List) || c.is(Cell::Tag::Tuple)) {
    const int64_t n = int64_t(c.items().size());
    TORCH_CHECK_VALUE(depth < 32, "tensor: the list is nested too deeply");
    if (depth == sizes.size())
      sizes.push_back(n);
    else
      TORCH_CHECK_VALUE(sizes[depth] == n, "tensor: expected a list of ", sizes[depth], " elements, got ", n);
    for (const Cell& each : c.items()) measure(each, depth + 1, sizes, kind);
  } else {
    Scalar s = c.is(Cell::Tag::Tensor) ? item(c.to_tensor()) : c.to_scalar();
    TORCH_CHECK_VALUE(depth == sizes.size(), "tensor: lists and numbers side by side");
    kind = std::max(kind, s.kind());
  }
}
template <class E>
void write(const Cell& c, E*& at) {
  if (c.is(Cell::Tag::List) || c.is(Cell::Tag::Tuple)) {
    for (const Cell& each : c.items()) write(each, at);
  } else {
    *at++ = (c.is(Cell::Tag::Tensor) ? item(c.to_tensor()) : c.to_scalar()).to<E>();
  }
}
Tensor tensor(const Cell& c, const Cell& dtype, const Cell& device) {
  if (c.is(Cell::Tag::Tensor)) return to(c.to_tensor(), dtype_of(dtype), device_of(device), true, std::nullopt);
  std::vector<int64_t> sizes;
  Scalar::Kind kind = Scalar::Kind::Bool;
  // The depth of the first element is everyone's.
  measure(c, 0, sizes, kind);
  DType d = kind == Scalar::Kind::Bool    ? DType::Bool
            : kind <= Scalar::Kind::UInt  ? DType::Int64
            : kind == Scalar::Kind::Float ? default_dtype()
                                          : complex_of(default_dtype());
  int64_t n = 1;
  for (int64_t s : sizes) n *= s;
  if (n == 0) d = default_dtype();
  if (!dtype.is_none()) d = dtype_of_number(dtype.to_int());
  Tensor out = empty_tensor(sizes, d);
  if (n)
    visit_dtype(d, [&](auto zero) {
      using E = decltype(zero);
      E* at = out.data<E>();
      write<E>(c, at);
    });
  return device.is_none() || device.to_device().type == DeviceType::CPU
             ? out
             : to(out, std::nullopt, device.to_device(), false, std::nullopt);
}

// tensor.tolist(): lists as deep as there are dims, of elements of the type that the annotation says.
Cell listed(T t, const TypePtr& element) {
  if (t.dim() == 0) {
    const Scalar s = item(t);
    if (element->is(TypeKind::Int)) return Cell(s.to_int());
    if (element->is(TypeKind::Float)) return Cell(s.to_double());
    if (element->is(TypeKind::Bool)) return Cell(s.to_bool());
    return Cell(s.to_complex());
  }
  TypePtr inner = element;
  for (int64_t d = 1; d < t.dim(); ++d) inner = list_type(inner);
  std::vector<Cell> items;
  items.reserve(size_t(t.sizes()[0]));
  for (int64_t i = 0; i < t.sizes()[0]; ++i) items.push_back(listed(torch::select(t, 0, i), element));
  return Cell::list(std::move(items), inner);
}
Cell tolist(T t, int64_t depth, int64_t element) {
  TORCH_CHECK(depth == t.dim(), "tolist: the annotation says lists of depth ", depth, ", the tensor has ", t.dim(),
              " dims");
  static const TypePtr kElements[] = {int_type(), float_type(), bool_type(), complex_type()};
  const DType d = t.dtype();
  const bool fits = element == 0   ? d == DType::Int64
                    : element == 1 ? is_floating(d)
                    : element == 2 ? d == DType::Bool
                                   : is_complex(d);
  TORCH_CHECK(fits, "tolist: the annotation says elements of type ", kElements[element]->annotation(),
              ", the tensor is of dtype ", d);
  return listed(t, kElements[element]);
}

// The number that a tensor stands for where one is asked for and nobody wrote a conversion: none is lost on the way.
Scalar implicit(T t, bool integral = false) {
  auto refuse = [&](const std::string& what, const char* as, const char* way_out) {
    throw_error(ErrorKind::Runtime, message("Cannot input a tensor ", what, " as ", as, " argument (dtype ", t.dtype(),
                                            ", shape ", t.sizes(), "): write ", way_out));
  };
  if (t.requires_grad()) refuse("that requires grad", "a scalar", "x.item(), which has no gradient");
  if (t.dim() != 0) refuse("of dimension other than 0", "a scalar", "x.item()");
  if (integral && !is_integral(t.dtype()))
    refuse(std::string("of type ") + legacy_name(t.dtype()), "an integral", "int(x)");
  return item(t);
}

}  // namespace

void register_tensors() {
  prim([](T t, int64_t depth, int64_t element) { return tolist(t, depth, element); },
       "prim::tolist(Tensor data, int dim, int element) -> Any");
  prim([](T t) { return item(t).to_int(); }, "aten::Int.Tensor(Tensor a) -> int");
  prim([](T t) { return item(t).to_double(); }, "aten::Float.Tensor(Tensor a) -> float");
  prim([](T t) { return item(t).to_bool(); }, "aten::Bool.Tensor(Tensor a) -> bool");
  prim([](T t) { return item(t).to_complex(); }, "aten::Complex.Tensor(Tensor a) -> complex");
  prim([](T t) { return implicit(t, true).to_int(); }, "aten::IntImplicit(Tensor a) -> int");
  prim([](T t) { return implicit(t).to_double(); }, "aten::FloatImplicit(Tensor a) -> float");
  prim([](T t) { return implicit(t).to_complex(); }, "aten::ComplexImplicit(Tensor a) -> complex");
  prim([](T t) { return Cell(implicit(t)); }, "aten::ScalarImplicit(Tensor a) -> Scalar");
  prim([](T t) { return Cell(item(t)); }, "aten::item(Tensor self) -> Scalar");
  prim([](T t) { return t.sizes().vec(); }, "aten::size(Tensor self) -> int[]");
  prim([](T t, int64_t d) { return t.size(wrap_dim(d, t.dim())); }, "aten::size.int(Tensor self, int dim) -> int");
  prim([](T t) { return t.strides().vec(); }, "aten::stride(Tensor self) -> int[]");
  prim([](T t, int64_t d) { return t.stride(wrap_dim(d, t.dim())); }, "aten::stride.int(Tensor self, int dim) -> int");
  prim([](T t) { return t.sizes().vec(); }, "prim::shape(Tensor a) -> int[]");
  prim([](T t) { return t.dim(); }, "aten::dim(Tensor self) -> int");
  prim([](T t) { return t.dim(); }, "aten::ndimension(Tensor self) -> int");
  prim([](T t) { return t.dim(); }, "prim::ndim(Tensor a) -> int");
  prim([](T t) { return t.numel(); }, "aten::numel(Tensor self) -> int");
  prim([](T t) { return t.numel(); }, "aten::nelement(Tensor self) -> int");
  prim([](T t) { return t.item_size(); }, "aten::element_size(Tensor self) -> int");
  prim([](T t) { return t.item_size(); }, "prim::itemsize(Tensor a) -> int");
  prim([](T t) { return t.storage_offset(); }, "aten::storage_offset(Tensor self) -> int");
  prim(
      [](T t) {
        if (t.dim() == 0) raise_error("TypeError", "len() of a 0-d tensor");
        return t.size(0);
      },
      "aten::len.Tensor(Tensor t) -> int");
  prim([](T t) { return t.is_contiguous(); }, "aten::is_contiguous(Tensor self) -> bool");
  prim([](T t, int64_t format) { return lies_in(t, format_of(Cell(format))); },
       "aten::is_contiguous.memory_format(Tensor self, int memory_format) -> bool");
  prim([](T t) { return is_floating(t.dtype()); }, "aten::is_floating_point(Tensor self) -> bool");
  prim([](T t) { return is_complex(t.dtype()); }, "aten::is_complex(Tensor self) -> bool");
  prim([](T t) { return is_signed(t.dtype()); }, "aten::is_signed(Tensor self) -> bool");
  prim([](T t) { return number_of(t.dtype()); }, "prim::dtype(Tensor a) -> int");
  prim([](T t) { return t.device(); }, "prim::device(Tensor a) -> Device");
  prim([](T t) { return int64_t(t.has(DispatchKey::Sparse)); }, "prim::layout(Tensor a) -> int");
  prim([](T t) { return t.requires_grad(); }, "prim::requires_grad(Tensor a) -> bool");
  prim([](T t) { return t.device().type == DeviceType::CUDA; }, "prim::is_cuda(Tensor a) -> bool");
  prim([](T t) { return t.device().type == DeviceType::CPU; }, "prim::is_cpu(Tensor a) -> bool");
  prim([](T t) { return t.is_meta(); }, "prim::is_meta(Tensor a) -> bool");
  prim([](T t) { return t.has(DispatchKey::Sparse); }, "prim::is_sparse(Tensor a) -> bool");
  prim([](T) { return false; }, "prim::is_quantized(Tensor a) -> bool");
  prim([](T) { return false; }, "prim::is_mkldnn(Tensor a) -> bool");
  prim([](T t) { return alias_of(t, false); }, "prim::data(Tensor a) -> Tensor");
  prim([](T t) { return int64_t(t.device().index < 0 ? 0 : t.device().index); },
       "aten::get_device(Tensor self) -> int");

  prim([](T t, int64_t d, bool, bool copy,
          const Cell& f) { return to(t, dtype_of_number(d), std::nullopt, copy, format_of(f)); },
       "aten::to.dtype(Tensor self, int dtype, bool non_blocking=False, bool copy=False, int? memory_format=None) -> "
       "Tensor");
  prim([](T t, Device where, int64_t d, bool, bool copy,
          const Cell& f) { return to(t, dtype_of_number(d), where, copy, format_of(f)); },
       "aten::to.device(Tensor self, Device device, int dtype, bool non_blocking=False, bool copy=False, int? "
       "memory_format=None) -> Tensor");
  prim([](T t, T other, bool, bool copy,
          const Cell& f) { return to(t, other.dtype(), other.device(), copy, format_of(f)); },
       "aten::to.other(Tensor self, Tensor other, bool non_blocking=False, bool copy=False, int? memory_format=None) "
       "-> Tensor");
  prim([](T t, const Cell& where, const Cell& d, bool,
          bool copy) { return to(t, dtype_of(d), device_of(where), copy, std::nullopt); },
       "aten::to.prim_Device(Tensor self, Device? device, int? dtype=None, bool non_blocking=False, bool copy=False) "
       "-> Tensor");
  prim([](T t, const Cell& d, const Cell&, const Cell& where, const Cell&, bool, bool copy,
          const Cell& f) { return to(t, dtype_of(d), device_of(where), copy, format_of(f)); },
       "aten::to.dtype_layout(Tensor self, *, int? dtype=None, int? layout=None, Device? device=None, bool? "
       "pin_memory=None, bool non_blocking=False, "
       "bool copy=False, int? memory_format=None) -> Tensor");
  prim([](T t, T other) { return as(t, other.dtype()); }, "aten::type_as(Tensor self, Tensor other) -> Tensor");
#define CAST(NAME, DTYPE) prim([](T t) { return as(t, DType::DTYPE); }, "aten::" NAME "(Tensor self) -> Tensor")
  CAST("float", Float32);
  CAST("double", Float64);
  CAST("half", Float16);
  CAST("bfloat16", BFloat16);
  CAST("long", Int64);
  CAST("int", Int32);
  CAST("short", Int16);
  CAST("char", Int8);
  CAST("byte", UInt8);
  CAST("bool", Bool);
#undef CAST
  prim([](T t) { return to(t, std::nullopt, Device(), false, std::nullopt); }, "aten::cpu(Tensor self) -> Tensor");
  prim([](const Cell& s) { return parse_device(s.to_string()); }, "aten::device(str a) -> Device");
  prim([](const Cell& s, int64_t i) { return parse_device(s.to_string() + ":" + std::to_string(i)); },
       "aten::device.with_index(str type, int index) -> Device");
  prim([](Device a, Device b) { return a == b; }, "aten::eq.device(Device a, Device b) -> bool");
  prim([](Device a, Device b) { return !(a == b); }, "aten::ne.device(Device a, Device b) -> bool");
  prim([](Device d) { return to_string(Device(d.type)); }, "prim::type(Device self) -> str");
  prim([](Device d) { return d.index < 0 ? Cell() : Cell(int64_t(d.index)); },
       "prim::index.Device(Device self) -> int?");

  prim([](const Cell& c, const Cell& d, const Cell& where, bool) { return tensor(c, d, where); },
       "aten::tensor(t data, *, int? dtype=None, Device? device=None, bool requires_grad=False) -> Tensor");
  prim(
      [](const Cell& c, const Cell& d, const Cell& where) {
        if (c.is(Cell::Tag::Tensor)) return to(c.to_tensor(), dtype_of(d), device_of(where), false, std::nullopt);
        return tensor(c, d, where);
      },
      "aten::as_tensor(t data, *, int? dtype=None, Device? device=None) -> Tensor");
  prim([](const Cell& c) { return tensor(c, Cell(), Cell()); }, "prim::NumToTensor.Scalar(Scalar a) -> Tensor");
  prim(
      [](T t) {
        std::vector<Cell> out;
        if (t.dim() == 0) raise_error("TypeError", "iteration over a 0-d tensor");
        for (int64_t i = 0; i < t.size(0); ++i) out.emplace_back(torch::select(t, 0, i));
        return Cell::list(std::move(out), tensor_type());
      },
      "prim::tolist_rows(Tensor a) -> Tensor[]");
  prim([](const Cell& e) { return e.to_enum().name; }, "prim::EnumName(Any enum) -> str");
  prim([](const Cell& e) { return e.to_enum().value; }, "prim::EnumValue(Any enum) -> Any");
  prim([] { return number_of(default_dtype()); }, "prim::default_dtype() -> int");
  prim([] { return number_of(default_dtype()); }, "aten::get_default_dtype() -> int");
  prim([] { return true; }, "aten::is_scripting() -> bool");
}

}  // namespace torch::program
