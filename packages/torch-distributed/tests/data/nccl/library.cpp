// NCCL's interface over memory that the ranks of one machine share: what it computes is real, and done when a call
// returns. A rank writes to its slot, all meet, each reads the slots of all, and all meet again.

#include <fcntl.h>
#include <nccl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

namespace {

constexpr size_t kSlot = 1 << 20, kRanks = 4;
constexpr double kPatience = 10;

struct Shared {
  std::atomic<int> arrived, left;
  std::atomic<int> full[kRanks][kRanks];  // a message from one rank to another lies there
  char slot[kRanks][kSlot];
  char mail[kRanks][kRanks][kSlot];
};

struct Message {
  bool sends;
  char* at;
  size_t bytes;
  int peer;
};

char last_error[256];
int depth = 0;
std::vector<std::pair<ncclComm_t, Message>> waiting;

double now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

ncclResult_t fails(ncclResult_t result, const char* why) {
  std::snprintf(last_error, sizeof last_error, "%s", why);
  return result;
}

template <class F>
ncclResult_t until(F condition) {
  const double deadline = now() + kPatience;
  while (!condition()) {
    if (now() > deadline) return fails(ncclRemoteError, "a rank has not come");
    sched_yield();
  }
  return ncclSuccess;
}

size_t width(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
    case ncclUint8:
      return 1;
    case ncclInt32:
    case ncclFloat32:
      return 4;
    default:
      return 8;
  }
}

template <class T>
void combine(const char* from, char* into, size_t n, ncclRedOp_t op) {
  const T* a = reinterpret_cast<const T*>(from);
  T* b = reinterpret_cast<T*>(into);
  for (size_t i = 0; i < n; ++i) {
    switch (op) {
      case ncclProd:
        b[i] = T(b[i] * a[i]);
        break;
      case ncclMax:
        b[i] = std::max(b[i], a[i]);
        break;
      case ncclMin:
        b[i] = std::min(b[i], a[i]);
        break;
      default:
        b[i] = T(b[i] + a[i]);
    }
  }
}

void combine(const char* from, char* into, size_t n, ncclDataType_t type, ncclRedOp_t op) {
  switch (type) {
    case ncclInt8:
      return combine<signed char>(from, into, n, op);
    case ncclUint8:
      return combine<unsigned char>(from, into, n, op);
    case ncclInt32:
      return combine<int>(from, into, n, op);
    case ncclInt64:
      return combine<long long>(from, into, n, op);
    case ncclFloat32:
      return combine<float>(from, into, n, op);
    default:
      return combine<double>(from, into, n, op);
  }
}

void divide(char* line, size_t n, ncclDataType_t type, int by) {
  if (type == ncclFloat32)
    for (size_t i = 0; i < n; ++i) reinterpret_cast<float*>(line)[i] /= float(by);
  if (type == ncclFloat64)
    for (size_t i = 0; i < n; ++i) reinterpret_cast<double*>(line)[i] /= by;
}

}  // namespace

struct ncclComm {
  Shared* shared;
  int rank, size, rounds = 0;
  char name[NCCL_UNIQUE_ID_BYTES];

  ncclResult_t meet() {
    const int all = ++rounds * size;
    shared->arrived.fetch_add(1);
    return until([&] { return shared->arrived.load() >= all; });
  }

  // Everyone's `bytes` in the slots, while `read` runs.
  template <class F>
  ncclResult_t exchange(const void* from, size_t bytes, F read) {
    if (const char* which = std::getenv("TEST_NCCL_FAILS"); which && std::atoi(which) == rank)
      return fails(ncclSystemError, "the test wanted it");
    if (bytes > kSlot) return fails(ncclInvalidArgument, "longer than a slot of this library");
    std::memcpy(shared->slot[rank], from, bytes);
    if (ncclResult_t r = meet()) return r;
    read();
    return meet();
  }

  void reduced(char* out, size_t offset, size_t n, ncclDataType_t type, ncclRedOp_t op) {
    const size_t bytes = n * width(type);
    std::vector<char> total(shared->slot[0] + offset, shared->slot[0] + offset + bytes);
    for (int r = 1; r < size; ++r) combine(shared->slot[r] + offset, total.data(), n, type, op);
    if (op == ncclAvg) divide(total.data(), n, type, size);
    std::memcpy(out, total.data(), bytes);
  }

  ncclResult_t post(const Message& m) {
    if (m.bytes > kSlot || m.peer < 0 || m.peer >= size) return fails(ncclInvalidArgument, "no such peer, or too long");
    if (!m.sends) return ncclSuccess;
    auto& full = shared->full[rank][m.peer];
    if (ncclResult_t r = until([&] { return full.load() == 0; })) return r;
    std::memcpy(shared->mail[rank][m.peer], m.at, m.bytes);
    full.store(1);
    return ncclSuccess;
  }

