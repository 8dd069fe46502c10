"""Hadoop's configuration files for one machine of the cluster, and its class path."""

import os
from xml.sax.saxutils import escape

# Bytes of its disk that a DataNode leaves to FAWN and to what jobs spill.
SPARE = 32 << 20
BLOCK = 16 << 20
# What Hadoop 3 needs to look into the JDK under Java 17.
OPENS = "--add-opens java.base/java.lang=ALL-UNNAMED"
LOG4J = """log4j.rootLogger=INFO,console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%d{ISO8601} %p %c{1}: %m%n
log4j.logger.org.apache.hadoop.util.NativeCodeLoader=ERROR
"""
QUEUES = {
    "yarn.scheduler.capacity.root.queues": "default",
    "yarn.scheduler.capacity.root.default.capacity": 100,
    "yarn.scheduler.capacity.root.default.maximum-am-resource-percent": 0.5,
    "yarn.scheduler.capacity.maximum-am-resource-percent": 0.5,
    "yarn.scheduler.capacity.resource-calculator":
        "org.apache.hadoop.yarn.util.resource.DefaultResourceCalculator",
    # Containers are started where their data is after so many chances were passed over.
    "yarn.scheduler.capacity.node-locality-delay": 5,
}


class Ports:
    """Ports of a machine: the usual ones where each machine has an address, others where all share one."""

    USUAL = {
        "namenode": 9000, "namenode-http": 9870, "datanode": 9866, "datanode-ipc": 9867, "datanode-http": 9864,
        "rm": 8032, "rm-scheduler": 8030, "rm-tracker": 8031, "rm-admin": 8033, "rm-http": 8088,
        "nm": 8041, "nm-localizer": 8040, "nm-http": 8042, "nm-collector": 8048, "shuffle": 13562,
        "manager": 7400, "fawn": 7401, "memcached": 11211,
    }

    def __init__(self, number, shares_address):
        self.base = None if not shares_address else 20000 + 100 * number
        self.names = sorted(self.USUAL)

    def __getitem__(self, name):
        if self.base is None:
            return self.USUAL[name]
        return self.base + self.names.index(name)


def class_path(directory, jars):
    """The class path of every process: configuration, folders that HDFS's jar lacks, and all jars."""
    return [os.path.join(directory, "web"), os.path.join(jars, "*")]


def write_site(path, settings):
    """Writes one of Hadoop's XML files."""
    with open(path, "w", encoding="utf-8") as out:
        out.write("<configuration>\n")
        for name, value in settings.items():
            text = str(value).lower() if isinstance(value, bool) else str(value)
            out.write(f"  <property><name>{name}</name><value>{escape(text)}</value></property>\n")
        out.write("</configuration>\n")


def core(master, machine):
    return {
        "fs.defaultFS": f"hdfs://{master.address}:{master.ports['namenode']}",
        "hadoop.tmp.dir": os.path.join(machine.directory, "tmp"),
        "hadoop.http.staticuser.user": "root",
        "ipc.client.connect.retry.interval": 200,
    }


def hdfs(master, machine, count):
    own, ports = machine.address, machine.ports
    return {
        "dfs.replication": min(3, count),
        "dfs.blocksize": BLOCK,
        "dfs.permissions.enabled": False,
        "dfs.namenode.safemode.extension": 0,
        "dfs.namenode.rpc-address": f"{master.address}:{master.ports['namenode']}",
        "dfs.namenode.http-address": f"{master.address}:{master.ports['namenode-http']}",
        "dfs.namenode.name.dir": os.path.join(master.directory, "name"),
        "dfs.namenode.datanode.registration.ip-hostname-check": False,
        "dfs.datanode.hostname": own,
        "dfs.datanode.address": f"{own}:{ports['datanode']}",
        "dfs.datanode.ipc.address": f"{own}:{ports['datanode-ipc']}",
        "dfs.datanode.http.address": f"{own}:{ports['datanode-http']}",
        "dfs.datanode.data.dir": os.path.join(machine.directory, "data"),
        "dfs.datanode.directoryscan.interval": -1,
        # Otherwise a DataNode keeps a gigabyte free, and one on a disk of less takes no block.
        "dfs.datanode.round-robin-volume-choosing-policy.additional-available-space": SPARE,
    }


