# SPDX-License-Identifier: Apache-2.0
"""Small databases in the schemas of profilers, made by hand. Run with a folder, it writes them all there."""
import os
import sqlite3
import sys


def database(path, schema, rows):
    """schema: "table: column column …" by line; rows: table -> list of dicts or tuples."""
    db = sqlite3.connect(path)
    columns = {}
    for line in schema.strip().splitlines():
        table, names = line.split(":")
        columns[table.strip()] = names.split()
        quoted = ", ".join(f'"{c}"' for c in columns[table.strip()])
        db.execute(f'CREATE TABLE "{table.strip()}" ({quoted})')
    for table, values in rows.items():
        for v in values:
            names = list(v) if isinstance(v, dict) else columns[table][:len(v)]
            marks = ", ".join("?" * len(names))
            quoted = ", ".join(f'"{n}"' for n in names)
            db.execute(f'INSERT INTO "{table}" ({quoted}) VALUES ({marks})', list(v.values()) if isinstance(v, dict) else v)
    db.commit()
    db.close()
    return path


NSYS = """
StringIds: id value
META_DATA_EXPORT: name value
TARGET_INFO_SESSION_START_TIME: utcEpochNs
TARGET_INFO_GPU: id name cuDevice clockRate smCount memoryBandwidth totalMemory computeMajor computeMinor maxWarpsPerSm \
maxBlocksPerSm maxRegistersPerSm maxShmemPerSm
ThreadNames: nameId priority globalTid
CUPTI_ACTIVITY_KIND_RUNTIME: start end globalTid correlationId nameId
CUPTI_ACTIVITY_KIND_KERNEL: start end deviceId streamId correlationId globalPid demangledName shortName registersPerThread \
gridX gridY gridZ blockX blockY blockZ staticSharedMemory dynamicSharedMemory
CUPTI_ACTIVITY_KIND_MEMCPY: start end deviceId streamId correlationId globalPid copyKind srcKind dstKind bytes
CUPTI_ACTIVITY_KIND_MEMSET: start end deviceId streamId correlationId globalPid memKind bytes
CUPTI_ACTIVITY_KIND_SYNCHRONIZATION: start end deviceId streamId correlationId globalPid syncType
NVTX_EVENTS: start end globalTid eventType text textId domainId
OSRT_API: start end globalTid nameId
SCHED_EVENTS: start cpu
CUDA_GPU_MEMORY_USAGE_EVENTS: start globalPid deviceId address bytes memKind memoryOperationType
"""
PROCESS = 100 << 24
THREAD = PROCESS | 100
OTHER_PROCESS = 101 << 24


def nsys_rows():
    """Two steps of 10 us with a kernel each; a copy, a fill, a wait; a range that nobody ended; 1 MiB taken and freed."""
    strings = ["cudaLaunchKernel_v7000", "gemm", "void axpy<float>(float*)", "cudaMemcpyAsync_v3020", "poll", "main",
               "layer"]
    number = {text: i + 1 for i, text in enumerate(strings)}
    launch, copy = number["cudaLaunchKernel_v7000"], number["cudaMemcpyAsync_v3020"]
    axpy = number["void axpy<float>(float*)"]
    return {
        "StringIds": [(i, text) for text, i in number.items()],
        "META_DATA_EXPORT": [("EXPORT_PRODUCT_VERSION", "2026.3.1.157"), ("EXPORT_SCHEMA_VERSION", "3.27.2")],
        "TARGET_INFO_SESSION_START_TIME": [(1780300000000000000,)],
        "TARGET_INFO_GPU": [(0, "A100", 0, 1410000000, 108, 2039040000000, 84990623744, 8, 0, 64, 32, 65536, 167936)],
        "ThreadNames": [(number["poll"], 10, THREAD), (number["main"], 20, THREAD)],
        "CUPTI_ACTIVITY_KIND_RUNTIME": [(2500, 2600, THREAD, 1, launch), (9500, 9600, THREAD, 2, copy),
                                        (12000, 12100, THREAD, 3, launch)],
        "CUPTI_ACTIVITY_KIND_KERNEL": [
            (3000, 5000, 0, 7, 1, PROCESS, number["gemm"], number["gemm"], 32, 10, 1, 1, 256, 1, 1, 0, 0),
            (13000, 16000, 0, 9, 3, PROCESS, axpy, axpy, 64, 4, 2, 1, 128, 1, 1, 0, 40000)],
        "CUPTI_ACTIVITY_KIND_MEMCPY": [(9700, 9900, 0, 7, 2, PROCESS, 1, 1, 2, 4096)],
        "CUPTI_ACTIVITY_KIND_MEMSET": [(9950, 9960, 0, 7, 0, PROCESS, 2, 64)],
        "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": [(16000, 17000, 0, 4294967295, 5, PROCESS, 4)],
        "NVTX_EVENTS": [(1000, 11000, THREAD, 59, "step 0", None, 0), (11000, 21000, THREAD, 59, "step 1", None, 0),
                        (2000, 9000, THREAD, 59, None, number["layer"], 0),
                        (1500, None, THREAD, 60, "load", None, 0), (1600, None, THREAD, 34, "here", None, 0),
                        (0, None, THREAD, 75, "domain", None, 1)],
        "OSRT_API": [(500, 900, THREAD, number["poll"])],
        "SCHED_EVENTS": [(1, 0), (2, 0), (3, 0)],
        "CUDA_GPU_MEMORY_USAGE_EVENTS": [(1200, PROCESS, 0, 4096, 1 << 20, 2, 0), (20000, PROCESS, 0, 4096, 1 << 20, 2, 1)],
    }


