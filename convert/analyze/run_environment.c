/* SPDX-License-Identifier: Apache-2.0
 *
 * Device type, counts and peak rates of a host from the stats of its device planes, and of all
 * hosts together. Source of the tables of rates: spec tables/RULES.md 4, reference
 * host_and_op_analysis 5.1.
 */
#include "convert/analyze/run_environment.h"

#include "convert/analyze/hlo.h"
#include "convert/model/stats.h"

#include <math.h>

/* FLOP per cycle and multiprocessor, the largest of the CUDA cores' and the tensor cores' rates at
 * 32 and 16 bits; cc = major*1000 + minor*10, descending. */
static const struct {
    uint64_t cc;
    double flop;
} nvidia_rates[] = {{10000, 8192}, {9000, 4096}, {8090, 1024}, {8060, 1024},
                    {8000, 2048},  {7050, 1024}, {7000, 1024}, {6010, 256},
                    {6000, 256},   {5000, 256},  {3000, 384},  {2000, 64}};

/* The same per compute unit, and bytes per cycle of its local data share. */
static const struct {
    const char *gfx;
    double flop, lds_bytes;
} amd_rates[] = {
    {"gfx908", 1024, 128}, {"gfx90a", 1024, 128}, {"gfx942", 2048, 128}, {"gfx950", 4096, 256}};

enum { N_NVIDIA = sizeof nvidia_rates / sizeof *nvidia_rates };
enum { N_AMD = sizeof amd_rates / sizeof *amd_rates };

const char *tbp_hardware_text(enum tbp_hardware h) {
    static const char *const texts[] = {"UNKNOWN_HARDWARE", "CPU_ONLY", "GPU", "TPU"};
    return texts[h];
}

static void read_cap(struct tbp_device_caps *c, const struct tbp_stat *s) {
    switch (s->meta->key) {
    case TBP_STAT_CLOCK_RATE: /* kHz */
        c->clock_ghz = (double)tbp_stat_iu(s) / 1e6;
        break;
    case TBP_STAT_CORE_COUNT:
        c->cores = tbp_stat_iu(s);
        break;
    case TBP_STAT_MEMORY_BANDWIDTH:
        c->bandwidth = tbp_stat_iu(s);
        break;
    case TBP_STAT_MEMORY_SIZE:
        c->memory_bytes = tbp_stat_iu(s);
        break;
    case TBP_STAT_COMPUTE_CAP_MAJOR:
        c->major = tbp_stat_iu(s);
        break;
    case TBP_STAT_COMPUTE_CAP_MINOR:
        c->minor = tbp_stat_iu(s);
        break;
    case TBP_STAT_DEVICE_VENDOR:
        c->vendor_text = tbp_stat_s(s);
        break;
    case TBP_STAT_GPU_DEVICE_NAME:
        c->name = tbp_stat_s(s);
        break;
    default:
        break;
    }
}

void tbp_device_caps_read(struct tbp_device_caps *c, const struct tbp_plane *plane,
                          enum tbp_semantics semantics) {
    *c = (struct tbp_device_caps){.vendor_text = TBP_STR_NONE, .name = TBP_STR_NONE};
    for (size_t i = 0; i < plane->n_stats; i++) {
        struct tbp_stat s;
        struct tbp_wire w = tbp_wire_of(plane->stats[i].p, plane->stats[i].n);
        if (tbp_stat_decode(plane, w, &s)) {
            read_cap(c, &s);
        }
    }
    if (semantics == TBP_SEMANTICS_REPAIR && c->vendor_text.n == 0 &&
        tbp_is_gpu_plane(plane->name)) {
        c->vendor_text = TBP_STR("Nvidia"); /* written before vendors were */
        c->vendor_repaired = true;
    }
    c->vendor = tbp_str_is(c->vendor_text, "Nvidia") ? TBP_VENDOR_NVIDIA
                : tbp_str_is(c->vendor_text, "AMD")  ? TBP_VENDOR_AMD
                                                     : TBP_VENDOR_OTHER;
}

