# SPDX-License-Identifier: Apache-2.0
"""tbprof behind TensorBoard's Profile tab; see loader.py for how it gets there."""
