"""Downloads, from a server of our own, and folders in their place."""

import hashlib
import http.server
import logging
import os
import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from gpflow_gi.datasets import DataError, published_file
from gpflow_gi.datasets.published_file import published_file as read

FILE = "tiny/data/data.txt"
CONTENT = b"1 2 3\n4 5 6\n"
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Server:
    """Serves `content`, from the path :data:`FILE` alone, and counts its answers."""

    def __init__(self):
        self.content = CONTENT
        self.length = None
        self.num_answers = 0
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                outer.num_answers += 1
                if self.path != f"/{FILE}" or outer.content is None:
                    self.send_error(404)
                    return
                self.send_response(200)
                self.send_header("Content-Length", str(outer.length or len(outer.content)))
                self.end_headers()
                self.wfile.write(outer.content)

            def log_message(self, *arguments):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/"
        threading.Thread(target=self.http.serve_forever, args=[0.01], daemon=True).start()


@pytest.fixture
def server(monkeypatch, cache):
    server = Server()
    monkeypatch.setattr(published_file, "BASE_URL", server.url)
    yield server
    server.http.shutdown()
    server.http.server_close()


@pytest.fixture
def cache(monkeypatch, tmp_path):
    monkeypatch.delenv("GPFLOW_GI_DATA", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    folder = tmp_path / "cache"
    monkeypatch.setenv("GPFLOW_GI_CACHE", str(folder))
    return folder


def files_below(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


def error_of(sha256=SHA256):
    with pytest.raises(DataError) as error:
        read(FILE, sha256)
    assert "\n" not in str(error.value)
    return str(error.value)


# Downloads


def test_a_file_is_downloaded_once_and_without_a_word(server, cache, capfd):
    assert read(FILE, SHA256) == CONTENT
    assert read(FILE, SHA256) == CONTENT
    assert server.num_answers == 1
    assert files_below(cache) == [cache / FILE]
    assert capfd.readouterr() == ("", "")


def test_messages_of_pooch_are_as_they_were_for_others(server):
    import pooch

    logger = pooch.get_logger()
    level = logger.level
    logger.setLevel(logging.DEBUG)
    try:
        read(FILE, SHA256)
        assert logger.level == logging.DEBUG
    finally:
        logger.setLevel(level)


def test_the_cache_is_in_the_users_folder_for_caches(server, monkeypatch, tmp_path):
    import pooch

    monkeypatch.delenv("GPFLOW_GI_CACHE")
    folder = tmp_path / "caches" / "gpflow-gi"
    names = []
    monkeypatch.setattr(pooch, "os_cache", lambda name: names.append(name) or folder)
    assert read(FILE, SHA256) == CONTENT
    assert names == ["gpflow-gi"]
    assert files_below(folder) == [folder / FILE]


def test_the_cache_of_one_machine_serves_another(server, cache, monkeypatch):
    read(FILE, SHA256)
    monkeypatch.setenv("GPFLOW_GI_DATA", str(cache))
    monkeypatch.delenv("GPFLOW_GI_CACHE")
    assert read(FILE, SHA256) == CONTENT
    assert server.num_answers == 1


def test_many_may_want_a_file_at_once(server, cache):
    start = threading.Barrier(8)

    def wait_and_read(_):
        start.wait()
        return read(FILE, SHA256)

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(wait_and_read, range(8))) == 8 * [CONTENT]
    assert files_below(cache) == [cache / FILE]


def test_a_broken_file_in_the_cache_is_downloaded_anew(server, cache):
    read(FILE, SHA256)
    (cache / FILE).write_bytes(CONTENT[:5])
    assert read(FILE, SHA256) == CONTENT
    assert server.num_answers == 2


def test_a_file_with_another_hash_is_refused_and_not_kept(server, cache):
    server.content = CONTENT.replace(b"6", b"7")
    message = error_of()
    assert f"{server.url}{FILE} has changed since the file was published" in message
    assert SHA256 in message
    assert files_below(cache) == []


def test_a_file_that_breaks_off_is_refused_and_not_kept(server, cache):
    server.content, server.length = CONTENT[:5], len(CONTENT)
    message = error_of()
    assert f"{server.url}{FILE}" in message and "GPFLOW_GI_DATA" in message
    assert files_below(cache) == []


def test_a_file_that_is_cut_short_without_notice_is_refused_and_not_kept(server, cache):
    server.content = CONTENT[:5]
    assert "came incomplete" in error_of()
    assert files_below(cache) == []


def test_a_server_without_the_file(server, cache):
    server.content = None
    message = error_of()
    assert f"{server.url}{FILE} cannot be downloaded (the server answered 404)" in message
    assert files_below(cache) == []


def test_without_a_network(cache, monkeypatch):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/"
        monkeypatch.setattr(published_file, "BASE_URL", url)
        message = error_of()
    assert f"{url}{FILE} cannot be downloaded (ConnectionError)" in message
    assert f"set GPFLOW_GI_DATA to a folder that holds {FILE}" in message
    assert files_below(cache) == []


def test_a_cache_that_is_no_folder(server, cache):
    cache.write_text("")
    message = error_of()
    assert f"The cache {cache} cannot be used" in message and "GPFLOW_GI_CACHE" in message


# A folder instead


@pytest.fixture
def folder(server, monkeypatch, tmp_path):
    folder = tmp_path / "mirror"
    path = folder / FILE
    path.parent.mkdir(parents=True)
    path.write_bytes(CONTENT)
    monkeypatch.setenv("GPFLOW_GI_DATA", str(folder))
    return folder


def test_a_folder_is_read_first(folder, server, cache):
    assert read(FILE, SHA256) == CONTENT
    assert server.num_answers == 0 and not cache.exists()


def test_a_folder_in_the_users_home(folder, monkeypatch):
    monkeypatch.setenv("HOME", str(folder.parent))
    monkeypatch.setenv("USERPROFILE", str(folder.parent))
    monkeypatch.setenv("GPFLOW_GI_DATA", os.path.join("~", folder.name))
    assert read(FILE, SHA256) == CONTENT


def test_an_empty_variable_is_none(folder, server, monkeypatch):
    monkeypatch.setenv("GPFLOW_GI_DATA", "")
    assert read(FILE, SHA256) == CONTENT
    assert server.num_answers == 1


@pytest.mark.parametrize(
    "content", [CONTENT[:-1], CONTENT + b"\n", CONTENT.replace(b"\n", b"\r\n"), b""]
)
def test_a_changed_file_in_the_folder_is_refused(folder, server, content):
    (folder / FILE).write_bytes(content)
    message = error_of()
    assert f"{folder / FILE} is not the published file" in message
    assert hashlib.sha256(content).hexdigest() in message and SHA256 in message
    assert server.num_answers == 0


def test_a_folder_without_the_file_is_not_replaced_by_the_network(folder, server):
    (folder / FILE).unlink()
    message = error_of()
    assert f"GPFLOW_GI_DATA: there is no {FILE} in {folder}" in message
    assert f"{server.url}{FILE}" in message
    assert server.num_answers == 0


def test_a_folder_that_is_none(folder, server, monkeypatch):
    for path in (folder / "nothing", folder / FILE):
        monkeypatch.setenv("GPFLOW_GI_DATA", str(path))
        assert f"GPFLOW_GI_DATA is {str(path)!r}, and there is no such folder" in error_of()
    assert server.num_answers == 0


def test_something_else_in_place_of_the_file(folder):
    (folder / FILE).unlink()
    (folder / FILE).mkdir()
    assert f"{folder / FILE} cannot be read: " in error_of()
