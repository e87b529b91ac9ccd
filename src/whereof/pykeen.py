"""Trainings and models of PyKEEN: `whereof.pykeen.Trace`."""

from whereof.integrations.pykeen import Trace

__all__ = ["Trace"]
