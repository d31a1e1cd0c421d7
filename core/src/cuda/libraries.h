// Libraries of NVIDIA that are opened when they are first needed, and done without where they are not found.
#pragma once
#include <string>
#include <vector>

namespace torch::cuda {

// Where a library may lie, the likeliest first; none turns it off. Before or after it was asked for.
void offer_library(const std::string& name, std::vector<std::string> paths);
// The library as dlopen() gives it, or null. Of what was offered the first that opens stays open for good.
void* library(const char* name);
// The path of what library() gave, or nothing.
std::string path_of_library(const std::string& name);

// A function of a library that is open: RuntimeError names a library that has none.
void* function_of(void* library, const char* name, const char* function);

}  // namespace torch::cuda
