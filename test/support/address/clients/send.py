"""Sends writes by hvac: one JSON object with `path`, `token` and `body` in each line of the input, one answer in each line of the output."""

import json
import os
import sys

import hvac

client = hvac.Client(url=os.environ["ADDRESS"])
TAGS = "auth/cloud/roletag-denylist/"

for line in sys.stdin:
    asked = json.loads(line)
    client.token = asked["token"]
    try:
        if asked["path"].startswith(TAGS):
            answer = client.auth.aws.place_role_tags_in_blacklist(asked["path"][len(TAGS) :], mount_point="cloud")
        else:
            answer = client.write_data(asked["path"], data=asked["body"])
        print(json.dumps(answer if isinstance(answer, dict) else {}), flush=True)
    except hvac.exceptions.VaultError as error:
        print(json.dumps({"errors": error.errors}), flush=True)