size_t tbp_device_planes(const struct tbp_host *h, struct tbp_arena *a,
                         const struct tbp_plane ***planes, bool *are_tpu) {
    const struct tbp_plane **found = TBP_NEW_N(a, const struct tbp_plane *, h->n_planes);
    size_t n_tpu = 0;
    for (size_t i = 0; i < h->n_planes; i++) {
        n_tpu += tbp_is_tpu_plane(h->planes[i].name);
    }
    size_t n = 0;
    for (size_t i = 0; i < h->n_planes; i++) {
        struct tbp_str name = h->planes[i].name;
        if (n_tpu > 0 ? tbp_is_tpu_plane(name) : tbp_is_gpu_plane(name)) {
            found[n++] = &h->planes[i];
        }
    }
    *planes = found;
    *are_tpu = n_tpu > 0;
    return n;
}

/* "gfx942": the device's name, or by its version; "" if neither tells. */
static struct tbp_str gfx_of(const struct tbp_device_caps *c) {
    bool is_gfx = tbp_str_starts(c->name, "gfx") && c->name.n >= 6;
    for (size_t i = 3; is_gfx && i < c->name.n; i++) {
        char x = c->name.p[i];
        is_gfx = (x >= '0' && x <= '9') || (x >= 'a' && x <= 'f') || (x >= 'A' && x <= 'F');
    }
    if (is_gfx) {
        return c->name;
    }
    if (c->major == 9 && (c->minor == 4 || c->minor == 5)) {
        return c->minor == 4 ? TBP_STR("gfx942") : TBP_STR("gfx950");
    }
    return TBP_STR_NONE;
}

static struct tbp_str nvidia_model(const struct tbp_device_caps *c) {
    static const char *const names[] = {
        [2] = "Nvidia GPU (Fermi)",  [3] = "Nvidia GPU (Kepler)",    [5] = "Nvidia GPU (Maxwell)",
        [6] = "Nvidia GPU (Pascal)", [7] = "Nvidia GPU (Volta)",     [8] = "Nvidia GPU (Ampere)",
        [9] = "Nvidia GPU (Hopper)", [10] = "Nvidia GPU (Blackwell)"};
    if (c->major == 7 && c->minor >= 5) {
        return TBP_STR("Nvidia GPU (Turing)");
    }
    if (c->major == 8 && c->minor >= 9) {
        return TBP_STR("Nvidia GPU (Ada Lovelace)");
    }
    if (c->major == 10 && c->minor >= 7) {
        return TBP_STR("Nvidia GPU (Rubin)");
    }
    bool is_known = c->major < sizeof names / sizeof *names && names[c->major];
    return is_known ? tbp_str_c(names[c->major]) : TBP_STR("Nvidia GPU");
}

static struct tbp_str model_of(const struct tbp_device_caps *c, struct tbp_arena *a) {
    if (c->vendor == TBP_VENDOR_NVIDIA) {
        return nvidia_model(c);
    }
    if (c->vendor != TBP_VENDOR_AMD) {
        return TBP_STR("GPU");
    }
    struct tbp_str gfx = gfx_of(c);
    if (gfx.n > 0) {
        return tbp_arena_cat(a, TBP_STR("AMD GPU - "), gfx);
    }
    switch (c->major) {
    case 9:
        return TBP_STR("AMD GPU - gfx-9XX series");
    case 10:
        return TBP_STR("AMD GPU - gfx-10XX series");
    case 11:
        return TBP_STR("AMD GPU - gfx-11XX series");
    default:
        return TBP_STR("AMD GPU");
    }
}

static double nvidia_flop_per_cycle(const struct tbp_device_caps *c) {
    uint64_t major = c->major < 1000 ? c->major : 1000;
    uint64_t minor = c->minor < 100000 ? c->minor : 100000;
    uint64_t cc = major * 1000 + minor * 10;
    int i = 0;
    while (i < N_NVIDIA - 1 && nvidia_rates[i].cc > cc) {
        i++;
    }
    return nvidia_rates[i].flop;
}

/* 10^12 FLOP/s and 10^9 bytes/s of shared memory, per multiprocessor. */
static void core_rates(const struct tbp_device_caps *c, double *tflops, double *shm_gbs) {
    *tflops = *shm_gbs = 0;
    if (c->vendor == TBP_VENDOR_NVIDIA) {
        *tflops = nvidia_flop_per_cycle(c) * c->clock_ghz / 1000;
        *shm_gbs = (c->major <= 2 ? 64 : 256) * c->clock_ghz;
    }
    struct tbp_str gfx = c->vendor == TBP_VENDOR_AMD ? gfx_of(c) : TBP_STR_NONE;
    for (int i = 0; i < N_AMD; i++) {
        if (tbp_str_is(gfx, amd_rates[i].gfx)) {
            *tflops = amd_rates[i].flop * c->clock_ghz / 1000;
            *shm_gbs = amd_rates[i].lds_bytes * c->clock_ghz;
        }
    }
}

