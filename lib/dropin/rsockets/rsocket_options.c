/* SPDX-License-Identifier: MIT */
/* rsetsockopt() and rgetsockopt(): each option, as a row of a table. */
#include "lib/dropin/rsockets/rsocket_flow.h"
#include "lib/dropin/rsockets/rsocket_objects.h"

#include <errno.h>
#include <limits.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#define RING_MAX_BYTES	  (1u << 28)
#define REQUESTS_MAX	  65534
#define INLINE_MAX_BYTES  65534
#define KEEPALIVE_SECONDS 7200 /* as the kernel has it by default (tcp(7)) */
#define SEGMENT_BYTES	  2048

struct option {
	int level, name;
	/* NULL: the option can only be set, or only be got */
	int (*set)(struct rnic_rsocket *rs, size_t field, const void *value, socklen_t bytes);
	int (*get)(const struct rnic_rsocket *rs, size_t field, void *value, socklen_t *bytes);
	size_t field; /* of the options */
};

static void *field_of(const struct rnic_rsocket *rs, size_t field)
{
	return (char *)&rs->options + field;
}

/* --- values ---------------------------------------------------------------------------------- */

static int read_int(const void *value, socklen_t bytes, int *number)
{
	if (bytes < sizeof(*number))
		return -EINVAL;
	memcpy(number, value, sizeof(*number));
	return 0;
}

/* As getsockopt() does: cuts off the part of the value that there is no room for. */
static int rsocket_options_give(void *value, socklen_t *bytes, const void *answer, size_t length)
{
	if (*bytes > length)
		*bytes = (socklen_t)length;
	memcpy(value, answer, *bytes);
	return 0;
}

static int give_int(void *value, socklen_t *bytes, int number)
{
	return rsocket_options_give(value, bytes, &number, sizeof(number));
}

static int set_flag(struct rnic_rsocket *rs, size_t field, const void *value, socklen_t bytes)
{
	int number, error = read_int(value, bytes, &number);

	if (error == 0)
		*(bool *)field_of(rs, field) = number != 0;
	return error;
}

static int get_flag(const struct rnic_rsocket *rs, size_t field, void *value, socklen_t *bytes)
{
	return give_int(value, bytes, *(const bool *)field_of(rs, field));
}

static int set_number(struct rnic_rsocket *rs, size_t field, const void *value, socklen_t bytes)
{
	return read_int(value, bytes, field_of(rs, field));
}

static int get_number(const struct rnic_rsocket *rs, size_t field, void *value, socklen_t *bytes)
{
	return give_int(value, bytes, *(const int *)field_of(rs, field));
}

/*
 * Twice the size that the application asked for, as socket(7) has it: a ring of which one half is
 * in use.
 */
static int set_buffer(struct rnic_rsocket *rs, size_t field, const void *value, socklen_t bytes)
{
	int number, error = read_int(value, bytes, &number);
	uint32_t wanted;

	if (error != 0)
		return error;
	wanted = number < 0 || (uint32_t)number > RING_MAX_BYTES / 2 ? RING_MAX_BYTES
								     : (uint32_t)number * 2;
	if (wanted < 2 * RNIC_RSOCKET_LOW_WATER_BYTES)
		wanted = 2 * RNIC_RSOCKET_LOW_WATER_BYTES;
	*(uint32_t *)field_of(rs, field) = wanted;
	return 0;
}

static int set_time(struct rnic_rsocket *rs, size_t field, const void *value, socklen_t bytes)
{
	struct timeval time;
	int64_t nanoseconds;

	if (bytes < sizeof(time))
		return -EINVAL;
	memcpy(&time, value, sizeof(time));
	if (time.tv_sec < 0 || time.tv_usec < 0 || time.tv_usec >= 1000000 ||
	    time.tv_sec > INT32_MAX)
		return -EDOM;
	nanoseconds = ((int64_t)time.tv_sec * 1000000 + time.tv_usec) * 1000;
	*(int64_t *)field_of(rs, field) = nanoseconds == 0 ? RNIC_RSOCKET_FOREVER : nanoseconds;
	return 0;
}

static int get_time(const struct rnic_rsocket *rs, size_t field, void *value, socklen_t *bytes)
{
	const int64_t nanoseconds = *(const int64_t *)field_of(rs, field);
	struct timeval time = {0};

	if (nanoseconds != RNIC_RSOCKET_FOREVER)
		time = (struct timeval){.tv_sec = nanoseconds / 1000000000,
					.tv_usec = nanoseconds / 1000 % 1000000};
	return rsocket_options_give(value, bytes, &time, sizeof(time));
}

