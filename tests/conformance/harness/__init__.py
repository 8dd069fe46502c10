"""What the conformance and client suites share: a server to talk to, a wire, a reporter."""
