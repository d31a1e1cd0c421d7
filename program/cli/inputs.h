// What torch-run passes to a method: files and values of the command line.
#pragma once
#include <string>

#include "torch/program/cell.h"

namespace torch::program {

// x.npy; x.pt or x.pth of torch.save; randn(2, 3), rand(...), ones(...), zeros(...) and randint(high, ...), with a
// dtype at the end if not float32 or int64; or a value as Python writes it.
Cell input_of(const std::string& word, const TypePtr& type);
// A random tensor for an argument whose sizes the program knows, from a trace; ErrorKind::Value when it does not.
Cell random_of(const std::string& argument, const TypePtr& type);
// Writes a tensor, or each of a tuple, list or dictionary under its own name: out.npy, out.0.npy, out.key.npy. The
// names that were written.
std::vector<std::string> store(const Cell& value, const std::string& path);
std::string read_whole(const std::string& path);

}  // namespace torch::program
