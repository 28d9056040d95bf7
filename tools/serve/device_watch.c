/* SPDX-License-Identifier: MIT */
#include "tools/serve/device_watch.h"

#include "lib/client/admin/admin_link.h"
#include "lib/wait/clock.h"
#include "proto/base/bits.h"
#include "proto/base/time_units.h"
#include "tools/rnicctl/row_kinds.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

enum { ROWS_YOUNG_MS = 250 }; /* several pages share one reading */

struct device_watch {
	const char *socket;
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t asked, answered;
	bool is_reading; /* asked for, or under way */
	bool is_overdue; /* somebody waited for this reading, and got nothing */
	uint64_t asked_ns;
	char *text; /* the last reading's, NULL before the first; and when that ended */
	uint64_t text_ns;
};

/* What the page has a place for. */
static const uint32_t kinds_shown[] = {
	RNIC_SHOW_DEVICE, RNIC_SHOW_CLIENTS,  RNIC_SHOW_QPS,	  RNIC_SHOW_PATHS,
	RNIC_SHOW_FAULTS, RNIC_SHOW_TROUBLES, RNIC_SHOW_COUNTERS,
};

/* ---- reading ---- */

static int watch_add_kind(json_t *device, struct admin_link *link, const struct row_kind *kind)
{
	size_t count;
	void *rows;
	int error = admin_link_show(link, kind->kind, kind->row_bytes, &rows, &count);

	if (error)
		return error;
	json_object_set_new(device, kind->name, row_json(kind, rows, count));
	free(rows);
	return 0;
}

/* Asks the daemon; takes as long as admin_link.h says. NULL when memory is short. */
static char *watch_read_daemon(const char *socket)
{
	json_t *device = json_pack("{s:s}", "socket", socket);
	struct admin_link link;
	int error = admin_link_open(&link, socket, "rnicctl");
	char *text;

	if (!error) {
		for (size_t i = 0; i < RNIC_COUNT_OF(kinds_shown) && !error; i++)
			error = watch_add_kind(device, &link, row_kind_of(kinds_shown[i]));
		admin_link_close(&link);
	}
	if (error)
		json_object_set_new(device, "error", json_string(link.reason));
	else
		json_object_set_new(device, "time_ms",
				    json_integer((json_int_t)(clock_now_ns() / RNIC_NS_PER_MS)));
	text = device ? json_dumps(device, JSON_COMPACT) : NULL;
	json_decref(device);
	return text;
}

static void *device_watch_run(void *context)
{
	struct device_watch *watch = context;

	pthread_mutex_lock(&watch->lock);
	for (;;) {
		while (!watch->is_reading)
			pthread_cond_wait(&watch->asked, &watch->lock);
		pthread_mutex_unlock(&watch->lock);
		char *text = watch_read_daemon(watch->socket);
		pthread_mutex_lock(&watch->lock);
		free(watch->text);
		watch->text = text;
		watch->text_ns = clock_now_ns();
		watch->is_reading = watch->is_overdue = false;
		pthread_cond_broadcast(&watch->answered);
	}
	return NULL;
}

int device_watch_start(struct device_watch **out, const char *socket)
{
	struct device_watch *watch = calloc(1, sizeof(*watch));
	pthread_condattr_t monotonic;
	pthread_t thread;
	int error;

	if (!watch)
		return -ENOMEM;
	watch->socket = socket;
	pthread_mutex_init(&watch->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&watch->asked, &monotonic);
	pthread_cond_init(&watch->answered, &monotonic);
	pthread_condattr_destroy(&monotonic);
	error = pthread_create(&thread, NULL, device_watch_run, watch);
	if (error) {
		free(watch);
		return -error;
	}
	pthread_detach(thread);
	*out = watch;
	return 0;
}

/* ---- asking ---- */

const char *device_watch_socket(const struct device_watch *watch)
{
	return watch->socket;
}

void device_watch_ask(struct device_watch *watch)
{
	uint64_t now_ns = clock_now_ns();

	pthread_mutex_lock(&watch->lock);
	if (!watch->is_reading &&
	    (!watch->text || now_ns - watch->text_ns > ROWS_YOUNG_MS * RNIC_NS_PER_MS)) {
		watch->is_reading = true;
		watch->asked_ns = now_ns;
		pthread_cond_signal(&watch->asked);
	}
	pthread_mutex_unlock(&watch->lock);
}

static void write_silence(const struct device_watch *watch, FILE *to)
{
	uint64_t seconds = (clock_now_ns() - watch->asked_ns) / RNIC_NS_PER_SECOND;
	json_t *device = json_pack("{s:s, s:o}", "socket", watch->socket, "error",
				   json_sprintf("rnicd has not answered for %d s", (int)seconds));

	json_dumpf(device, to, JSON_COMPACT);
	json_decref(device);
}

void device_watch_write(struct device_watch *watch, uint64_t until_ns, FILE *to)
{
	const struct timespec until = {
		.tv_sec = (time_t)(until_ns / RNIC_NS_PER_SECOND),
		.tv_nsec = (long)(until_ns % RNIC_NS_PER_SECOND),
	};

	pthread_mutex_lock(&watch->lock);
	while (watch->is_reading && !watch->is_overdue)
		if (pthread_cond_timedwait(&watch->answered, &watch->lock, &until) == ETIMEDOUT)
			watch->is_overdue = watch->is_reading;
	if (watch->is_reading)
		write_silence(watch, to);
	else
		fputs(watch->text ? watch->text : "{\"error\":\"memory is short\"}", to);
	pthread_mutex_unlock(&watch->lock);
}