/* --- options with a meaning of their own ----------------------------------------------------- */

static int get_error(const struct rnic_rsocket *rs, size_t field, void *value, socklen_t *bytes)
{
	const int error = rs->error;

	(void)field;
	((struct rnic_rsocket *)rs)->error = 0;
	return give_int(value, bytes, error);
}

static int get_type(const struct rnic_rsocket *rs, size_t field, void *value, socklen_t *bytes)
{
	(void)field;
	return give_int(value, bytes, rs->kind->listen != NULL ? SOCK_STREAM : SOCK_DGRAM);
}

static int get_domain(const struct rnic_rsocket *rs, size_t field, void *value, socklen_t *bytes)
{
	(void)field;
	return give_int(value, bytes, rs->domain);
}

static int get_protocol(const struct rnic_rsocket *rs, size_t field, void *value, socklen_t *bytes)
{
	(void)field;
	return give_int(value, bytes, rs->kind->listen != NULL ? IPPROTO_TCP : IPPROTO_UDP);
}

static int get_accepts(const struct rnic_rsocket *rs, size_t field, void *value, socklen_t *bytes)
{
	(void)field;
	return give_int(value, bytes, rs->is_listening);
}

/* Of datagrams: the kernel's numbers about the UDP socket, and the datagrams dropped behind it. */
static int get_memory(const struct rnic_rsocket *rs, size_t field, void *value, socklen_t *bytes)
{
	uint32_t memory[SK_MEMINFO_VARS] = {0};
	socklen_t length = sizeof(memory);

	(void)field;
	if (rs->kind->listen != NULL)
		return -ENOPROTOOPT;
	if (getsockopt(rs->fd, SOL_SOCKET, SO_MEMINFO, memory, &length) != 0)
		return -errno;
	memory[SK_MEMINFO_DROPS] += rs->drops;
	return rsocket_options_give(value, bytes, memory, length);
}

static int set_linger(struct rnic_rsocket *rs, size_t field, const void *value, socklen_t bytes)
{
	struct linger linger;

	(void)field;
	if (bytes < sizeof(linger))
		return -EINVAL;
	memcpy(&linger, value, sizeof(linger));
	rs->options.linger_seconds = linger.l_onoff ? linger.l_linger : -1;
	return 0;
}

static int get_linger(const struct rnic_rsocket *rs, size_t field, void *value, socklen_t *bytes)
{
	const int seconds = rs->options.linger_seconds;
	const struct linger linger = {.l_onoff = seconds >= 0,
				      .l_linger = seconds >= 0 ? seconds : 0};

	(void)field;
	return rsocket_options_give(value, bytes, &linger, sizeof(linger));
}

uint32_t rnic_rsocket_keepalive_seconds(const struct rnic_rsocket *rs)
{
	return rs->options.keepalive_seconds != 0 ? rs->options.keepalive_seconds
						  : KEEPALIVE_SECONDS;
}

static int set_keepalive(struct rnic_rsocket *rs, size_t field, const void *value, socklen_t bytes)
{
	int error = set_flag(rs, field, value, bytes);

	if (error != 0 || rs->kind->listen == NULL)
		return error;
	return rnic_rsocket_keep_alive(
		rs, rs->options.keeps_alive ? rnic_rsocket_keepalive_seconds(rs) : 0);
}

static int set_keepalive_time(struct rnic_rsocket *rs, size_t field, const void *value,
			      socklen_t bytes)
{
	int number, error = read_int(value, bytes, &number);

	(void)field;
	if (error == 0 && number <= 0)
		error = -EINVAL;
	if (error != 0)
		return error;
	rs->options.keepalive_seconds = (uint32_t)number;
	return rs->options.keeps_alive ? rnic_rsocket_keep_alive(rs, (uint32_t)number) : 0;
}

static int get_keepalive_time(const struct rnic_rsocket *rs, size_t field, void *value,
			      socklen_t *bytes)
{
	(void)field;
	return give_int(value, bytes, (int)rnic_rsocket_keepalive_seconds(rs));
}

/* The wire does this by itself, so the option has no effect. */
static int set_nothing(struct rnic_rsocket *rs, size_t field, const void *value, socklen_t bytes)
{
	(void)rs;
	(void)field;
	(void)value;
	(void)bytes;
	return 0;
}