  ncclResult_t fetch(const Message& m) {
    if (m.sends) return ncclSuccess;
    auto& full = shared->full[m.peer][rank];
    if (ncclResult_t r = until([&] { return full.load() == 1; })) return r;
    std::memcpy(m.at, shared->mail[m.peer][rank], m.bytes);
    full.store(0);
    return ncclSuccess;
  }
};

ncclResult_t ncclGetVersion(int* version) { return *version = NCCL_VERSION_CODE, ncclSuccess; }

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  static int made = 0;
  std::memset(id->internal, 0, sizeof id->internal);
  std::snprintf(id->internal, sizeof id->internal, "/test_nccl.%d.%d", getpid(), made++);
  return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t* out, int size, ncclUniqueId id, int rank) {
  if (size > int(kRanks)) return fails(ncclInvalidArgument, "more ranks than this library has slots");
  const int fd = shm_open(id.internal, O_RDWR | O_CREAT, 0600);
  if (fd < 0 || ftruncate(fd, sizeof(Shared))) return fails(ncclSystemError, "shm_open");
  void* const at = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (at == MAP_FAILED) return fails(ncclSystemError, "mmap");
  ncclComm* const comm = new ncclComm{static_cast<Shared*>(at), rank, size};
  std::memcpy(comm->name, id.internal, sizeof comm->name);
  *out = comm;
  const ncclResult_t met = comm->meet();
  if (rank == 0) shm_unlink(id.internal);  // all have it, or will not come
  return met;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  munmap(comm->shared, sizeof(Shared));
  delete comm;
  return ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t comm) { return ncclCommDestroy(comm); }

ncclResult_t ncclCommGetAsyncError(ncclComm_t, ncclResult_t* found) {
  *found = std::getenv("TEST_NCCL_BREAKS") ? fails(ncclRemoteError, "a link broke") : ncclSuccess;
  return ncclSuccess;
}
const char* ncclGetErrorString(ncclResult_t result) {
  return result == ncclSystemError   ? "unhandled system error"
         : result == ncclRemoteError ? "remote process exited"
                                     : "invalid argument";
}
const char* ncclGetLastError(ncclComm_t) { return last_error; }

ncclResult_t ncclAllReduce(const void* from, void* to, size_t n, ncclDataType_t type, ncclRedOp_t op, ncclComm_t c,
                           cudaStream_t) {
  return c->exchange(from, n * width(type), [&] { c->reduced(static_cast<char*>(to), 0, n, type, op); });
}
ncclResult_t ncclReduce(const void* from, void* to, size_t n, ncclDataType_t type, ncclRedOp_t op, int root,
                        ncclComm_t c, cudaStream_t) {
  return c->exchange(from, n * width(type), [&] {
    if (c->rank == root) c->reduced(static_cast<char*>(to), 0, n, type, op);
  });
}
ncclResult_t ncclBroadcast(const void* from, void* to, size_t n, ncclDataType_t type, int root, ncclComm_t c,
                           cudaStream_t) {
  return c->exchange(from, n * width(type), [&] { std::memcpy(to, c->shared->slot[root], n * width(type)); });
}
ncclResult_t ncclAllGather(const void* from, void* to, size_t n, ncclDataType_t type, ncclComm_t c, cudaStream_t) {
  const size_t bytes = n * width(type);
  return c->exchange(from, bytes, [&] {
    for (int r = 0; r < c->size; ++r)
      std::memcpy(static_cast<char*>(to) + size_t(r) * bytes, c->shared->slot[r], bytes);
  });
}
ncclResult_t ncclReduceScatter(const void* from, void* to, size_t n, ncclDataType_t type, ncclRedOp_t op, ncclComm_t c,
                               cudaStream_t) {
  const size_t bytes = n * width(type);
  return c->exchange(from, bytes * size_t(c->size),
                     [&] { c->reduced(static_cast<char*>(to), size_t(c->rank) * bytes, n, type, op); });
}

ncclResult_t ncclGroupStart() { return ++depth, ncclSuccess; }
ncclResult_t ncclGroupEnd() {
  if (--depth) return ncclSuccess;
  ncclResult_t result = ncclSuccess;
  for (auto& [comm, m] : waiting)
    if (!result) result = comm->post(m);
  for (auto& [comm, m] : waiting)
    if (!result) result = comm->fetch(m);
  waiting.clear();
  return result;
}

namespace {
ncclResult_t message(ncclComm_t c, const Message& m) {
  ncclGroupStart();
  waiting.emplace_back(c, m);
  return ncclGroupEnd();
}
}  // namespace

ncclResult_t ncclSend(const void* from, size_t n, ncclDataType_t type, int peer, ncclComm_t c, cudaStream_t) {
  return message(c, {true, static_cast<char*>(const_cast<void*>(from)), n * width(type), peer});
}
ncclResult_t ncclRecv(void* to, size_t n, ncclDataType_t type, int peer, ncclComm_t c, cudaStream_t) {
  return message(c, {false, static_cast<char*>(to), n * width(type), peer});
}