static double plane_double(const struct tbp_plane *p, const char *name) {
    struct tbp_stat s;
    return tbp_plane_stat_named(p, name, &s) ? tbp_stat_d(&s) : 0;
}

static void gpu_peaks(struct tbp_run_environment *e, const struct tbp_plane *p,
                      const struct tbp_device_caps *c) {
    double tflops, shm_gbs;
    core_rates(c, &tflops, &shm_gbs);
    double told = plane_double(p, "peak_teraflops_per_second");
    double read = plane_double(p, "peak_sram_rd_bw_gigabytes_per_second");
    double write = plane_double(p, "peak_sram_wr_bw_gigabytes_per_second");
    double cores = (double)c->cores;
    e->peak_tflops = told > 0 ? told : cores * tflops;
    e->peak_gbs[TBP_BW_HBM] = (double)c->bandwidth / 1e9;
    e->peak_gbs[TBP_BW_SRAM_READ] = read > 0 ? read : cores * shm_gbs;
    e->peak_gbs[TBP_BW_SRAM_WRITE] = write > 0 ? write : cores * shm_gbs;
    e->n_peak_gbs = TBP_BW_SRAM_WRITE + 1;
}

static void tpu_peaks(struct tbp_run_environment *e, const struct tbp_plane *p) {
    static const char *const names[TBP_BW_KINDS] = {
        "peak_hbm_bw_gigabytes_per_second",     "peak_sram_rd_bw_gigabytes_per_second",
        "peak_sram_wr_bw_gigabytes_per_second", "peak_cmem_rd_bw_gigabytes_per_second",
        "peak_cmem_wr_bw_gigabytes_per_second", "peak_vmem_rd_bw_gigabytes_per_second",
        "peak_vmem_wr_bw_gigabytes_per_second"};
    e->peak_tflops = plane_double(p, "peak_teraflops_per_second");
    for (int i = 0; i < TBP_BW_KINDS; i++) {
        e->peak_gbs[i] = plane_double(p, names[i]);
    }
    e->n_peak_gbs = TBP_BW_KINDS;
}

static void read_peaks(struct tbp_run_environment *e, const struct tbp_plane *p, bool is_tpu,
                       enum tbp_semantics semantics) {
    if (is_tpu) {
        tpu_peaks(e, p);
    } else {
        struct tbp_device_caps c;
        tbp_device_caps_read(&c, p, semantics);
        gpu_peaks(e, p, &c);
    }
    double hbm = e->peak_gbs[TBP_BW_HBM];
    if (hbm != 0) {
        e->ridge_point = e->peak_tflops * 1000 / hbm;
    } else {
        e->ridge_point = e->peak_tflops == 0 ? NAN : INFINITY;
    }
}

static void read_device_type(struct tbp_run_environment *e, struct tbp_host *h, struct tbp_arena *a,
                             enum tbp_semantics semantics) {
    const struct tbp_plane *first_gpu = NULL, *first_core = NULL;
    size_t n_gpus = 0, n_cores = 0;
    for (size_t i = 0; i < h->n_planes; i++) {
        const struct tbp_plane *p = &h->planes[i];
        int64_t ordinal;
        if (tbp_is_gpu_plane(p->name)) {
            struct tbp_device_caps c;
            tbp_device_caps_read(&c, p, semantics);
            if (c.vendor_repaired) {
                tbp_ledger_count(&h->ledger, TBP_LEDGER_REPAIR_VENDOR, 1, TBP_NO_OFFSET);
            }
            if (n_gpus++ == 0) {
                first_gpu = p;
                e->device_type = model_of(&c, a);
            }
        } else if (tbp_is_tensor_core_plane(p->name, &ordinal) && n_cores++ == 0) {
            first_core = p;
        }
    }
    struct tbp_stat s;
    e->core_count = first_gpu ? n_gpus : n_cores;
    if (first_gpu) {
        e->hardware = TBP_HARDWARE_GPU;
    } else if (first_core) {
        bool is_told = tbp_plane_stat(first_core, TBP_STAT_DEVICE_TYPE_STRING, &s);
        e->device_type = is_told ? tbp_stat_s(&s) : TBP_STR_NONE;
        e->hardware = TBP_HARDWARE_TPU;
    } else {
        e->device_type = TBP_STR("CPU");
        e->hardware = TBP_HARDWARE_CPU_ONLY;
    }
}

