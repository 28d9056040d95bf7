/* SPDX-License-Identifier: MIT */
#include "daemon/device/sigbus_guard.h"

#include "daemon/device/queues/session_queues.h"
#include "daemon/device/session/session.h"
#include "daemon/device/session/session_set.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE_BYTES 4096

static struct {
	struct session_set *set; /* NULL: SIGBUS is not handled */
	int page_fd;		 /* a memfd of one page, which is allocated */
} watched;

static bool region_holds(const struct shared_region *region, const uint8_t *address)
{
	const uint8_t *start = region->address;

	return start != NULL && address >= start && (uint64_t)(address - start) < region->bytes;
}

/*
 * Returns whether an object of the table has the address in its region. The region is at
 * `region_offset` in the object.
 */
static bool table_holds(const struct handle_table *table, size_t region_offset,
			const uint8_t *address)
{
	const uint8_t *object;

	for (uint32_t slot = 0; (object = handle_table_next(table, &slot)) != NULL;)
		if (region_holds((const void *)(object + region_offset), address))
			return true;
	return false;
}

static bool session_holds(const struct session *session, const uint8_t *address)
{
	return region_holds(&session->region, address) || region_holds(&session->status, address) ||
	       region_holds(&session->newest, address) ||
	       mapped_files_hold(&session->files, address) ||
	       table_holds(&session->queue_regions, offsetof(struct session_queue_region, region),
			   address) ||
	       table_holds(&session->cqs, offsetof(struct session_cq, region), address) ||
	       table_holds(&session->srqs, offsetof(struct session_srq, region), address);
}

static struct session *find_holder(const uint8_t *address)
{
	struct list *node;

	list_for_each (node, &watched.set->sessions) {
		struct session *session = list_entry(node, struct session, node);

		if (session_holds(session, address))
			return session;
	}
	return NULL;
}

static void handle(int number, siginfo_t *info, void *context)
{
	uint8_t *page = (uint8_t *)((uintptr_t)info->si_addr & ~(uintptr_t)(PAGE_BYTES - 1));
	struct session *holder = find_holder(page);
	const int error = errno;

	(void)context;
	if (holder == NULL || mmap(page, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
				   watched.page_fd, 0) == MAP_FAILED) {
		signal(number, SIG_DFL); /* the access repeats and ends the process */
		return;
	}
	/* The page may hold data that the daemon wrote into it for another client. */
	memset(page, 0, PAGE_BYTES);
	holder->has_sigbus = true;
	watched.set->has_sigbus = true;
	errno = error;
}

int sigbus_guard_watch(struct session_set *set)
{
	const struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO};
	static const uint8_t zeros[PAGE_BYTES];
	ssize_t written;
	int result;

	watched.page_fd = memfd_create("rnic-lost", MFD_CLOEXEC);
	if (watched.page_fd < 0)
		return -errno;
	written = write(watched.page_fd, zeros, sizeof(zeros));
	if (written != (ssize_t)sizeof(zeros)) {
		result = written < 0 ? -errno : -ENOSPC;
		goto close_page;
	}
	watched.set = set;
	if (sigaction(SIGBUS, &action, NULL) != 0) {
		result = -errno;
		goto close_page;
	}
	return 0;

close_page:
	watched.set = NULL;
	close(watched.page_fd);
	return result;
}

void sigbus_guard_unwatch(void)
{
	signal(SIGBUS, SIG_DFL);
	watched.set = NULL;
	close(watched.page_fd);
}

void sigbus_guard_break(struct session_set *set)
{
	struct list *node;

	if (!set->has_sigbus)
		return;
	set->has_sigbus = false;
	list_for_each (node, &set->sessions) {
		struct session *session = list_entry(node, struct session, node);

		if (session->has_sigbus)
			session_break(session, "memory that it shares with us cannot be had; is "
					       "vm.overcommit_memory 2?");
		session->has_sigbus = false;
	}
}
