/* Where warps wait, instruction by instruction: CUPTI's PC sampling, driven from Python (samples.py).
 *
 * samples_open(context, log2 of the period in cycles) ; launches ; samples_collect() after they have
 * ended ; samples_row() for each that it found.
 */
#include <cuda.h>
#include <cupti_pcsampling.h>
#include <stdlib.h>
#include <string.h>

#include <string>
#include <vector>

#include "cupti_failure.h"

struct Row {
    std::string kernel;
    uint64_t offset;
    uint32_t reason, samples;
};

static CUcontext sampled;
static std::vector<std::string> reasons;
static std::vector<Row> rows;
static uint64_t lost; /* samples for which there was no room, since the last samples_collect() */

/* Places for the records of so many instructions, with all reasons. */
struct Places {
    static const size_t most = 8192;
    std::vector<CUpti_PCSamplingPCData> places{most};
    std::vector<std::vector<CUpti_PCSamplingStallReason>> counts{most};
    CUpti_PCSamplingData found = {};
    explicit Places(size_t reasons) {
        for (size_t i = 0; i < most; i++) {
            counts[i].resize(reasons);
            places[i] = {};
            places[i].size = sizeof places[i];
            places[i].stallReason = counts[i].data();
        }
        found.size = sizeof found;
        found.collectNumPcs = most;
        found.pPcData = places.data();
    }
};
static Places *given_places; /* CUPTI's, as long as it samples */

#define PARAMS(type, name) \
    type##Params name = {}; \
    name.size = type##ParamsSize; \
    name.ctx = sampled

extern "C" {

const char *samples_failure(void) { return failure; }

/* Enables sampling of kernels one at a time; returns the number of reasons, or a negative status. */
int samples_open(CUcontext context, uint32_t log2_period) {
    sampled = context;
    PARAMS(CUpti_PCSamplingEnable, enable);
    TRY(cuptiPCSamplingEnable(&enable));
    size_t count = 0;
    PARAMS(CUpti_PCSamplingGetNumStallReasons, number);
    number.numStallReasons = &count;
    TRY(cuptiPCSamplingGetNumStallReasons(&number));
    std::vector<uint32_t> indices(count);
    std::vector<char *> names(count);
    for (char *&name : names) name = (char *)calloc(1, CUPTI_STALL_REASON_STRING_SIZE);
    PARAMS(CUpti_PCSamplingGetStallReasons, named);
    named.numStallReasons = count;
    named.stallReasonIndex = indices.data();
    named.stallReasons = names.data();
    TRY(cuptiPCSamplingGetStallReasons(&named));
    reasons.clear();
    for (size_t i = 0; i < count; i++) {
        if (reasons.size() <= indices[i]) reasons.resize(indices[i] + 1);
        reasons[indices[i]] = names[i];
        free(names[i]);
    }
    given_places = new Places(reasons.size());
    CUpti_PCSamplingConfigurationInfo config[5] = {};
    config[0].attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD;
    config[0].attributeData.samplingPeriodData.samplingPeriod = log2_period;
    config[1].attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE;
    config[1].attributeData.collectionModeData.collectionMode =
        CUPTI_PC_SAMPLING_COLLECTION_MODE_KERNEL_SERIALIZED;
    config[2].attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_HARDWARE_BUFFER_SIZE;
    config[2].attributeData.hardwareBufferSizeData.hardwareBufferSize = (size_t)1 << 30;
    config[3].attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_STALL_REASON;
    config[3].attributeData.stallReasonData.stallReasonCount = count;
    config[3].attributeData.stallReasonData.pStallReasonIndex = indices.data();
    config[4].attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER;
    config[4].attributeData.samplingDataBufferData.samplingDataBuffer = &given_places->found;
    PARAMS(CUpti_PCSamplingConfigurationInfo, given);
    given.numAttributes = 5;
    given.pPCSamplingConfigurationInfo = config;
    TRY(cuptiPCSamplingSetConfigurationAttribute(&given));
    return (int)reasons.size();
}

const char *samples_reason(size_t index) { return reasons[index].c_str(); }

/* Gathers what was sampled since the last call; returns the number of rows, or a negative status. */
int samples_collect(void) {
    rows.clear();
    lost = 0;
    for (;;) {
        Places taken(reasons.size());
        PARAMS(CUpti_PCSamplingGetData, get);
        get.pcSamplingData = &taken.found;
        TRY(cuptiPCSamplingGetData(&get));
        lost += taken.found.droppedSamples;
        for (size_t i = 0; i < taken.found.totalNumPcs && i < Places::most; i++) {
            const CUpti_PCSamplingPCData &at = taken.places[i];
            for (size_t r = 0; r < at.stallReasonCount; r++)
                if (at.stallReason[r].samples)
                    rows.push_back({at.functionName ? at.functionName : "", at.pcOffset,
                                    at.stallReason[r].pcSamplingStallReasonIndex,
                                    at.stallReason[r].samples});
        }
        if (!taken.found.remainingNumPcs) break;
    }
    return (int)rows.size();
}

const char *samples_row(size_t index, uint64_t *offset, uint32_t *reason, uint32_t *samples) {
    const Row &row = rows[index];
    *offset = row.offset;
    *reason = row.reason;
    *samples = row.samples;
    return row.kernel.c_str();
}

uint64_t samples_lost(void) { return lost; }

} /* extern "C" */
