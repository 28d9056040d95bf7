/* SPDX-License-Identifier: MIT */
#include "tools/serve/page_server.h"

#include "tools/serve/live_record.h"
#include "tools/serve/peer_owner.h"
#include "tools/support/number_text.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	CONNECTIONS_MAX = 32,
	CONNECTION_BYTES = 16 * 1024, /* of headers, both directions */
	CONNECTION_IDLE_S = 5,
	STACK_BYTES = 256 * 1024, /* of a connection's thread */
};

struct page_server {
	struct MHD_Daemon *daemon;
	struct request_guard guard;
	const struct state_sources *sources;
};

/* The files of page_files.S. */
#define PAGE_FILE(name) extern const char name[], name##_end[]
PAGE_FILE(page_index);
PAGE_FILE(page_style);
PAGE_FILE(page_capture);
PAGE_FILE(page_ladder);
PAGE_FILE(page_record);
PAGE_FILE(page_state);
PAGE_FILE(page_script);

static const struct page_file {
	const char *name;
	const char *type;
	const char *begin, *end;
} page_files[] = {
	{"", "text/html; charset=utf-8", page_index, page_index_end},
	{"page.css", "text/css; charset=utf-8", page_style, page_style_end},
	{"capture.js", "text/javascript; charset=utf-8", page_capture, page_capture_end},
	{"ladder.js", "text/javascript; charset=utf-8", page_ladder, page_ladder_end},
	{"record.js", "text/javascript; charset=utf-8", page_record, page_record_end},
	{"state.js", "text/javascript; charset=utf-8", page_state, page_state_end},
	{"page.js", "text/javascript; charset=utf-8", page_script, page_script_end},
};

/* ---- responses ---- */

/*
 * The page runs its own files and asks its own server, whatever a row or a capture holds; no other
 * page frames, reads or embeds it; and the token in its address goes nowhere.
 */
