/* SPDX-License-Identifier: MIT */
#include "daemon/control/view/device_view.h"

#include "daemon/control/view/pci_listings.h"
#include "lib/wait/clock.h"
#include "proto/base/path_view.h"
#include "proto/base/time_units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#define VIEW_NUMBER_BYTES 24

static const char *const folders[VIEW_COUNTER_FOLDERS] = {
	[VIEW_COUNTERS] = "counters",
	[VIEW_HW_COUNTERS] = "hw_counters",
};

static int view_put(void *context, enum view_entry entry, const char *path, const char *text)
{
	const struct view_tree *tree = context;

	switch (entry) {
	case VIEW_DIRECTORY:
		return view_tree_add_directory(tree, path);
	case VIEW_TEXT:
		return view_tree_add_text(tree, path, text);
	case VIEW_LINK:
		return view_tree_add_link(tree, path, text);
	case VIEW_ABSENT:
		return view_tree_drop(tree, path);
	}
	return -EINVAL;
}

/* NULL: the file system maps nothing for writing. */
static void *view_map(int fd)
{
	void *mapped = mmap(NULL, VIEW_NUMBER_BYTES, PROT_WRITE, MAP_SHARED, fd, 0);

	return mapped == MAP_FAILED ? NULL : mapped;
}

static int view_add_counter(struct device_view *view, enum view_counter_folder folder,
			    const struct view_counter *counter)
{
	char path[VIEW_COUNTER_PATH_BYTES], text[VIEW_NUMBER_BYTES];
	int length = snprintf(text, sizeof(text), "%" PRIu64 "\n", counter->value);
	int fd;

	if (view->counter_count == VIEW_COUNTERS_MAX)
		return -ENOSPC;
	view_counter_path(&view->config.facts, folders[folder], counter->name, path);
	fd = view_tree_add_open(&view->tree, path, text);
	if (fd < 0)
		return fd;
	view->counters[view->counter_count].fd = fd;
	view->counters[view->counter_count].mapped = view_map(fd);
	view->counters[view->counter_count].written = counter->value;
	view->counters[view->counter_count++].length = (uint32_t)length;
	return 0;
}

static int view_add_counters(struct device_view *view)
{
	const struct view_config *config = &view->config;
	char path[VIEW_COUNTER_PATH_BYTES], text[VIEW_NUMBER_BYTES];
	struct view_counter counter;
	int error;

	for (enum view_counter_folder folder = 0; folder < VIEW_COUNTER_FOLDERS; folder++) {
		for (uint32_t i = 0; config->counter(config->context, folder, i, &counter); i++) {
			error = view_add_counter(view, folder, &counter);
			if (error != 0)
				return error;
		}
	}
	view_counter_path(&config->facts, folders[VIEW_HW_COUNTERS], "lifespan", path);
	snprintf(text, sizeof(text), "%" PRIu64 "\n", VIEW_PERIOD_NS / RNIC_NS_PER_MS);
	return view_tree_add_text(&view->tree, path, text);
}

int device_view_follow(struct device_view *view)
{
	return view_content(&view->config.facts, view_put, &view->tree);
}

int device_view_open(struct device_view *view, const struct view_config *config,
		     char reason[VIEW_TREE_REASON_BYTES])
{
	char path[VIEW_TREE_PATH_BYTES];
	int error;

	*view = (struct device_view){.config = *config, .due_ns = UINT64_MAX};
	snprintf(path, sizeof(path), "%.108s%s", config->socket_path, RNIC_VIEW_SUFFIX);
	error = view_tree_create(&view->tree, path, config->mode, reason);
	if (error != 0)
		return error;
	error = device_view_follow(view);
	if (error == 0 && config->facts.pci != NULL)
		error = pci_listings_add(&view->tree);
	if (error == 0)
		error = view_add_counters(view);
	if (error == 0)
		return 0;
	snprintf(reason, VIEW_TREE_REASON_BYTES, "cannot write the path view %s: %s", path,
		 strerror(-error));
	device_view_close(view);
	return error;
}

void device_view_close(struct device_view *view)
{
	for (uint32_t i = 0; i < view->counter_count; i++) {
		close(view->counters[i].fd);
		if (view->counters[i].mapped != NULL)
			munmap(view->counters[i].mapped, VIEW_NUMBER_BYTES);
	}
	view_tree_remove(&view->tree);
}

/*
 * Stores a number that is as long as the one before. The kernel copies it as it would to another
 * process: a file that its owner has cut makes the call fail, where a store would end the daemon.
 */
static bool view_store(struct device_view *view, uint32_t index, char *text, uint32_t length)
{
	const struct iovec from = {text, length};
	const struct iovec to = {view->counters[index].mapped, length};

	return view->counters[index].mapped != NULL && length == view->counters[index].length &&
	       process_vm_writev(getpid(), &from, 1, &to, 1, 0) == (ssize_t)length;
}

/* The next refresh repeats a failed write, for example on a full file system. */
static bool view_write(struct device_view *view, uint32_t index, const char *text, uint32_t length)
{
	const int fd = view->counters[index].fd;
	const uint64_t began_ns = clock_thread_ns();
	const bool is_done =
		pwrite(fd, text, length, 0) == (ssize_t)length &&
		(length >= view->counters[index].length || ftruncate(fd, (off_t)length) == 0);

	view->writes_cost_ns += clock_thread_ns() - began_ns;
	return is_done;
}

/* Whether a number may be written now; false: watches have made writes long, so it waits. */
static bool view_may_write(struct device_view *view, uint64_t now_ns)
{
	if (now_ns < view->writes_due_ns)
		return false;
	if (view->writes_cost_ns < VIEW_WRITES_NS)
		return true;
	view->writes_due_ns = now_ns + view->writes_cost_ns * VIEW_WRITES_PARTS;
	view->writes_cost_ns = 0;
	return false;
}

static void view_renew_counter(struct device_view *view, uint32_t index, uint64_t value,
			       uint64_t now_ns)
{
	char text[VIEW_NUMBER_BYTES];
	uint32_t length;

	if (view->counters[index].written == value)
		return;
	length = (uint32_t)snprintf(text, sizeof(text), "%" PRIu64 "\n", value);
	if (!view_store(view, index, text, length)) {
		if (!view_may_write(view, now_ns)) {
			if (view->due_ns > view->writes_due_ns)
				view->due_ns = view->writes_due_ns;
			return;
		}
		if (!view_write(view, index, text, length))
			return;
	}
	view->counters[index].written = value;
	view->counters[index].length = length;
}

void device_view_refresh(struct device_view *view, uint64_t now_ns)
{
	const struct view_config *config = &view->config;
	struct view_counter counter;
	uint32_t index = 0;

	if (view->due_ns > now_ns)
		return;
	view->due_ns = UINT64_MAX;
	view->paid_ns = (view->paid_ns > now_ns ? view->paid_ns : now_ns) + VIEW_HASTE_NS;
	for (enum view_counter_folder folder = 0; folder < VIEW_COUNTER_FOLDERS; folder++)
		for (uint32_t i = 0; config->counter(config->context, folder, i, &counter); i++)
			view_renew_counter(view, index++, counter.value, now_ns);
}
