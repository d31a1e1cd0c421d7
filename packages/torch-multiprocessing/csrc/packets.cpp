// How packets enter and leave the socket of a queue, so that a process that is killed on the way takes no block along.
//
// A block counts as under way from just before the packet is written until its reader holds it. A reader that shares
// its socket with others reads under the lock of a Record in shared memory: it looks at the packet that is next, notes
// its handles, takes the packet and then the blocks, one by one. When it is killed in between, the next one that comes
// gets the lock with that news, and if the packet noted is not next any more, it lets go what the dead reader had yet
// to take.
#include <pthread.h>
#include <semaphore.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <ctime>
#include <vector>

#include "objects.h"

namespace torch::shared {
namespace {

// What a packet of _messages.py begins with when it carries blocks: this, then `blocks` Handles.
struct Head {
  uint8_t kind;
  uint8_t zero[3];
  uint32_t blocks;
  uint32_t paths;           // bytes of a pickle that tells where segments can be opened
  uint32_t sender, number;  // tell a packet from others with the same blocks
};
struct Handle {
  uint64_t segment;
  uint32_t index, generation;
  uint64_t nbytes;
};
enum Kind : uint8_t { kPickle, kWithBlocks, kInBlock };
constexpr size_t kLongest = 32 << 10;

constexpr size_t kNoted = 4000;
struct Record {
  pthread_mutex_t mutex;
  std::atomic<uint32_t> noted;  // bytes of `packet`; 0 while no process is about to take one
  std::atomic<uint32_t> done;   // blocks that were taken
  char packet[kNoted];
};

struct Carried {
  Handle handle;
  PyArena* arena;  // null when this process has not attached its segment
};
struct Contents {
  std::vector<Carried> blocks;    // those within a carrier first, and the carrier last
  const char* unknown = nullptr;  // the packet, or the one in its carrier, whose segments are not all attached
  size_t unknown_size = 0;
};

Head head_of(const char* packet) {
  Head head;
  std::memcpy(&head, packet, sizeof head);
  return head;
}
size_t handles_end(const Head& head) { return sizeof head + head.blocks * sizeof(Handle); }

// Adds what a packet carries. False, with a RuntimeError, when it is broken.
bool look_into(const char* packet, size_t size, Contents* contents, bool in_carrier = false) {
  if (size < sizeof(Head) || packet[0] == kPickle) return true;
  const Head head = head_of(packet);
  if (size < handles_end(head) || (head.kind == kInBlock && (in_carrier || head.blocks != 1))) {
    PyErr_Format(PyExc_RuntimeError, "a packet promises %u blocks and ends before", unsigned(head.blocks));
    return false;
  }
  for (uint32_t i = 0; i < head.blocks; ++i) {
    Carried carried;
    std::memcpy(&carried.handle, packet + sizeof head + i * sizeof(Handle), sizeof(Handle));
    carried.arena = arena_of(carried.handle.segment);
    const Handle& handle = carried.handle;
    if (!carried.arena) {
      contents->unknown = packet;
      contents->unknown_size = size;
    } else if (head.kind == kInBlock) {
      Segment& segment = *carried.arena->state->segment;
      if (handle.index < segment.header().entries.load() &&
          segment.entry(handle.index).generation.load() == handle.generation &&
          handle.nbytes <= segment.entry(handle.index).size &&
          !look_into(segment.at(segment.entry(handle.index).offset), handle.nbytes, contents, true))
        return false;
    }
    contents->blocks.push_back(carried);
  }
  return true;
}

// The Blocks of what was taken; None for those of segments that are not attached.
PyObject* take_blocks(const Contents& contents, Record* record) {
  PyObject* list = PyList_New(0);
  for (const Carried& carried : contents.blocks) {
    const Handle& h = carried.handle;
    PyObject* block = carried.arena ? receive(carried.arena, h.index, h.generation, h.nbytes) : Py_NewRef(Py_None);
    if (record) record->done.fetch_add(1);
    if (!list || !block || PyList_Append(list, block) < 0) Py_CLEAR(list);  // the others are taken all the same
    Py_XDECREF(block);
  }
  return list;
}

class Lock {
 public:
  explicit Lock(Record* record, bool waits = true) : record_(record) {
    if (!record_) return;
    int error = pthread_mutex_trylock(&record_->mutex);
    if (error != EBUSY || !waits) {
      got(error);
      return;
    }
    // Others hold it for microseconds, or are stopped: then it is done without, and their note is void.
    timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    constexpr long kPatience = 100'000'000, kSecond = 1'000'000'000;
    until.tv_nsec += kPatience;
    until.tv_sec += until.tv_nsec / kSecond;
    until.tv_nsec %= kSecond;
    Py_BEGIN_ALLOW_THREADS error = pthread_mutex_timedlock(&record_->mutex, &until);
    Py_END_ALLOW_THREADS got(error);
    if (!held_) record_->noted.store(0);
  }
  ~Lock() {
    if (held_) pthread_mutex_unlock(&record_->mutex);
  }
  bool held() const { return held_; }
  bool owner_died() const { return owner_died_; }

