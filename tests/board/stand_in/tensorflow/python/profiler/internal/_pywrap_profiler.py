# SPDX-License-Identifier: Apache-2.0
"""Stands where the official converter of those releases is."""
NAMES = b"trace_viewer@,overview_page,input_pipeline_analyzer,framework_op_stats,memory_profile,pod_viewer,op_profile"


def xspace_to_tools_data(paths, tool, options=None):
    del paths, options
    return (NAMES, True) if tool == "tool_names" else (b"made by the stand-in", True)


def xspace_to_tools_data_from_byte_string(contents, names, tool, options=None):
    return xspace_to_tools_data(names, tool, options)
