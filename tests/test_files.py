"""Files: every line with its number, bad bytes named, and output that is whole or not there."""

import errno
import gzip
import io
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parasketch import files
from parasketch.errors import DataError, UsageError
from parasketch.files import lock, read_lines, sha256, write_directory, write_text


class StopError(Exception):
    """What interrupts a writer."""


def write_text_and_stop(path: Path) -> None:
    with write_text(path) as stream:
        stream.write("new" * 100_000)
        raise StopError


def write_directory_and_stop(path: Path) -> None:
    with write_directory(path) as directory:
        (directory / "new").touch()
        raise StopError


def names(directory: Path) -> list[str]:
    return sorted(entry.name for entry in directory.iterdir())


class TestReadLines:
    def test_numbers_lines_and_drops_their_endings_only(self, tmp_path: Path) -> None:
        path = tmp_path / "a.txt"
        path.write_bytes(b"one\r\n\n three \xe2\x80\xa8 still three\r\nfour")
        assert list(read_lines(path)) == [(1, "one"), (2, ""), (3, " three \u2028 still three"), (4, "four")]

    def test_a_byte_order_mark_is_no_text(self, tmp_path: Path) -> None:
        path = tmp_path / "a.txt"
        path.write_bytes(b"\xef\xbb\xbfone\n\xef\xbb\xbftwo\n")
        assert list(read_lines(path)) == [(1, "one"), (2, "\ufefftwo")]

    def test_gzip_by_the_ending(self, tmp_path: Path) -> None:
        path = tmp_path / "a.txt.gz"
        path.write_bytes(gzip.compress("eins\nzwölf\n".encode()))
        assert list(read_lines(path)) == [(1, "eins"), (2, "zwölf")]

    def test_standard_input(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("größe\nb".encode())))
        assert list(read_lines("-")) == [(1, "größe"), (2, "b")]

    def test_an_empty_file_has_no_lines(self, tmp_path: Path) -> None:
        (tmp_path / "a").touch()
        assert list(read_lines(tmp_path / "a")) == []

    def test_invalid_utf8_names_line_and_byte(self, tmp_path: Path) -> None:
        path = tmp_path / "a.txt"
        path.write_bytes(b"good\nbad \xff\n")
        with pytest.raises(DataError) as caught:
            list(read_lines(path))
        assert str(caught.value) == f"{path}:2: invalid UTF-8 at byte 5 of the line (expected UTF-8 text)"

    def test_invalid_utf8_can_be_left_out(self, tmp_path: Path) -> None:
        path = tmp_path / "a.txt"
        path.write_bytes(b"good\n\xff\nalso good\n")
        bad: list[DataError] = []
        assert list(read_lines(path, bad.append)) == [(1, "good"), (3, "also good")]
        assert [error.line for error in bad] == [2]

    @pytest.mark.parametrize("damage", ["cut", "not gzip", "flipped"])
    def test_a_damaged_gzip_file_is_an_error_even_if_bad_lines_are_left_out(self, tmp_path: Path, damage: str) -> None:
        whole = gzip.compress(b"".join(b"line %d\n" % number for number in range(1000)))
        middle = len(whole) // 2
        flipped = whole[:middle] + bytes([whole[middle] ^ 0xFF]) + whole[middle + 1 :]
        path = tmp_path / "a.gz"
        path.write_bytes({"cut": whole[:middle], "not gzip": b"plain text\n", "flipped": flipped}[damage])
        with pytest.raises(DataError, match=r"a\.gz:\d+: cannot be read further: ."):
            list(read_lines(path, [].append))

    def test_a_missing_file_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(DataError) as caught:
            list(read_lines(tmp_path / "none.txt"))
        assert str(caught.value) == f"{tmp_path / 'none.txt'}: cannot be read: No such file or directory"


