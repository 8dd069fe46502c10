"""Other programs' way to the clusters that `cluster` starts."""

import importlib.machinery
import importlib.util
import os

CLUSTER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cluster")


def module():
    """The program `cluster` as a module: it has no ending by which Python finds it."""
    loader = importlib.machinery.SourceFileLoader("fawn_hadoop_cluster", CLUSTER)
    spec = importlib.util.spec_from_loader(loader.name, loader)
    found = importlib.util.module_from_spec(spec)
    loader.exec_module(found)
    return found
