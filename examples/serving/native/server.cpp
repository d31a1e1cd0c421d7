// A model behind HTTP, all in C++: each request is an array of NumPy's, and so is its answer.
//   server net.pt 8080
//   python -c "import numpy; numpy.save('x.npy', numpy.ones((2, 64), 'f'))"
//   curl --data-binary @x.npy http://127.0.0.1:8080/forward -o y.npy
// GET / lists the methods. One thread accepts, a few answer; the program is shared, each call uses the pool of torch.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "torch/program/archive.h"
#include "torch/program/npy.h"

namespace {

constexpr size_t kLargestHead = 1 << 14, kLargestBody = 1 << 26;

struct Request {
  std::string verb, path, body;
};

// Connections that wait for a thread.
class Queue {
 public:
  void put(int socket) {
    std::lock_guard lock(mutex_);
    waiting_.push_back(socket);
    some_.notify_one();
  }
  int take() {
    std::unique_lock lock(mutex_);
    some_.wait(lock, [&] { return !waiting_.empty(); });
    const int socket = waiting_.front();
    waiting_.pop_front();
    return socket;
  }

 private:
  std::mutex mutex_;
  std::condition_variable some_;
  std::deque<int> waiting_;
};

bool send_all(int socket, const std::string& bytes) {
  for (size_t sent = 0; sent < bytes.size();) {
    const ssize_t n = send(socket, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (n <= 0) return false;
    sent += size_t(n);
  }
  return true;
}
bool answer(int socket, const char* status, const char* type, const std::string& body) {
  return send_all(socket, std::string("HTTP/1.1 ") + status + "\r\nContent-Type: " + type +
                              "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
}

// The next request of a connection; false when it ends or sends something else.
bool receive(int socket, std::string& buffer, Request& request) {
  char piece[1 << 16];
  auto more = [&] {
    const ssize_t n = recv(socket, piece, sizeof piece, 0);
    if (n > 0) buffer.append(piece, size_t(n));
    return n > 0;
  };
  size_t end;
  while ((end = buffer.find("\r\n\r\n")) == buffer.npos)
    if (buffer.size() > kLargestHead || !more()) return false;
  std::string head = buffer.substr(0, end);
  buffer.erase(0, end + 4);
  const size_t first = head.find(' '), second = head.find(' ', first + 1);
  if (first == head.npos || second == head.npos) return false;
  request.verb = head.substr(0, first);
  request.path = head.substr(first + 1, second - first - 1);
  for (char& c : head) c = char(std::tolower(static_cast<unsigned char>(c)));
  const size_t at = head.find("\r\ncontent-length:");
  const size_t length = at == head.npos ? 0 : std::strtoull(head.c_str() + at + 17, nullptr, 10);
  if (length > kLargestBody) return answer(socket, "413 Content Too Large", "text/plain", "too large\n"), false;
  if (head.find("\r\nexpect: 100-continue") != head.npos) send_all(socket, "HTTP/1.1 100 Continue\r\n\r\n");
  while (buffer.size() < length)
    if (!more()) return false;
  request.body = buffer.substr(0, length);
  buffer.erase(0, length);
  return true;
}

bool serve(int socket, const torch::program::Module& net, const Request& r) {
  const std::string method = r.path.substr(1);
  if (r.path == "/") {
    std::string text;
    for (const std::string& each : net.methods()) text += net.signature(each) + "\n";
    return answer(socket, "200 OK", "text/plain", text);
  }
  if (!net.has_method(method))
    return answer(socket, "404 Not Found", "text/plain", "there is no method " + method + "\n");
  if (r.verb != "POST") return answer(socket, "405 Method Not Allowed", "text/plain", "POST an array\n");
  try {
    const torch::program::Cell y = net.run(method, {torch::program::from_npy(r.body)});
    if (!y.is(torch::program::Cell::Tag::Tensor)) return answer(socket, "200 OK", "text/plain", y.repr() + "\n");
    return answer(socket, "200 OK", "application/octet-stream", torch::program::to_npy(y.to_tensor()));
  } catch (const torch::Error& e) {
    return answer(socket, "400 Bad Request", "text/plain", std::string(e.what()) + "\n");
  }
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 2 || argc > 3) return std::cerr << "usage: server ARCHIVE [PORT]\n", 2;
  const torch::program::Module net = torch::program::load(argv[1]);
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(uint16_t(argc == 3 ? std::atoi(argv[2]) : 0));
  socklen_t size = sizeof address;
  if (bind(listener, reinterpret_cast<sockaddr*>(&address), size) || listen(listener, 128) ||
      getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size))
    return std::perror("server"), 1;
  std::cout << "http://127.0.0.1:" << ntohs(address.sin_port) << '\n' << std::flush;

  Queue queue;
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      while (true) {
        const int socket = queue.take();
        std::string buffer;
        Request request;
        while (receive(socket, buffer, request) && serve(socket, net, request)) {
        }
        close(socket);
      }
    });
  while (true) {
    const int socket = accept(listener, nullptr, nullptr);
    if (socket >= 0) queue.put(socket);
  }
} catch (const std::exception& e) {
  std::cerr << "server: " << e.what() << '\n';
  return 1;
}
