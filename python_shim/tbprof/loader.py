# SPDX-License-Identifier: Apache-2.0
"""The entry point that TensorBoard calls when it starts (group `tensorboard_plugins`).

It adds no tab. It is only the occasion: TensorBoard loads every plugin before the first request, and the
official plugin looks its converter up later, so what is replaced here is what it finds then.
Nothing that goes wrong here may keep TensorBoard from starting or the official plugin from working.
"""
import logging
import os
import sys

from tensorboard.plugins import base_plugin

from tbprof import settings


def _logger():
    logger = logging.getLogger("tbprof")
    if not logger.handlers:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter("%(levelname)s %(asctime)s [tbprof] %(message)s"))
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        logger.propagate = False
    return logger


class Loader(base_plugin.TBLoader):
    """Puts tbprof in charge; loads no plugin of its own."""

    def load(self, context):
        del context
        wish = os.environ.get("TBPROF_BACKEND", "").lower()
        if wish in settings.OFF:
            return None
        logger = _logger()
        for doubt in settings.doubts(os.environ):
            logger.warning("%s", doubt)
        try:
            from tbprof import activation
            logger.info("%s", activation.activate(even_if_unknown=wish == "on"))
        except Exception as e:  # pylint: disable=broad-except
            logger.warning("the official converter stays in charge: %s", e)
        return None
