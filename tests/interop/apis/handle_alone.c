/* SPDX-License-Identifier: MIT */
/*
 * The handle API within one host, where nobody listens: queue pairs that are connected to
 * themselves, to one another, and to those of a child process.
 *
 *	handle_alone
 *
 * Prints what failed and exits with 1, or exits with 0 when nothing did.
 */
#include "tests/interop/apis/handle_check.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEPTH	 8
#define BYTES	 4096
#define MADE_UP	 0x80000000
#define WAITERS	 4
#define MESSAGES 500

static char source[BYTES];
static char target[BYTES];

static uint64 address_of(const void *memory)
{
	return (uintptr_t)memory;
}

/* --- one queue pair -------------------------------------------------------------------------- */

static void test_writes_and_reads_own_memory(void)
{
	const int from = REQUIRE(rdma_reg_mr(source, BYTES, RDMA_ACCESS_LOCAL_WRITE));
	const int to = REQUIRE(rdma_reg_mr(target, BYTES, ALL_RIGHTS));
	const int qp = REQUIRE(rdma_create_qp(DEPTH, DEPTH));
	struct rdma_wc wc;

	snprintf(source, BYTES, "a message");
	REQUIRE_TRUE(rdma_poll_cq(qp, &wc, 1) == 0 && rdma_wait_cq(qp, &wc, 1, 1) == 0);
	REQUIRE_TRUE(rdma_post_write(qp, from, 0, address_of(target) + 5, rdma_mr_rkey(to), 10) ==
		     0);
	wc = COMPLETES(RDMA_WC_SUCCESS, qp, 0);
	REQUIRE_TRUE(wc.opcode == RDMA_WC_WRITE && wc.byte_len == 10);
	REQUIRE_TRUE(strcmp(target + 5, "a message") == 0);
	REQUIRE_TRUE(rdma_post_read(qp, from, 100, address_of(target) + 7, rdma_mr_rkey(to), 8) ==
		     1);
	wc = COMPLETES(RDMA_WC_SUCCESS, qp, 1);
	REQUIRE_TRUE(wc.opcode == RDMA_WC_READ && wc.byte_len == 8);
	REQUIRE_TRUE(strcmp(source + 100, "message") == 0);
	REQUIRE(rdma_destroy_qp(qp));
	REQUIRE(rdma_dereg_mr(from));
	REQUIRE(rdma_dereg_mr(to));
}

static void test_refuses_what_the_peer_did_not_grant(void)
{
	const int from = REQUIRE(rdma_reg_mr(source, BYTES, RDMA_ACCESS_LOCAL_WRITE));
	const int to = REQUIRE(
		rdma_reg_mr(target, BYTES, RDMA_ACCESS_LOCAL_WRITE | RDMA_ACCESS_REMOTE_WRITE));
	int qp = REQUIRE(rdma_create_qp(DEPTH, DEPTH));
	struct rdma_wc wc;

	REQUIRE(rdma_post_recv(qp, from, 0, 100));
	REQUIRE(rdma_post_write(qp, from, 0, MADE_UP, 12345, 12));
	for (int i = 0; i < 2; i++) {
		REQUIRE_TRUE(rdma_wait_cq(qp, &wc, 1, WAIT_MS) == 1 && wc.byte_len == 0);
		REQUIRE_TRUE(wc.wr_id == (wc.opcode == RDMA_WC_WRITE));
		REQUIRE_TRUE(wc.status == (wc.opcode == RDMA_WC_WRITE ? RDMA_WC_REM_ACCESS_ERR
								      : RDMA_WC_GENERAL_ERR));
	}
	REFUSED(ENOTCONN, rdma_poll_cq(qp, &wc, 1));
	REFUSED(ENOTCONN, rdma_wait_cq(qp, &wc, 1, -1));
	REFUSED(EISCONN, rdma_connect_qp(qp, qp));
	COMPLETES(RDMA_WC_GENERAL_ERR, qp, REQUIRE(rdma_post_send(qp, from, 1)));
	REQUIRE(rdma_destroy_qp(qp));

	qp = REQUIRE(rdma_create_qp(DEPTH, DEPTH));
	REQUIRE(rdma_post_read(qp, from, 0, address_of(target), rdma_mr_rkey(to), 12));
	COMPLETES(RDMA_WC_REM_ACCESS_ERR, qp, 0);
	REQUIRE(rdma_destroy_qp(qp));

	qp = REQUIRE(rdma_create_qp(DEPTH, DEPTH));
	REQUIRE(rdma_post_write(qp, from, 0, address_of(target) + BYTES - 4, rdma_mr_rkey(to), 8));
	COMPLETES(RDMA_WC_REM_ACCESS_ERR, qp, 0);
	REQUIRE(rdma_destroy_qp(qp));
	REQUIRE(rdma_dereg_mr(from));
	REQUIRE(rdma_dereg_mr(to));
}

