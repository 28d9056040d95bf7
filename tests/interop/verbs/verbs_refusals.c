/* SPDX-License-Identifier: MIT */
/*
 * Plain libibverbs with wrong arguments, under rnic-run on a device with one address: what each
 * call answers, and that it opens no descriptor. Then all values of every word of flags. At the end
 * every object is destroyed, but the device stays open until standard input ends, so that
 * verbs_refusals.sh can see from outside that nothing is left.
 */
#include "tests/interop/verbs/refusals.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void require(bool condition, const char *what)
{
	if (condition)
		return;
	printf("FAIL  %s: %s\n", what, strerror(errno));
	exit(1);
}

static int open_descriptors(void)
{
	DIR *folder = opendir("/proc/self/fd");
	int count = 0;

	require(folder != NULL, "/proc/self/fd");
	while (readdir(folder) != NULL)
		count++;
	closedir(folder);
	return count;
}

static void open_device(struct bench *bench)
{
	struct ibv_device **devices = ibv_get_device_list(NULL);

	require(devices != NULL && devices[0] != NULL, "there is a device");
	bench->context = ibv_open_device(devices[0]);
	require(bench->context != NULL, "ibv_open_device");
	ibv_free_device_list(devices);
	require(ibv_query_device(bench->context, &bench->limits) == 0, "ibv_query_device");
	require(ibv_query_gid_ex(bench->context, 1, 0, &bench->gid, 0) == 0, "ibv_query_gid_ex");
	bench->bytes = aligned_alloc(BYTES, BYTES);
	require(bench->bytes != NULL, "aligned_alloc");
}

static void make_objects(struct bench *bench)
{
	struct ibv_alloc_dm_attr dm = {.length = BYTES};
	struct ibv_srq_init_attr srq = {.attr = {.max_wr = DEPTH, .max_sge = 1}};
	struct ibv_xrcd_init_attr xrcd = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
		.oflags = O_CREAT,
	};
	struct ibv_qp_init_attr rc, ud;

	bench->pd = ibv_alloc_pd(bench->context);
	bench->channel = ibv_create_comp_channel(bench->context);
	bench->cq = ibv_create_cq(bench->context, 4 * DEPTH, NULL, bench->channel, 0);
	require(bench->pd != NULL && bench->cq != NULL, "the PD and the CQ");
	bench->mr = ibv_reg_mr(bench->pd, bench->bytes, BYTES, IBV_ACCESS_LOCAL_WRITE);
	bench->open = ibv_reg_mr(bench->pd, bench->bytes, BYTES, EVERY_RIGHT);
	bench->srq = ibv_create_srq(bench->pd, &srq);
	bench->xrcd = ibv_open_xrcd(bench->context, &xrcd);
	bench->dm = ibv_alloc_dm(bench->context, &dm);
	require(bench->mr != NULL && bench->open != NULL, "the regions");
	require(bench->srq != NULL && bench->xrcd != NULL && bench->dm != NULL,
		"SRQ, XRC domain and device memory");
	rc = init_attributes(bench);
	ud = rc;
	ud.qp_type = IBV_QPT_UD;
	bench->rc = ibv_create_qp(bench->pd, &rc);
	bench->ud = ibv_create_qp(bench->pd, &ud);
	require(bench->rc != NULL && bench->ud != NULL, "the queue pairs");
}

static void destroy_objects(struct bench *bench)
{
	require(ibv_destroy_qp(bench->rc) == 0 && ibv_destroy_qp(bench->ud) == 0, "ibv_destroy_qp");
	require(ibv_free_dm(bench->dm) == 0, "ibv_free_dm");
	require(ibv_close_xrcd(bench->xrcd) == 0, "ibv_close_xrcd");
	require(ibv_destroy_srq(bench->srq) == 0, "ibv_destroy_srq");
	require(ibv_dereg_mr(bench->mr) == 0 && ibv_dereg_mr(bench->open) == 0, "ibv_dereg_mr");
	require(ibv_destroy_cq(bench->cq) == 0, "ibv_destroy_cq");
	require(ibv_destroy_comp_channel(bench->channel) == 0, "ibv_destroy_comp_channel");
	require(ibv_dealloc_pd(bench->pd) == 0, "ibv_dealloc_pd");
}

static void reset_queue_pairs(struct bench *bench, const char *after)
{
	struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};

	require(ibv_modify_qp(bench->rc, &reset, IBV_QP_STATE) == 0 &&
			ibv_modify_qp(bench->ud, &reset, IBV_QP_STATE) == 0,
		after);
}

static bool run(struct bench *bench, const struct refusal *refusal)
{
	int before = open_descriptors(), after, found;

	found = refusal->run(bench);
	after = open_descriptors();
	reset_queue_pairs(bench, refusal->name);
	if (found == refusal->expected && after == before) {
		printf("ok    %s: %s\n", refusal->name, strerrorname_np(found));
		return true;
	}
	printf("FAIL  %s: expected %s, found %s; %d descriptors more\n", refusal->name,
	       strerrorname_np(refusal->expected),
	       found == NOT_REFUSED ? "no refusal" : strerrorname_np(found), after - before);
	return false;
}

static const char *name_of(int found)
{
	switch (found) {
	case 0:
		return "done";
	case NOT_DONE:
		return "taken, and nothing done";
	case NOT_REFUSED:
		return "an unforeseen answer";
	default:
		return strerrorname_np(found);
	}
}

static bool run_word(struct bench *bench, const struct flag_word *word)
{
	bool is_good = true;
	int done = 0;

	for (uint32_t i = 0; i < word->width; i++) {
		const uint64_t value = word->counts ? i : UINT64_C(1) << i;
		const bool is_served = (word->served >> i & 1) != 0;
		const int found = word->give(bench, value);

		reset_queue_pairs(bench, word->name);
		done += is_served;
		if (is_served ? found == 0 : found == EINVAL || found == EOPNOTSUPP)
			continue;
		printf("FAIL  %s %#llx: expected %s, found %s\n", word->name,
		       (unsigned long long)value, is_served ? "done" : "a refusal", name_of(found));
		is_good = false;
	}
	if (is_good)
		printf("ok    %s: %d done, %d refused\n", word->name, done,
		       (int)word->width - done);
	return is_good;
}

int main(void)
{
	static const struct refusal *const tables[] = {refusals_memory, refusals_qp,
						       refusals_shared, refusals_overwritten};
	static const struct flag_word *const words[] = {flags_of_memory, flags_of_queues,
							flags_of_qps};
	struct bench bench = {0};
	int failures = 0;

	bench.is_direct = getenv("RNIC_TEST_DIRECT") != NULL;
	open_device(&bench);
	make_objects(&bench);
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		for (const struct refusal *refusal = tables[i]; refusal->name != NULL; refusal++)
			failures += !run(&bench, refusal);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		for (const struct flag_word *word = words[i]; word->name != NULL; word++)
			failures += !run_word(&bench, word);
	destroy_objects(&bench);
	printf("all destroyed\n");
	fflush(stdout);
	while (getchar() != EOF)
		;
	free(bench.bytes);
	require(ibv_close_device(bench.context) == 0, "ibv_close_device");
	return failures != 0;
}
