# SPDX-License-Identifier: Apache-2.0
"""Stands before our package on the path: TensorBoard as if it were not installed."""