static void test_receives_what_it_sends(void)
{
	const int mr = REQUIRE(rdma_reg_mr(source, BYTES, RDMA_ACCESS_LOCAL_WRITE));
	const int gone = REQUIRE(rdma_reg_mr(target, BYTES, RDMA_ACCESS_LOCAL_WRITE));
	const int qp = REQUIRE(rdma_create_qp(DEPTH, DEPTH));
	struct rdma_wc wc[3];
	int count = 0;

	snprintf(source, BYTES, "to myself");
	REQUIRE(rdma_post_recv(qp, mr, 1000, 100));
	REQUIRE(rdma_post_send(qp, mr, 10));
	while (count < 2)
		count += REQUIRE(rdma_wait_cq(qp, wc + count, 3 - count, WAIT_MS));
	REQUIRE_TRUE(wc[0].wr_id + wc[1].wr_id == 1);
	REQUIRE_TRUE(wc[0].byte_len == 10 && wc[1].byte_len == 10);
	REQUIRE_TRUE(strcmp(source + 1000, "to myself") == 0);

	REQUIRE(rdma_post_recv(qp, gone, 0, 100));
	REQUIRE(rdma_dereg_mr(gone));
	REQUIRE(rdma_post_send(qp, mr, 10));
	for (count = 0; count < 2;)
		count += REQUIRE(rdma_wait_cq(qp, wc + count, 3 - count, WAIT_MS));
	for (int i = 0; i < 2; i++)
		REQUIRE_TRUE(wc[i].status == (wc[i].opcode == RDMA_WC_RECV ? RDMA_WC_LOC_PROT_ERR
									   : RDMA_WC_GENERAL_ERR));
	REQUIRE(rdma_destroy_qp(qp));
	REQUIRE(rdma_dereg_mr(mr));
}

static void test_refuses_wrong_arguments(void)
{
	const int read_only = REQUIRE(rdma_reg_mr(source, BYTES, 0));
	const int qp = REQUIRE(rdma_create_qp(DEPTH, 1));
	struct rdma_wc wc;

	REFUSED(EINVAL, rdma_reg_mr(source, 0, 0));
	REFUSED(EINVAL, rdma_reg_mr(source, BYTES, 1 << 10));
	REFUSED(EINVAL, rdma_reg_mr(source, BYTES, RDMA_ACCESS_REMOTE_WRITE));
	REFUSED(EFAULT, rdma_reg_mr(NULL, BYTES, 0));
	REFUSED(EINVAL, rdma_create_qp(0, 1));
	REFUSED(EINVAL, rdma_create_qp(1, 1 << 30));
	REFUSED(EINVAL, rdma_poll_cq(qp, NULL, 1));
	REFUSED(EINVAL, rdma_wait_cq(qp, &wc, 0, 1));
	REFUSED(EINVAL, rdma_connect_qp(qp, -1));
	REFUSED(EINVAL, rdma_connect_host(qp, NULL, 1, 1));
	REFUSED(EINVAL, rdma_post_send(qp, read_only, BYTES + 1));
	REFUSED(EINVAL, rdma_post_write(qp, read_only, BYTES - 1, 0, 0, 2));
	REFUSED(EACCES, rdma_post_recv(qp, read_only, 0, 1));
	REFUSED(EACCES, rdma_post_read(qp, read_only, 0, 0, 0, 1));
	REFUSED(EBADF, rdma_post_send(qp + 1, read_only, 1));
	REFUSED(EBADF, rdma_post_send(qp, read_only + 1, 1));
	REQUIRE(rdma_destroy_qp(qp));
	REFUSED(EBADF, rdma_destroy_qp(qp));
	REFUSED(EBADF, rdma_poll_cq(qp, &wc, 1));
	REQUIRE(rdma_dereg_mr(read_only));
	REFUSED(EBADF, rdma_dereg_mr(read_only));
	REQUIRE_TRUE(rdma_mr_rkey(read_only) == 0 && errno == EBADF);
}

