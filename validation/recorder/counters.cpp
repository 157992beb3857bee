/* Hardware counters through CUPTI's range profiler, driven from Python (see counters.py).
 *
 * One session at a time: counters_start(metrics) ; per pass counters_pass_begin(), the launch,
 * counters_pass_end() until it says that all passes are done ; counters_values().
 * Build: g++ -shared -fPIC -O1 counters.cpp -I<cupti>/include -I<cuda>/include -o counters.so
 * (libcupti.so.13 is loaded with RTLD_GLOBAL before this library.)
 */
#include <cuda.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_sass_metrics.h>
#include <cupti_target.h>
#include <stdlib.h>
#include <string.h>

#include "cupti_failure.h"

static CUpti_Profiler_Host_Object *host;
static CUpti_RangeProfiler_Object *profiler;
static uint8_t *availability, *config, *data;
static size_t config_size, data_size;

#define PARAMS(type, name) type name = {type##_STRUCT_SIZE}

extern "C" {

const char *counters_failure(void) { return failure; }

/* Prepares CUPTI for a context; writes the chip's name. */
int counters_open(CUcontext context, char *chip, size_t chip_size) {
    PARAMS(CUpti_Profiler_Initialize_Params, init);
    TRY(cuptiProfilerInitialize(&init));
    PARAMS(CUpti_Device_GetChipName_Params, name);
    TRY(cuptiDeviceGetChipName(&name));
    snprintf(chip, chip_size, "%s", name.pChipName);
    PARAMS(CUpti_Profiler_GetCounterAvailability_Params, avail);
    avail.ctx = context;
    TRY(cuptiProfilerGetCounterAvailability(&avail));
    availability = (uint8_t *)calloc(1, avail.counterAvailabilityImageSize);
    avail.pCounterAvailabilityImage = availability;
    TRY(cuptiProfilerGetCounterAvailability(&avail));
    return 0;
}

/* Schedules the metrics, enables profiling and returns the number of passes, or a negative status. */
int counters_start(CUcontext context, const char *chip, const char **metrics, size_t n) {
    PARAMS(CUpti_Profiler_Host_Initialize_Params, init);
    init.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
    init.pChipName = chip;
    init.pCounterAvailabilityImage = availability;
    TRY(cuptiProfilerHostInitialize(&init));
    host = init.pHostObject;
    PARAMS(CUpti_Profiler_Host_ConfigAddMetrics_Params, add);
    add.pHostObject = host;
    add.ppMetricNames = metrics;
    add.numMetrics = n;
    TRY(cuptiProfilerHostConfigAddMetrics(&add));
    PARAMS(CUpti_Profiler_Host_GetConfigImageSize_Params, size);
    size.pHostObject = host;
    TRY(cuptiProfilerHostGetConfigImageSize(&size));
    config_size = size.configImageSize;
    config = (uint8_t *)calloc(1, config_size);
    PARAMS(CUpti_Profiler_Host_GetConfigImage_Params, image);
    image.pHostObject = host;
    image.configImageSize = config_size;
    image.pConfigImage = config;
    TRY(cuptiProfilerHostGetConfigImage(&image));
    PARAMS(CUpti_Profiler_Host_GetNumOfPasses_Params, passes);
    passes.configImageSize = config_size;
    passes.pConfigImage = config;
    TRY(cuptiProfilerHostGetNumOfPasses(&passes));

    PARAMS(CUpti_RangeProfiler_Enable_Params, enable);
    enable.ctx = context;
    TRY(cuptiRangeProfilerEnable(&enable));
    profiler = enable.pRangeProfilerObject;
    PARAMS(CUpti_RangeProfiler_GetCounterDataSize_Params, want);
    want.pRangeProfilerObject = profiler;
    want.pMetricNames = metrics;
    want.numMetrics = n;
    want.maxNumOfRanges = 1;
    want.maxNumRangeTreeNodes = 1;
    TRY(cuptiRangeProfilerGetCounterDataSize(&want));
    data_size = want.counterDataSize;
    data = (uint8_t *)calloc(1, data_size);
    return (int)passes.numOfPasses;
}

/* Prepares an empty result image. automatic: a range is one launch; else between push and pop. */
int counters_reset(int automatic) {
    PARAMS(CUpti_RangeProfiler_CounterDataImage_Initialize_Params, image2);
    image2.pRangeProfilerObject = profiler;
    image2.counterDataSize = data_size;
    image2.pCounterData = data;
    TRY(cuptiRangeProfilerCounterDataImageInitialize(&image2));
    PARAMS(CUpti_RangeProfiler_SetConfig_Params, set);
    set.pRangeProfilerObject = profiler;
    set.configSize = config_size;
    set.pConfig = config;
    set.counterDataImageSize = data_size;
    set.pCounterDataImage = data;
    set.range = automatic ? CUPTI_AutoRange : CUPTI_UserRange;
    set.replayMode = CUPTI_UserReplay;
    set.maxRangesPerPass = 1;
    set.numNestingLevels = 1;
    set.minNestingLevel = 1;
    set.passIndex = 0;
    set.targetNestingLevel = 1;
    TRY(cuptiRangeProfilerSetConfig(&set));
    return 0;
}

/* Opens one pass: preparation of memory and caches may still follow before counters_push. */
int counters_pass_begin(void) {
    PARAMS(CUpti_RangeProfiler_Start_Params, start);
    start.pRangeProfilerObject = profiler;
    TRY(cuptiRangeProfilerStart(&start));
    return 0;
}

int counters_push(void) {
    PARAMS(CUpti_RangeProfiler_PushRange_Params, push);
    push.pRangeProfilerObject = profiler;
    push.pRangeName = "kernel";
    TRY(cuptiRangeProfilerPushRange(&push));
    return 0;
}

int counters_pop(void) {
    PARAMS(CUpti_RangeProfiler_PopRange_Params, pop);
    pop.pRangeProfilerObject = profiler;
    TRY(cuptiRangeProfilerPopRange(&pop));
    return 0;
}

/* Ends one pass; 1 when every pass has been submitted. */
int counters_pass_end(void) {
    PARAMS(CUpti_RangeProfiler_Stop_Params, stop);
    stop.pRangeProfilerObject = profiler;
    TRY(cuptiRangeProfilerStop(&stop));
    return stop.isAllPassSubmitted ? 1 : 0;
}

/* Decodes and evaluates. */
int counters_values(const char **metrics, size_t n, double *values) {
    PARAMS(CUpti_RangeProfiler_DecodeData_Params, decode);
    decode.pRangeProfilerObject = profiler;
    TRY(cuptiRangeProfilerDecodeData(&decode));
    PARAMS(CUpti_Profiler_Host_EvaluateToGpuValues_Params, evaluate);
    evaluate.pHostObject = host;
    evaluate.pCounterDataImage = data;
    evaluate.counterDataImageSize = data_size;
    evaluate.ppMetricNames = metrics;
    evaluate.numMetrics = n;
    evaluate.rangeIndex = 0;
    evaluate.pMetricValues = values;
    TRY(cuptiProfilerHostEvaluateToGpuValues(&evaluate));
    return 0;
}

/* Frees the session, whether it succeeded or not. */
void counters_stop(void) {
    if (profiler) {
        PARAMS(CUpti_RangeProfiler_Disable_Params, disable);
        disable.pRangeProfilerObject = profiler;
        cuptiRangeProfilerDisable(&disable);
        profiler = NULL;
    }
    if (host) {
        PARAMS(CUpti_Profiler_Host_Deinitialize_Params, deinit);
        deinit.pHostObject = host;
        cuptiProfilerHostDeinitialize(&deinit);
        host = NULL;
    }
    free(config);
    free(data);
    config = NULL;
    data = NULL;
}

/* --- Per-instruction counts: CUPTI patches the kernel's SASS. --- */
static uint64_t sass_ids[64];
static size_t sass_n, sass_instances;
static CUpti_SassMetrics_Data *records;

/* Enables up to 64 metrics for the next launches on device 0. */
int sass_start(CUcontext context, const char *chip, const char **metrics, size_t n) {
    CUpti_SassMetrics_Config configs[64];
    for (size_t i = 0; i < n; i++) {
        PARAMS(CUpti_SassMetrics_GetProperties_Params, query);
        query.pChipName = chip;
        query.pMetricName = metrics[i];
        TRY(cuptiSassMetricsGetProperties(&query));
        sass_ids[i] = configs[i].metricId = query.metric.metricId;
        configs[i].outputGranularity = CUPTI_SASS_METRICS_OUTPUT_GRANULARITY_GPU;
    }
    sass_n = n;
    PARAMS(CUpti_SassMetricsSetConfig_Params, set);
    set.numOfMetricConfig = n;
    set.pConfigs = configs;
    set.deviceIndex = 0;
    TRY(cuptiSassMetricsSetConfig(&set));
    PARAMS(CUpti_SassMetricsEnable_Params, enable);
    enable.ctx = context;
    enable.enableLazyPatching = 1;
    TRY(cuptiSassMetricsEnable(&enable));
    return 0;
}

/* Number of instruction records after the launches, or a negative status. */
int sass_collect(CUcontext context) {
    PARAMS(CUpti_SassMetricsGetDataProperties_Params, size);
    size.ctx = context;
    TRY(cuptiSassMetricsGetDataProperties(&size));
    size_t count = size.numOfPatchedInstructionRecords;
    sass_instances = size.numOfInstances;
    records = (CUpti_SassMetrics_Data *)calloc(count, sizeof *records);
    for (size_t i = 0; i < count; i++) {
        records[i].structSize = sizeof *records;
        records[i].pInstanceValues = (CUpti_SassMetrics_InstanceValue *)calloc(
            size.numOfInstances, sizeof(CUpti_SassMetrics_InstanceValue));
    }
    if (count == 0) return 0;
    PARAMS(CUpti_SassMetricsFlushData_Params, flush);
    flush.ctx = context;
    flush.numOfPatchedInstructionRecords = count;
    flush.numOfInstances = size.numOfInstances;
    flush.pMetricsData = records;
    TRY(cuptiSassMetricsFlushData(&flush));
    return (int)count;
}

/* One record: function name, byte offset, and one value per metric in the order of sass_start. */
const char *sass_record(size_t i, uint32_t *pc, uint64_t *values) {
    *pc = records[i].pcOffset;
    for (size_t m = 0; m < sass_n; m++)
        for (size_t k = 0; k < sass_instances; k++)
            if (records[i].pInstanceValues[k].metricId == sass_ids[m])
                values[m] = records[i].pInstanceValues[k].value;
    return records[i].functionName;
}

int sass_stop(CUcontext context) {
    PARAMS(CUpti_SassMetricsDisable_Params, disable);
    disable.ctx = context;
    cuptiSassMetricsDisable(&disable);
    PARAMS(CUpti_SassMetricsUnsetConfig_Params, unset);
    unset.deviceIndex = 0;
    cuptiSassMetricsUnsetConfig(&unset);
    return 0;
}

/* Names of the chip's per-instruction metrics, separated by newlines, into `out`. */
int sass_list(const char *chip, char *out, size_t size) {
    PARAMS(CUpti_SassMetrics_GetNumOfMetrics_Params, number);
    number.pChipName = chip;
    TRY(cuptiSassMetricsGetNumOfMetrics(&number));
    PARAMS(CUpti_SassMetrics_GetMetrics_Params, list);
    list.pChipName = chip;
    list.numOfMetrics = number.numOfMetrics;
    list.pMetricsList = (CUpti_SassMetrics_MetricDetails *)calloc(
        number.numOfMetrics, sizeof(CUpti_SassMetrics_MetricDetails));
    TRY(cuptiSassMetricsGetMetrics(&list));
    size_t used = 0;
    for (size_t i = 0; i < number.numOfMetrics; i++)
        used += (size_t)snprintf(out + used, size - used, "%s\n", list.pMetricsList[i].pMetricName);
    return (int)number.numOfMetrics;
}

/* Number of passes a list of metrics needs on a chip; needs no GPU. */
int counters_passes(const char *chip, const char **metrics, size_t n) {
    PARAMS(CUpti_Profiler_Host_Initialize_Params, init);
    init.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
    init.pChipName = chip;
    TRY(cuptiProfilerHostInitialize(&init));
    host = init.pHostObject;
    PARAMS(CUpti_Profiler_Host_ConfigAddMetrics_Params, add);
    add.pHostObject = host;
    add.ppMetricNames = metrics;
    add.numMetrics = n;
    TRY(cuptiProfilerHostConfigAddMetrics(&add));
    PARAMS(CUpti_Profiler_Host_GetConfigImageSize_Params, size);
    size.pHostObject = host;
    TRY(cuptiProfilerHostGetConfigImageSize(&size));
    config = (uint8_t *)calloc(1, size.configImageSize);
    PARAMS(CUpti_Profiler_Host_GetConfigImage_Params, image);
    image.pHostObject = host;
    image.configImageSize = size.configImageSize;
    image.pConfigImage = config;
    TRY(cuptiProfilerHostGetConfigImage(&image));
    PARAMS(CUpti_Profiler_Host_GetNumOfPasses_Params, passes);
    passes.configImageSize = size.configImageSize;
    passes.pConfigImage = config;
    TRY(cuptiProfilerHostGetNumOfPasses(&passes));
    counters_stop();
    return (int)passes.numOfPasses;
}

}  // extern "C"
