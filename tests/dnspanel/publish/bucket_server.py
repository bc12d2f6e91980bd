"""A real S3-compatible service as a process that a test can stop and restart."""

import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import boto3

BUCKET = "segments-of-tests"
OPTIONS = {
    "bucket_name": BUCKET,
    "region_name": "eu-central-1",
    "location": "panel/one",
    "access_key": "tests",
    "secret_key": "tests-only",
}


class BucketServer:
    """moto's server on a local port, with one bucket."""

    def __init__(self, directory: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self._log = directory / "moto.log"
        self._process: subprocess.Popen[bytes] | None = None
        self.start()
        self._client().create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": "eu-central-1"})

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def storage(self) -> dict[str, object]:
        """The server's entry for Django's STORAGES."""
        return {"BACKEND": "dnspanel.publish.storage.bucket.Bucket", "OPTIONS": OPTIONS | {"endpoint_url": self.url}}

    def start(self) -> None:
        command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(self.port)]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        deadline = time.monotonic() + 30
        while True:
            try:
                urllib.request.urlopen(f"{self.url}/moto-api/", timeout=1).close()
            except OSError:
                if time.monotonic() > deadline or self._process.poll() is not None:
                    raise
                time.sleep(0.05)
            else:
                return

    def stop(self) -> None:
        """Kill the process. All objects are lost, because moto keeps everything in memory."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._process = None

    def pause(self, signal: int) -> None:
        """Send a signal to the process. SIGSTOP pauses it, and SIGCONT resumes it."""
        assert self._process is not None
        self._process.send_signal(signal)

    def objects(self) -> list[str]:
        """Return the sorted keys of all objects, including the prefix."""
        answer = self._client().list_objects_v2(Bucket=BUCKET)
        return sorted(entry["Key"] for entry in answer.get("Contents", ()))

    def put(self, key: str, content: bytes) -> None:
        self._client().put_object(Bucket=BUCKET, Key=key, Body=content)

    def remove(self, key: str) -> None:
        self._client().delete_object(Bucket=BUCKET, Key=key)

    def _client(self):  # type: ignore[no-untyped-def]
        return boto3.client(
            "s3",
            endpoint_url=self.url,
            region_name="eu-central-1",
            aws_access_key_id="tests",
            aws_secret_access_key="tests-only",
        )