/* What is posted and not polled counts, also when it has completed. */
static void test_says_when_a_queue_is_full(void)
{
	const int mr = REQUIRE(rdma_reg_mr(target, BYTES, ALL_RIGHTS));
	const int qp = REQUIRE(rdma_create_qp(DEPTH, DEPTH));
	const uint32 rkey = rdma_mr_rkey(mr);

	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < DEPTH; i++)
			REQUIRE_TRUE(rdma_post_write(qp, mr, 0, address_of(target), rkey, 64) ==
				     round * DEPTH + i);
		REFUSED(EAGAIN, rdma_post_write(qp, mr, 0, address_of(target), rkey, 64));
		for (int i = 0; i < DEPTH; i++)
			COMPLETES(RDMA_WC_SUCCESS, qp, round * DEPTH + i);
	}
	for (int i = 0; i < DEPTH; i++)
		REQUIRE(rdma_post_recv(qp, mr, 0, 8));
	REFUSED(EAGAIN, rdma_post_recv(qp, mr, 0, 8));
	REQUIRE(rdma_destroy_qp(qp));
	REQUIRE(rdma_dereg_mr(mr));
}

/* --- two queue pairs ------------------------------------------------------------------------- */

static void test_connects_two_by_number(void)
{
	const int mr = REQUIRE(rdma_reg_mr(source, BYTES, RDMA_ACCESS_LOCAL_WRITE));
	const int one = REQUIRE(rdma_create_qp(DEPTH, DEPTH));
	const int two = REQUIRE(rdma_create_qp(DEPTH, DEPTH));
	const int three = REQUIRE(rdma_create_qp(DEPTH, DEPTH));

	snprintf(source, BYTES, "to the other");
	REQUIRE(rdma_post_recv(two, mr, 500, 100));
	REQUIRE(rdma_connect_qp(one, two));
	REQUIRE(rdma_connect_qp(two, one));
	REFUSED(EISCONN, rdma_connect_qp(three, two));
	REFUSED(EISCONN, rdma_connect_qp(one, one));
	REQUIRE(rdma_connect_qp(three, three));
	REQUIRE(rdma_post_send(one, mr, 13));
	COMPLETES(RDMA_WC_SUCCESS, one, 0);
	COMPLETES(RDMA_WC_SUCCESS, two, 0);
	REQUIRE_TRUE(strcmp(source + 500, "to the other") == 0);
	REQUIRE(rdma_destroy_qp(three));

	/* The other end goes: who waits for it hears so. */
	REQUIRE(rdma_post_recv(two, mr, 500, 100));
	REQUIRE(rdma_destroy_qp(one));
	COMPLETES(RDMA_WC_GENERAL_ERR, two, 1);
	REQUIRE(rdma_destroy_qp(two));
	REQUIRE(rdma_dereg_mr(mr));
}

static void test_gives_up_on_a_peer_that_never_comes(void)
{
	const int mr = REQUIRE(rdma_reg_mr(source, BYTES, 0));
	const int qp = REQUIRE(rdma_create_qp(DEPTH, DEPTH));

	REQUIRE(rdma_connect_qp(qp, qp ^ 1));
	REQUIRE(rdma_post_send(qp, mr, 1));
	COMPLETES(RDMA_WC_GENERAL_ERR, qp, 0);
	REQUIRE(rdma_destroy_qp(qp));
	REQUIRE(rdma_dereg_mr(mr));
}

