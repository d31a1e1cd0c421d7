// What torch.distributed uses of the Gloo library, as C functions for ctypes. Each returns 0, or 1 with a message.
// Reductions call back: the elements are torch's, whatever their dtype.

#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/store.h>
#include <gloo/transport/tcp/device.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace {

using Milliseconds = std::chrono::milliseconds;
using Set = int (*)(const char* key, const char* data, size_t size);
using Get = long (*)(const char* key, char* data, size_t room);  // waits; the size, or -1
using Combine = void (*)(void* out, const void* a, const void* b, size_t elements);

constexpr size_t kRoom = 1 << 16;  // for a value of the store: the addresses of a rank
constexpr size_t kMessage = 512;

class CallingStore : public gloo::rendezvous::Store {
 public:
  CallingStore(Set set, Get get) : set_(set), get_(get) {}

  void set(const std::string& key, const std::vector<char>& data) override {
    if (set_(key.c_str(), data.data(), data.size())) throw std::runtime_error("the store did not take " + key);
  }

  std::vector<char> get(const std::string& key) override {
    std::vector<char> data(kRoom);
    long size = get_(key.c_str(), data.data(), data.size());
    if (size < 0) throw std::runtime_error("the store has no " + key + ": a rank has not come");
    data.resize(static_cast<size_t>(size));
    return data;
  }

  void wait(const std::vector<std::string>& keys) override {
    for (const auto& key : keys) get(key);
  }

  void wait(const std::vector<std::string>& keys, const Milliseconds&) override { wait(keys); }

 private:
  Set set_;
  Get get_;
};

struct Connection {
  std::shared_ptr<gloo::rendezvous::Context> context;
};

struct Transfer {
  std::unique_ptr<gloo::transport::UnboundBuffer> buffer;
  bool sends;
};

template <typename F>
int guarded(char* message, F&& body) {
  try {
    body();
    return 0;
  } catch (const std::exception& error) {
    std::strncpy(message, error.what(), kMessage - 1);
    message[kMessage - 1] = 0;
    return 1;
  }
}

struct Sixteen {
  char bytes[16];
};

template <typename Options>
void set_output(Options& options, void* data, size_t count, size_t size) {
  switch (size) {
    case 1:
      return options.setOutput(static_cast<uint8_t*>(data), count);
    case 2:
      return options.setOutput(static_cast<uint16_t*>(data), count);
    case 4:
      return options.setOutput(static_cast<uint32_t*>(data), count);
    case 8:
      return options.setOutput(static_cast<uint64_t*>(data), count);
    default:
      return options.setOutput(static_cast<Sixteen*>(data), count);
  }
}

}  // namespace

extern "C" {

int torch_gloo_open(int rank, int size, const char* host, Set set, Get get, long milliseconds, void** out,
                    char* message) {
  return guarded(message, [&] {
    gloo::transport::tcp::attr attributes;
    attributes.hostname = host;
    auto device = gloo::transport::tcp::CreateDevice(attributes);
    auto context = std::make_shared<gloo::rendezvous::Context>(rank, size);
    context->setTimeout(Milliseconds(milliseconds));
    CallingStore store(set, get);
    context->connectFullMesh(store, device);
    *out = new Connection{context};
  });
}

void torch_gloo_close(void* connection) {
  auto* held = static_cast<Connection*>(connection);
  held->context->closeConnections();
  delete held;
}

int torch_gloo_all_reduce(void* connection, void* data, size_t count, size_t size, Combine combine, uint32_t tag,
                          long milliseconds, char* message) {
  return guarded(message, [&] {
    gloo::AllreduceOptions options(static_cast<Connection*>(connection)->context);
    set_output(options, data, count, size);
    options.setReduceFunction([combine](void* out, const void* a, const void* b, size_t n) { combine(out, a, b, n); });
    options.setTag(tag);
    options.setTimeout(Milliseconds(milliseconds));
    gloo::allreduce(options);
  });
}

int torch_gloo_broadcast(void* connection, void* data, size_t size, int root, uint32_t tag, long milliseconds,
                         char* message) {
  return guarded(message, [&] {
    gloo::BroadcastOptions options(static_cast<Connection*>(connection)->context);
    options.setOutput(static_cast<uint8_t*>(data), size);
    options.setRoot(root);
    options.setTag(tag);
    options.setTimeout(Milliseconds(milliseconds));
    gloo::broadcast(options);
  });
}

int torch_gloo_barrier(void* connection, uint32_t tag, long milliseconds, char* message) {
  return guarded(message, [&] {
    gloo::BarrierOptions options(static_cast<Connection*>(connection)->context);
    options.setTag(tag);
    options.setTimeout(Milliseconds(milliseconds));
    gloo::barrier(options);
  });
}

int torch_gloo_post(void* connection, int sends, void* data, size_t size, int peer, uint64_t slot, void** out,
                    char* message) {
  return guarded(message, [&] {
    auto& context = static_cast<Connection*>(connection)->context;
    auto transfer = std::make_unique<Transfer>();
    transfer->buffer = context->createUnboundBuffer(data, size);
    transfer->sends = sends != 0;
    if (sends) {
      transfer->buffer->send(peer, slot);
    } else if (peer >= 0) {
      transfer->buffer->recv(peer, slot);
    } else {
      std::vector<int> peers;
      for (int rank = 0; rank < context->size; ++rank)
        if (rank != context->rank) peers.push_back(rank);
      transfer->buffer->recv(peers, slot);
    }
    *out = transfer.release();
  });
}

// Waits and forgets the transfer.
int torch_gloo_wait(void* transfer, long milliseconds, int* peer, char* message) {
  std::unique_ptr<Transfer> held(static_cast<Transfer*>(transfer));
  return guarded(message, [&] {
    bool done = held->sends ? held->buffer->waitSend(peer, Milliseconds(milliseconds))
                            : held->buffer->waitRecv(peer, Milliseconds(milliseconds));
    if (!done) throw std::runtime_error("given up");
  });
}

}  // extern "C"
