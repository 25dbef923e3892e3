"""A workload that logs in, by a signature of its own, and renews by hvac; a line tells each request."""

import json
import os
import time

import hvac
import requests

keys = json.loads(os.environ["CREDENTIALS"])
age, pause, timeout = (float(os.environ[name]) for name in ("MAX_AGE", "PAUSE", "TIMEOUT"))
client = hvac.Client(url=os.environ["ADDRESS"], timeout=timeout)
born = time.monotonic()


def attempt(op, work, first):
    try:
        answer, failure = work(), None
    except (hvac.exceptions.VaultError, requests.RequestException) as error:
        answer, failure = None, error
    text = type(failure).__name__ if failure else ""
    print(json.dumps({"op": op, "error": text, "first": first}), flush=True)
    return answer, failure


def login():
    return client.auth.aws.iam_login(
        keys["accessKeyId"], keys["secretAccessKey"], keys["sessionToken"], role="demo-iam", mount_point="cloud", use_token=False
    )


token, first = None, True
while True:
    if age > 0 and time.monotonic() - born > age:
        client.adapter.session.close()
        born = time.monotonic()
    if token:
        client.token = token
        _, failure = attempt("renew", client.auth.token.renew_self, first)
        if isinstance(failure, hvac.exceptions.Forbidden):
            token, first = None, False
    client.token = None
    answer, _ = attempt("login", login, first)
    if answer and not token:
        token = answer["auth"]["client_token"]
    time.sleep(pause)