 private:
  void got(int error) {
    owner_died_ = error == EOWNERDEAD;
    if (owner_died_) pthread_mutex_consistent(&record_->mutex);
    held_ = error == 0 || owner_died_;
  }
  Record* record_;
  bool held_ = false, owner_died_ = false;
};

PyObject* packet_of(const char* data, size_t size, PyObject* second) {
  PyObject* packet = second ? PyBytes_FromStringAndSize(data, Py_ssize_t(size)) : nullptr;
  PyObject* both = packet ? PyTuple_Pack(2, packet, second) : nullptr;
  Py_XDECREF(packet);
  Py_XDECREF(second);
  return both;
}

bool record_in(PyObject* object, Record** record) {
  *record = nullptr;
  if (object == Py_None) return true;
  if (Py_TYPE(object) != block_type || reinterpret_cast<PyBlock*>(object)->nbytes < sizeof(Record)) {
    PyErr_Format(PyExc_TypeError, "expected a Block of %zu bytes for the record", sizeof(Record));
    return false;
  }
  *record = reinterpret_cast<Record*>(memory_of(reinterpret_cast<PyBlock*>(object)));
  return true;
}

// Does what a dead reader had yet to do with the packet that it took. Gives (the noted packet, how many of its blocks
// it had) when segments must be attached for that, or null, mostly without an error.
PyObject* finish_for_dead(Record* record, int fd, char* buffer, sem_t* room) {
  const size_t size = record->noted.load();
  if (size == 0 || size > kNoted) return nullptr;
  const ssize_t next = recv(fd, buffer, kLongest, MSG_DONTWAIT | MSG_PEEK);
  if (next >= ssize_t(size) && std::memcmp(buffer, record->packet, size) == 0) {  // it is still there
    record->noted.store(0);
    return nullptr;
  }
  Contents contents;
  PyObject* left = nullptr;
  const uint32_t done = record->done.load();
  if (!look_into(record->packet, size, &contents)) PyErr_Clear();
  if (contents.unknown)
    left = packet_of(record->packet, size, PyLong_FromUnsignedLong(done));
  else
    for (size_t i = done; i < contents.blocks.size(); ++i) {  // this process may be killed as well
      const auto& [handle, arena] = contents.blocks[i];
      PyObject* block = receive(arena, handle.index, handle.generation, handle.nbytes);
      record->done.store(uint32_t(i) + 1);
      if (!block) PyErr_Clear();
      Py_XDECREF(block);
    }
  if (room) sem_post(room);
  record->noted.store(0);
  return left;
}

// What a look at a socket comes to: a packet that was taken, or what is to be done without the lock before the next
// look. All null with an error.
struct Found {
  PyObject* taken = nullptr;  // (packet, blocks)
  PyObject* lost = nullptr;   // (packet, n): a killed reader took it and n of its blocks, and segments are not attached
  PyObject* strange = nullptr;  // the packet that is next: segments of its blocks are not attached
};

Found look(int fd, Record* record, bool waits_for_segments, sem_t* room) {
  char data[kLongest];
  Lock lock(record);
  if (lock.owner_died())
    if (PyObject* lost = finish_for_dead(record, fd, data, room); lost || PyErr_Occurred()) return {.lost = lost};
  Contents contents;
  ssize_t size;
  if (!lock.held()) {
    size = recv(fd, data, sizeof data, MSG_DONTWAIT);
    if (size < 0) return {PyErr_SetFromErrno(PyExc_OSError)};
    if (room && size) sem_post(room);
    if (!look_into(data, size_t(size), &contents)) return {};
    return {packet_of(data, size_t(size), take_blocks(contents, nullptr))};
  }
  size = recv(fd, data, sizeof data, MSG_DONTWAIT | MSG_PEEK);
  if (size < 0) return {PyErr_SetFromErrno(PyExc_OSError)};
  if (size == 0) return {packet_of(data, 0, PyList_New(0))};
  bool broken = !look_into(data, size_t(size), &contents);
  if (contents.unknown && waits_for_segments && !broken)
    return {.strange = PyBytes_FromStringAndSize(contents.unknown, Py_ssize_t(contents.unknown_size))};
  size_t noted = std::min(size_t(size), kNoted);
  if (!contents.blocks.empty()) {
    const Head head = head_of(data);
    const size_t end = handles_end(head);
    noted = end + head.paths <= kNoted ? end + head.paths : std::min(end, kNoted);
  }
  std::memcpy(record->packet, data, noted);
  record->done.store(0);
  record->noted.store(uint32_t(noted));
  size = recv(fd, data, sizeof data, MSG_DONTWAIT);
  const int error = errno;
  if (size < ssize_t(noted) || std::memcmp(data, record->packet, noted) != 0) {
    record->noted.store(0);  // this process was stopped for so long that another one did not wait for it
    if (size < 0) {
      errno = error;
      return {PyErr_SetFromErrno(PyExc_OSError)};
    }
    contents = {};
    broken = !look_into(data, size_t(size), &contents);
  }
  PyObject* blocks = broken ? nullptr : take_blocks(contents, record);
  if (room && size) sem_post(room);
  record->noted.store(0);
  return {packet_of(data, size_t(size), blocks)};
}

PyObject* take(PyObject*, PyObject* args) {
  PyObject *file, *record_object = Py_None, *attach = Py_None, *let_go = Py_None;
  unsigned long long semaphore = 0;
  if (!PyArg_ParseTuple(args, "O|OKOO:take", &file, &record_object, &semaphore, &attach, &let_go)) return nullptr;
  auto* room = reinterpret_cast<sem_t*>(semaphore);
  const int fd = PyObject_AsFileDescriptor(file);
  Record* record;
  if (fd < 0 || !record_in(record_object, &record)) return nullptr;
  return guarded([&]() -> PyObject* {
    for (int attaches = attach != Py_None;;) {
      const Found found = look(fd, record, attaches, room);
      if (found.taken || !(found.lost || found.strange)) return found.taken;
      PyObject* done =
          found.lost ? PyObject_CallObject(let_go, found.lost) : PyObject_CallOneArg(attach, found.strange);
      if (done && found.strange) attaches = PyObject_IsTrue(done);
      Py_XDECREF(found.lost);
      Py_XDECREF(found.strange);
      if (!done || attaches < 0) return nullptr;
      Py_DECREF(done);
    }
  });
}

PyObject* give(PyObject*, PyObject* args) {
  PyObject* file;
  Py_buffer packet;
  if (!PyArg_ParseTuple(args, "Oy*:give", &file, &packet)) return nullptr;
  const int fd = PyObject_AsFileDescriptor(file);
  const char* data = static_cast<const char*>(packet.buf);
  const size_t size = size_t(packet.len);
  PyObject* result = fd < 0 ? nullptr : guarded([&]() -> PyObject* {
    Contents contents;
    if (!look_into(data, size, &contents)) return nullptr;
    for (const Carried& c : contents.blocks)
      if (c.arena) c.arena->state->segment->send(c.handle.index);
    if (send(fd, data, size, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) Py_RETURN_NONE;
    const int error = errno;
    for (const Carried& c : contents.blocks)
      if (c.arena) c.arena->state->segment->receive(c.handle.index, c.handle.generation, true);
    errno = error;
    return PyErr_SetFromErrno(PyExc_OSError);
  });
  PyBuffer_Release(&packet);
  return result;
}

PyObject* packet_blocks(PyObject*, PyObject* arg) {
  Py_buffer view;
  if (PyObject_GetBuffer(arg, &view, PyBUF_SIMPLE) < 0) return nullptr;
  Contents contents;
  PyObject* list = guarded([&]() -> PyObject* {
    return look_into(static_cast<const char*>(view.buf), size_t(view.len), &contents) ? take_blocks(contents, nullptr)
                                                                                      : nullptr;
  });
  PyBuffer_Release(&view);
  return list;
}

PyObject* make_record(PyObject*, PyObject* block) {
  Record* record;
  if (!record_in(block, &record)) return nullptr;
  if (!record) return PyErr_Format(PyExc_TypeError, "make_record: expected a Block");
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  const int error = pthread_mutex_init(&record->mutex, &attributes);
  pthread_mutexattr_destroy(&attributes);
  record->noted.store(0);
  record->done.store(0);
  if (error) {
    errno = error;
    return PyErr_SetFromErrno(PyExc_OSError);
  }
  Py_RETURN_NONE;
}

PyObject* mend(PyObject*, PyObject* args) {
  PyObject *file, *record_object, *let_go;
  unsigned long long semaphore;
  if (!PyArg_ParseTuple(args, "OOKO:mend", &file, &record_object, &semaphore, &let_go)) return nullptr;
  const int fd = PyObject_AsFileDescriptor(file);
  Record* record;
  if (fd < 0 || !record_in(record_object, &record)) return nullptr;
  if (!record) Py_RETURN_NONE;
  PyObject* lost = guarded([&]() -> PyObject* {
    char data[kLongest];
    Lock lock(record, /*waits=*/false);  // who has it will see to it
    return lock.owner_died() ? finish_for_dead(record, fd, data, reinterpret_cast<sem_t*>(semaphore)) : nullptr;
  });
  if (PyErr_Occurred()) return nullptr;
  if (!lost) Py_RETURN_NONE;
  PyObject* done = PyObject_CallObject(let_go, lost);
  Py_DECREF(lost);
  return done;
}

}  // namespace

PyMethodDef packet_functions[] = {
    {"take", take, METH_VARARGS,
     "take(fd, record=None, room=0, attach=None, let_go=None)\n--\n\n(packet, blocks): the next packet of a socket, "
     "which must not have to be waited for, and the Blocks that it carries, None for those of segments not "
     "attached.\n\n"
     "With a record, attach(packet) is called first where such segments are, and says whether to look again; "
     "let_go(packet, n) for a packet of which a killed reader took n blocks. `room` is the handle of a semaphore to "
     "raise."},
    {"give", give, METH_VARARGS,
     "give(fd, packet)\n--\n\nWrites a packet, whose blocks are under way from then on; BlockingIOError when there is "
     "no "
     "room."},
    {"packet_blocks", packet_blocks, METH_O,
     "packet_blocks(packet)\n--\n\nTakes the Blocks that a packet carries, None for those of segments not attached."},
    {"make_record", make_record, METH_O,
     "make_record(block)\n--\n\nMakes the record of a socket's readers in a Block."},
    {"mend", mend, METH_VARARGS,
     "mend(fd, record, room, let_go)\n--\n\nDoes what a killed reader had yet to do; let_go is that of `take`."},
    {}};

}  // namespace torch::shared