static const char *const headers[][2] = {
	{"Content-Security-Policy",
	 "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
	 "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
	{"Cache-Control", "no-store"},
	{"Cross-Origin-Opener-Policy", "same-origin"},
	{"Cross-Origin-Resource-Policy", "same-origin"},
	{"Referrer-Policy", "no-referrer"},
	{"X-Content-Type-Options", "nosniff"},
	{"X-Frame-Options", "DENY"},
};

static enum MHD_Result answer(struct MHD_Connection *connection, unsigned status, const char *type,
			      struct MHD_Response *response)
{
	enum MHD_Result result;

	if (!response)
		return MHD_NO;
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++)
		MHD_add_response_header(response, headers[i][0], headers[i][1]);
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

/* `bytes` outlive the connection. */
static struct MHD_Response *constant_response(const char *bytes, size_t count)
{
	return MHD_create_response_from_buffer(count, (void *)(uintptr_t)bytes,
					       MHD_RESPMEM_PERSISTENT);
}

static enum MHD_Result answer_refusal(struct MHD_Connection *connection, unsigned status,
				      const char *sentence)
{
	return answer(connection, status, "text/plain; charset=utf-8",
		      constant_response(sentence, strlen(sentence)));
}

static enum MHD_Result answer_nothing_there(struct MHD_Connection *connection)
{
	return answer_refusal(connection, MHD_HTTP_NOT_FOUND, "There is nothing.\n");
}

static enum MHD_Result answer_state(struct page_server *server, struct MHD_Connection *connection)
{
	char *state = state_document(server->sources);

	if (!state)
		return answer_refusal(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
				      "Memory is short.\n");
	return answer(connection, MHD_HTTP_OK, "application/json",
		      MHD_create_response_from_buffer(strlen(state), state, MHD_RESPMEM_MUST_FREE));
}

/* Takes the descriptor, which may be an error. */
static enum MHD_Result answer_file(struct MHD_Connection *connection, int fd)
{
	struct stat status;

	if (fd < 0 || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
		if (fd >= 0)
			close(fd);
		return answer_nothing_there(connection);
	}
	return answer(connection, MHD_HTTP_OK, "application/octet-stream",
		      MHD_create_response_from_fd((size_t)status.st_size, fd));
}

/* "capture/N": only the files that the user named have a number. */
static enum MHD_Result answer_capture(struct page_server *server, struct MHD_Connection *connection,
				      const char *number)
{
	const struct state_sources *sources = server->sources;
	uint32_t index;

	if (!number_text_is(number, 10, &index) || index >= sources->capture_count)
		return answer_nothing_there(connection);
	return answer_file(connection,
			   open(sources->captures[index], O_RDONLY | O_CLOEXEC | O_NONBLOCK));
}

/* "record/N": of the device of that number in the state. */
static enum MHD_Result answer_record(struct page_server *server, struct MHD_Connection *connection,
				     const char *number)
{
	const struct state_sources *sources = server->sources;
	uint32_t index;
	int fd;

	if (!number_text_is(number, 10, &index) || index >= sources->device_count)
		return answer_nothing_there(connection);
	fd = live_record_open(device_watch_socket(sources->devices[index]));
	if (fd < 0)
		return answer_refusal(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
				      "The daemon does not answer.\n");
	return answer_file(connection, fd);
}

static enum MHD_Result answer_name(struct page_server *server, struct MHD_Connection *connection,
				   const char *name)
{
	static const char capture[] = "capture/", record[] = "record/";

	for (size_t i = 0; i < sizeof(page_files) / sizeof(page_files[0]); i++) {
		const struct page_file *file = &page_files[i];
		if (strcmp(name, file->name) == 0)
			return answer(
				connection, MHD_HTTP_OK, file->type,
				constant_response(file->begin, (size_t)(file->end - file->begin)));
	}
	if (strcmp(name, "state") == 0)
		return answer_state(server, connection);
	if (strncmp(name, capture, strlen(capture)) == 0)
		return answer_capture(server, connection, name + strlen(capture));
	if (strncmp(name, record, strlen(record)) == 0)
		return answer_record(server, connection, name + strlen(record));
	return answer_nothing_there(connection);
}

/* ---- requests ---- */

static enum MHD_Result page_server_take_request(void *context, struct MHD_Connection *connection,
						const char *path, const char *method,
						const char *version, const char *upload,
						size_t *upload_bytes, void **state)
{
	struct page_server *server = context;
	const struct guarded_request request = {
		.method = method,
		.path = path,
		.host = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Host"),
		.origin = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Origin"),
		.fetch_site =
			MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Sec-Fetch-Site"),
	};
	static char is_known;
	const char *name = NULL;
	enum request_verdict verdict = request_guard_judge(&server->guard, &request, &name);

	(void)version, (void)upload, (void)upload_bytes;
	/* The library keeps a connection open only when the answer comes at the second call. */
	if (verdict == REQUEST_PASSES && !*state) {
		*state = &is_known;
		return MHD_YES;
	}
	switch (verdict) {
	case REQUEST_PASSES:
		return answer_name(server, connection, name);
	case REQUEST_WRITES:
		return answer_refusal(connection, MHD_HTTP_METHOD_NOT_ALLOWED,
				      "This page is only read.\n");
	case REQUEST_OTHER_HOST:
		return answer_refusal(connection, MHD_HTTP_FORBIDDEN,
				      "This page has the name 127.0.0.1.\n");
	case REQUEST_OTHER_PAGE:
		return answer_refusal(connection, MHD_HTTP_FORBIDDEN,
				      "Other pages may not read this one.\n");
	case REQUEST_WRONG_TOKEN:
		break;
	}
	return answer_nothing_there(connection);
}

/* Connections of other users take no place: they are closed before they say a word. */
static enum MHD_Result page_server_accept(void *context, const struct sockaddr *address,
					  socklen_t bytes)
{
	const struct page_server *server = context;
	struct sockaddr_in peer;
	FILE *table;
	uid_t uid;
	int error;

	if (bytes != sizeof(peer) || address->sa_family != AF_INET)
		return MHD_NO;
	memcpy(&peer, address, sizeof(peer));
	table = fopen("/proc/net/tcp", "re");
	if (!table)
		return MHD_NO;
	error = peer_owner_find(table, &peer, server->guard.port, &uid);
	fclose(table);
	return !error && (uid == getuid() || uid == 0) ? MHD_YES : MHD_NO;
}

/* A socket that listens on 127.0.0.1 alone, and its port; negative errno. */
static int listen_on(uint16_t *port)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons(*port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t bytes = sizeof(address);
	int error, on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&address, bytes) != 0 || listen(fd, CONNECTIONS_MAX) != 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &bytes) != 0) {
		error = -errno;
		close(fd);
		return error;
	}
	*port = ntohs(address.sin_port);
	return fd;
}

int page_server_start(struct page_server **out, uint16_t port, const struct state_sources *sources)
{
	struct page_server *server = calloc(1, sizeof(*server));
	int fd, error;

	if (!server)
		return -ENOMEM;
	server->sources = sources;
	fd = listen_on(&port);
	error = fd < 0 ? fd : request_guard_init(&server->guard, port);
	if (error)
		goto fail;
	/* A thread for each connection: one that waits for a daemon or a file holds up no other. */
	server->daemon = MHD_start_daemon(
		MHD_USE_POLL_INTERNAL_THREAD | MHD_USE_THREAD_PER_CONNECTION, port,
		page_server_accept, server, page_server_take_request, server,
		MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS_MAX,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)CONNECTION_IDLE_S,
		MHD_OPTION_THREAD_STACK_SIZE, (size_t)STACK_BYTES, MHD_OPTION_END);
	if (!server->daemon) {
		error = -ENOMEM;
		goto fail;
	}
	*out = server;
	return 0;
fail:
	if (fd >= 0)
		close(fd);
	free(server);
	return error;
}

const struct request_guard *page_server_guard(const struct page_server *server)
{
	return &server->guard;
}

void page_server_stop(struct page_server *server)
{
	MHD_stop_daemon(server->daemon); /* closes the socket */
	free(server);
}
