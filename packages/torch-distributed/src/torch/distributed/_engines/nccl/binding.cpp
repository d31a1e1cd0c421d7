// What torch.distributed uses of NCCL, as C functions for ctypes. Each returns 0, or 1 with a message. The library is
// opened by its path, so that nothing is linked to it; the header gives the types that its functions are called with.

#include <dlfcn.h>
#include <nccl.h>

#include <cstdio>
#include <cstring>

namespace {

constexpr size_t kMessage = 512;

struct Library {
  // clang-format off
#define TORCH_NCCL_CALLS(X) \
  X(ncclGetVersion) X(ncclGetUniqueId) X(ncclCommInitRank) X(ncclCommDestroy) X(ncclCommAbort) \
  X(ncclCommGetAsyncError) X(ncclGetErrorString) X(ncclGetLastError) X(ncclAllReduce) X(ncclBroadcast) \
  X(ncclReduce) X(ncclAllGather) X(ncclReduceScatter) X(ncclSend) X(ncclRecv) X(ncclGroupStart) X(ncclGroupEnd)
// clang-format on
#define TORCH_NCCL_MEMBER(name) decltype(&::name) name;
  TORCH_NCCL_CALLS(TORCH_NCCL_MEMBER)
#undef TORCH_NCCL_MEMBER
} nccl;

bool is_open = false;

int say(char* message, const char* what, const char* why) {
  std::snprintf(message, kMessage, "%s: %s", what, why);
  return 1;
}

int check(ncclResult_t result, const char* what, char* message) {
  if (result == ncclSuccess || result == ncclInProgress) return 0;
  const char* more = nccl.ncclGetLastError(nullptr);
  if (more && *more) {
    std::snprintf(message, kMessage, "%s: %s (%s)", what, nccl.ncclGetErrorString(result), more);
    return 1;
  }
  return say(message, what, nccl.ncclGetErrorString(result));
}

ncclComm_t comm(void* one) { return static_cast<ncclComm_t>(one); }
cudaStream_t stream(void* one) { return static_cast<cudaStream_t>(one); }
ncclDataType_t type(int one) { return static_cast<ncclDataType_t>(one); }
ncclRedOp_t op(int one) { return static_cast<ncclRedOp_t>(one); }

}  // namespace

#define TORCH_NCCL_EXPORT extern "C" __attribute__((visibility("default")))

TORCH_NCCL_EXPORT int torch_nccl_open(const char* path, char* message) {
  if (is_open) return 0;
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) return say(message, "dlopen", dlerror());
#define TORCH_NCCL_FIND(name)                                               \
  nccl.name = reinterpret_cast<decltype(nccl.name)>(dlsym(library, #name)); \
  if (!nccl.name) return say(message, path, "has no " #name);
  TORCH_NCCL_CALLS(TORCH_NCCL_FIND)
#undef TORCH_NCCL_FIND
  is_open = true;
  return 0;
}

// The versions of the library and of the header that this was compiled with, as 10000 major + 100 minor + patch.
TORCH_NCCL_EXPORT int torch_nccl_version(int* library, int* header, char* message) {
  *header = NCCL_VERSION_CODE;
  return check(nccl.ncclGetVersion(library), "ncclGetVersion", message);
}

TORCH_NCCL_EXPORT int torch_nccl_types(int* bytes, int* sum, int* average) {
  *bytes = NCCL_UNIQUE_ID_BYTES, *sum = ncclSum, *average = ncclAvg;
  return 0;
}

TORCH_NCCL_EXPORT int torch_nccl_id(char* id, char* message) {
  ncclUniqueId made;
  if (check(nccl.ncclGetUniqueId(&made), "ncclGetUniqueId", message)) return 1;
  std::memcpy(id, made.internal, sizeof made.internal);
  return 0;
}

TORCH_NCCL_EXPORT int torch_nccl_join(int size, int rank, const char* id, void** out, char* message) {
  ncclUniqueId given;
  std::memcpy(given.internal, id, sizeof given.internal);
  ncclComm_t made = nullptr;
  if (check(nccl.ncclCommInitRank(&made, size, given, rank), "ncclCommInitRank", message)) return 1;
  *out = made;
  return 0;
}

TORCH_NCCL_EXPORT int torch_nccl_leave(void* c, int abort, char* message) {
  return abort ? check(nccl.ncclCommAbort(comm(c)), "ncclCommAbort", message)
               : check(nccl.ncclCommDestroy(comm(c)), "ncclCommDestroy", message);
}

// 0 while all is well: to be asked between looks at whether the work is done, as NCCL raises nothing.
TORCH_NCCL_EXPORT int torch_nccl_health(void* c, char* message) {
  ncclResult_t found = ncclSuccess;
  if (check(nccl.ncclCommGetAsyncError(comm(c), &found), "ncclCommGetAsyncError", message)) return 1;
  return check(found, "NCCL", message);
}

TORCH_NCCL_EXPORT int torch_nccl_group(int end, char* message) {
  return end ? check(nccl.ncclGroupEnd(), "ncclGroupEnd", message)
             : check(nccl.ncclGroupStart(), "ncclGroupStart", message);
}

TORCH_NCCL_EXPORT int torch_nccl_all_reduce(void* c, const void* from, void* to, size_t n, int t, int o, void* s,
                                            char* message) {
  return check(nccl.ncclAllReduce(from, to, n, type(t), op(o), comm(c), stream(s)), "ncclAllReduce", message);
}

TORCH_NCCL_EXPORT int torch_nccl_broadcast(void* c, const void* from, void* to, size_t n, int t, int root, void* s,
                                           char* message) {
  return check(nccl.ncclBroadcast(from, to, n, type(t), root, comm(c), stream(s)), "ncclBroadcast", message);
}

TORCH_NCCL_EXPORT int torch_nccl_reduce(void* c, const void* from, void* to, size_t n, int t, int o, int root, void* s,
                                        char* message) {
  return check(nccl.ncclReduce(from, to, n, type(t), op(o), root, comm(c), stream(s)), "ncclReduce", message);
}

TORCH_NCCL_EXPORT int torch_nccl_all_gather(void* c, const void* from, void* to, size_t n, int t, void* s,
                                            char* message) {
  return check(nccl.ncclAllGather(from, to, n, type(t), comm(c), stream(s)), "ncclAllGather", message);
}

TORCH_NCCL_EXPORT int torch_nccl_reduce_scatter(void* c, const void* from, void* to, size_t n, int t, int o, void* s,
                                                char* message) {
  return check(nccl.ncclReduceScatter(from, to, n, type(t), op(o), comm(c), stream(s)), "ncclReduceScatter", message);
}

TORCH_NCCL_EXPORT int torch_nccl_send(void* c, const void* from, size_t n, int t, int peer, void* s, char* message) {
  return check(nccl.ncclSend(from, n, type(t), peer, comm(c), stream(s)), "ncclSend", message);
}

TORCH_NCCL_EXPORT int torch_nccl_receive(void* c, void* to, size_t n, int t, int peer, void* s, char* message) {
  return check(nccl.ncclRecv(to, n, type(t), peer, comm(c), stream(s)), "ncclRecv", message);
}