/* --- threads --------------------------------------------------------------------------------- */

static int shared_qp, shared_mr;

static void *wait_for_messages(void *unused)
{
	long count = 0;
	struct rdma_wc wc;

	(void)unused;
	while (rdma_wait_cq(shared_qp, &wc, 1, -1) == 1) {
		REQUIRE_TRUE(wc.status == RDMA_WC_SUCCESS);
		count++;
	}
	REQUIRE_TRUE(errno == EBADF);
	return (void *)count;
}

static int post_patiently(int is_send)
{
	int result;

	do
		result = is_send ? rdma_post_send(shared_qp, shared_mr, 8)
				 : rdma_post_recv(shared_qp, shared_mr, 8, 8);
	while (result < 0 && errno == EAGAIN);
	return result;
}

/* Several wait on one queue pair while another posts to it, and in the end destroys it. */
static void test_threads_share_a_queue_pair(void)
{
	pthread_t waiters[WAITERS];
	long total = 0;

	shared_mr = REQUIRE(rdma_reg_mr(source, BYTES, RDMA_ACCESS_LOCAL_WRITE));
	shared_qp = REQUIRE(rdma_create_qp(DEPTH, DEPTH));
	for (int i = 0; i < WAITERS; i++)
		REQUIRE_TRUE(pthread_create(&waiters[i], NULL, wait_for_messages, NULL) == 0);
	for (int i = 0; i < MESSAGES; i++) {
		REQUIRE(post_patiently(0));
		REQUIRE(post_patiently(1));
	}
	/* There is room for so many when all that were received have been taken. */
	for (int i = 0; i < DEPTH; i++)
		REQUIRE(post_patiently(0));
	REQUIRE(rdma_destroy_qp(shared_qp));
	for (int i = 0; i < WAITERS; i++) {
		void *count;

		pthread_join(waiters[i], &count);
		total += (long)count;
	}
	REQUIRE_TRUE(total >= 2 * MESSAGES - DEPTH && total <= 2 * MESSAGES);
	REQUIRE(rdma_dereg_mr(shared_mr));
}

static void *close_listener(void *listener)
{
	REQUIRE(rdma_close_listener(*(int *)listener));
	return NULL;
}

static void test_accepts_nobody(void)
{
	const int qp = REQUIRE(rdma_create_qp(DEPTH, DEPTH));
	const int mr = REQUIRE(rdma_reg_mr(target, BYTES, ALL_RIGHTS));
	int listener = REQUIRE(rdma_listen_host(NULL, 0));
	pthread_t thread;

	REQUIRE_TRUE(rdma_listener_port(listener) > 0);
	REFUSED(EADDRNOTAVAIL, rdma_listen_host("192.0.2.1", 0));
	REFUSED(ETIMEDOUT, rdma_accept_qp(listener, qp, 1));
	REQUIRE_TRUE(pthread_create(&thread, NULL, close_listener, &listener) == 0);
	REFUSED(EBADF, rdma_accept_qp(listener, qp, -1));
	pthread_join(thread, NULL);

	/* It is as before, so that it can still be its own peer. */
	REQUIRE(rdma_post_write(qp, mr, 0, address_of(target), rdma_mr_rkey(mr), 8));
	COMPLETES(RDMA_WC_SUCCESS, qp, 0);
	REQUIRE(rdma_destroy_qp(qp));
	REQUIRE(rdma_dereg_mr(mr));
}

/*
 * gcc 12's AddressSanitizer does not see that cancelling leaves the functions below a cleanup
 * handler, and then finds fault with a variable of its own (in __asan_handle_no_return) where those
 * functions had theirs. A thread suffices that is cancelled in poll(), in a function with an array
 * that is called between pthread_cleanup_push() and _pop().
 */
#ifdef __SANITIZE_ADDRESS__
#define CAN_CANCEL_A_WAIT false
#else
#define CAN_CANCEL_A_WAIT true
#endif

