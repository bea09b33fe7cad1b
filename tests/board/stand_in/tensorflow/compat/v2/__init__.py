# SPDX-License-Identifier: Apache-2.0
from tensorflow import distribute, enable_v2_behavior, errors, io  # noqa: F401
