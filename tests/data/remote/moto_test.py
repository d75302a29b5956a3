"""moto's S3 server, where it is installed: boto3 uploads, impart reads."""

import pathlib
import sys
import unittest
import urllib.request

try:
    import boto3
    from moto.server import ThreadedMotoServer
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

from remote_case import RemoteCase

VARIABLES = {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "some+Secret/Key",
             "AWS_REGION": "eu-central-1", "NO_PROXY": "127.0.0.1"}


class MotoTest(RemoteCase):
    def setUp(self):
        super().setUp()
        self.server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        self.server.start()
        self.addCleanup(self.server.stop)
        host, port = self.server.get_host_and_port()
        self.endpoint = f"http://{host}:{port}"
        reset = urllib.request.Request(f"{self.endpoint}/moto-api/reset", method="POST")
        urllib.request.build_opener(urllib.request.ProxyHandler({})).open(reset).close()

        self.client = boto3.client("s3", endpoint_url=self.endpoint, region_name="eu-central-1",
                                   aws_access_key_id="AKIDEXAMPLE",
                                   aws_secret_access_key="some+Secret/Key")
        place = {"LocationConstraint": "eu-central-1"}
        self.client.create_bucket(Bucket="cats", CreateBucketConfiguration=place)

    def upload(self, folder):
        for file in sorted(pathlib.Path(folder).rglob("*")):
            if file.is_file():
                self.client.upload_file(str(file), "cats", f"{folder.name}/{file.relative_to(folder)}")

    def test_photographs_and_shards_of_a_bucket_are_read(self):
        for make in [self.make_photos, self.make_shards]:
            folder = make(count=2)
            with self.subTest(folder.name):
                self.upload(folder)
                done = self.call("data", "verify", f"s3://cats/{folder.name}",
                                 AWS_ENDPOINT_URL=self.endpoint, **VARIABLES)
                self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
                self.assertIn("all is well", done.stdout)

    def test_a_key_that_is_not_there_is_told(self):
        self.upload(self.make_photos(count=1))
        self.fail_with(65, "NoSuchKey", "data", "verify", "s3://cats/nowhere", "--name", "mds",
                       AWS_ENDPOINT_URL=self.endpoint, **VARIABLES)


if __name__ == "__main__":
    unittest.main()
