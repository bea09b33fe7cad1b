# SPDX-License-Identifier: Apache-2.0
"""The little of TensorFlow that plugin releases 2.11 - 2.18 import, so that their Python can be driven without the
half gigabyte: files by TensorBoard's own stub, and a converter that knows its list of tools and nothing else."""
import types

from tensorboard.compat.tensorflow_stub import errors, io  # noqa: F401

distribute = types.SimpleNamespace(cluster_resolver=types.SimpleNamespace(ClusterResolver=None, TPUClusterResolver=None))
__version__ = "2.17.0"


def enable_v2_behavior():
    pass
