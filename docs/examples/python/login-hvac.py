"""Logs in to cloud-auth with hvac and the AWS credentials of this process, and renews the token once.

BASE=https://auth.example.com/v1 ROLE=shop [MOUNT=cloud] python3 login-hvac.py
"""

import os

import boto3
import hvac

credentials = boto3.Session().get_credentials().get_frozen_credentials()
client = hvac.Client(url=os.environ["BASE"].removesuffix("/v1"), strict_http=True)
first = client.auth.aws.iam_login(
    credentials.access_key,
    credentials.secret_key,
    credentials.token,
    role=os.environ["ROLE"],
    mount_point=os.environ.get("MOUNT", "cloud"),
)["auth"]
# a long-running program renews at two thirds of the lifetime, and logs in again when a renewal fails
renewed = client.auth.token.renew_self()["auth"]
print(f"logged in for {first['lease_duration']} s with {first['policies']}, renewed for {renewed['lease_duration']} s")