static int environment_of_host(struct tbp_session *s, uint32_t host, struct tbp_arena *out,
                               void **table, struct tbp_error *err) {
    struct tbp_host *h = tbp_session_host(s, host, err);
    if (!h) {
        return tbp_cause(err, "while reading the run environment");
    }
    const struct tbp_hlo_table *hlo = tbp_hlo(s, host, err);
    if (!hlo) {
        return tbp_cause(err, "while reading the run environment");
    }
    struct tbp_run_environment *e = TBP_NEW(out, struct tbp_run_environment);
    const struct tbp_plane **planes;
    bool are_tpu;
    read_device_type(e, h, out, tbp_session_semantics(s));
    if (tbp_device_planes(h, out, &planes, &are_tpu) > 0) {
        read_peaks(e, planes[0], are_tpu, tbp_session_semantics(s));
    }
    struct tbp_str *hostname = TBP_NEW(out, struct tbp_str);
    *hostname = h->n_hostnames > 0 ? h->hostnames[0] : TBP_STR("localhost");
    e->n_hosts = e->n_tasks = 1;
    e->hostnames = hostname;
    e->n_hostnames = 1;
    e->is_training = tbp_hlo_is_training(hlo);
    const struct tbp_plane *cpu = tbp_host_plane(h, TBP_HOST_PLANE);
    if (cpu) {
        e->mxu_percent = plane_double(cpu, "matrix_unit_utilization_percent");
        e->hbm_percent = plane_double(cpu, "hbm_utilization_percent");
    }
    *table = e;
    return TBP_OK;
}

static void add_hostname(struct tbp_run_environment *e, struct tbp_str *names,
                         struct tbp_str name) {
    for (size_t i = 0; i < e->n_hostnames; i++) {
        if (tbp_str_eq(names[i], name)) {
            return;
        }
    }
    names[e->n_hostnames++] = name;
}

static void add_host(struct tbp_run_environment *all, const struct tbp_run_environment *e) {
    if (!tbp_str_is(e->device_type, "CPU") && !tbp_str_is(e->device_type, "Device")) {
        all->device_type = e->device_type;
        all->core_count += e->core_count;
    } else if (all->device_type.n == 0) {
        all->device_type = e->device_type;
    }
    all->hardware = e->hardware > all->hardware ? e->hardware : all->hardware;
    all->n_hosts += e->n_hosts;
    all->n_tasks += e->n_tasks;
    all->is_training = e->is_training;
    if (e->peak_tflops > 0) {
        all->peak_tflops = e->peak_tflops;
    }
    if (e->ridge_point > 0) {
        all->ridge_point = e->ridge_point;
    }
    if (all->n_peak_gbs == 0) {
        all->n_peak_gbs = e->n_peak_gbs;
        memcpy(all->peak_gbs, e->peak_gbs, sizeof all->peak_gbs);
    }
    all->mxu_percent += e->mxu_percent;
    all->hbm_percent += e->hbm_percent;
}

static int environment_of_all(struct tbp_session *s, struct tbp_arena *out, void **table,
                              struct tbp_error *err) {
    uint32_t n = tbp_session_n_hosts(s);
    struct tbp_run_environment *all = TBP_NEW(out, struct tbp_run_environment);
    struct tbp_str *names = TBP_NEW_N(out, struct tbp_str, n);
    all->device_type = TBP_STR_NONE;
    all->hostnames = names;
    for (uint32_t i = 0; i < n; i++) {
        const struct tbp_run_environment *e = tbp_run_environment(s, i, err);
        if (!e) {
            return tbp_cause(err, "while reading host %u", (unsigned)i);
        }
        if (n == 1) {
            *table = (void *)(uintptr_t)e;
            return TBP_OK;
        }
        add_host(all, e);
        add_hostname(all, names, e->hostnames[0]);
    }
    all->mxu_percent /= n;
    all->hbm_percent /= n;
    *table = all;
    return TBP_OK;
}

const struct tbp_analysis tbp_analysis_run_environment = {
    .name = "run_environment",
    .help = "device type, counts and peak rates",
    .counts = true,
    .host = environment_of_host,
    .all = environment_of_all,
};

const struct tbp_run_environment *tbp_run_environment(struct tbp_session *s, uint32_t host,
                                                      struct tbp_error *err) {
    return tbp_session_table(s, &tbp_analysis_run_environment, host, err);
}