static int get_one(const struct rnic_rsocket *rs, size_t field, void *value, socklen_t *bytes)
{
	(void)rs;
	(void)field;
	return give_int(value, bytes, 1);
}

static int get_segment(const struct rnic_rsocket *rs, size_t field, void *value, socklen_t *bytes)
{
	(void)rs;
	(void)field;
	return give_int(value, bytes, SEGMENT_BYTES);
}

static int get_tcp_info(const struct rnic_rsocket *rs, size_t field, void *value, socklen_t *bytes)
{
	const short events = rs->kind->events(rs);
	const struct tcp_info info = {
		.tcpi_state = rs->is_listening		       ? TCP_LISTEN
			      : (events & (POLLHUP | POLLERR)) ? TCP_CLOSE
							       : TCP_ESTABLISHED,
		.tcpi_snd_mss = SEGMENT_BYTES,
		.tcpi_rcv_mss = SEGMENT_BYTES,
		.tcpi_snd_cwnd = rs->options.send_requests,
	};

	(void)field;
	return rsocket_options_give(value, bytes, &info, sizeof(info));
}

/* --- options of SOL_RDMA --------------------------------------------------------------------- */

static int set_limited(struct rnic_rsocket *rs, size_t field, const void *value, socklen_t bytes,
		       int most)
{
	int number, error = read_int(value, bytes, &number);

	if (error == 0 && number < 0)
		error = -EINVAL;
	if (error == 0)
		*(uint32_t *)field_of(rs, field) = (uint32_t)(number < most ? number : most);
	return error;
}

static int set_requests(struct rnic_rsocket *rs, size_t field, const void *value, socklen_t bytes)
{
	return set_limited(rs, field, value, bytes, REQUESTS_MAX);
}

static int set_inline(struct rnic_rsocket *rs, size_t field, const void *value, socklen_t bytes)
{
	return set_limited(rs, field, value, bytes, INLINE_MAX_BYTES);
}

static int set_iomap(struct rnic_rsocket *rs, size_t field, const void *value, socklen_t bytes)
{
	int error = set_limited(rs, field, value, bytes, INT_MAX);

	if (error == 0)
		rs->options.iomap_entries = rnic_rsocket_iomap_entries(rs->options.iomap_entries);
	return error;
}

/* There is one path between two of our addresses, so the rsocket only remembers the option. */
static int set_route(struct rnic_rsocket *rs, size_t field, const void *value, socklen_t bytes)
{
	void *copy;

	(void)field;
	if (bytes == 0 || bytes % sizeof(struct ibv_path_data) != 0)
		return -EINVAL;
	copy = malloc(bytes);
	if (copy == NULL)
		return -ENOMEM;
	memcpy(copy, value, bytes);
	free(rs->options.route);
	rs->options.route = copy;
	rs->options.route_bytes = bytes;
	return 0;
}

static int get_route(const struct rnic_rsocket *rs, size_t field, void *value, socklen_t *bytes)
{
	struct ibv_path_data path;

	(void)field;
	if (rs->options.route != NULL)
		return *bytes < rs->options.route_bytes
			       ? -EINVAL
			       : rsocket_options_give(value, bytes, rs->options.route,
						      rs->options.route_bytes);
	if (*bytes < sizeof(path))
		return -EINVAL;
	if (rs->kind->path == NULL || rs->kind->path(rs, &path) != 0)
		return -ENOTCONN;
	return rsocket_options_give(value, bytes, &path, sizeof(path));
}

/* --- the table ------------------------------------------------------------------------------- */

#define FIELD(name) offsetof(struct rnic_rsocket_options, name)

