/* SPDX-License-Identifier: MIT */
#include "tools/rnicctl/ended_troubles.h"

#include "lib/client/native/socket_list.h"
#include "proto/base/causes.h"
#include "tools/rnicctl/row_kinds.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The end of the log that is read: more than ENDED_TROUBLES_MAX lines of troubles and others. */
#define ENDED_LOG_BYTES (256 * 1024)

#define LOG_PREFIX "rnicd: "

/* Copies `length` bytes of a line into a text of `room` bytes with its final zero. */
static bool ended_copy(char *text, size_t room, const char *from, size_t length)
{
	if (length >= room)
		return false;
	memcpy(text, from, length);
	text[length] = '\0';
	return true;
}

/* Takes " (CAUSE)" off the end of a reason. The log of an older daemon names no causes. */
static size_t ended_cut_cause(const char *reason, uint32_t *cause)
{
	const size_t length = strlen(reason);
	const char *bracket = strrchr(reason, '(');
	const struct rnic_cause_row *row;

	if (bracket == NULL || bracket == reason || bracket[-1] != ' ' || reason[length - 1] != ')')
		return length;
	row = rnic_cause_named(bracket + 1, (size_t)(reason + length - 1 - (bracket + 1)));
	if (row == NULL)
		return length;
	*cause = row->code;
	return (size_t)(bracket - 1 - reason);
}

/*
 * Takes a line of trouble_log_note(): PROGRAM (pid N, user N), SUBJECT: REASON (CAUSE). A subject
 * may have an IPv6 address, but no colon before a space.
 */
static bool ended_parse(const char *line, struct rnic_show_trouble *row)
{
	const char *who = strstr(line, " (pid "), *subject, *colon;
	int used = 0;

	*row = (struct rnic_show_trouble){0};
	if (who == NULL || strncmp(line, LOG_PREFIX, strlen(LOG_PREFIX)) != 0)
		return false;
	line += strlen(LOG_PREFIX);
	if (who < line ||
	    sscanf(who, " (pid %9u, user %10u), %n", &row->pid, &row->uid, &used) != 2 || used == 0)
		return false;
	subject = who + used;
	colon = strstr(subject, ": ");
	return colon != NULL &&
	       ended_copy(row->reason, sizeof(row->reason), colon + 2,
			  ended_cut_cause(colon + 2, &row->cause)) &&
	       ended_copy(row->program, sizeof(row->program), line, (size_t)(who - line)) &&
	       ended_copy(row->subject, sizeof(row->subject), subject, (size_t)(colon - subject));
}

/* Opens the log when it is this user's alone to write; root reads those of all. */
static int ended_open(const char *path, off_t *bytes)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat status;

	if (fd < 0)
		return errno == ELOOP ? -EACCES : -errno;
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 1 &&
	    (status.st_uid == geteuid() || geteuid() == 0)) {
		*bytes = status.st_size;
		return fd;
	}
	close(fd);
	return -EACCES;
}

/* Reads the end of the log into `text`, which the caller frees. Returns the number of bytes. */
static ssize_t ended_read_text(const char *path, char **text)
{
	off_t bytes = 0;
	int fd = ended_open(path, &bytes);
	ssize_t length = -ENOMEM;

	if (fd < 0)
		return fd;
	*text = malloc(ENDED_LOG_BYTES);
	if (*text == NULL)
		goto close_log;
	length = pread(fd, *text, ENDED_LOG_BYTES,
		       bytes > ENDED_LOG_BYTES ? bytes - ENDED_LOG_BYTES : 0);
	if (length < 0) {
		length = -errno;
		free(*text);
	}
close_log:
	close(fd);
	return length;
}

/* Cuts the last whole line off the `length` bytes; NULL: there is none. */
static char *ended_cut_line(char *text, size_t *length)
{
	char *end = memrchr(text, '\n', *length), *newline;

	if (end == NULL)
		return NULL;
	*end = '\0';
	newline = memrchr(text, '\n', (size_t)(end - text));
	*length = newline != NULL ? (size_t)(newline + 1 - text) : 0;
	return text + *length;
}

int ended_troubles_read(const char *socket, struct rnic_show_trouble rows[ENDED_TROUBLES_MAX])
{
	char path[RNIC_SOCKET_PATH_BYTES + sizeof(".log")];
	char *text, *line;
	int count = 0;
	ssize_t read;
	size_t length;

	snprintf(path, sizeof(path), "%s.log", socket);
	read = ended_read_text(path, &text);
	if (read < 0)
		return (int)read;
	length = (size_t)read;
	while (count < ENDED_TROUBLES_MAX && (line = ended_cut_line(text, &length)) != NULL)
		count += ended_parse(line, &rows[count]);
	free(text);
	return count;
}

const struct row_kind *ended_troubles_kind(void)
{
	static struct row_kind kind;

	kind = *row_kind_of(RNIC_SHOW_TROUBLES);
	kind.columns++;
	kind.column_count--;
	return &kind;
}

static void ended_print(const struct rnic_show_trouble *rows, size_t count, bool is_json)
{
	const struct row_kind *kind = ended_troubles_kind();
	json_t *document;

	if (!is_json) {
		row_print_text(stdout, kind, rows, count);
		return;
	}
	document = json_object();
	json_object_set_new(document, kind->name, row_json(kind, rows, count));
	json_dumpf(document, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
	puts("");
	json_decref(document);
}

int ended_troubles_show(const char *socket, bool is_json)
{
	struct rnic_show_trouble rows[ENDED_TROUBLES_MAX];
	const int count = ended_troubles_read(socket, rows);

	if (count < 0)
		fprintf(stderr, "rnicctl: cannot read the troubles in %s.log: %s\n", socket,
			strerror(-count));
	else
		ended_print(rows, (size_t)count, is_json);
	return count < 0 ? count : 0;
}
