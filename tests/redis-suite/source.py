"""Redis's sources: fetched from Debian once, kept outside the clone, and staged for a run."""

import os
import re
import shutil
import subprocess
import tarfile
import tempfile

RELEASE = "7.0.15"
CACHE = os.environ.get("FAWN_REDIS_SUITE_CACHE") or os.path.expanduser("~/.cache/fawn/redis-suite")
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
FETCH_SECONDS = 300


class Unavailable(Exception):
    """The sources cannot be had here; the message says why."""


def tree(given):
    """A folder with `tests/` of the release: the given one, the cached one, or a fetched one."""
    if given and os.path.isdir(given):
        return checked(given)
    cached = os.path.join(CACHE, f"redis-{RELEASE}")
    if not given and os.path.isdir(cached):
        return checked(cached)
    with tempfile.TemporaryDirectory(prefix="redis-source-") as folder:
        tarball = given or fetch(folder)
        with tarfile.open(tarball) as archive:
            archive.extractall(folder, filter="data")
        unpacked = [name for name in os.listdir(folder) if os.path.isdir(os.path.join(folder, name, "tests"))]
        if len(unpacked) != 1:
            raise Unavailable(f"{tarball} holds no folder with Redis's tests")
        os.makedirs(CACHE, exist_ok=True)
        shutil.rmtree(cached, ignore_errors=True)
        shutil.move(os.path.join(folder, unpacked[0]), cached)
    return checked(cached)


def checked(folder):
    """The folder, if it is that of the release."""
    try:
        with open(os.path.join(folder, "src", "version.h"), encoding="ascii") as file:
            found = re.search(r'REDIS_VERSION "([^"]+)"', file.read())
    except OSError as error:
        raise Unavailable(f"{folder} is no work tree of Redis: {error}") from error
    if not found or found[1] != RELEASE:
        raise Unavailable(f"{folder} is Redis {found[1] if found else 'of an unknown release'}, not {RELEASE}")
    return folder


def fetch(folder):
    """The tarball of Debian's source package, by an apt configuration of its own."""
    if not shutil.which("apt-get"):
        raise Unavailable(f"no apt-get here; name a work tree or tarball of Redis {RELEASE} with --source")
    state = os.path.join(folder, "apt")
    for name in ("lists/partial", "cache/archives/partial"):
        os.makedirs(os.path.join(state, name))
    # The machine's own archives, with their sources beside their packages.
    listed = apt(["indextargets", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)", "Created-By: Packages"])
    option = f"[signed-by={KEYRING}] " if os.path.exists(KEYRING) else ""
    lines = {f"deb-src {option}{line}" for line in listed.splitlines() if line.endswith(" main")}
    sources = os.path.join(state, "sources.list")
    with open(sources, "w", encoding="ascii") as file:
        file.write("\n".join(sorted(lines)) + "\n")
    own = [f"Dir::Etc::sourcelist={sources}", "Dir::Etc::sourceparts=/dev/null", f"Dir::State::lists={state}/lists"]
    own += [f"Dir::Cache={state}/cache", "APT::Sandbox::User=root"]
    options = [word for setting in own for word in ("-o", setting)]
    apt([*options, "update"])
    apt([*options, "source", "--download-only", "redis"], folder)
    tarball = os.path.join(folder, f"redis_{RELEASE}.orig.tar.gz")
    if not os.path.exists(tarball):
        raise Unavailable(f"apt's archives have another release than {RELEASE}; name it with --source")
    return tarball


def apt(words, cwd=None):
    """Runs apt-get and returns what it prints."""
    try:
        done = subprocess.run(
            ["apt-get", *words], cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=FETCH_SECONDS, check=False
        )
    except subprocess.TimeoutExpired as late:
        raise Unavailable(f"apt-get took more than {FETCH_SECONDS} s") from late
    if done.returncode:
        raise Unavailable(f"apt-get failed: {done.stderr.strip()[-500:]}")
    return done.stdout


def stage(source, folder):
    """Puts a copy of the suite into `folder`, changed where it cannot run against a foreign server as it is."""
    shutil.copytree(os.path.join(source, "tests"), os.path.join(folder, "tests"))
    # The suite clears functions of Lua at each start, and cannot flush before AUTH.
    change(folder, "support/server.tcl", r"^( +)r (flushall|function flush)$", r"\1catch {r \2}", 2)
    # How small a hash is laid out in memory is not settable elsewhere, and no matter of its replies.
    for unit in ("type/hash", "keyspace"):
        change(folder, f"unit/{unit}.tcl", r"^( +)r (config set (?:hash|zset)-max-\S+ \S+)$", r"\1catch {r \2}", 2)
    # unit/auth starts servers with and without a password, which here are started for it.
    path = os.path.join(folder, "tests", "unit", "auth.tcl")
    with open(path, encoding="utf-8") as file:
        parts = re.split(r"(?m)^(?=start_server )", file.read())
    with_password = parts[2].replace(" overrides {requirepass foobar}", "")
    for name, part in (("auth", parts[1]), ("auth-password", with_password)):
        with open(os.path.join(folder, "tests", "unit", f"{name}.tcl"), "w", encoding="utf-8") as file:
            file.write(part.replace(" external:skip", ""))


def change(folder, name, pattern, replacement, least):
    """Replaces lines of a file of the suite, which must be there."""
    path = os.path.join(folder, "tests", name)
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        text = file.read()
    changed, count = re.subn(pattern, replacement, text, flags=re.MULTILINE)
    if count < least:
        raise Unavailable(f"tests/{name} is not as in {RELEASE}")
    with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(changed)
