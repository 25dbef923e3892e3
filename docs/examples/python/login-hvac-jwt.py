"""Logs in to cloud-auth with hvac and a token that AWS signs, and renews the token of cloud-auth once.

BASE=https://auth.example.com/v1 ROLE=shop AUDIENCE=https://auth.example.com AWS_REGION=eu-west-1 python3 login-hvac-jwt.py
"""

import os

import boto3
import hvac

# each login needs a new token, because a token logs in once
token = boto3.client("sts", region_name=os.environ["AWS_REGION"]).get_web_identity_token(
    Audience=[os.environ["AUDIENCE"]], SigningAlgorithm="RS256", DurationSeconds=300
)
client = hvac.Client(url=os.environ["BASE"].removesuffix("/v1"), strict_http=True)
first = client.auth.jwt.jwt_login(
    role=os.environ["ROLE"],
    jwt=token["WebIdentityToken"],
    path=os.environ.get("MOUNT", "cloud"),
)["auth"]
client.token = first["client_token"]
# a long-running program renews at two thirds of the lifetime, and logs in again when a renewal fails
renewed = client.auth.token.renew_self()["auth"]
print(f"logged in for {first['lease_duration']} s with {first['policies']}, renewed for {renewed['lease_duration']} s")
