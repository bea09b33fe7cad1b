# SPDX-License-Identifier: Apache-2.0
"""TensorBoard itself is told that there is no TensorFlow: only the plugin shall meet the stand-in."""
import sys
import types

sys.modules["tensorboard.compat.notf"] = types.ModuleType("tensorboard.compat.notf")
