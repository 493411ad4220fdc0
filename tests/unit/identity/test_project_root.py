import os
import shutil
import subprocess
from pathlib import Path

import pytest

from lcm.identity.project import project_folder, project_hash, project_root


def make_git_dir(path: Path, config: str = "[core]\n\tbare = false\n") -> Path:
    """What git itself takes for a repository: HEAD, objects, refs."""
    for name in ("objects", "refs"):
        (path / name).mkdir(parents=True)
    (path / "HEAD").write_text("ref: refs/heads/main\n")
    (path / "config").write_text(config)
    return path


def make_worktree(path: Path, git_dir: Path, name: str = "feature", back: Path | None = None) -> Path:
    """A linked worktree at `path` of the repository whose common folder is `git_dir`."""
    path.mkdir(parents=True)
    own = git_dir / "worktrees" / name
    own.mkdir(parents=True)
    (own / "commondir").write_text("../..\n")
    (own / "gitdir").write_text(f"{back or path / '.git'}\n")
    (path / ".git").write_text(f"gitdir: {own}\n")
    return path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return Path(os.path.realpath(tmp_path))


class TestFoldersOnThisMachine:
    def test_without_git_the_folder_is_the_project(self, root: Path) -> None:
        """No repository above: the cwd itself, trailing slashes and dots removed."""
        (root / "a").mkdir()

        assert project_root(f"{root}/a/../a/") == f"{root}/a"

    def test_a_subfolder_belongs_to_its_repository(self, root: Path) -> None:
        """The nearest folder with a git folder is the root."""
        make_git_dir(root / "repo" / ".git")
        (root / "repo" / "src" / "deep").mkdir(parents=True)

        assert project_root(f"{root}/repo/src/deep") == f"{root}/repo"

    def test_symbolic_links_are_resolved(self, root: Path) -> None:
        """Two names of one folder are one project."""
        make_git_dir(root / "repo" / ".git")
        (root / "alias").symlink_to(root / "repo")

        assert project_root(f"{root}/alias") == f"{root}/repo"

    def test_inside_the_git_folder_the_repository_counts(self, root: Path) -> None:
        """A hook runs in `.git`; it is the repository's."""
        make_git_dir(root / "repo" / ".git")

        assert project_root(f"{root}/repo/.git/refs") == f"{root}/repo"

    def test_a_linked_worktree_belongs_to_the_main_one(self, root: Path) -> None:
        """The path goes over the worktree's git file and its common folder."""
        git_dir = make_git_dir(root / "repo" / ".git")
        worktree = make_worktree(root / "elsewhere" / "feature", git_dir)
        (worktree / "src").mkdir()

        assert project_root(str(worktree / "src")) == f"{root}/repo"

    def test_a_relative_git_file_is_followed(self, root: Path) -> None:
        """git may write relative paths into both files."""
        git_dir = make_git_dir(root / "repo" / ".git")
        worktree = make_worktree(root / "feature", git_dir, back=Path("../../../../feature/.git"))
        (worktree / ".git").write_text("gitdir: ../repo/.git/worktrees/feature\r\n")

        assert project_root(str(worktree)) == f"{root}/repo"

    def test_a_submodule_is_its_own_project(self, root: Path) -> None:
        """Its git file leads to a git folder without a common one."""
        git_dir = make_git_dir(root / "repo" / ".git")
        make_git_dir(git_dir / "modules" / "sub")
        (root / "repo" / "sub" / "src").mkdir(parents=True)
        (root / "repo" / "sub" / ".git").write_text("gitdir: ../.git/modules/sub\n")

        assert project_root(f"{root}/repo/sub/src") == f"{root}/repo/sub"

    def test_a_nested_repository_is_its_own_project(self, root: Path) -> None:
        """The nearest git folder decides."""
        make_git_dir(root / "repo" / ".git")
        make_git_dir(root / "repo" / "vendor" / ".git")

        assert project_root(f"{root}/repo/vendor") == f"{root}/repo/vendor"

    def test_a_bare_repository_is_only_a_folder(self, root: Path) -> None:
        """Without a main worktree the cwd stands for itself, also inside another repository."""
        make_git_dir(root / "repo" / ".git")
        make_git_dir(root / "repo" / "mirror.git", "[core]\n\tbare = true\n")

        assert project_root(f"{root}/repo/mirror.git/refs") == f"{root}/repo/mirror.git/refs"

    def test_a_bare_git_folder_gives_the_cwd(self, root: Path) -> None:
        """A `.git` folder marked bare has no worktree."""
        make_git_dir(root / "repo" / ".git", "[core]\n\tbare = true\n")
        (root / "repo" / "src").mkdir()

        assert project_root(f"{root}/repo/src") == f"{root}/repo/src"

    def test_a_worktree_of_a_bare_repository_is_its_own_project(self, root: Path) -> None:
        """There is no main worktree to belong to; subfolders still share the worktree's root."""
        git_dir = make_git_dir(root / "repo.git", "[core]\n\tbare = true\n")
        worktree = make_worktree(root / "feature", git_dir)
        (worktree / "src").mkdir()

        assert project_root(str(worktree / "src")) == f"{root}/feature"

    def test_a_foreign_folder_cannot_join_a_project(self, root: Path) -> None:
        """A git file that names somebody else's worktree does not make its folder part of that project."""
        git_dir = make_git_dir(root / "repo" / ".git")
        make_worktree(root / "feature", git_dir)
        (root / "evil").mkdir()
        (root / "evil" / ".git").write_text(f"gitdir: {git_dir}/worktrees/feature\n")

        assert project_root(f"{root}/evil") == f"{root}/evil"

    def test_a_forged_worktree_folder_cannot_join_a_project(self, root: Path) -> None:
        """A worktree must be registered in the repository it claims."""
        git_dir = make_git_dir(root / "repo" / ".git")
        (root / "evil" / "own").mkdir(parents=True)
        (root / "evil" / "own" / "commondir").write_text(str(git_dir))
        (root / "evil" / ".git").write_text("gitdir: own\n")

        assert project_root(f"{root}/evil") == f"{root}/evil"

    @pytest.mark.parametrize("text", ["", "nonsense", "gitdir: ", "gitdir: /no/where", "gitdir: a\0b"])
    def test_a_damaged_git_file_gives_the_cwd(self, root: Path, text: str) -> None:
        """The repository above is not taken instead."""
        make_git_dir(root / ".git")
        (root / "sub" / "src").mkdir(parents=True)
        (root / "sub" / ".git").write_text(text)

        assert project_root(f"{root}/sub/src") == f"{root}/sub/src"

    def test_an_empty_git_folder_gives_the_cwd(self, root: Path) -> None:
        """A `.git` folder that is no repository has no root."""
        (root / "repo" / ".git").mkdir(parents=True)
        (root / "repo" / "src").mkdir()

        assert project_root(f"{root}/repo/src") == f"{root}/repo/src"

    def test_a_fifo_does_not_block(self, root: Path) -> None:
        """Only regular files are read."""
        make_git_dir(root / "repo" / ".git")
        (root / "repo" / "sub").mkdir()
        os.mkfifo(root / "repo" / "sub" / ".git")

        assert project_root(f"{root}/repo/sub") == f"{root}/repo"


