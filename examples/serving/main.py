"""A model behind HTTP: requests that come at the same time are answered by one call of the model.

python main.py                    # starts a server, asks it from several clients, and shows what batching brings
python main.py --listen 8080      # serves until Ctrl-C: curl -d '[[0.1, 0.2, 0.3, 0.4]]' http://127.0.0.1:8080/predict
"""

from __future__ import annotations

import argparse
import json
import queue
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import torch
from torch import Tensor, nn

FEATURES, LARGEST = 4, 1 << 20  # bytes of a request


class Batcher:
    """Rows of several requests go through the model together: at most ``rows``, and none waits longer than ``wait``."""

    def __init__(self, model: nn.Module, rows: int, wait: float) -> None:
        self.model, self.rows, self.wait = model.eval(), rows, wait
        self.calls = 0
        self.waiting: queue.Queue[tuple[Tensor, Future[Tensor]] | None] = queue.Queue()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def __call__(self, rows: Tensor) -> Tensor:
        answer: Future[Tensor] = Future()
        self.waiting.put((rows, answer))
        return answer.result()

    def run(self) -> None:
        while (first := self.waiting.get()) is not None:
            batch, deadline = [first], time.monotonic() + self.wait
            while sum(len(rows) for rows, _ in batch) < self.rows:
                try:
                    following = self.waiting.get(timeout=max(0.0, deadline - time.monotonic()))
                except queue.Empty:
                    break
                if following is None:
                    self.waiting.put(None)
                    break
                batch.append(following)
            self.answer(batch)

    def answer(self, batch: list[tuple[Tensor, Future[Tensor]]]) -> None:
        self.calls += 1
        try:
            with torch.inference_mode():
                results = self.model(torch.cat([rows for rows, _ in batch])).split([len(rows) for rows, _ in batch])
        except Exception as error:
            for _, future in batch:
                future.set_exception(error)
            return
        for (_, future), result in zip(batch, results):
            future.set_result(result)

    def close(self) -> None:
        self.waiting.put(None)
        self.thread.join()


def server(batcher: Batcher, port: int) -> ThreadingHTTPServer:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.reply(200 if self.path == "/health" else 404, {"calls": batcher.calls})

        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            if self.path != "/predict" or not 0 < length <= LARGEST:
                return self.reply(404 if self.path != "/predict" else 413, {"error": "POST /predict, at most 1 MB"})
            try:
                rows = torch.tensor(json.loads(self.rfile.read(length)), dtype=torch.float32)
            except (ValueError, TypeError, RuntimeError) as error:
                return self.reply(400, {"error": f"a list of rows of {FEATURES} numbers is expected: {error}"})
            if rows.dim() != 2 or rows.shape[1] != FEATURES or not len(rows):
                return self.reply(
                    400, {"error": f"rows of {FEATURES} numbers are expected, got shape {tuple(rows.shape)}"}
                )
            return self.reply(200, {"outputs": batcher(rows).tolist()})

        def reply(self, code: int, value: object) -> None:
            data = json.dumps(value).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    return ThreadingHTTPServer(("127.0.0.1", port), Handler)


def ask(port: int, value: object, path: str = "/predict") -> tuple[int, dict[str, list[list[float]]]]:
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("POST", path, json.dumps(value))
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--listen", type=int, metavar="PORT", help="serve until interrupted")
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument("--rows", type=int, default=64, help="largest batch")
    parser.add_argument("--wait", type=float, default=0.005, help="seconds that a request may wait for others")
    args = parser.parse_args()

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(FEATURES, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 3))
    model.append(nn.Softmax(1))
    batcher = Batcher(model, args.rows, args.wait)
    listening = server(batcher, args.listen or 0)
    port = listening.server_address[1]
    if args.listen:
        print(f"http://127.0.0.1:{port}/predict (Ctrl-C ends it)")
        try:
            listening.serve_forever()
        except KeyboardInterrupt:
            return
    threading.Thread(target=listening.serve_forever, daemon=True).start()

    inputs = torch.randn(args.requests, FEATURES)
    began = time.perf_counter()
    with ThreadPoolExecutor(args.clients) as clients:
        answers = list(clients.map(lambda row: ask(port, [row.tolist()]), inputs))
    seconds = time.perf_counter() - began
    outputs = torch.tensor([answer["outputs"][0] for _, answer in answers])
    with torch.inference_mode():
        torch.testing.assert_close(outputs, model(inputs), rtol=1e-4, atol=1e-6)
    print(
        f"{args.requests} requests of {args.clients} clients: {batcher.calls} calls of the model, {args.requests / seconds:.0f} a second"
    )
    status, answer = ask(port, [[1, 2]])
    print(f"a wrong request: {status} {answer['error']}")
    listening.shutdown()
    batcher.close()


if __name__ == "__main__":
    main()
