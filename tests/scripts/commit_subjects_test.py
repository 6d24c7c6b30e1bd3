# SPDX-License-Identifier: Apache-2.0
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHECK = ROOT / "scripts/lib/check_commits"
LONG = "A subject that goes on and on, well beyond what a list of commits can show"
FITS = "ä" * 72


@unittest.skipUnless(shutil.which("git"), "git is missing")
class CommitSubjects(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()
        self.clone = self.folder / "clone"
        # Without the settings of the user's git or of a git that runs this test.
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        self.environment.update(GIT_CONFIG_GLOBAL=os.devnull, GIT_CONFIG_NOSYSTEM="1", GIT_EDITOR="true",
                                GIT_AUTHOR_NAME="a", GIT_AUTHOR_EMAIL="a@b", GIT_COMMITTER_NAME="a",
                                GIT_COMMITTER_EMAIL="a@b", GIT_CEILING_DIRECTORIES=str(self.folder))
        self.clone.mkdir()
        self.git("init", "-q", "-b", "main")
        self.commit(LONG, "the first")

    def run_in(self, folder, *command):
        return subprocess.run(command, cwd=folder, env=self.environment, capture_output=True, text=True, check=False)

    def git(self, *words):
        done = self.run_in(self.clone, "git", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def commit(self, *paragraphs):
        words = [word for paragraph in paragraphs for word in ("-m", paragraph)]
        return self.run_in(self.clone, "git", "commit", "-q", "--allow-empty", *words)

    def add_hook(self, install=False):
        shutil.copytree(ROOT / "scripts" / "hooks", self.clone / "scripts" / "hooks")
        self.git("add", "scripts/hooks")
        self.assertEqual(self.commit("A hook").returncode, 0)
        if install:
            self.git("config", "core.hooksPath", "scripts/hooks")

    def check(self, folder=None):
        return self.run_in(folder or self.clone, str(CHECK))

    def test_of_72_characters_are_taken_and_longer_ones_refused_with_what_to_do(self):
        self.add_hook(install=True)
        self.assertEqual(self.commit(FITS, "A body of any width, " * 10).returncode, 0)
        refused = self.commit(LONG, "why")
        self.assertEqual(refused.returncode, 1)
        self.assertIn(f"{len(LONG)} characters, of 72 allowed", refused.stderr)
        self.assertIn("put the why below", refused.stderr)
        self.assertEqual(self.commit("x" * 73).returncode, 1)

    def test_are_whole_paragraphs(self):
        self.add_hook(install=True)
        self.assertEqual(self.commit(f"{'x' * 40}\n{'y' * 40}").returncode, 1)

    def test_that_git_makes_are_taken(self):
        self.add_hook(install=True)
        for begin in ("Merge branch 'x'", "Revert ", "fixup! ", "squash! ", "amend! "):
            self.assertEqual(self.commit(begin + LONG).returncode, 0, begin)

    def test_are_read_above_comments_and_the_diff_of_a_verbose_commit(self):
        self.add_hook()
        message = self.folder / "message"
        message.write_text(f"# {LONG}\n\nShort\n\n# -------- >8 --------\ndiff {LONG}\n", encoding="utf-8")
        self.assertEqual(self.run_in(self.clone, "scripts/hooks/commit-msg", str(message)).returncode, 0)
        message.write_text(f"# -------- >8 --------\ndiff {LONG}\n", encoding="utf-8")
        self.assertEqual(self.run_in(self.clone, "scripts/hooks/commit-msg", str(message)).returncode, 0)

    def test_since_the_hook_are_checked_and_older_ones_stand(self):
        self.add_hook()
        self.commit(FITS)
        self.assertEqual(self.check().returncode, 0, self.check().stdout)
        self.commit(LONG)
        self.commit("Short")
        found = self.check()
        self.assertEqual(found.returncode, 1)
        self.assertIn(self.git("rev-parse", "HEAD~1")[:10], found.stdout)
        self.assertEqual(found.stdout.count("of 72 allowed"), 1)

    def test_of_a_branch_from_before_the_hook_stand(self):
        self.git("checkout", "-q", "-b", "older")
        self.commit(LONG)
        self.git("checkout", "-q", "main")
        self.add_hook()
        self.git("merge", "-q", "--no-ff", "older", "-m", LONG)
        self.assertEqual(self.check().returncode, 0, self.check().stdout)

    def test_beyond_the_newest_50_stand(self):
        self.add_hook()
        self.commit(LONG)
        for _ in range(49):
            self.commit("Short")
        self.assertEqual(self.check().returncode, 1)
        self.commit("Short")
        self.assertEqual(self.check().returncode, 0)

    def test_of_a_shallow_clone_are_checked_as_far_as_it_goes(self):
        self.add_hook()
        for subject in (LONG, "Short", LONG, "Short"):
            self.commit(subject)
        shallow = self.folder / "shallow"
        self.git("clone", "-q", "--depth", "3", f"file://{self.clone}", str(shallow))
        found = self.check(shallow)
        self.assertEqual(found.stdout.count("of 72 allowed"), 1, found.stderr)
        self.git("clone", "-q", "--depth", "1", f"file://{self.clone}", str(self.folder / "one"))
        self.assertEqual(self.check(self.folder / "one").returncode, 0)

    def test_are_skipped_without_a_clone_or_a_hook(self):
        self.assertIn("skipped", self.check().stderr)
        export = self.folder / "export"
        shutil.copytree(ROOT / "scripts" / "hooks", export / "scripts" / "hooks")
        found = self.check(export)
        self.assertEqual(found.returncode, 0)
        self.assertIn("no git clone", found.stderr)


if __name__ == "__main__":
    unittest.main()
