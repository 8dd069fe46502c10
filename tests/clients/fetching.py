"""Fetching and building client libraries, by their languages' own tools, in a cache beside no sources."""

import hashlib
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
CACHE = os.environ.get("FAWN_CLIENTS_CACHE") or os.path.expanduser("~/.cache/fawn-clients")
INSTALL_SECONDS = 900
MAVEN_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"


class Broken(Exception):
    """A client could not be installed or built; the message is the tool's last words."""


def tool(argv, cwd=None, **environment):
    """Runs an installing or building command quietly."""
    try:
        done = subprocess.run(
            argv, cwd=cwd, env={**os.environ, **environment}, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=INSTALL_SECONDS, check=False,
        )
    except subprocess.TimeoutExpired as late:
        raise Broken(f"{' '.join(argv[:4])} … took more than {INSTALL_SECONDS} s") from late
    if done.returncode:
        raise Broken(f"{' '.join(argv[:4])} … failed:\n" + done.stdout.decode("utf-8", "replace")[-2000:])


def place(language):
    """A cache folder for one language that belongs to these very sources."""
    digest, source = hashlib.sha256(sys.version.encode()), os.path.join(HERE, language)
    for folder, folders, files in sorted(os.walk(source)):
        folders.sort()
        for name in sorted(files):
            digest.update(name.encode())
            with open(os.path.join(folder, name), "rb") as file:
                digest.update(file.read())
    return os.path.join(CACHE, f"{language.replace('/', '-')}-{digest.hexdigest()[:12]}")


def built(language, build):
    """The language's cache folder, filled by `build` unless it was before."""
    folder = place(language)
    done = os.path.join(folder, "done")
    if not os.path.exists(done):
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(os.path.join(HERE, language), folder)
        build(folder)
        with open(done, "w", encoding="ascii"):
            pass
    return folder


def python_environment(folder):
    """A virtual environment with the packages of requirements.txt."""
    environment = os.path.join(folder, "environment")
    tool([sys.executable, "-m", "venv", environment])
    tool([os.path.join(environment, "bin", "pip"), "install", "-q", "-r", "requirements.txt"], folder)


def java_classes(folder):
    """The jars of pom.xml in lib/, and the sources compiled into classes/."""
    tool(["mvn", "-q", "-B", MAVEN_COPY, "-DoutputDirectory=lib"], folder)
    sources = [name for name in os.listdir(folder) if name.endswith(".java")]
    tool(["javac", "-cp", "lib/*", "-d", "classes", *sources], folder)


def node_modules(folder):
    """The packages of package-lock.json."""
    tool(["npm", "ci", "--silent", "--no-audit", "--no-fund", "--ignore-scripts"], folder)