static const struct option all_options[] = {
	{SOL_SOCKET, SO_REUSEADDR, set_flag, get_flag, FIELD(reuses_address)},
	{SOL_SOCKET, SO_OOBINLINE, set_flag, get_flag, FIELD(has_oob_inline)},
	{SOL_SOCKET, SO_KEEPALIVE, set_keepalive, get_flag, FIELD(keeps_alive)},
	{SOL_SOCKET, SO_SNDBUF, set_buffer, get_number, FIELD(send_bytes)},
	{SOL_SOCKET, SO_RCVBUF, set_buffer, get_number, FIELD(receive_bytes)},
	{SOL_SOCKET, SO_SNDTIMEO, set_time, get_time, FIELD(send_timeout_ns)},
	{SOL_SOCKET, SO_RCVTIMEO, set_time, get_time, FIELD(receive_timeout_ns)},
	{SOL_SOCKET, SO_LINGER, set_linger, get_linger, 0},
	{SOL_SOCKET, SO_ERROR, NULL, get_error, 0},
	{SOL_SOCKET, SO_TYPE, NULL, get_type, 0},
	{SOL_SOCKET, SO_DOMAIN, NULL, get_domain, 0},
	{SOL_SOCKET, SO_PROTOCOL, NULL, get_protocol, 0},
	{SOL_SOCKET, SO_ACCEPTCONN, NULL, get_accepts, 0},
	{SOL_SOCKET, SO_MEMINFO, NULL, get_memory, 0},
	{IPPROTO_IP, IP_TOS, set_number, get_number, FIELD(type_of_service)},
	{IPPROTO_IPV6, IPV6_V6ONLY, set_flag, get_flag, FIELD(is_v6_only)},
	{IPPROTO_TCP, TCP_NODELAY, set_flag, get_flag, FIELD(has_no_delay)},
	{IPPROTO_TCP, TCP_KEEPIDLE, set_keepalive_time, get_keepalive_time, 0},
	{IPPROTO_TCP, TCP_KEEPINTVL, set_nothing, get_one, 0},
	{IPPROTO_TCP, TCP_KEEPCNT, set_nothing, get_one, 0},
	{IPPROTO_TCP, TCP_MAXSEG, set_nothing, get_segment, 0},
	{IPPROTO_TCP, TCP_CONGESTION, set_nothing, NULL, 0},
	{IPPROTO_TCP, TCP_INFO, NULL, get_tcp_info, 0},
	{SOL_RDMA, RDMA_SQSIZE, set_requests, get_number, FIELD(send_requests)},
	{SOL_RDMA, RDMA_RQSIZE, set_requests, get_number, FIELD(receive_requests)},
	{SOL_RDMA, RDMA_INLINE, set_inline, get_number, FIELD(inline_bytes)},
	{SOL_RDMA, RDMA_IOMAPSIZE, set_iomap, get_number, FIELD(iomap_entries)},
	{SOL_RDMA, RDMA_ROUTE, set_route, get_route, 0},
};

static const struct option *find_option(int level, int name)
{
	for (size_t i = 0; i < sizeof(all_options) / sizeof(all_options[0]); i++)
		if (all_options[i].level == level && all_options[i].name == name)
			return &all_options[i];
	return NULL;
}

/* Queues and buffers have their size once the connection is begun. */
static bool is_too_late(const struct rnic_rsocket *rs, int level)
{
	return level == SOL_RDMA && rs->has_queues;
}

static int rsocket_options_set_option(struct rnic_rsocket *rs, int level, int name,
				      const void *value, socklen_t bytes)
{
	const struct option *option = find_option(level, name);
	int told;

	if (value == NULL)
		return -EFAULT;
	if (is_too_late(rs, level))
		return -EINVAL;
	told = level != SOL_RDMA ? rs->kind->tell_option(rs, level, name, value, bytes)
				 : -ENOPROTOOPT;
	if (told != 0 && told != -ENOPROTOOPT)
		return told;
	if (option == NULL || option->set == NULL)
		return told;
	return option->set(rs, option->field, value, bytes);
}

int rsetsockopt(int socket, int level, int optname, const void *optval, socklen_t optlen)
{
	RNIC_RSOCKET_CALL;
	struct rnic_rsocket *rs = rnic_rsocket_get(socket);
	int error;

	if (rs == NULL)
		return -1;
	rnic_rsocket_lock(rs);
	error = rsocket_options_set_option(rs, level, optname, optval, optlen);
	rnic_rsocket_unlock(rs);
	rnic_rsocket_put(rs);
	if (error != 0)
		errno = -error;
	return error == 0 ? 0 : -1;
}

int rgetsockopt(int socket, int level, int optname, void *optval, socklen_t *optlen)
{
	RNIC_RSOCKET_CALL;
	struct rnic_rsocket *rs = rnic_rsocket_get(socket);
	const struct option *option = find_option(level, optname);
	int error = -ENOPROTOOPT;

	if (rs == NULL)
		return -1;
	rnic_rsocket_lock(rs);
	if (option != NULL && option->get != NULL)
		error = optval != NULL && optlen != NULL
				? option->get(rs, option->field, optval, optlen)
				: -EFAULT;
	rnic_rsocket_unlock(rs);
	rnic_rsocket_put(rs);
	if (error != 0)
		errno = -error;
	return error == 0 ? 0 : -1;
}
