# SPDX-License-Identifier: Apache-2.0
"""Small inputs in other tools' formats, written by hand. Run with a folder, it writes them all there."""
import json
import os
import sys


def mxnet():
    """One operator on gpu/0, logged twice as MXNet does; 1 MiB, then 3, then 2; two frames; never closed."""
    us = 1700000000000000
    thread = 12132109885817381203  # beyond 2^63
    events = [{"ph": "M", "args": {"name": name}, "pid": pid, "name": "process_name"}
              for pid, name in ((0, "gpu/0"), (1, "cpu/0"), (77, "operator"), (78, "Training,frame"),
                                (79, "Device Storage"), (80, "MXNET_C_API"))]

    def add(name, cat, ph, at, pid, **more):
        events.append(dict({"name": name, "cat": cat, "ph": ph, "ts": us + at, "pid": pid, "tid": thread}, **more))

    for begin, end in ((10, 40), (60, 80)):
        add("Convolution", "operator", "B", begin, 0)
        add("Convolution", "operator", "E", end, 0)
        add("Convolution", "operator", "b", begin, 77, id=thread)
        add("Convolution", "operator", "e", end, 77, id=thread)
        add("batch", "Training,frame", "(", begin - 5, 78)
        add("batch", "Training,frame", ")", end + 5, 78)
    add("WaitForVar", "operator", "B", 90, 1)
    add("WaitForVar", "operator", "E", 90, 1)
    for at, mib in ((12, 1), (30, 3), (70, 2)):
        add("Memory: gpu/0", "Device Storage", "C", at, 79, args={"Memory: gpu/0": mib << 20})
    add("MXNet C API Calls", "MXNET_C_API", "C", 95, 80, args={"MXNet C API Calls": 1})
    text = json.dumps({"traceEvents": events, "displayTimeUnit": "ms"}, indent=4)
    return text[:text.rindex("}", 0, text.index("displayTimeUnit")) + 1].encode()


def mindspore():
    """Ascend device 3: two steps of 300 and 200 us (ticks of 10 ns), the second waits 50 us for its input; one op in
    each, 120 and 80 us; the timeline begins 10 us before the first step. A queue of 4 holds 1, then 0."""
    events = [{"name": "InitData", "ph": "X", "tid": "0", "ts": 0.0, "dur": 5.0, "pid": 9000}]
    events += [{"name": name, "ph": "X", "tid": "17", "ts": ts, "dur": dur, "pid": 3,
                "args": {"type": "MatMul", "fullname": "Default/net/" + name}}
               for name, ts, dur in (("MatMul-op1", 30.0, 120.0), ("MatMul-op1", 380.0, 80.0))]
    return {
        "aicpu_intermediate_3.csv": "serial_number,kernel_type,total_time,dispatch_time,run_start,run_end\n"
                                    "1,InitData,0.005,0,70000000,70000005\n",
        "ascend_timeline_display_3.json": json.dumps(events),
        "minddata_pipeline_raw_3.csv": "op_id,op_type,num_workers,output_queue_size,output_queue_average_size,"
                                       "output_queue_length,output_queue_usage_rate,sample_interval,parent_id,"
                                       "children_id\n0,Batch,4,\"[1, 0]\",0.5,4,0.1,10,,[1]\n",
        "minddata_aicpu_3.txt": "GetNext_dequeue_wait 70000310 70000330 0\n",
        "step_trace_raw_3_detail_time.csv":
            "step_num,start_point,end_point,total,fp_point,bp_point,iteration_interval,fp_and_bp,tail\n"
            "1,7000001000,7000031000,30000,7000001000,7000025000,0,24000,6000\n"
            "2,7000031000,7000051000,20000,7000036000,7000050000,5000,14000,1000\n"
            "-,0,0,0,0,0,2500,0,0\n"}


def ascend():
    """Rank 5: one step of 400 us with two kernels on device 2, 1 KiB that is freed."""
    return {
        "profiler_info.json": '{"rank_id": 5}',
        "ASCEND_PROFILER_OUTPUT/kernel_details.csv":
            "Step Id,Device_id,Model ID,Task ID,Stream ID,Name,Type,Accelerator Core,Start Time(us),Duration(us),"
            "Wait Time(us),Block Dim,Input Shapes\n"
            '7,2,4294967295,1,5,"add, fused",Add,AI_VECTOR_CORE,"1700000000000000.500\t",100.25,0,8,N/A\n'
            ',2,N/A,2,5,hcom_allReduce_1,hcom_allReduce_,HCCL,"1700000000000200.000\t",50.5,N/A,0,N/A\n'
            "7,2,4294967295,3\n",
        "ASCEND_PROFILER_OUTPUT/step_trace_time.csv":
            "Device_id,Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free\n"
            "2,7,100.25,50.5,0,50.5,249.25\n",
        "ASCEND_PROFILER_OUTPUT/operator_memory.csv":
            "Name,Size(KB),Allocation Time(us),Release Time(us),Allocation Total Allocated(MB),"
            "Allocation Total Reserved(MB),Release Total Allocated(MB),Release Total Reserved(MB),Device Type\n"
            "aten::add,1024,1700000000000010.0,1700000000000150.0,3,8,2,8,NPU:2\n"}


def packed(files):
    """A folder as tbprof packs it: one input, for tests of damage."""
    listed = sorted(dict(files, **{name.split("/")[0] + "/": "" for name in files if "/" in name}).items())
    head = "".join(f"{len(text.encode())} {name}\n" for name, text in listed)
    return ("tbprof folder\n" + head + "\n" + "".join(text for _, text in listed)).encode()


FILES = {"mxnet.json": mxnet}
FOLDERS = {"mindspore": mindspore, "host0_1_ascend_pt": ascend}


def write(folder, name):
    path = os.path.join(folder, name)
    if name in FOLDERS:
        for below, text in FOLDERS[name]().items():
            os.makedirs(os.path.dirname(os.path.join(path, below)), exist_ok=True)
            with open(os.path.join(path, below), "w") as f:
                f.write(text)
    else:
        with open(path, "wb") as f:
            f.write(FILES[name]())
    return path


if __name__ == "__main__":
    os.makedirs(sys.argv[1], exist_ok=True)
    for file_name in FILES:
        write(sys.argv[1], file_name)
    for folder_name, files_of in FOLDERS.items():
        with open(os.path.join(sys.argv[1], folder_name + ".packed"), "wb") as out:
            out.write(packed(files_of()))
