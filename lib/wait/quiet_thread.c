/* SPDX-License-Identifier: MIT */
#include "lib/wait/quiet_thread.h"

#include <limits.h>
#include <signal.h>

static int set_attributes(pthread_attr_t *attributes, size_t stack_bytes, int detach_state)
{
	const size_t least = (size_t)PTHREAD_STACK_MIN;
	int error = pthread_attr_setdetachstate(attributes, detach_state);

	if (error == 0 && stack_bytes > 0)
		error = pthread_attr_setstacksize(attributes,
						  stack_bytes > least ? stack_bytes : least);
	return -error;
}

int quiet_thread_start(pthread_t *thread, size_t stack_bytes, void *(*run)(void *), void *context)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	pthread_t started;
	int result = -pthread_attr_init(&attributes);

	if (result != 0)
		return result;
	result = set_attributes(&attributes, stack_bytes,
				thread != NULL ? PTHREAD_CREATE_JOINABLE : PTHREAD_CREATE_DETACHED);
	if (result == 0) {
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &before);
		result = -pthread_create(&started, &attributes, run, context);
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	}
	if (result == 0 && thread != NULL)
		*thread = started;
	pthread_attr_destroy(&attributes);
	return result;
}
