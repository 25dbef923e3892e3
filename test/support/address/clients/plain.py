"""A workload that logs in and renews by http.client alone; its settings are in the environment, a line tells each request."""

import http.client
import json
import os
import time
import urllib.parse

place = urllib.parse.urlparse(os.environ["ADDRESS"])
proof = os.environ["LOGIN"]
age, pause, timeout = (float(os.environ[name]) for name in ("MAX_AGE", "PAUSE", "TIMEOUT"))
connection = http.client.HTTPConnection(place.hostname, place.port, timeout=timeout)
born = time.monotonic()


def ask(path, token, body):
    try:
        connection.request("POST", "/v1/" + path, body, {"X-Vault-Token": token} if token else {})
        answer = connection.getresponse()
        text = answer.read()
    except (OSError, http.client.HTTPException) as failure:
        # what is half sent or half read cannot be used again
        connection.close()
        return None, 0, type(failure).__name__
    if answer.status >= 400:
        return None, answer.status, f"HTTP {answer.status}"
    return json.loads(text)["auth"]["client_token"], answer.status, ""


token, first = None, True
while True:
    if age > 0 and time.monotonic() - born > age:
        connection.close()
        born = time.monotonic()
    if token:
        _, status, failure = ask("auth/token/renew-self", token, "{}")
        print(json.dumps({"op": "renew", "error": failure, "first": first}), flush=True)
        if status == 403:
            token, first = None, False
    another, _, failure = ask("auth/cloud/login", None, proof)
    print(json.dumps({"op": "login", "error": failure, "first": first}), flush=True)
    token = token or another
    time.sleep(pause)
