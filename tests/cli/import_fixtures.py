# SPDX-License-Identifier: Apache-2.0
"""Small inputs in other tools' formats, written by hand. Run with a folder, it writes them all there."""
import json
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
from wire import field, varint  # noqa: E402 (after the path)


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
    """Rank 5: one step of 400 us with two kernels on device 2, 1 KiB that is freed. The timeline has the first kernel
    too, the op of 80 us that started it with an arrow to it, one that started none, a call, a row that was drawn."""
    at = 1700000000000000

    def x(name, pid, tid, us, dur, **more):
        return dict({"ph": "X", "name": name, "pid": pid, "tid": tid, "ts": f"{at + us}.000", "dur": dur}, **more)

    def arrow(ph, pid, tid, ts):
        return {"ph": ph, "bp": "e", "name": "torch_to_npu", "id": at * 1000 + 500, "pid": pid, "tid": tid, "ts": ts,
                "cat": "async_npu"}

    names = [{"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": name}}
             for pid, name in ((900, "Python"), (901, "CANN"), (902, "Ascend Hardware"), (903, "Communication"))]
    names.append({"ph": "M", "name": "thread_name", "pid": 903, "tid": 3, "args": {"name": "Group 0"}})
    timeline = [arrow("f", 902, 5, f"{at}.500"), x("aten::mul", 900, 70, -95, 20.5, cat="cpu_op"),
                x("aten::add", 900, 70, -60, 80, cat="cpu_op", args={"Input Dims": "4,4;4,4"}),
                arrow("s", 900, 70, f"{at - 60}.000"), x("ProfilerStep#7", 900, 70, -100, 450, cat="cpu_op"),
                x("launch", 901, 70, -20, 5), x("add, fused", 902, 5, 0, 100.25), x("hcom", 903, 3, 200, 50.5),
                {"ph": "C", "name": "AI Core Freq", "pid": 904, "tid": 0, "ts": f"{at}.000", "args": {"MHz": 1800}}]
    return {
        "ASCEND_PROFILER_OUTPUT/trace_view.json": json.dumps(timeline + names),
        "ASCEND_PROFILER_OUTPUT/memory_record.csv":
            "Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),Total Active(MB),Stream Ptr,Device Type\n"
            f"PTA,{at + 20}.000,3.5,8,3.5,1,NPU:2\nAPP,{at + 30}.000,,64,,,NPU:2\nPTA,,1,1,1,1,NPU:2\n",
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


def rocprof_csv():
    """Agent 6 and 9: kernels of 500 and 1250 ns, 1000 items in blocks of 256 (4 blocks); one row too short."""
    return (b'"Kind","Agent_Id","Queue_Id","Thread_Id","Kernel_Name","Correlation_Id","Start_Timestamp","End_Timestamp",'
            b'"LDS_Block_Size","VGPR_Count","Workgroup_Size_X","Workgroup_Size_Y","Workgroup_Size_Z","Grid_Size_X",'
            b'"Grid_Size_Y","Grid_Size_Z"\r\n'
            b'"KERNEL_DISPATCH","Agent 9",2,77,"f<int, ""x"">(int)",1,5000000100,5000000600,64,16,256,1,1,1000,1,1\r\n'
            b'"KERNEL_DISPATCH","Agent 6",1,77,"gemm [clone .kd]",2,5000000700,5000001950,0,16,256,1,1,1000,1,1\r\n'
            b'"KERNEL_DISPATCH","Agent 6",1')


def rocprof_folder():
    """The same kernels, a call that launches the first, two steps (the second never ended), a copy to the device."""
    return {
        "x_kernel_trace.csv": rocprof_csv().decode(),
        "x_hip_api_trace.csv": '"Domain","Function","Process_Id","Thread_Id","Correlation_Id","Start_Timestamp",'
                               '"End_Timestamp"\n"HIP_RUNTIME_API","hipLaunchKernel",77,77,1,5000000000,5000000050\n',
        "x_marker_api_trace.csv": '"Domain","Function","Process_Id","Thread_Id","Correlation_Id","Start_Timestamp",'
                                  '"End_Timestamp"\n"MARKER_CORE_API","step 0",77,77,8,4999999000,5000000650\n'
                                  '"MARKER_CORE_API","step 1",77,77,9,5000000650,0\n',
        "x_memory_copy_trace.csv": '"Kind","Direction","Source_Agent_Id","Destination_Agent_Id","Correlation_Id",'
                                   '"Start_Timestamp","End_Timestamp"\n'
                                   '"MEMORY_COPY","MEMORY_COPY_HOST_TO_DEVICE","Agent 0","Agent 9",5,5000000010,5000000090\n'}


def rocprof_json():
    """A kernel of 12.5 us by its nanoseconds (12 by the rounded ones), a counter, an element that is null."""
    return (b'{ "traceEvents":[{}\n,{"args":{"name":"GPU1"},"ph":"M","pid":6,"name":"process_name"}\n'
            b',{"ph":"X","name":"axpy","pid":6,"tid":0,"ts":"1005000","dur":"12","args":{"BeginNs":"1005000250",'
            b'"EndNs":"1005012750","dev-id":"1","queue-id":"3"}}\n'
            b',{"ph":"C","name":"sclk","pid":0,"ts":1005000,"args":{"sclk":800}}\n]}')


CNTK_ROWS = (("_Minibatch Iteration", 1, 10.0, 14.0), ("__Get Minibatch", 1, 10.0, 11.5),
             ("__Forward + Backward", 1, 11.5, 13.25), ("_Minibatch Iteration", 1, 14.0, 17.0),
             ("__Get Minibatch", 1, 14.0, 14.5), ("__Forward + Backward", 1, 14.5, 16.0),
             ('say "a, b"', 2, 10.5, 12.0), ("Epoch", 1, 10.0, 17.0))


def cntk_csv():
    """Two iterations of 4 and 3 ms, 1.5 and 0.5 ms of them for their input; times in ms; three rows are no good."""
    rows = "".join(f'"{text}",{thread},{begin:.8f},{end:.8f}\r\n' for text, thread, begin, end in CNTK_ROWS)
    return ("EventDescription,ThreadId,BeginTimeStamp(ms),EndTimeStamp(ms)\r\n" + rows +
            '"a decimal comma",1,1,5,2,5\r\n"cut",1\r\n"no time",1,,\r\n"hex thread",0x1F,1.05e1,11').encode()


def cntk_json():
    events = []
    for text, thread, begin, end in CNTK_ROWS:
        events += [{"name": text, "cat": "PERF", "ph": ph, "pid": 1, "tid": thread, "ts": ms * 1000}
                   for ph, ms in (("B", begin), ("E", end))]
    return json.dumps(sorted(events, key=lambda e: e["ts"])).encode()


def cntk_summary():
    return (b"CNTK Performance Profiler Summary Report\n\nTime Stamp: 2020/01/02 03:04:05\n\n"
            b"Description................ ............Mean ..........StdDev .............Min .............Max "
            b"...........Count ...........Total\n\nMain Thread\n"
            b"_Minibatch Iteration      :         3.500 ms         0.500 ms         3.000 ms         4.000 ms"
            b"                2         7.000 ms\n"
            b"__Forward + Backward      :     00:01:01.250         0.000 ms     00:01:01.250     00:01:01.250"
            b"                3     00:03:03.750\n"
            b"Gradient Throughput       :       1.000 MBps       0.000 MBps       1.000 MBps       1.000 MBps"
            b"                2         10 kB\n")


def message(*fields):
    """Protobuf bytes of (number, value): int, float (fixed64), str or bytes."""
    return b"".join(varint(number << 3 | 1) + struct.pack("<d", v) if isinstance(v, float) else field(number, v)
                    for number, v in fields)


def fixed64(n):
    """The number as message() writes it into a field of eight bytes."""
    return struct.unpack("<d", struct.pack("<Q", n))[0]


def pftrace():
    """As the SDK writes it: sequence 1 counts nanoseconds from packet to packet and interns names; sequence 2 says all
    in full. Begins at 5 us of the boot clock: step 7 for 20 us; in it an op of 10 us, in that a call of 1 us which
    launches a kernel of 4 us on device 1, queue 3; a counter of 2, then 5 MB; names after they were forgotten."""
    thread, device, counter = 11, 12, 13

    def packet(*fields):
        return message((1, message(*fields)))

    def note(key, value):
        return (4, message((10, key), (4 if isinstance(value, int) else 6, value)))

    def slice_of(kind, *fields, track=thread):
        return (11, message((9, kind), (11, track), *fields))

    one, two = (10, 1), (10, 2)
    begin, end, counts = 1, 2, 4
    out = packet(one, (13, 1), (41, 1), (59, message((58, 64))),
                 (6, message((1, message((1, 6), (2, 5000))), (1, message((1, 1), (2, 1700000000000000000))),
                             (1, message((1, 64), (2, 5000), (3, 1), (4, 1))))))
    out += packet(one, (60, message((1, 10), (3, message((1, 99), (6, "trainer"))))))
    out += packet(one, (60, message((1, thread), (5, 10), (4, message((1, 99), (2, 100), (5, "main"))))))
    out += packet(two, (13, 1), (60, message((1, device), (5, 10), (2, "COMPUTE"))))
    out += packet(two, (60, message((1, counter), (5, 10), (2, "memory"), (8, message((3, 3), (4, 1000000), (6, "B"))))))
    out += packet(one, (13, 2), (8, 0), (12, message((2, message((1, 1), (2, "ProfilerStep#7"))),
                                                     (2, message((1, 2), (2, "aten::mm"))),
                                                     (1, message((1, 1), (2, "cpu_op"))))),
                  slice_of(begin, (10, 1)))
    out += packet(one, (13, 2), (8, 2000), slice_of(begin, (10, 2), (3, 1)))
    out += packet(one, (13, 2), (8, 1000), slice_of(begin, (23, "hipLaunchKernel"), (22, "hip_api"), note("corr_id", 9)))
    out += packet(one, (13, 2), (8, 1000), slice_of(end))
    out += packet(one, (13, 2), (8, 8000), slice_of(end))
    out += packet(one, (13, 2), (8, 8000), slice_of(end))
    out += packet(two, (8, 10000), slice_of(begin, (23, "gemm"), (22, "kernel_dispatch"), note("corr_id", 9),
                                            note("agent", 1), note("queue", 3), note("workgroup_size", 256),
                                            note("grid_size", 1000), track=device))
    out += packet(two, (8, 14000), slice_of(end, track=device))
    out += packet(two, (8, 11000), slice_of(counts, (30, 2), track=counter))
    out += packet(two, (8, 12000), slice_of(counts, (44, 5.0), track=counter))
    out += packet(one, (13, 1), (8, 26000), slice_of(3, (10, 1)))  # its names are forgotten: called nothing
    out += packet(two, (1, b"\x08\x01"))  # a record of the scheduler
    return out


def rocprof_arrows():
    """As rpd2tracing draws arrows, at whole microseconds. In step 3 hipGraphLaunch calls hipLaunchKernel: kernel a is of
    the inner call, b of the outer one, both begin at once. In step 4 a call of 1 us, whose arrow begins before it. An
    arrow from nowhere. A second category has the same number."""
    def x(name, pid, tid, ts, dur, desc=""):
        return {"pid": pid, "tid": tid, "name": name, "ts": str(ts), "dur": str(dur), "ph": "X", "args": {"desc": desc}}

    def arrow(ph, number, pid, tid, ts, cat="api_op"):
        return {"pid": pid, "tid": tid, "cat": cat, "name": cat, "ts": str(ts), "id": str(number), "ph": ph}

    listed = [{}]
    listed += [{"name": "process_name", "ph": "M", "pid": pid, "args": {"name": name}}
               for pid, name in (("1", "GPU0"), ("8", "Markers"))]
    listed += [x("step 3", "8", "77", 1000, 100), x("step 4", "8", "77", 1100, 50),
               x("hipGraphLaunch", "77", "77", 1010, 40), x("hipLaunchKernel", "77", "77", 1020, 10),
               x("hipLaunchKernel", "77", "77", 1110, 1),
               *(x(name, "1", tid, ts, dur, "KernelExecution") for name, tid, ts, dur in
                 (("a", "0", 1110, 5), ("b", "0", 1110, 5), ("c", "0", 1120, 7), ("d", "2", 1120, 9)))]
    listed += [arrow("s", 1, "77", "77", 1028), arrow("f", 1, "1", "0", 1110),
               arrow("s", 2, "77", "77", 1048), arrow("f", 2, "1", "0", 1110),
               arrow("s", 3, "77", "77", 1109), arrow("f", 3, "1", "2", 1120),
               arrow("s", 3, "77", "77", 1500, "other"), arrow("f", 3, "1", "0", 1120, "other")]
    return json.dumps(listed).encode()


def pftrace_flows():
    """Flow 2^63 + 5 goes from the op of step 1 through a call to kernel a, which begins in step 2; then the same flow,
    used again, from the op of step 2 to kernel b. Kernel c is in a flow of its own."""
    begin, end, host, device = 1, 2, 11, 12
    flow, last, lone = (47, fixed64((1 << 63) + 5)), (48, fixed64((1 << 63) + 5)), (47, fixed64(7))

    def packet(*fields):
        return message((1, message((10, 1), *fields)))

    out = packet((60, message((1, host), (4, message((1, 9), (2, 100), (5, "main"))))))
    for name, category, us, dur_us, *flows in (
            ("ProfilerStep#1", "", 0, 20), ("aten::mm", "cpu_op", 1, 10, flow), ("launch", "hip_api", 2, 2, flow),
            ("ProfilerStep#2", "", 20, 20), ("aten::add", "cpu_op", 22, 5, flow),
            ("a", "kernel_dispatch", 21, 3, flow), ("b", "kernel_dispatch", 41, 4, last),
            ("c", "kernel_dispatch", 46, 5, lone)):
        track = (11, device if category == "kernel_dispatch" else host)
        out += packet((8, us * 1000), (11, message((9, begin), track, (23, name), (22, category), *flows)))
        out += packet((8, (us + dur_us) * 1000), (11, message((9, end), track)))
    return out


def packed(files):
    """A folder as tbprof packs it: one input, for tests of damage."""
    listed = sorted(dict(files, **{name.split("/")[0] + "/": "" for name in files if "/" in name}).items())
    head = "".join(f"{len(text.encode())} {name}\n" for name, text in listed)
    return ("tbprof folder\n" + head + "\n" + "".join(text for _, text in listed)).encode()


FILES = {"mxnet.json": mxnet, "rocprof_kernel_trace.csv": rocprof_csv, "rocprof.json": rocprof_json,
         "2020-01-02_03-04-05_detail_3.csv": cntk_csv, "2020-01-02_03-04-05_detail_3.json": cntk_json,
         "2020-01-02_03-04-05_summary_3.txt": cntk_summary, "x.pftrace": pftrace,
         "rocprof_arrows.json": rocprof_arrows, "flows.pftrace": pftrace_flows}
FOLDERS = {"mindspore": mindspore, "host0_1_ascend_pt": ascend, "rocprofv3": rocprof_folder}


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