static int cancelled_listener, cancelled_qp;

/* AddressSanitizer does not see that cancelling leaves this function. */
__attribute__((no_sanitize("address"))) static void *wait_for_completion(void *unused)
{
	struct rdma_wc wc;

	rdma_wait_cq(shared_qp, &wc, 1, -1);
	return unused;
}

static void *wait_for_connection(void *unused)
{
	rdma_accept_qp(cancelled_listener, cancelled_qp, -1);
	return unused;
}

/* Nobody answers there, and the kernel says nothing of it (RFC 5737). */
static void *connect_to_nobody(void *unused)
{
	rdma_connect_host(cancelled_qp, "127.255.0.1", 9, -1);
	return unused;
}

static void *make_and_end(void *unused)
{
	int qp, mr;

	pthread_cancel(pthread_self());
	qp = REQUIRE(rdma_create_qp(DEPTH, DEPTH));
	mr = REQUIRE(rdma_reg_mr(target, BYTES, ALL_RIGHTS));
	REQUIRE(rdma_post_write(qp, mr, 0, address_of(target), rdma_mr_rkey(mr), 8));
	REQUIRE(rdma_dereg_mr(mr));
	REQUIRE(rdma_destroy_qp(qp));
	pthread_testcancel();
	return unused;
}

static void cancel_all(pthread_t *threads, int count)
{
	void *result;

	for (int i = 0; i < count; i++)
		REQUIRE_TRUE(pthread_cancel(threads[i]) == 0);
	for (int i = 0; i < count; i++) {
		REQUIRE_TRUE(pthread_join(threads[i], &result) == 0);
		REQUIRE_TRUE(result == PTHREAD_CANCELED);
	}
}

static int free_descriptor(void)
{
	const int fd = REQUIRE(dup(STDIN_FILENO));

	close(fd);
	return fd;
}

static void cancel_waits(void)
{
	void *(*const waits[])(void *) = {wait_for_completion, wait_for_connection,
					  connect_to_nobody};
	pthread_t threads[WAITERS];

	for (int i = 0; i < WAITERS; i++)
		REQUIRE_TRUE(pthread_create(&threads[i], NULL, wait_for_completion, NULL) == 0);
	cancel_all(threads, WAITERS);
	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
		REQUIRE_TRUE(pthread_create(&threads[0], NULL, waits[i], NULL) == 0);
		cancel_all(threads, 1);
	}
}

/* They keep nothing from others: no lock, no handle, and in the end nothing of the daemon's. */
static void test_cancelled_threads_leave_the_rest(void)
{
	const int free_before = free_descriptor();
	pthread_t thread;

	shared_mr = REQUIRE(rdma_reg_mr(target, BYTES, ALL_RIGHTS));
	shared_qp = REQUIRE(rdma_create_qp(DEPTH, DEPTH));
	cancelled_qp = REQUIRE(rdma_create_qp(DEPTH, DEPTH));
	cancelled_listener = REQUIRE(rdma_listen_host(NULL, 0));
	if (CAN_CANCEL_A_WAIT)
		cancel_waits();
	else
		printf("skipped: threads that wait are not cancelled under this sanitizer\n");
	REQUIRE_TRUE(pthread_create(&thread, NULL, make_and_end, NULL) == 0);
	cancel_all(&thread, 1);
	REQUIRE(rdma_post_write(shared_qp, shared_mr, 0, address_of(target),
				rdma_mr_rkey(shared_mr), 8));
	COMPLETES(RDMA_WC_SUCCESS, shared_qp, 0);
	REFUSED(ETIMEDOUT, rdma_accept_qp(cancelled_listener, cancelled_qp, 1));
	REQUIRE(rdma_close_listener(cancelled_listener));
	REQUIRE(rdma_destroy_qp(cancelled_qp));
	REQUIRE(rdma_destroy_qp(shared_qp));
	REQUIRE(rdma_dereg_mr(shared_mr));
	REQUIRE_TRUE(free_descriptor() == free_before);
}

