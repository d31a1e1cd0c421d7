// The mode of gradients is torch.autograd's, and warnings are Python's: programs ask for both there.
#include "torch/program/modes.h"

#include "python.h"

namespace torch::program {

namespace {

py::object of_torch(const char* name) { return py::module_::import("torch").attr(name); }

}  // namespace

void bind_modes(py::module_&) {
  set_grad_mode({[] {
                   python::HoldGil hold;
                   return of_torch("is_grad_enabled")().cast<bool>();
                 },
                 [](bool on) {
                   python::HoldGil hold;
                   of_torch("set_grad_enabled")(on);
                 }});
  set_warn([](const std::string& text, int64_t) {
    python::HoldGil hold;
    if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1) < 0) throw py::error_already_set();
  });
}

}  // namespace torch::program