def nsys(path):
    return database(path, NSYS, nsys_rows())


def nsys_two_processes(path):
    """Both number their calls from 1: two kernels, each from a range of its own process."""
    rows = nsys_rows()
    other = OTHER_PROCESS | 101
    rows["CUPTI_ACTIVITY_KIND_KERNEL"] = [
        (3000, 5000, 0, 7, 1, PROCESS, 2, 2, 32, 1, 1, 1, 32, 1, 1, 0, 0),
        (3000, 6000, 1, 7, 1, OTHER_PROCESS, 3, 3, 32, 1, 1, 1, 32, 1, 1, 0, 0)]
    rows["CUPTI_ACTIVITY_KIND_RUNTIME"] = [(2500, 2600, THREAD, 1, 1), (2500, 2600, other, 1, 1)]
    rows["NVTX_EVENTS"] = [(2000, 9000, THREAD, 59, "mine", None, 0), (2000, 9000, other, 59, "theirs", None, 0)]
    return database(path, NSYS, rows)


NVPROF = """
StringTable: _id_ value
CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: start end deviceId streamId correlationId name registersPerThread \
staticSharedMemory dynamicSharedMemory gridX gridY gridZ blockX blockY blockZ
CUPTI_ACTIVITY_KIND_RUNTIME: start end processId threadId correlationId cbid
CUPTI_ACTIVITY_KIND_DRIVER: start end processId threadId correlationId cbid
CUPTI_ACTIVITY_KIND_MARKER: timestamp id flags objectKind objectId name domain
CUPTI_ACTIVITY_KIND_MEMORY: start end processId deviceId address bytes memoryKind
CUPTI_ACTIVITY_KIND_OVERHEAD: start end overheadKind
CUPTI_ACTIVITY_KIND_INSTANTANEOUS_METRIC: timestamp value
"""
EPOCH = 1559681435000000000


