/* SPDX-License-Identifier: MIT */
/* The filter of system calls: what it lets through, and what it kills for. */
#include "daemon/device/host_process/call_filter.h"

#include "tests/unit/unit_test.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SOL_UDP
#define SOL_UDP 17
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

static int udp_fd;

/* Runs `call` in a child process under the filter. Returns the child's wait status. */
static int run_filtered(void (*call)(void))
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || call_filter_install() != 0)
			_exit(77);
		call();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void call_socket(void)
{
	socket(AF_INET, SOCK_DGRAM, 0);
}

static void call_connect(void)
{
	const struct sockaddr address = {.sa_family = AF_UNSPEC};

	connect(udp_fd, &address, sizeof(address));
}

static void call_bind(void)
{
	const struct sockaddr_in address = {.sin_family = AF_INET};

	bind(udp_fd, (const void *)&address, sizeof(address));
}

static void call_detach_program(void)
{
	int none = 0;

	setsockopt(udp_fd, SOL_SOCKET, SO_DETACH_REUSEPORT_BPF, &none, sizeof(none));
}

static void call_bind_to_device(void)
{
	setsockopt(udp_fd, SOL_SOCKET, SO_BINDTODEVICE, "lo", 3);
}

static void call_attach_program(void)
{
	const int none[4] = {0};

	setsockopt(udp_fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, none, sizeof(none));
}

static void call_exec(void)
{
	execl("/bin/true", "true", (char *)NULL);
}

static void call_fork(void)
{
	syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
}

static void call_io_uring_setup(void)
{
	syscall(SYS_io_uring_setup, 8, NULL);
}

static void call_io_uring_register(void)
{
	syscall(SYS_io_uring_register, -1, 0, NULL, 0);
}

static void call_ioctl(void)
{
	int on = 1;

	ioctl(udp_fd, FIOASYNC, &on);
}

/* It would write to the memory of a program. */
static void call_fill_watched_memory(void)
{
	ioctl(udp_fd, UFFDIO_COPY, NULL);
}

static void call_kill(void)
{
	kill(getppid(), 0);
}

static void call_code(void)
{
	mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void call_ptrace(void)
{
	syscall(SYS_ptrace, 0, 0, NULL, NULL);
}

static void call_set_owner(void)
{
	fcntl(udp_fd, F_SETOWN, getppid());
}

static void call_set_signal(void)
{
	fcntl(udp_fd, F_SETSIG, SIGTERM);
}

static void call_set_async(void)
{
	fcntl(udp_fd, F_SETFL, O_NONBLOCK | O_ASYNC);
}

static void call_set_blocking(void)
{
	fcntl(udp_fd, F_SETFL, 0);
}

static void call_duplicate(void)
{
	fcntl(udp_fd, F_DUPFD, 0);
}

static void call_limit_parent(void)
{
	struct rlimit files;

	prlimit(getppid(), RLIMIT_NOFILE, NULL, &files);
}

static void call_limit_itself(void)
{
	const struct rlimit files = {.rlim_cur = 64, .rlim_max = 64};

	prlimit(0, RLIMIT_NOFILE, &files, NULL);
}

static void test_forbidden_calls_kill(void **state)
{
	static void (*const calls[])(void) = {
		call_socket,
		call_ioctl,
		call_connect,
		call_bind,
		call_detach_program,
		call_attach_program,
		call_bind_to_device,
		call_exec,
		call_fork,
		call_kill,
		call_io_uring_register,
		call_code,
		call_ptrace,
		call_io_uring_setup,
		call_set_owner,
		call_set_signal,
		call_set_async,
		call_set_blocking,
		call_duplicate,
		call_limit_parent,
		call_limit_itself,
		call_fill_watched_memory,
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(calls); i++) {
		int status = run_filtered(calls[i]);

		if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSYS)
			fail_msg("call %zu was not stopped: status %x", i, (unsigned)status);
	}
}

static void call_options(void)
{
	int on = 1;

	setsockopt(udp_fd, SOL_UDP, UDP_GRO, &on, sizeof(on));
	setsockopt(udp_fd, IPPROTO_IP, IP_RECVERR, &on, sizeof(on));
}

static void call_open(void)
{
	if (open("/proc/self/status", O_RDONLY) >= 0 || errno != EACCES)
		_exit(1);
}

static void *thread_run(void *argument)
{
	free(malloc(1 << 20));
	return argument;
}

static void call_thread(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, thread_run, NULL) != 0)
		_exit(1);
	pthread_join(thread, NULL);
}

static void call_memory(void)
{
	int fd = memfd_create("region", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || ftruncate(fd, 4096) != 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) != 0 ||
	    mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED)
		_exit(1);
}

/* As an event pipe, a doorbell and a client's descriptor need it. */
static void call_fcntl(void)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) != 0 || fcntl(fds[1], F_SETFL, O_NONBLOCK) != 0 ||
	    (fcntl(fds[1], F_GETFL) & O_NONBLOCK) == 0 || fcntl(fds[0], F_DUPFD_CLOEXEC, 0) < 0)
		_exit(1);
}

/* As the watch of a program's memory needs it. */
static void call_watch_memory(void)
{
	ioctl(udp_fd, UFFDIO_API, NULL);
	ioctl(udp_fd, UFFDIO_REGISTER, NULL);
	ioctl(udp_fd, UFFDIO_UNREGISTER, NULL);
	ioctl(udp_fd, UFFDIO_WRITEPROTECT, NULL);
}

static void call_read_limits(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) != 0)
		_exit(1);
}

static void test_allowed_calls_go_on(void **state)
{
	static void (*const calls[])(void) = {call_options,	call_open,  call_thread,
					      call_memory,	call_fcntl, call_read_limits,
					      call_watch_memory};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(calls); i++)
		assert_int_equal(run_filtered(calls[i]), 0);
}

static void call_abort(void)
{
	abort();
}

static void test_abort_is_an_abort(void **state)
{
	int status = run_filtered(call_abort);

	(void)state;
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGABRT);
}

static int open_socket(void **state)
{
	(void)state;
	udp_fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	return udp_fd >= 0 ? 0 : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forbidden_calls_kill),
		cmocka_unit_test(test_allowed_calls_go_on),
		cmocka_unit_test(test_abort_is_an_abort),
	};

	return cmocka_run_group_tests(tests, open_socket, NULL);
}
