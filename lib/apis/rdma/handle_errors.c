/* SPDX-License-Identifier: MIT */
/* The errors of <rnic/rdma.h> in words. */
#include <rnic/rdma.h>

#include <errno.h>
#include <string.h>

static const struct {
	int error;
	const char *text;
} sentences[] = {
	{EBADF, "no such handle, or it is destroyed"},
	{EINVAL, "an impossible argument"},
	{EFAULT, "part of the memory is not there, or not writable"},
	{EACCES,
	 "the region lacks LOCAL_WRITE, the port is root's, or the daemon keeps this user out"},
	{EAGAIN, "the queue is full, poll; or the name service does not answer"},
	{EMSGSIZE, "more than 2 GiB in one request"},
	{ENOENT, "no daemon of an RNIC runs, or there is no such host"},
	{ECONNREFUSED, "no daemon of an RNIC runs, or nobody listens there"},
	{ENODEV, "the daemon is gone, or the handles are of two daemons"},
	{EIO, "the daemon is gone"},
	{EADDRNOTAVAIL, "the RNIC does not have the address (yet)"},
	{EADDRINUSE, "the port is taken"},
	{EPERM, "the daemon cannot reach this process's memory"},
	{ENOSPC, "the daemon gives this process or user no more"},
	{EISCONN, "the queue pair is connected, or has failed"},
	{ENOTCONN, "the queue pair is not connected, or has failed"},
	{ETIMEDOUT, "no answer in time"},
	{ECONNABORTED, "the connection ended while it was made"},
};

const char *rnic_rdma_strerror(int error)
{
	for (size_t i = 0; i < sizeof(sentences) / sizeof(sentences[0]); i++)
		if (sentences[i].error == error)
			return sentences[i].text;
	return strerror(error);
}
