# %% [markdown]
# # In production
#
# A trained network leaves the notebook: saved without code, loaded without risk, asked by many at once.

# %%
import json
import os
import tempfile
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import torch
from torch import nn
from torch.utils.benchmark import Timer

_ = torch.manual_seed(0)


def build():
    return nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 3))


# %% [markdown]
# ## What leaves the training
#
# The weights, and the facts that the server needs: no class and no function. `load` reads only data, so that a file from elsewhere
# cannot run anything.

# %%
path = os.path.join(tempfile.mkdtemp(), "model.pt")
torch.save({"weights": build().state_dict(), "classes": ["red", "green", "blue"], "version": 3}, path)

saved = torch.load(path, mmap=True)  # mapped: several servers share one copy in memory
net = build()
net.load_state_dict(saved["weights"])
net.eval()
saved["classes"], saved["version"]

# %% [markdown]
# A file of another shape is refused, with the names and both shapes:

# %%
try:
    nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 3)).load_state_dict(saved["weights"])
except RuntimeError as error:
    print(str(error).splitlines()[1].strip())


# %% [markdown]
# ## Asked one by one, or together
#
# `inference_mode` records nothing. Rows that are asked together cost little more than one.


# %%
@torch.inference_mode()
def predict(rows):
    return net(torch.as_tensor(rows, dtype=torch.float32)).softmax(1)


one, many = torch.randn(1, 16), torch.randn(256, 16)
times = [Timer("predict(x)", globals={"predict": predict, "x": x}).timeit(200).median for x in (one, many)]
print("256 rows together cost less than 256 times one:", times[1] < 256 * times[0])


# %% [markdown]
# ## A server
#
# Each request runs in a thread of its own. Operators release the interpreter's lock on big inputs, and one network may be asked
# by all threads at once, as nothing in it changes. Input is checked at the door.


# %%
class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        try:
            rows = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if not rows or any(len(row) != 16 for row in rows):
                raise ValueError("expected rows of 16 numbers")
            chances = predict(rows)
            answer, code = [saved["classes"][i] for i in chances.argmax(1)], 200
        except (ValueError, TypeError) as error:
            answer, code = str(error), 400
        self.send_response(code)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def log_message(self, *args):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()


def ask(rows):
    request = urllib.request.Request(f"http://127.0.0.1:{server.server_port}", json.dumps(rows).encode())
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request) as response:
        return json.loads(response.read())


answers = ask(many[:4].tolist())
assert answers == [saved["classes"][i] for i in predict(many[:4]).argmax(1)]
answers

# %%
try:
    ask([[1.0, 2.0]])
except urllib.error.HTTPError as error:
    print(error.code, error.read().decode())
server.shutdown()

# %% [markdown]
# ## Before you go live
#
# - `TORCH_NUM_THREADS`: with several server processes on one machine, threads times processes should not exceed the cores.
# - `python -m torch.doctor` prints versions, the processor's level and the threads: put it into the log.
# - Pin the distributions: [Installing](../../README.md#installing) says how.