def nvprof(path):
    """A kernel in a range of a thread with a negative number; an end without a start; a range never ended."""
    thread = (17448).to_bytes(4, "little") + (-570288384).to_bytes(4, "little", signed=True)
    rows = {
        "StringTable": [(0, "-- null --"), (1, "_Z4axpyPfS_i"), (2, "step"), (3, "forward")],
        "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL": [
            (EPOCH + 3000, EPOCH + 5000, 0, 7, 1, 1, 32, 16, 32, 4, 1, 1, 128, 1, 1),
            (0, 0, 0, 7, 9, 1, 32, 16, 32, 4, 1, 1, 128, 1, 1)],
        "CUPTI_ACTIVITY_KIND_RUNTIME": [(EPOCH + 2000, EPOCH + 2100, 17448, -570288384, 1, 211),
                                        (EPOCH + 2200, EPOCH + 2300, 17448, -570288384, 2, 99999)],
        "CUPTI_ACTIVITY_KIND_DRIVER": [(EPOCH + 2010, EPOCH + 2020, 17448, -570288384, 3, 3)],
        "CUPTI_ACTIVITY_KIND_MARKER": [
            (EPOCH + 1000, 1, 2, 2, thread, 2, 0), (EPOCH + 9000, 1, 4, 2, thread, 0, 0),
            (EPOCH + 1500, 2, 2, 2, thread, 3, 0), (EPOCH + 4000, 2, 4, 2, thread, 0, 0),
            (EPOCH + 4500, 7, 4, 2, thread, 0, 0), (EPOCH + 4600, 8, 2, 2, thread, 3, 0)],
        "CUPTI_ACTIVITY_KIND_MEMORY": [(EPOCH + 1100, EPOCH + 8000, 17448, 0, 64, 512, 3), (EPOCH + 1200, 0, 17448, 0, 128, 256, 3)],
        "CUPTI_ACTIVITY_KIND_OVERHEAD": [(EPOCH + 100, EPOCH + 200, 131072)],
        "CUPTI_ACTIVITY_KIND_INSTANTANEOUS_METRIC": [(EPOCH + 5, b"\0")],
    }
    return database(path, NVPROF, rows)


RPD = """
rocpd_string: id string
rocpd_metadata: tag value
rocpd_api: id pid tid start end apiName_id args_id
rocpd_op: id gpuId queueId start end description_id opType_id
rocpd_api_ops: api_id op_id
rocpd_kernelapi: api_ptr_id kernelName_id groupSegmentSize gridX gridY gridZ workgroupX workgroupY workgroupZ
rocpd_copyapi: api_ptr_id kind size
rocpd_monitor: start end value
"""


def rpd(path):
    """A graph of two kernels, a launch counted in work items, a copy; a kernel of no call; a marker around it all."""
    strings = ["", "hipGraphLaunch", "hipExtModuleLaunchKernel", "hipMemcpyAsync", "KernelExecution", "CopyHostToDevice",
               "gemm", "attn", "UserMarker", "iteration 4"]
    n = {text: i + 1 for i, text in enumerate(strings)}
    base = 8306017670000000
    kernel = n["KernelExecution"]
    rows = {
        "rocpd_string": [(i, text) for text, i in n.items()],
        "rocpd_metadata": [("schema_version", "2")],
        "rocpd_api": [(1, 77, 78, base + 1000, base + 1100, n["hipGraphLaunch"], 1),
                      ((1 << 32) + 2, 77, 78, base + 1200, base + 1300, n["hipExtModuleLaunchKernel"], 1),
                      (3, 77, 78, base + 1400, base + 1500, n["hipMemcpyAsync"], 1),
                      (4, 77, 78, base + 500, base + 9000, n["UserMarker"], n["iteration 4"])],
        "rocpd_op": [(1, 2, 0, base + 2000, base + 3000, n["gemm"], kernel), (2, 2, 0, base + 3000, base + 3500, n["attn"], kernel),
                     (3, 2, 1, base + 4000, base + 6000, n["gemm"], kernel), (4, 2, 0, base + 6000, base + 6100, 1, n["CopyHostToDevice"]),
                     (5, 2, 0, base + 7000, base + 7007, n["attn"], kernel)],
        "rocpd_api_ops": [(1, 1), (1, 2), ((1 << 32) + 2, 3), (3, 4)],
        "rocpd_kernelapi": [((1 << 32) + 2, n["gemm"], 512, 1792, 782, 1, 256, 1, 1)],
        "rocpd_copyapi": [(3, 1, 65536)],
        "rocpd_monitor": [(base, base + 1, "800")],
    }
    return database(path, RPD, rows)


GUID = "_0000aaaa_bbbb_cccc"


