"""Tests that a script cannot say: timing, many connections, many bytes, a model."""