/* --- a child process ------------------------------------------------------------------------- */

/* The child has no handle of its parent's; it makes its own, connects, and leaves without a word.
 */
static void be_child(int in, int out, int parents_qp, int parents_mr)
{
	struct rdma_wc wc;
	int qp, mr;

	REFUSED(EBADF, rdma_poll_cq(parents_qp, &wc, 1));
	REFUSED(EBADF, rdma_destroy_qp(parents_qp));
	REFUSED(EBADF, rdma_dereg_mr(parents_mr));
	mr = REQUIRE(rdma_reg_mr(source, BYTES, RDMA_ACCESS_LOCAL_WRITE));
	qp = REQUIRE(rdma_create_qp(DEPTH, DEPTH));
	tell(out, qp);
	REQUIRE(rdma_connect_qp(qp, hear(in)));
	snprintf(source, BYTES, "from the child");
	REQUIRE(rdma_post_send(qp, mr, 15));
	COMPLETES(RDMA_WC_SUCCESS, qp, 0);
	_exit(0);
}

static void test_connects_to_a_child_process(void)
{
	const int mr = REQUIRE(rdma_reg_mr(target, BYTES, RDMA_ACCESS_LOCAL_WRITE));
	const int qp = REQUIRE(rdma_create_qp(DEPTH, DEPTH));
	int up[2], down[2], status;
	pid_t child;

	REQUIRE(pipe(up));
	REQUIRE(pipe(down));
	REQUIRE(rdma_post_recv(qp, mr, 0, 100));
	REQUIRE(rdma_post_recv(qp, mr, 0, 100));
	child = REQUIRE(fork());
	if (child == 0)
		be_child(down[0], up[1], qp, mr);
	REQUIRE(rdma_connect_qp(qp, hear(up[0])));
	tell(down[1], qp);
	COMPLETES(RDMA_WC_SUCCESS, qp, 0);
	REQUIRE_TRUE(strcmp(target, "from the child") == 0);
	REQUIRE_TRUE(waitpid(child, &status, 0) == child && status == 0);
	COMPLETES(RDMA_WC_GENERAL_ERR, qp, 1);
	REQUIRE(rdma_destroy_qp(qp));
	REQUIRE(rdma_dereg_mr(mr));
	for (int i = 0; i < 2; i++) {
		close(up[i]);
		close(down[i]);
	}
}

/* Memory of the library's own, which ends with its region. */
static void test_allocates_what_it_registers(void)
{
	void *memory = NULL, *others = NULL;
	const int mr = REQUIRE(rdma_alloc_mr(&memory, BYTES, ALL_RIGHTS));
	const int other = REQUIRE(rdma_alloc_mr(&others, BYTES, ALL_RIGHTS));
	const int qp = REQUIRE(rdma_create_qp(DEPTH, DEPTH));

	REQUIRE_TRUE(memory != NULL && others != NULL && memory != others);
	memcpy(memory, "from one to the other", sizeof("from one to the other"));
	REQUIRE(rdma_post_write(qp, mr, 0, address_of(others), rdma_mr_rkey(other), 100));
	COMPLETES(RDMA_WC_SUCCESS, qp, 0);
	REQUIRE_TRUE(strcmp(others, memory) == 0);
	REQUIRE(rdma_destroy_qp(qp));
	REQUIRE(rdma_dereg_mr(mr));
	REQUIRE(rdma_dereg_mr(other));
	REFUSED(EBADF, rdma_dereg_mr(other));
}

int main(void)
{
	test_allocates_what_it_registers();
	test_writes_and_reads_own_memory();
	test_refuses_what_the_peer_did_not_grant();
	test_receives_what_it_sends();
	test_refuses_wrong_arguments();
	test_says_when_a_queue_is_full();
	test_connects_two_by_number();
	test_gives_up_on_a_peer_that_never_comes();
	test_accepts_nobody();
	test_threads_share_a_queue_pair();
	test_cancelled_threads_leave_the_rest();
	test_connects_to_a_child_process();
	return 0;
}