def rocpd_rows(is_normal):
    """A kernel of a call inside of a marker; a copy; memory taken and freed. is_normal: times and threads in tables of
    their own, as schema 4 has them."""
    strings = ["HIP_RUNTIME_API_EXT", "MARKER_CORE_RANGE_API", "KERNEL_DISPATCH", "hipLaunchKernel", "step_3",
               "MEMORY_COPY_HOST_TO_DEVICE", "forward"]
    n = {text: i + 1 for i, text in enumerate(strings)}
    base = 5000000000
    rows = {
        "rocpd_string": [(i, text) for text, i in n.items()],
        "rocpd_info_process": [(1, 4321)], "rocpd_info_thread": [(1, 4399)],
        "rocpd_info_agent": [(1, "CPU", 0, "EPYC"), (2, "GPU", 0, "MI300X")],
        "rocpd_info_kernel_symbol": [(5, "void gemm<float>(float*)", 48)],
        "rocpd_event": [(1, n["HIP_RUNTIME_API_EXT"], 70), (2, n["KERNEL_DISPATCH"], 70), (3, n["MARKER_CORE_RANGE_API"], 71),
                        (4, n["MARKER_CORE_RANGE_API"], 72), (5, None, 73)],
    }
    times = {}

    def record(table, start, end, event, agent, **more):
        if is_normal:
            for at in (start, end):
                times.setdefault(at, len(times) + 1)
            rows.setdefault("rocpd_track", [(1, 1, 1, None, None, None), (2, 1, 1, 2, 8, 6)])
            v = {"start_id": times[start], "end_id": times[end], "track_id": 2 if agent else 1}
        else:
            v = {"start": base + start, "end": base + end, "pid": 1, "tid": 1}
            if agent:
                v.update(agent_id=2, queue_id=8, stream_id=6)
        rows.setdefault(table, []).append(dict(v, event_id=event, **more))

    record("rocpd_region", 2000, 2100, 1, False, name_id=n["hipLaunchKernel"])
    record("rocpd_region", 1000, 9000, 3, False, name_id=n["step_3"])
    record("rocpd_region", 1500, 4000, 4, False, name_id=n["forward"])
    record("rocpd_kernel_dispatch", 3000, 5000, 2, True, kernel_id=5, group_segment_size=256, grid_size_x=1000, grid_size_y=1,
           grid_size_z=1, workgroup_size_x=256, workgroup_size_y=1, workgroup_size_z=1)
    record("rocpd_memory_copy", 6000, 6100, 5, True, src_agent_id=1, dst_agent_id=2, size=4096,
           name_id=n["MEMORY_COPY_HOST_TO_DEVICE"])
    record("rocpd_memory_allocate", 1100, 1110, None, True, type="ALLOC", address=64, size=512)
    record("rocpd_memory_allocate", 8000, 8010, None, True, type="FREE", address=64, size=0)
    if is_normal:
        rows["rocpd_timestamp"] = [(i, base + at) for at, i in times.items()]
    return rows


ROCPD = """
rocpd_string: id string
rocpd_info_process: id pid
rocpd_info_thread: id tid
rocpd_info_agent: id type type_index product_name
rocpd_info_kernel_symbol: id display_name arch_vgpr_count
rocpd_event: id category_id stack_id
rocpd_track: id pid tid agent_id queue_id stream_id
rocpd_timestamp: id value
"""
RECORD = {
    "rocpd_region": "name_id",
    "rocpd_kernel_dispatch": "kernel_id group_segment_size grid_size_x grid_size_y grid_size_z workgroup_size_x "
                             "workgroup_size_y workgroup_size_z",
    "rocpd_memory_copy": "src_agent_id dst_agent_id size name_id",
    "rocpd_memory_allocate": "type address size",
}


def rocpd(path, is_normal=False, sets=(GUID,)):
    base = "start_id end_id track_id event_id" if is_normal else "start end pid tid agent_id queue_id stream_id event_id"
    schema, rows = "", {}
    for guid in sets:
        for line in (ROCPD + "".join(f"{t}: {base} {own}\n" for t, own in RECORD.items())).strip().splitlines():
            schema += line.replace(":", guid + ":", 1) + "\n"
        rows.update({t + guid: v for t, v in rocpd_rows(is_normal).items()})
    return database(path, schema, rows)


FILES = {"nsys.sqlite": nsys, "nvprof.nvvp": nvprof, "rpd.rpd": rpd, "rocpd.db": rocpd}

if __name__ == "__main__":
    os.makedirs(sys.argv[1], exist_ok=True)
    for name, make in FILES.items():
        if not os.path.exists(os.path.join(sys.argv[1], name)):
            make(os.path.join(sys.argv[1], name))
