/* SPDX-License-Identifier: Apache-2.0
 *
 * Streams and events.
 */
#include "softgpu/runtime/rt.h"

#include <stdlib.h>

static cudaError_t create(cudaStream_t *ret, unsigned flags)
{
	if (!ret)
		return cudaErrorInvalidValue;
	return RT_DRIVER(cuStreamCreate(ret, flags));
}

RT_API(cudaStreamCreate, v3020, (cudaStream_t * pStream), (pStream))
{
	return create(pStream, CU_STREAM_DEFAULT);
}

RT_API(cudaStreamCreateWithFlags, v5000, (cudaStream_t * pStream, unsigned int flags),
	(pStream, flags))
{
	return create(pStream, flags);
}

RT_API(cudaStreamCreateWithPriority, v5050,
	(cudaStream_t * pStream, unsigned int flags, int priority), (pStream, flags, priority))
{
	if (!pStream)
		return cudaErrorInvalidValue;
	return RT_DRIVER(cuStreamCreateWithPriority(pStream, flags, priority));
}

RT_API(cudaStreamDestroy, v5050, (cudaStream_t stream), (stream))
{
	if (!stream || stream == cudaStreamLegacy || stream == cudaStreamPerThread)
		return cudaErrorInvalidResourceHandle;
	return RT_DRIVER(cuStreamDestroy(stream));
}

RT_API_PT(cudaStreamSynchronize, v3020, ptsz, v7000, (cudaStream_t stream), (stream))
{
	return RT_DRIVER(cuStreamSynchronize(rt_stream(stream, def)));
}

RT_API_PT(cudaStreamQuery, v3020, ptsz, v7000, (cudaStream_t stream), (stream))
{
	return RT_DRIVER(cuStreamQuery(rt_stream(stream, def)));
}

RT_API_PT(cudaStreamWaitEvent, v3020, ptsz, v7000,
	(cudaStream_t stream, cudaEvent_t event, unsigned int flags), (stream, event, flags))
{
	return RT_DRIVER(cuStreamWaitEvent(rt_stream(stream, def), event, flags));
}

RT_API_PT(cudaStreamGetFlags, v5050, ptsz, v7000, (cudaStream_t hStream, unsigned int *flags),
	(hStream, flags))
{
	return RT_DRIVER(cuStreamGetFlags(rt_stream(hStream, def), flags));
}

RT_API_PT(cudaStreamGetPriority, v5050, ptsz, v7000, (cudaStream_t hStream, int *priority),
	(hStream, priority))
{
	return RT_DRIVER(cuStreamGetPriority(rt_stream(hStream, def), priority));
}

RT_API_PT(cudaStreamGetId, v12000, ptsz, v12000,
	(cudaStream_t hStream, unsigned long long *streamId), (hStream, streamId))
{
	return RT_DRIVER(cuStreamGetId(rt_stream(hStream, def), streamId));
}

RT_API_PT(cudaStreamGetDevice, v12080, ptsz, v12080, (cudaStream_t hStream, int *device),
	(hStream, device))
{
	if (!device)
		return cudaErrorInvalidValue;
	RT_TRY(rt_init());
	*device = rt_device();
	return cudaSuccess;
}

RT_FORWARD_PT(cudaStreamSetAttribute, v11000, ptsz, v11000,
	(cudaStream_t hStream, cudaStreamAttrID attr, const cudaStreamAttrValue *value),
	(hStream, attr, value),
	cuStreamSetAttribute(
		rt_stream(hStream, def), (CUstreamAttrID)attr, (const CUstreamAttrValue *)value))

RT_FORWARD_PT(cudaStreamGetAttribute, v11000, ptsz, v11000,
	(cudaStream_t hStream, cudaStreamAttrID attr, cudaStreamAttrValue *value_out),
	(hStream, attr, value_out),
	cuStreamGetAttribute(
		rt_stream(hStream, def), (CUstreamAttrID)attr, (CUstreamAttrValue *)value_out))

RT_FORWARD_PT(cudaStreamCopyAttributes, v11000, ptsz, v11000, (cudaStream_t dst, cudaStream_t src),
	(dst, src), cuStreamCopyAttributes(rt_stream(dst, def), rt_stream(src, def)))

/* --- callbacks --- */

struct callback {
	cudaStreamCallback_t fn;
	cudaStream_t stream;
	void *user;
};

static void CUDA_CB run_callback(CUstream stream, CUresult status, void *data)
{
	struct callback c = *(struct callback *)data;

	free(data);
	c.fn(c.stream, rt_error(status), c.user);
}

/* The program's callback takes a cudaError_t, so the driver calls this function, which calls it. */
RT_API_PT(cudaStreamAddCallback, v5000, ptsz, v7000,
	(cudaStream_t stream, cudaStreamCallback_t callback, void *userData, unsigned int flags),
	(stream, callback, userData, flags))
{
	struct callback *c;
	CUresult r;

	if (!callback || flags)
		return cudaErrorInvalidValue;
	RT_TRY(rt_init());
	c = malloc(sizeof *c);
	if (!c)
		return cudaErrorMemoryAllocation;
	*c = (struct callback){callback, stream, userData};
	r = cuStreamAddCallback(rt_stream(stream, def), run_callback, c, 0);
	if (r)
		free(c);
	return rt_error(r);
}

/* --- events --- */

static cudaError_t event_create(cudaEvent_t *ret, unsigned flags)
{
	if (!ret)
		return cudaErrorInvalidValue;
	return RT_DRIVER(cuEventCreate(ret, flags));
}

RT_API(cudaEventCreate, v3020, (cudaEvent_t * event), (event))
{
	return event_create(event, CU_EVENT_DEFAULT);
}

RT_API(cudaEventCreateWithFlags, v3020, (cudaEvent_t * event, unsigned int flags), (event, flags))
{
	return event_create(event, flags);
}

RT_API(cudaEventDestroy, v3020, (cudaEvent_t event), (event))
{
	return RT_DRIVER(cuEventDestroy(event));
}

RT_API_PT(cudaEventRecord, v3020, ptsz, v7000, (cudaEvent_t event, cudaStream_t stream),
	(event, stream))
{
	return RT_DRIVER(cuEventRecord(event, rt_stream(stream, def)));
}

RT_API_PT(cudaEventRecordWithFlags, v11010, ptsz, v11010,
	(cudaEvent_t event, cudaStream_t stream, unsigned int flags), (event, stream, flags))
{
	return RT_DRIVER(cuEventRecordWithFlags(event, rt_stream(stream, def), flags));
}

RT_API(cudaEventQuery, v3020, (cudaEvent_t event), (event))
{
	return RT_DRIVER(cuEventQuery(event));
}

RT_API(cudaEventSynchronize, v3020, (cudaEvent_t event), (event))
{
	return RT_DRIVER(cuEventSynchronize(event));
}

RT_API(cudaEventElapsedTime, v12080, (float *ms, cudaEvent_t start, cudaEvent_t end),
	(ms, start, end))
{
	return RT_DRIVER(cuEventElapsedTime(ms, start, end));
}
