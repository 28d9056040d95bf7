/* SPDX-License-Identifier: MIT */
/*
 * Programs with the device inside, which share their process with it: descriptors, signals, threads
 * and forks. They run under rnic-run --direct, on a device with one address.
 */
#include "tests/unit/unit_test.h"

#include <rnic/rnic.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	ROUNDS = 20,
	PATIENCE_S = 20,
	MEMORY_BYTES = 1 << 20,
	DESCRIPTORS_MAX = 256,
};

static struct rnic_context *open_context(void)
{
	struct rnic_context *context;

	assert_int_equal(rnic_open(NULL, &context), 0);
	return context;
}

/* --- closing beside other threads ------------------------------------------------------------- */

/* A thread that polls, and is held up just before it takes the lock of the device. */
struct poller {
	struct rnic_cq *cq;
	sem_t at_lock;
	sem_t go_on;
	int lock_result;
	int result;
};

/* -1: not posted in time. */
static int wait_for(sem_t *semaphore)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += PATIENCE_S;
	return sem_timedwait(semaphore, &until);
}

static _Thread_local struct poller *held; /* NULL: the calling thread is not to be held up */

/* The device's library, too, finds this function before the C library's. */
__attribute__((visibility("default"))) int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
	struct poller *poller = held;
	int (*next)(pthread_mutex_t *);

	*(void **)&next = dlsym(RTLD_NEXT, "pthread_mutex_trylock");
	if (poller == NULL)
		return next(mutex);
	held = NULL;
	sem_post(&poller->at_lock);
	wait_for(&poller->go_on);
	poller->lock_result = next(mutex);
	return poller->lock_result;
}

static void *poll_while_closed(void *argument)
{
	struct poller *poller = argument;
	struct rnic_completion completion;

	held = poller;
	poller->result = rnic_poll_cq(poller->cq, 1, &completion);
	return NULL;
}

/* The device is closed but there: its lock is free, and behind the lock nothing is left to do. */
static void a_thread_may_poll_while_another_closes(void **state)
{
	struct rnic_context *context = open_context();
	struct poller poller = {.lock_result = -1};
	pthread_t thread;

	(void)state;
	sem_init(&poller.at_lock, 0, 0);
	sem_init(&poller.go_on, 0, 0);
	assert_int_equal(rnic_create_cq(context, 16, NULL, 0, 0, NULL, &poller.cq), 0);
	assert_int_equal(pthread_create(&thread, NULL, poll_while_closed, &poller), 0);
	assert_int_equal(wait_for(&poller.at_lock), 0);
	rnic_close(context);
	sem_post(&poller.go_on);
	pthread_join(thread, NULL);
	assert_int_equal(poller.lock_result, 0);
	assert_int_equal(poller.result, -ENODEV);
	assert_int_equal(rnic_destroy_cq(poller.cq), 0);
	sem_destroy(&poller.at_lock);
	sem_destroy(&poller.go_on);
}

static void *poll_until_lost(void *argument)
{
	struct poller *poller = argument;
	struct rnic_completion completion;

	do
		poller->result = rnic_poll_cq(poller->cq, 1, &completion);
	while (poller->result >= 0);
	return NULL;
}

static void closing_ends_the_polls_of_other_threads(void **state)
{
	(void)state;
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct rnic_context *context = open_context();
		struct poller poller = {0};
		pthread_t thread;

		assert_int_equal(rnic_create_cq(context, 16, NULL, 0, 0, NULL, &poller.cq), 0);
		assert_int_equal(pthread_create(&thread, NULL, poll_until_lost, &poller), 0);
		rnic_close(context);
		pthread_join(thread, NULL);
		assert_int_equal(poller.result, -ENODEV);
		assert_int_equal(rnic_destroy_cq(poller.cq), 0);
	}
}

/* --- signals ---------------------------------------------------------------------------------- */

static void take_alarm(int number)
{
	(void)number;
}

/* Unmapping much memory is what a device process gives to a thread with SIGALRM. */
static void the_alarm_is_the_programs(void **state)
{
	const struct sigaction own = {.sa_handler = take_alarm};
	struct rnic_context *context = open_context();
	struct sigaction before, after;
	struct rnic_pd *pd;
	struct rnic_mr *mr;
	void *memory;

	(void)state;
	assert_int_equal(sigaction(SIGALRM, &own, &before), 0);
	assert_int_equal(rnic_alloc_pd(context, &pd), 0);
	assert_int_equal(rnic_alloc(context, MEMORY_BYTES, &memory), 0);
	assert_int_equal(rnic_reg_mr(pd, memory, MEMORY_BYTES, (uintptr_t)memory,
				     RNIC_ACCESS_LOCAL_WRITE, &mr),
			 0);
	memset(memory, 1, MEMORY_BYTES);
	assert_int_equal(rnic_dereg_mr(mr), 0);
	assert_int_equal(rnic_free(context, memory), 0);
	assert_int_equal(rnic_dealloc_pd(pd), 0);
	rnic_close(context);
	assert_int_equal(sigaction(SIGALRM, &before, &after), 0);
	assert_true(after.sa_handler == take_alarm);
}

/* --- forks ------------------------------------------------------------------------------------ */

/* The descriptors that are open in this process. */
struct descriptors {
	bool is_open[DESCRIPTORS_MAX];
};

static void list_descriptors(struct descriptors *descriptors)
{
	memset(descriptors, 0, sizeof(*descriptors));
	for (int fd = 0; fd < DESCRIPTORS_MAX; fd++)
		descriptors->is_open[fd] = fcntl(fd, F_GETFD) >= 0;
}

