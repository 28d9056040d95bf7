/* SPDX-License-Identifier: MIT */
/*
 * Sockets over RDMA are not served. Programs that never open one still wait for ordinary
 * descriptors with rpoll() and rselect(), so these two do what poll() and select() do.
 */
#include "native/refuse.h"
#include "rdmacm/rdma_interface.h"

#include <poll.h>
#include <sys/select.h>

int rpoll(struct pollfd *fds, nfds_t nfds, int timeout)
{
	return poll(fds, nfds, timeout);
}

int rselect(int nfds, fd_set *readfds, fd_set *writefds, fd_set *exceptfds, struct timeval *timeout)
{
	return select(nfds, readfds, writefds, exceptfds, timeout);
}

REFUSES_WITH_MINUS_ONE(int rsocket(int domain, int type, int protocol))
REFUSES_WITH_MINUS_ONE(int rbind(int socket, const struct sockaddr *addr, socklen_t addrlen))
REFUSES_WITH_MINUS_ONE(int rlisten(int socket, int backlog))
REFUSES_WITH_MINUS_ONE(int raccept(int socket, struct sockaddr *addr, socklen_t *addrlen))
REFUSES_WITH_MINUS_ONE(int rconnect(int socket, const struct sockaddr *addr, socklen_t addrlen))
REFUSES_WITH_MINUS_ONE(int rshutdown(int socket, int how))
REFUSES_WITH_MINUS_ONE(int rclose(int socket))

REFUSES_WITH_MINUS_ONE(ssize_t rrecv(int socket, void *buf, size_t len, int flags))
REFUSES_WITH_MINUS_ONE(ssize_t rrecvfrom(int socket, void *buf, size_t len, int flags,
					 struct sockaddr *src_addr, socklen_t *addrlen))
REFUSES_WITH_MINUS_ONE(ssize_t rrecvmsg(int socket, struct msghdr *msg, int flags))
REFUSES_WITH_MINUS_ONE(ssize_t rsend(int socket, const void *buf, size_t len, int flags))
REFUSES_WITH_MINUS_ONE(ssize_t rsendto(int socket, const void *buf, size_t len, int flags,
				       const struct sockaddr *dest_addr, socklen_t addrlen))
REFUSES_WITH_MINUS_ONE(ssize_t rsendmsg(int socket, const struct msghdr *msg, int flags))
REFUSES_WITH_MINUS_ONE(ssize_t rread(int socket, void *buf, size_t count))
REFUSES_WITH_MINUS_ONE(ssize_t rreadv(int socket, const struct iovec *iov, int iovcnt))
REFUSES_WITH_MINUS_ONE(ssize_t rwrite(int socket, const void *buf, size_t count))
REFUSES_WITH_MINUS_ONE(ssize_t rwritev(int socket, const struct iovec *iov, int iovcnt))

REFUSES_WITH_MINUS_ONE(int rgetpeername(int socket, struct sockaddr *addr, socklen_t *addrlen))
REFUSES_WITH_MINUS_ONE(int rgetsockname(int socket, struct sockaddr *addr, socklen_t *addrlen))
REFUSES_WITH_MINUS_ONE(int rsetsockopt(int socket, int level, int optname, const void *optval,
				       socklen_t optlen))
REFUSES_WITH_MINUS_ONE(int rgetsockopt(int socket, int level, int optname, void *optval,
				       socklen_t *optlen))
REFUSES_WITH_MINUS_ONE(int rfcntl(int socket, int cmd, ...))

REFUSES_WITH_MINUS_ONE(off_t riomap(int socket, void *buf, size_t len, int prot, int flags,
				    off_t offset))
REFUSES_WITH_MINUS_ONE(int riounmap(int socket, void *buf, size_t len))
REFUSES_WITH_MINUS_ONE(size_t riowrite(int socket, const void *buf, size_t count, off_t offset,
				       int flags))
