"""Starts the emulated AWS account with adaptations.

test/deployed/adaptations.ts lists the adaptations with their reasons. The program reads these environment variables:

ADAPTATIONS     names of the adaptations to apply, separated by commas
FOLDER          folder of this run, outside the checkout, because a function would find the checkout's packages inside it
NODE            path of Node
RUNTIME_CLIENT  path of AWS's runtime client
NATIVE_PART     path of the module that replaces the native part of the runtime client
NAMES           path of the module that resolves names of the test

All other variables are the emulator's own. When standard input closes, the program deletes FOLDER, and ends itself and
the functions. So the emulator ends with the test that started it, even if the test is killed.
"""

import json
import os
import re
import shlex
import shutil
import signal
import sys
import threading

FOLDER = os.environ.pop("FOLDER")
ADAPTATIONS = set(filter(None, os.environ.pop("ADAPTATIONS", "").split(",")))
NODE = os.environ.pop("NODE")
RUNTIME_CLIENT = os.environ.pop("RUNTIME_CLIENT")
NATIVE_PART = os.environ.pop("NATIVE_PART")
NAMES = os.environ.pop("NAMES")
GATEWAY = f"http://127.0.0.1:{os.environ['GATEWAY_PORT']}"


def end_with_input():
    """Kills the process group when standard input closes. The group includes all functions."""
    while os.read(sys.stdin.fileno(), 4096):
        pass
    shutil.rmtree(FOLDER, ignore_errors=True)
    os.killpg(os.getpgrp(), signal.SIGKILL)


def run_runtime_client():
    """Runs functions for Node by AWS's runtime client, on the Runtime API that the emulator has for own runtimes."""
    from ministack.core import lambda_runtime
    from ministack.services import lambda_svc

    bootstrap = os.path.join(FOLDER, "bootstrap")
    command = " ".join(shlex.quote(word) for word in (NODE, "--import", NATIVE_PART, RUNTIME_CLIENT))
    with open(bootstrap, "w", encoding="utf-8") as file:
        file.write(f"#!/bin/sh\nexec {command}\n")
    os.chmod(bootstrap, 0o755)

    extract = lambda_svc._provided_runtime_code_dir
    build_variables = lambda_svc._provided_worker_env
    linking = threading.Lock()

    def code_folder(code_zip):
        folder = extract(code_zip)
        link = os.path.join(folder, "bootstrap")
        with linking:
            if not os.path.lexists(link):
                os.symlink(bootstrap, link)
        return folder

    def variables(config, folder, port):
        logging = config.get("LoggingConfig") or {}
        return {
            **build_variables(config, folder, port),
            "AWS_EXECUTION_ENV": f"AWS_Lambda_{config.get('Runtime')}",
            "AWS_LAMBDA_LOG_GROUP_NAME": logging.get("LogGroup") or f"/aws/lambda/{config.get('FunctionName')}",
            "AWS_LAMBDA_LOG_FORMAT": logging.get("LogFormat") or "Text",
            "AWS_LAMBDA_LOG_LEVEL": logging.get("ApplicationLogLevel") or "INFO",
            # the runtime client's own HTTP client fetches events instead of its native part
            "AWS_LAMBDA_NODEJS_USE_ALTERNATIVE_CLIENT_1": "true",
            "AWS_ENDPOINT_URL": GATEWAY,
            "AWS_ENDPOINT_URL_STS": GATEWAY,
            "AWS_ENDPOINT_URL_EVENTBRIDGE": GATEWAY,
        }

    lambda_svc._provided_runtime_code_dir = code_folder
    lambda_svc._provided_worker_env = variables
    lambda_svc._execute_function_warm = lambda_svc._execute_function_provided_warm
    lambda_runtime._worker_class_for = lambda config: lambda_runtime.ProvidedWorker


def match_json_patterns():
    """Matches log events with patterns of the form `{ $.a.b = "*" }`, as CloudWatch Logs does."""
    from ministack.services import cloudwatch_logs

    match_terms = cloudwatch_logs._subscription_pattern_matches

    def matches(pattern, message):
        selector = re.fullmatch(r'\s*\{\s*\$\.([\w.]+)\s*=\s*"\*"\s*\}\s*', pattern or "")
        if selector is None:
            return match_terms(pattern, message)
        try:
            value = json.loads(message)
        except ValueError:
            return False
        for name in selector[1].split("."):
            value = value.get(name) if isinstance(value, dict) else None
        return isinstance(value, str)

    cloudwatch_logs._subscription_pattern_matches = matches


def resolve_names():
    """Loads a module into functions, which resolves names of the test."""
    from ministack.services import lambda_svc

    build_variables = lambda_svc._provided_worker_env

    def variables(config, folder, port):
        built = build_variables(config, folder, port)
        options = f'{built.get("NODE_OPTIONS", "")} --import={json.dumps(NAMES)}'
        return {**built, "NODE_OPTIONS": options.strip()}

    lambda_svc._provided_worker_env = variables


def use_function_roles():
    """Gives functions the credentials of their roles. IAM decisions stay off."""
    from ministack import app
    from ministack.core import lambda_runtime
    from ministack.services import lambda_svc, sts

    create = lambda_runtime.execution_credentials
    creating = threading.Lock()

    def create_as_with_decisions(config):
        with creating:
            app.AUTH = True
            try:
                variables = create(config)
            finally:
                app.AUTH = False
        # on AWS the user id of a role's session begins with the role's unique id
        session = sts._sessions[variables["AWS_ACCESS_KEY_ID"]]
        session["UserId"] = f"{sts._role_id(config['Role'])}:{config['FunctionName']}"
        return variables

    lambda_svc.execution_credentials = create_as_with_decisions


def create_instances():
    """Lets CloudFormation create and terminate instances. The emulator's EC2 runs no program in an instance."""
    from ministack.services import ec2
    from ministack.services.cloudformation import provisioners

    def create(logical_id, props, stack_name):
        ec2._ensure_defaults_initialized()
        [instance] = ec2._launch_instances_internal(
            image_id=props["ImageId"],
            instance_type=props["InstanceType"],
            subnet_id=props.get("SubnetId", ec2._DEFAULT_SUBNET_ID),
            count=1,
            key_name="",
            user_data=props.get("UserData", ""),
            sg_ids=props.get("SecurityGroupIds", []),
            requested_private_ip="",
            iam_profile=None,
        )
        return instance["InstanceId"], {"InstanceId": instance["InstanceId"]}

    def delete(physical_id, props):
        ec2._terminate_instances({"InstanceId.1": [physical_id]})

    provisioners._RESOURCE_HANDLERS["AWS::EC2::Instance"] = {"create": create, "delete": delete}


def add_arm_image():
    """Adds the public parameter of the newest Amazon Linux for Arm."""
    from ministack.services import ssm

    images = ssm._PUBLIC_AMI_PARAMETERS
    for name, image in list(images.items()):
        images[name.replace("x86_64", "arm64")] = image


APPLY = {
    "runtime-client": run_runtime_client,
    "json-patterns": match_json_patterns,
    "names": resolve_names,
    "function-roles": use_function_roles,
    "instances": create_instances,
    "arm-image": add_arm_image,
}

if __name__ == "__main__":
    threading.Thread(target=end_with_input, daemon=True).start()
    for name in ADAPTATIONS:
        APPLY[name]()
    from ministack.app import main

    sys.argv = sys.argv[:1]
    sys.exit(main())