/*
 * What librnic has for itself, and is of no use without the device: ends to read, eventfds, and the
 * memory of a session that is being opened, which the child may have mapped as well.
 */
static bool is_harmless(int fd, const char *file)
{
	if (strncmp(file, "pipe:", 5) == 0)
		return (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY;
	return strcmp(file, "anon_inode:[eventfd]") == 0 || strncmp(file, "/memfd:rnic", 11) == 0;
}

/* In a child: the number of descriptors that are neither in `before` nor harmless. */
static int count_kept(const struct descriptors *before)
{
	char link[64], file[256];
	ssize_t length;
	int kept = 0;

	for (int fd = 0; fd < DESCRIPTORS_MAX; fd++) {
		if (before->is_open[fd] || fcntl(fd, F_GETFD) < 0)
			continue;
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		length = readlink(link, file, sizeof(file) - 1);
		file[length > 0 ? length : 0] = '\0';
		if (is_harmless(fd, file))
			continue;
		fprintf(stderr, "a child has descriptor %d: %s\n", fd, file);
		kept++;
	}
	return kept;
}

static void fork_and_count(const struct descriptors *before)
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0)
		_exit(count_kept(before) == 0 ? 0 : 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void a_child_keeps_no_descriptor_of_the_device(void **state)
{
	static uint8_t memory[4096];
	struct descriptors before;
	struct rnic_context *context;
	struct rnic_channel *channel;
	struct rnic_cq *cq;
	struct rnic_pd *pd;
	struct rnic_mr *mr;

	(void)state;
	list_descriptors(&before);
	context = open_context();
	assert_int_equal(rnic_create_channel(context, &channel), 0);
	assert_int_equal(rnic_create_cq(context, 16, channel, 0, 0, NULL, &cq), 0);
	assert_int_equal(rnic_alloc_pd(context, &pd), 0);
	assert_int_equal(rnic_reg_mr(pd, memory, sizeof(memory), (uintptr_t)memory, 0, &mr), 0);
	fork_and_count(&before);
	/* The parent's device is as before. */
	assert_int_equal(rnic_dereg_mr(mr), 0);
	assert_int_equal(rnic_dealloc_pd(pd), 0);
	assert_int_equal(rnic_destroy_cq(cq), 0);
	assert_int_equal(rnic_destroy_channel(channel), 0);
	rnic_close(context);
	fork_and_count(&before);
}

static void *open_and_close(void *done)
{
	struct rnic_context *context;

	for (unsigned i = 0; i < ROUNDS; i++)
		if (rnic_open(NULL, &context) == 0)
			rnic_close(context);
	atomic_store((atomic_bool *)done, true);
	return NULL;
}

static void a_fork_beside_opening_and_closing_keeps_nothing(void **state)
{
	struct descriptors before;
	atomic_bool is_done = false;
	pthread_t thread;

	(void)state;
	list_descriptors(&before);
	assert_int_equal(pthread_create(&thread, NULL, open_and_close, &is_done), 0);
	while (!atomic_load(&is_done))
		fork_and_count(&before);
	pthread_join(thread, NULL);
}

/* --- what the device inside a program does not do --------------------------------------------- */

/* Standard error of the test goes here meanwhile. */
struct errors {
	int kept_fd;
	FILE *file;
};

static void errors_begin(struct errors *errors)
{
	errors->file = tmpfile();
	assert_non_null(errors->file);
	errors->kept_fd = dup(STDERR_FILENO);
	assert_int_equal(dup2(fileno(errors->file), STDERR_FILENO), STDERR_FILENO);
}

/* The number of lines that name --direct. */
static unsigned errors_end(struct errors *errors)
{
	unsigned count = 0;
	char line[256];

	assert_int_equal(dup2(errors->kept_fd, STDERR_FILENO), STDERR_FILENO);
	close(errors->kept_fd);
	rewind(errors->file);
	while (fgets(line, sizeof(line), errors->file) != NULL)
		count += strstr(line, "--direct") != NULL;
	fclose(errors->file);
	return count;
}

/* Refused by a sentence, which the program can read. */
static bool is_refusal(int error)
{
	return error == -EOPNOTSUPP && strstr(rnic_refusal_reason(), "--direct") != NULL;
}

static void what_other_processes_share_is_refused(void **state)
{
	struct rnic_xrcd_options options = {.file_fd = STDERR_FILENO, .may_create = true};
	struct rnic_context *context = open_context();
	struct rnic_xrcd *xrcd;
	struct errors errors;
	unsigned refused;

	(void)state;
	errors_begin(&errors);
	refused = is_refusal(rnic_open_xrcd(context, &options, &xrcd));
	refused += is_refusal(rnic_import(context, STDERR_FILENO));
	assert_int_equal(errors_end(&errors), 2);
	assert_int_equal(refused, 2);
	options.file_fd = -1;
	assert_int_equal(rnic_open_xrcd(context, &options, &xrcd), 0);
	assert_int_equal(rnic_close_xrcd(xrcd), 0);
	rnic_close(context);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_other_processes_share_is_refused),
		cmocka_unit_test(the_alarm_is_the_programs),
		cmocka_unit_test(a_child_keeps_no_descriptor_of_the_device),
		cmocka_unit_test(a_fork_beside_opening_and_closing_keeps_nothing),
		cmocka_unit_test(a_thread_may_poll_while_another_closes),
		cmocka_unit_test(closing_ends_the_polls_of_other_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