def yarn(master, machine, path, memory_mb, shares_address):
    own, ports, rm = machine.address, machine.ports, master.ports
    settings = {
        "yarn.resourcemanager.hostname": master.address,
        "yarn.nodemanager.hostname": own,
        "yarn.nodemanager.address": f"{own}:{ports['nm']}",
        "yarn.nodemanager.localizer.address": f"{own}:{ports['nm-localizer']}",
        "yarn.nodemanager.webapp.address": f"{own}:{ports['nm-http']}",
        "yarn.nodemanager.collector-service.address": f"{own}:{ports['nm-collector']}",
        "yarn.nodemanager.aux-services": "mapreduce_shuffle",
        "yarn.nodemanager.aux-services.mapreduce_shuffle.class": "org.apache.hadoop.mapred.ShuffleHandler",
        "yarn.nodemanager.local-dirs": os.path.join(machine.directory, "local"),
        "yarn.nodemanager.log-dirs": os.path.join(machine.directory, "userlogs"),
        "yarn.nodemanager.resource.memory-mb": memory_mb,
        "yarn.nodemanager.resource.cpu-vcores": 8,
        "yarn.nodemanager.pmem-check-enabled": False,
        "yarn.nodemanager.vmem-check-enabled": False,
        "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": 99,
        "yarn.nodemanager.heartbeat.interval-ms": 500,
        "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms": 500,
        "yarn.scheduler.minimum-allocation-mb": 128,
        "yarn.scheduler.include-port-in-node-name": shares_address,
        "yarn.application.classpath": ",".join(path),
        "yarn.timeline-service.enabled": False,
    }
    for name, port in (("address", "rm"), ("scheduler.address", "rm-scheduler"), ("resource-tracker.address", "rm-tracker"),
                       ("admin.address", "rm-admin"), ("webapp.address", "rm-http")):
        settings[f"yarn.resourcemanager.{name}"] = f"{master.address}:{rm[port]}"
    return settings


def mapreduce(machine, path):
    return {
        "mapreduce.framework.name": "yarn",
        "mapreduce.application.classpath": ",".join(path),
        "mapreduce.shuffle.port": machine.ports["shuffle"],
        "yarn.app.mapreduce.am.staging-dir": "/staging",
        "yarn.app.mapreduce.am.resource.mb": 512,
        "yarn.app.mapreduce.am.command-opts": f"-Xmx384m {OPENS}",
        "mapreduce.map.memory.mb": 512,
        "mapreduce.map.java.opts": f"-Xmx384m -XX:+UseSerialGC {OPENS}",
        "mapreduce.reduce.memory.mb": 512,
        "mapreduce.reduce.java.opts": f"-Xmx384m -XX:+UseSerialGC {OPENS}",
        "mapreduce.task.io.sort.mb": 64,
        "mapreduce.client.progressmonitor.pollinterval": 500,
        "mapreduce.client.completion.pollinterval": 500,
    }


def write(directory, jars, machines, memory_mb, shares_address):
    """Writes the files of all machines; returns the class path that their processes share."""
    for empty in ("hdfs", "datanode"):
        os.makedirs(os.path.join(directory, "web", "webapps", empty), exist_ok=True)
    path = class_path(directory, jars)
    master = machines[0]
    for machine in machines:
        conf = machine.conf
        os.makedirs(conf, exist_ok=True)
        # A task's configuration is its job's: the folder in its class path is the master's, the same on every machine.
        in_tasks = [master.conf] + path
        write_site(os.path.join(conf, "core-site.xml"), core(master, machine))
        write_site(os.path.join(conf, "hdfs-site.xml"), hdfs(master, machine, len(machines) - 1))
        write_site(os.path.join(conf, "yarn-site.xml"), yarn(master, machine, in_tasks, memory_mb, shares_address))
        write_site(os.path.join(conf, "mapred-site.xml"), mapreduce(machine, in_tasks))
        write_site(os.path.join(conf, "capacity-scheduler.xml"), QUEUES)
        with open(os.path.join(conf, "log4j.properties"), "w", encoding="utf-8") as out:
            out.write(LOG4J)
    return path
