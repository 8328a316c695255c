"""An S3 server on loopback that checks signatures: python s3_server.py FOLDER. Prints a JSON line, ends with its input."""

import json
import os
import sys
from pathlib import Path

os.environ["INITIAL_NO_AUTH_ACTION_COUNT"] = "1000000"  # until the objects are there
os.environ["MOTO_S3_DEFAULT_MAX_KEYS"] = "3"  # so that a few objects take several pages
os.environ.update(AWS_ACCESS_KEY_ID="setup", AWS_SECRET_ACCESS_KEY="setup", AWS_DEFAULT_REGION="us-east-1")

import boto3
from moto.core.responses import ActionAuthenticatorMixin
from moto.server import ThreadedMotoServer

POLICY = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}


def main(folder: Path) -> None:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    endpoint = f"http://{host}:{port}"
    s3 = boto3.client("s3", endpoint_url=endpoint)
    s3.create_bucket(Bucket="runs")
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            s3.put_object(Bucket="runs", Key=str(path.relative_to(folder)), Body=path.read_bytes())
    iam = boto3.client("iam", endpoint_url=endpoint)
    iam.create_user(UserName="reader")
    iam.put_user_policy(UserName="reader", PolicyName="all", PolicyDocument=json.dumps(POLICY))
    key = iam.create_access_key(UserName="reader")["AccessKey"]
    ActionAuthenticatorMixin.request_count = 1_000_000  # from now on every request is checked
    print(json.dumps({"endpoint": endpoint, "id": key["AccessKeyId"], "secret": key["SecretAccessKey"]}), flush=True)
    sys.stdin.read()
    server.stop()


main(Path(sys.argv[1]))