@pytest.mark.skipif(shutil.which("git") is None, reason="compares with the git program, which is not installed")
class TestAgainstGit:
    def test_worktrees_and_submodules_made_by_git(self, root: Path) -> None:
        """What git writes leads to the same roots as by hand."""
        self.git(root, "init", "-q", "main")
        main, other = root / "main", root / "other"
        self.git(root, "init", "-q", "other")
        self.git(other, "commit", "-q", "--allow-empty", "-m", "start")
        self.git(main, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other), "sub")
        self.git(main, "commit", "-q", "-m", "start")
        self.git(main, "worktree", "add", "-q", str(root / "linked"))

        assert project_root(str(root / "linked")) == str(main)
        assert project_root(str(main / "sub")) == str(main / "sub")

    @staticmethod
    def git(folder: Path, *arguments: str) -> None:
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        environ = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
        subprocess.run(["git", *identity, *arguments], cwd=folder, env=environ, check=True, capture_output=True)


class TestFoldersElsewhere:
    @pytest.mark.parametrize(
        ("cwd", "project"),
        [
            ("/no/such/../place/", "/no/place"),
            ("//no//such", "/no/such"),
            ("/no/such/./place", "/no/such/place"),
            ("C:\\Users\\ada\\src\\..", "C:\\Users\\ada\\src\\.."),
            ("c:/Users/ada/", "c:/Users/ada/"),
            ("\\\\server\\share", "\\\\server\\share"),
            ("tests/../tests", "tests"),
            ("/no/\0/x/", "/no/\0/x"),
            ("/no/\ud800/", "/no/\ud800"),
        ],
    )
    def test_only_the_text_is_normalised(self, cwd: str, project: str) -> None:
        """Paths of other machines keep their meaning; Windows paths stay as they are."""
        assert project_root(cwd) == project


class TestProjectHash:
    def test_the_hash_is_sha256_of_the_path(self) -> None:
        """The same path has the same hash on every machine."""
        assert project_hash("/home/ada/repo") == "3b6fdc6bfaf8789d3d7a3e0a21e70122e463d5712580ed90695d254aec1ad801"

    def test_paths_that_are_no_unicode_have_a_hash(self) -> None:
        """A file name of arbitrary bytes is no obstacle."""
        assert len(project_hash("/x/\udcff")) == 64


class TestProjectFolder:
    def test_it_lies_in_the_home(self) -> None:
        """Own files of a project live under its hash."""
        assert project_folder(Path("/h/.lcm"), "/home/ada/repo") == Path(
            "/h/.lcm/projects/3b6fdc6bfaf8789d3d7a3e0a21e70122e463d5712580ed90695d254aec1ad801"
        )
