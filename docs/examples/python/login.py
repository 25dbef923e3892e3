"""Logs in to cloud-auth with the AWS credentials of this process, and renews the token once. Needs boto3.

BASE=https://auth.example.com/v1 ROLE=shop [MOUNT=cloud] python3 login.py
"""

import base64
import json
import os
import urllib.error
import urllib.request

import boto3
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest

BASE, ROLE, MOUNT = os.environ["BASE"], os.environ["ROLE"], os.environ.get("MOUNT", "cloud")
STS_URL, STS_BODY = "https://sts.amazonaws.com/", "Action=GetCallerIdentity&Version=2011-06-15"


def post(path, body, token=None):
    headers = {"X-Vault-Token": token} if token else {}
    request = urllib.request.Request(f"{BASE}/{path}", json.dumps(body).encode(), headers, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=15) as answer:
            return json.load(answer)["auth"]
    except urllib.error.HTTPError as refused:
        raise SystemExit(f"{path}: {refused.code} {refused.read().decode()}") from None


def encode(text):
    return base64.b64encode(text.encode()).decode()


def log_in():
    """Signs a request for STS, and sends the signed request to cloud-auth."""
    headers = {"Host": "sts.amazonaws.com", "Content-Type": "application/x-www-form-urlencoded"}
    request = AWSRequest("POST", STS_URL, headers, STS_BODY)
    SigV4Auth(boto3.Session().get_credentials(), "sts", "us-east-1").add_auth(request)
    return post(
        f"auth/{MOUNT}/login",
        {
            "role": ROLE,
            "iam_http_request_method": "POST",
            "iam_request_url": encode(STS_URL),
            "iam_request_body": encode(STS_BODY),
            "iam_request_headers": encode(json.dumps(dict(request.headers))),
        },
    )


first = log_in()
# a long-running program renews at two thirds of the lifetime, and logs in again when a renewal fails
renewed = post("auth/token/renew-self", {}, first["client_token"])
print(f"logged in for {first['lease_duration']} s with {first['policies']}, renewed for {renewed['lease_duration']} s")