class TestWriteText:
    @settings(deadline=None, max_examples=50)
    @given(lines=st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\r\n\ufeff"))), packed=st.booleans())
    def test_what_is_written_is_read(
        self, tmp_path_factory: pytest.TempPathFactory, lines: list[str], packed: bool
    ) -> None:
        path = tmp_path_factory.getbasetemp() / ("a.gz" if packed else "a")
        with write_text(path) as stream:
            stream.writelines(f"{line}\n" for line in lines)
        assert [line for _, line in read_lines(path)] == lines

    def test_makes_directories_and_leaves_nothing_beside(self, tmp_path: Path) -> None:
        with write_text(tmp_path / "new" / "a.txt") as stream:
            stream.write("text")
            assert not (tmp_path / "new" / "a.txt").exists()
        assert names(tmp_path / "new") == ["a.txt"]

    def test_the_file_has_the_usual_permissions(self, tmp_path: Path) -> None:
        (tmp_path / "usual").touch()
        with write_text(tmp_path / "a") as stream:
            stream.write("text")
        assert (tmp_path / "a").stat().st_mode == (tmp_path / "usual").stat().st_mode

    def test_the_same_text_is_the_same_gzip_file(self, tmp_path: Path) -> None:
        for name in ("a.gz", "b.gz"):
            with write_text(tmp_path / name) as stream:
                stream.write("text")
        assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()

    @pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
    def test_an_exception_leaves_the_old_content(self, tmp_path: Path, name: str) -> None:
        (tmp_path / name).write_text("old")
        with pytest.raises(StopError):
            write_text_and_stop(tmp_path / name)
        assert names(tmp_path) == [name]
        assert (tmp_path / name).read_text() == "old"

    def test_an_exception_leaves_nothing_where_nothing_was(self, tmp_path: Path) -> None:
        with pytest.raises(StopError):
            write_text_and_stop(tmp_path / "a")
        assert names(tmp_path) == []

    @pytest.mark.parametrize("step", ["fsync", "replace"])
    def test_a_full_disk_is_named_and_leaves_the_old_content(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
    ) -> None:
        def full(*_: object) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        (tmp_path / "a").write_text("old")
        monkeypatch.setattr(*{"fsync": (os, "fsync"), "replace": (Path, "replace")}[step], full)
        with pytest.raises(DataError) as caught, write_text(tmp_path / "a") as stream:
            stream.write("new")
        monkeypatch.undo()
        assert str(caught.value) == f"{tmp_path / 'a'}: cannot be written: No space left on device"
        assert names(tmp_path) == ["a"]
        assert (tmp_path / "a").read_text() == "old"

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
    def test_a_device_is_written_to_and_stays_a_device(self) -> None:
        with (
            pytest.raises(DataError, match="/dev/full: cannot be written: No space left"),
            write_text("/dev/full") as f,
        ):
            f.write("text" * 100_000)
        assert stat.S_ISCHR(Path("/dev/full").stat().st_mode)

    def test_a_directory_that_cannot_be_written_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        with pytest.raises(DataError) as caught, write_text(tmp_path / "file" / "a") as stream:
            stream.write("text")
        assert str(caught.value).startswith(f"{tmp_path / 'file' / 'a'}: cannot be written: ")

    def test_a_forbidden_directory_is_named(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def forbid(self: Path, *_: object) -> None:
            raise PermissionError(errno.EACCES, "Permission denied", str(self))

        monkeypatch.setattr(Path, "open", forbid)
        with pytest.raises(DataError, match="a: cannot be written: Permission denied"), write_text(tmp_path / "a"):
            pass

    def test_trouble_with_another_file_is_not_blamed_on_the_output(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError), write_text(tmp_path / "a"):
            (tmp_path / "none").read_text()
        assert names(tmp_path) == []

    def test_a_symbolic_link_stays_one(self, tmp_path: Path) -> None:
        (tmp_path / "real").write_text("old")
        (tmp_path / "link").symlink_to("real")
        with write_text(tmp_path / "link") as stream:
            stream.write("new")
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "real").read_text() == "new"

    def test_a_killed_writer_leaves_the_old_content(self, tmp_path: Path) -> None:
        (tmp_path / "a").write_text("old")
        script = f"""
import os, signal
from parasketch.files import write_text
with write_text({str(tmp_path / "a")!r}) as stream:
    stream.write("new")
    stream.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""
        assert subprocess.run([sys.executable, "-c", script], check=False).returncode != 0
        assert (tmp_path / "a").read_text() == "old"

    def test_standard_output(self, capsys: pytest.CaptureFixture[str]) -> None:
        with write_text("-") as stream:
            stream.write("text")
        assert capsys.readouterr().out == "text"


class TestWriteDirectory:
    def test_appears_whole(self, tmp_path: Path) -> None:
        with write_directory(tmp_path / "new" / "run") as directory:
            (directory / "inner").mkdir()
            (directory / "inner" / "a").write_text("text")
            assert not (tmp_path / "new" / "run").exists()
        assert (tmp_path / "new" / "run" / "inner" / "a").read_text() == "text"
        assert names(tmp_path / "new") == ["run"]

    def test_files_can_be_read_as_others_can(self, tmp_path: Path) -> None:
        (tmp_path / "usual").write_text("text")
        with write_directory(tmp_path / "run") as directory:
            (directory / "private").touch(0o600)
        assert (tmp_path / "run" / "private").stat().st_mode == (tmp_path / "usual").stat().st_mode

    def test_replaces_an_old_directory_as_a_whole(self, tmp_path: Path) -> None:
        (tmp_path / "run").mkdir()
        (tmp_path / "run" / "old").touch()
        with write_directory(tmp_path / "run") as directory:
            (directory / "new").touch()
        assert names(tmp_path) == ["run"]
        assert names(tmp_path / "run") == ["new"]

    def test_an_exception_leaves_the_old_directory(self, tmp_path: Path) -> None:
        (tmp_path / "run").mkdir()
        (tmp_path / "run" / "old").touch()
        with pytest.raises(StopError):
            write_directory_and_stop(tmp_path / "run")
        assert names(tmp_path) == ["run"]
        assert names(tmp_path / "run") == ["old"]

    def test_a_failed_rename_brings_the_old_directory_back(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "run").mkdir()
        (tmp_path / "run" / "old").touch()
        replace, calls = Path.replace, []

        def fail_second(self: Path, target: Path) -> Path:
            calls.append(target)
            if len(calls) == 2:
                raise OSError(errno.EIO, "Input/output error")
            return replace(self, target)

        monkeypatch.setattr(Path, "replace", fail_second)
        with (
            pytest.raises(DataError, match="run: cannot be written: Input/output error"),
            write_directory(tmp_path / "run") as directory,
        ):
            (directory / "new").touch()
        assert names(tmp_path) == ["run"]
        assert names(tmp_path / "run") == ["old"]

    def test_a_full_disk_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(DataError) as caught, write_directory(tmp_path / "run") as directory:
            raise OSError(errno.ENOSPC, "No space left on device", str(directory / "a"))
        assert str(caught.value) == f"{tmp_path / 'run'}: cannot be written: No space left on device"
        assert names(tmp_path) == []

    def test_a_file_in_its_place_is_not_replaced(self, tmp_path: Path) -> None:
        (tmp_path / "run").write_text("precious")
        with (
            pytest.raises(DataError, match="run: cannot be written: it exists and is a file"),
            write_directory(tmp_path / "run"),
        ):
            pass
        assert (tmp_path / "run").read_text() == "precious"

    def test_everything_is_synced_before_the_rename(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        synced: list[str] = []
        sync = files._sync

        def record(path: Path) -> None:
            synced.append(path.name)
            sync(path)

        monkeypatch.setattr(files, "_sync", record)
        with write_directory(tmp_path / "run") as directory:
            (directory / "a").touch()
            temporary = directory.name
        assert synced == ["a", temporary, tmp_path.name]


def test_sha256_is_of_the_bytes_as_they_lie(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(b"abc")
    assert sha256(path) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    with pytest.raises(DataError, match="none: cannot be read: No such file"):
        sha256(tmp_path / "none")


HOLDER = """
import sys
from parasketch.files import lock

with lock(sys.argv[1]):
    print("locked", flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("kind", ["file", "directory"])
def test_a_lock_is_for_one_and_ends_with_its_owner(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "mine"
    if kind == "file":
        path.write_text("content")
    else:
        path.mkdir()
    for _ in range(2):
        with lock(path), pytest.raises(UsageError, match="mine is being written by another process"), lock(path):
            pass
    owner = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == "locked\n"
        with pytest.raises(UsageError, match="is being written by another process"), lock(path):
            pass
        owner.kill()
        owner.wait()
        with lock(path):
            pass
    assert [each.name for each in tmp_path.rglob("*")] == ["mine"]
