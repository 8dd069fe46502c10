"""HDFS and YARN by HTTP, without a process of Java for each request."""

import getpass
import http.client
import json
import time
import urllib.parse

SECONDS = 120
KILL_SECONDS = 30
ENDED = {"FINISHED", "FAILED", "KILLED"}


class ServiceError(Exception):
    """HDFS or YARN does not do what it was asked; the message says why and what to do."""


def request(address, method, path, body=None, headers=None):
    """Asks once; returns the answer, which is still to be read."""
    connection = http.client.HTTPConnection(address, timeout=SECONDS)
    try:
        is_chunked = bool(headers and "Transfer-Encoding" in headers)
        connection.request(method, path, body=body, headers=headers or {}, encode_chunked=is_chunked)
        return connection.getresponse()
    except OSError as error:
        connection.close()
        raise ServiceError(f"{address} does not answer ({error}): see `cluster status`, and run this again") from None


def refusal(answer):
    """What an answer that is no success says."""
    text = answer.read().decode(errors="replace")
    try:
        return json.loads(text)["RemoteException"]["message"].splitlines()[0]
    except (ValueError, KeyError, IndexError):
        return f"{answer.status} {answer.reason}"


class Hdfs:
    """Files of HDFS, by WebHDFS."""

    def __init__(self, cluster):
        self.namenode = f"{cluster.master.address}:{cluster.master.ports['namenode-http']}"

    def ask(self, method, path, operation, **more):
        query = urllib.parse.urlencode({"op": operation, "user.name": getpass.getuser(), **more})
        return request(self.namenode, method, f"/webhdfs/v1{urllib.parse.quote(path)}?{query}")

    def asked(self, method, path, operation, **more):
        answer = self.ask(method, path, operation, **more)
        if answer.status != 200:
            raise ServiceError(f"HDFS refuses {operation} of {path}: {refusal(answer)}")
        return json.loads(answer.read())

    def datanode(self, method, path, operation, **more):
        """Where a file's bytes go to or come from: address, path and query."""
        place = urllib.parse.urlsplit(self.asked(method, path, operation, noredirect="true", **more)["Location"])
        return place.netloc, f"{place.path}?{place.query}"

    def put(self, path, blocks):
        """Writes a file of blocks of bytes."""
        address, at = self.datanode("PUT", path, "CREATE", overwrite="true")
        headers = {"Content-Type": "application/octet-stream", "Transfer-Encoding": "chunked"}
        answer = request(address, "PUT", at, blocks, headers)
        if answer.status != 201:
            raise ServiceError(f"HDFS does not take {path}: {refusal(answer)}; give machines larger disks, or take smaller slices "
                               "with --slice")
        answer.read()

    def size(self, path):
        return self.asked("GET", path, "GETFILESTATUS")["FileStatus"]["length"]

    def parts(self, path):
        """The files of a job's result that hold something: their paths and bytes."""
        found = self.asked("GET", path, "LISTSTATUS")["FileStatuses"]["FileStatus"]
        return sorted((f"{path}/{each['pathSuffix']}", each["length"]) for each in found
                      if each["pathSuffix"].startswith("part-") and each["length"])

    def open(self, path):
        """A file to be read from begin to end."""
        address, at = self.datanode("GET", path, "OPEN")
        answer = request(address, "GET", at)
        if answer.status != 200:
            raise ServiceError(f"HDFS does not give {path}: {refusal(answer)}")
        return answer

    def remove(self, path):
        """Removes a file, or a folder with all that is in it; nothing if it is not there."""
        self.asked("DELETE", path, "DELETE", recursive="true")


class Yarn:
    """Applications of YARN."""

    def __init__(self, cluster):
        self.address = f"{cluster.master.address}:{cluster.master.ports['rm-http']}"
        self.nodes = [f"{machine.address}:{machine.ports['nm-http']}" for machine in cluster.machines[1:]]

    def running(self, tag):
        answer = request(self.address, "GET", f"/ws/v1/cluster/apps?applicationTags={tag}")
        if answer.status != 200:
            raise ServiceError(f"YARN does not list its applications: {refusal(answer)}")
        apps = (json.loads(answer.read()).get("apps") or {}).get("app", [])
        return [app["id"] for app in apps if app["state"] not in ENDED]

    def kill(self, tag):
        """Ends all applications with a tag, and waits until none of their processes is left: one may still write a file."""
        end = time.monotonic() + KILL_SECONDS
        killed = set()
        while left := self.running(tag):
            killed.update(left)
            if time.monotonic() > end:
                raise ServiceError(f"YARN does not end {left[0]}: restart `resourcemanager`, then run this again")
            for each in left:
                path = f"/ws/v1/cluster/apps/{each}/state?user.name={getpass.getuser()}"
                request(self.address, "PUT", path, json.dumps({"state": "KILLED"}), {"Content-Type": "application/json"}).read()
            time.sleep(0.3)
        while killed and self.has_containers(killed) and time.monotonic() < end:
            time.sleep(0.3)

    def has_containers(self, applications):
        """Whether a node that answers still has a process of one of these."""
        marks = tuple(each.removeprefix("application") + "_" for each in applications)
        for node in self.nodes:
            try:
                answer = request(node, "GET", "/ws/v1/node/containers")
                found = (json.loads(answer.read()).get("containers") or {}).get("container", [])
            except (ServiceError, ValueError):
                continue
            if any(mark in each["id"] for each in found for mark in marks):
                return True
        return False
