#include "cuda/libraries.h"

#include <dlfcn.h>

#include <map>
#include <mutex>

#include "torch/core/error.h"

namespace torch::cuda {

namespace {

struct Known {
  std::vector<std::string> paths;
  bool looked = false;
  void* handle = nullptr;
  std::string path;
};
std::mutex mutex;
std::map<std::string, Known, std::less<>>& all() {
  static auto& known = *new std::map<std::string, Known, std::less<>>;
  return known;
}

}  // namespace

void offer_library(const std::string& name, std::vector<std::string> paths) {
  const std::lock_guard lock(mutex);
  Known& k = all()[name];
  k = {std::move(paths), false, nullptr, {}};  // one that was open stays so, for its functions may be running
}

void* library(const char* name) {
  const std::lock_guard lock(mutex);
  const auto at = all().find(std::string_view(name));
  if (at == all().end()) return nullptr;
  Known& k = at->second;
  if (k.looked) return k.handle;
  k.looked = true;
  for (const std::string& path : k.paths)
    if ((k.handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL))) {
      k.path = path;
      break;
    }
  return k.handle;
}

std::string path_of_library(const std::string& name) {
  library(name.c_str());
  const std::lock_guard lock(mutex);
  const auto at = all().find(name);
  return at == all().end() ? std::string() : at->second.path;
}

void* function_of(void* library, const char* name, const char* function) {
  void* const found = dlsym(library, function);
  TORCH_CHECK(found, name, ": the library that was opened has no function ", function,
              "; a version is needed that goes with CUDA 13");
  return found;
}

}  // namespace torch::cuda
