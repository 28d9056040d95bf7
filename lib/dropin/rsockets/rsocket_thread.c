/* SPDX-License-Identifier: MIT */
/* Threads of the library's own. */
#include "lib/dropin/rsockets/rsocket_objects.h"

#include <signal.h>

int rnic_rsocket_start_thread(void *(*run)(void *))
{
	pthread_attr_t attributes;
	sigset_t all, before;
	pthread_t thread;
	int error;

	sigfillset(&all);
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	error = pthread_create(&thread, &attributes, run, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return -error;
}
