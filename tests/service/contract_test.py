# SPDX-License-Identifier: Apache-2.0
"""The service answers as its OpenAPI document says, whatever is asked: by Schemathesis, which makes requests of the
document. TILEWRIGHT_TEST_CONTRACT_CASES is how many, of all paths together (300)."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
import urllib.request

from real_records import missing_module, program

# Server errors, and differences from the document: a status, a type of answer, a header, a body of another form.
CHECKS = ("not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,"
          "response_schema_conformance")
CASES = int(os.environ.get("TILEWRIGHT_TEST_CONTRACT_CASES", "300"))


class Contract(unittest.TestCase):
    def setUp(self):
        lacking = missing_module(("schemathesis",))
        if lacking and os.environ.get("CI"):
            self.fail(lacking)
        if lacking:
            self.skipTest(lacking)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tilewright-contract-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def serve(self, *options):
        """A service of a cache with a sweep; its URL."""
        cache = self.folder / "cache.db"
        program("sweep", "softmax", "--dtype", "f32", "--shapes", "rows=2 cols=64", "--device", "cpu", "--max-configs",
                "2", "--budget-ms", "1", "--no-ceilings", "--cache", cache)
        command = [os.environ["TILEWRIGHT_TEST_PROGRAM"], "serve", "--port", "0", "--cache", str(cache), "--quiet",
                   *options]
        with open(self.folder / "log", "w", encoding="utf-8") as log:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)

        def stop():
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(timeout=60), 0)
            process.stdout.close()
        self.addCleanup(stop)
        return re.search(r"http://\S+?(?=[.,]?\s)", process.stdout.readline()).group()

    def hold(self, url, checks, *options):
        """Schemathesis finds nothing. A third of the paths takes parameters and so more than one case."""
        with urllib.request.urlopen(f"{url}/openapi.json", timeout=60) as answer:
            paths = len(re.findall(rb'"operationId"', answer.read())) // 3
        command = [sys.executable, "-B", "-m", "schemathesis.cli", "run", f"{url}/openapi.json", "--checks", checks,
                   "--phases", "fuzzing", "--max-examples", str(max(1, CASES // paths)), "--seed", "1",
                   "--exclude-path", "/v1/events", "--generation-database", "none", "--request-timeout", "30", *options]
        done = subprocess.run(command, capture_output=True, text=True, timeout=3600, cwd=self.folder)
        print(*re.findall(r".*(?:generated|Failures|Tested:).*", done.stdout), sep="\n")
        self.assertEqual(done.returncode, 0, done.stdout[-20_000:] + done.stderr[-2000:])

    def test_every_answer_is_one_of_the_document(self):
        self.hold(self.serve(), CHECKS)

    def test_with_tokens_nothing_is_answered_without_one(self):
        tokens = self.folder / "tokens.json"
        token = program("serve", "--tokens", tokens, "--new-token", "all", "--scopes",
                        "read,report,submit,publish").strip()
        self.hold(self.serve("--tokens", str(tokens)), f"{CHECKS},ignored_auth", "-H", f"Authorization: Bearer {token}")


if __name__ == "__main__":
    unittest.main()
