/* SPDX-License-Identifier: MIT */
#include "tests/sim/sim.h"

#include "lib/nic/port/conditions/fault.h"
#include "tests/sim/sim_srq.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_DELAY_NS      (10 * SIM_US)
#define DEFAULT_KEPT_PACKETS  512
#define DEFAULT_ARENA_BYTES   (UINT64_C(4) << 20)
#define DEFAULT_PATTERN_BYTES (UINT64_C(2) << 30)
#define TURNS_AT_ONCE_MAX     100000
#define SILENCE_BUDGET_NS     (60 * SIM_S)

static void *must(void *memory)
{
	if (memory == NULL)
		abort();
	return memory;
}

static uint32_t kept_packets(const struct sim_config *config, uint32_t host)
{
	if (config->drops_hosts & 1u << host)
		return 0;
	return config->kept_packets != 0 ? config->kept_packets : DEFAULT_KEPT_PACKETS;
}

struct sim *sim_create_with(const struct sim_config *config)
{
	struct sim *sim = must(calloc(1, sizeof(*sim)));
	uint32_t hosts = config->hosts != 0 ? config->hosts : 2;

	prng_init(&sim->prng, config->seed);
	if (!sim_net_init(&sim->net, hosts, prng_next(&sim->prng)))
		abort();
	sim->net.trace = config->trace;
	sim->hosts = must(malloc(hosts * sizeof(*sim->hosts)));
	for (uint32_t i = 0; i < hosts; i++) {
		struct sim_host_config host = {
			.index = i,
			.seed = prng_next(&sim->prng),
			.arena_bytes = config->arena_bytes != 0 ? config->arena_bytes
								: DEFAULT_ARENA_BYTES,
			.pattern_bytes = config->pattern_bytes != 0 ? config->pattern_bytes
								    : DEFAULT_PATTERN_BYTES,
			.max_qps = config->max_qps != 0 ? config->max_qps : 8,
			.batch = config->batch != 0 ? config->batch : 16,
			.is_direct = config->is_direct,
			.has_no_recorder = config->has_no_recorder,
			.has_no_credits = config->has_no_credits,
			.has_ecn = config->has_ecn,
			.line_rate = config->line_rate,
			.kept_packets = kept_packets(config, i),
		};

		if (sim_host_init(&sim->hosts[i], &sim->net, &sim->oracle, &host) != 0)
			abort();
		for (uint32_t to = 0; to < hosts; to++)
			sim_link(sim, i, to)->delay_ns =
				config->delay_ns != 0 ? config->delay_ns : DEFAULT_DELAY_NS;
	}
	return sim;
}

struct port *sim_fault(struct sim *sim, uint32_t host, const char *spec)
{
	struct sim_host *at = &sim->hosts[host];
	char message[128] = "out of memory";

	if (fault_open(at->port, spec, &at->port, message, sizeof(message)) != 0) {
		oracle_fail(&sim->oracle, "fault '%s': %s", spec, message);
		return at->port;
	}
	if (fault_receiver(at->port) == at->port)
		at->receiver = at->port;
	if (fault_sender(at->port) == at->port)
		at->sender = at->port;
	return at->port;
}

struct sim_link *sim_link(struct sim *sim, uint32_t from, uint32_t to)
{
	return sim_net_link(&sim->net, from, to);
}

void sim_all_links(struct sim *sim, const struct sim_link *link)
{
	for (uint32_t from = 0; from < sim->net.host_count; from++) {
		for (uint32_t to = 0; to < sim->net.host_count; to++) {
			uint64_t delay_ns = sim_link(sim, from, to)->delay_ns;

			*sim_link(sim, from, to) = *link;
			sim_link(sim, from, to)->delay_ns = delay_ns;
		}
	}
}

void sim_may_fail(struct sim_qp *qp, enum rnic_wc_status status)
{
	qp->end.legal_errors |= STATUS_BIT(status);
}

void sim_may_lose_all(struct sim *sim)
{
	for (uint32_t i = 0; i < sim->qp_count; i++)
		sim_may_fail(sim->qps[i], RNIC_WC_RETRY_EXC_ERR);
}

/* Work outstanding at `host` may find that its memory is gone. */
static void allow_memory_errors(struct sim *sim, uint32_t host)
{
	for (uint32_t i = 0; i < sim->qp_count; i++) {
		struct sim_qp *qp = sim->qps[i];

		if (qp->host->index != host)
			continue;
		qp->end.may_stop = true;
		sim_may_fail(qp, RNIC_WC_LOC_PROT_ERR);
		qp->end.legal_receive_errors |= STATUS_BIT(RNIC_WC_LOC_PROT_ERR);
		sim_may_fail(qp->peer, RNIC_WC_REM_OP_ERR);
		sim_may_fail(qp->peer, RNIC_WC_REM_ACCESS_ERR);
	}
}

void sim_take_memory(struct sim *sim, uint32_t host)
{
	sim->hosts[host].arena.error = -EFAULT;
	allow_memory_errors(sim, host);
}

void sim_change_key(struct sim *sim, uint32_t host)
{
	struct mr *mr = &sim->hosts[host].mrs[SIM_KEY_ALL];

	mr_deregister(&sim->hosts[host].engine, mr);
	if (mr_register(&sim->hosts[host].engine, mr) != 0)
		abort();
	sim->hosts[host].is_dirty = true;
	sim->hosts[host].has_changed_key = true;
	allow_memory_errors(sim, host);
}

void sim_enter_error(struct sim_qp *qp)
{
	const struct rnic_qp_attributes attributes = {.state = RNIC_QP_STATE_ERR};

	if (qp->qp->state == RNIC_QP_STATE_RESET)
		return;
	qp->end.may_stop = true;
	if (qp_modify(qp->qp, &attributes, RNIC_QP_ATTR_STATE) != 0)
		oracle_fail(qp->end.oracle, "%s: cannot be brought into error", qp->end.name);
	qp->host->is_dirty = true;
}

void sim_forget(struct sim_qp *qp)
{
	const struct rnic_qp_attributes attributes = {.state = RNIC_QP_STATE_RESET};

	qp->end.may_stop = true;
	if (qp_modify(qp->qp, &attributes, RNIC_QP_ATTR_STATE) != 0)
		oracle_fail(qp->end.oracle, "%s: cannot be reset", qp->end.name);
}

void sim_pause(struct sim_qp *qp)
{
	const struct rnic_qp_attributes attributes = {.state = RNIC_QP_STATE_SQD,
						      .en_sqd_async_notify = 1};

	if (qp->qp->state == RNIC_QP_STATE_RTS &&
	    qp_modify(qp->qp, &attributes, RNIC_QP_ATTR_STATE | RNIC_QP_ATTR_EN_SQD_ASYNC_NOTIFY) !=
		    0)
		oracle_fail(qp->end.oracle, "%s: cannot be paused", qp->end.name);
}

void sim_resume(struct sim_qp *qp)
{
	const struct rnic_qp_attributes attributes = {.state = RNIC_QP_STATE_RTS};

	if (qp->qp->state == RNIC_QP_STATE_SQD &&
	    qp_modify(qp->qp, &attributes, RNIC_QP_ATTR_STATE) != 0)
		oracle_fail(qp->end.oracle, "%s: cannot be resumed", qp->end.name);
	qp->host->is_dirty = true;
}

static void stuck(struct sim *sim, const char *why)
{
	for (uint32_t i = 0; i < sim->qp_count; i++) {
		struct sim_qp *qp = sim->qps[i];
		const struct send_queue *queue = &qp->qp->send_queue;
		char text[160];

		if (queue->retired == queue->posted)
			continue;
		oracle_fail(&sim->oracle, "%s: %s: work %u of %u, state %u, waits for %s", why,
			    qp->end.name, queue->retired, queue->posted, qp->qp->state,
			    qp_waiting_for(qp->qp, sim->net.now_ns, text, sizeof(text)));
	}
	oracle_fail(&sim->oracle, "%s", why);
}

static uint64_t next_ns(const struct sim *sim)
{
	uint64_t earliest_ns = sim_net_next_ns(&sim->net);

	for (uint32_t i = 0; i < sim->net.host_count; i++) {
		uint64_t host_ns = sim_host_next_ns(&sim->hosts[i]);

		if (host_ns < earliest_ns)
			earliest_ns = host_ns;
	}
	return earliest_ns;
}

/* Everything that happens at the next instant, unless that is after `limit_ns`. */
static bool step(struct sim *sim, uint64_t limit_ns)
{
	uint64_t at_ns = next_ns(sim);

	if (at_ns > limit_ns || oracle_has_failed(&sim->oracle))
		return false;
	if (at_ns > sim->net.now_ns) {
		sim->net.now_ns = at_ns;
		sim->turns_at_once = 0;
	} else if (++sim->turns_at_once > TURNS_AT_ONCE_MAX) {
		stuck(sim, "time stands still");
		return false;
	}
	sim->oracle.now_ns = sim->net.now_ns;
	sim_net_advance(&sim->net);
	for (uint32_t i = 0; i < sim->net.host_count; i++) {
		if (sim_host_next_ns(&sim->hosts[i]) <= sim->net.now_ns)
			sim_host_turn(&sim->hosts[i]);
	}
	return true;
}

static bool is_idle(const struct sim *sim)
{
	for (uint32_t i = 0; i < sim->qp_count; i++) {
		const struct send_queue *queue = &sim->qps[i]->qp->send_queue;

		if (queue->retired != queue->posted)
			return false;
	}
	return true;
}

static void retire_all(struct sim *sim)
{
	for (uint32_t i = 0; i < sim->qp_count; i++)
		oracle_retire(&sim->qps[i]->end, sim->qps[i]->qp->send_queue.retired);
}

uint64_t sim_run(struct sim *sim, uint64_t budget_ns)
{
	uint64_t start_ns = sim->net.now_ns;

	while (!is_idle(sim) && step(sim, start_ns + budget_ns))
		continue;
	if (!is_idle(sim))
		stuck(sim, "not done in time");
	retire_all(sim);
	return sim->net.now_ns - start_ns;
}

void sim_run_for(struct sim *sim, uint64_t duration_ns)
{
	uint64_t end_ns = sim->net.now_ns + duration_ns;

	while (step(sim, end_ns))
		continue;
	if (!oracle_has_failed(&sim->oracle))
		sim->net.now_ns = end_ns;
	retire_all(sim);
}

/* QPs without a fault must still be in RTS. */
static void check_states(struct sim *sim)
{
	for (uint32_t i = 0; i < sim->qp_count; i++) {
		const struct sim_qp *qp = sim->qps[i];
		bool may_be_in_error = qp->end.has_stopped || qp->end.may_stop;

		if (qp->is_dead)
			continue;
		if (qp->qp->state == RNIC_QP_STATE_ERR ? !may_be_in_error : qp->end.has_stopped)
			oracle_fail(&sim->oracle, "%s: ends in state %u", qp->end.name,
				    qp->qp->state);
	}
}

static void check_memory(struct sim *sim)
{
	for (uint32_t i = 0; i < sim->net.host_count; i++) {
		const struct sim_host *host = &sim->hosts[i];
		uint64_t offset = sim_memory_difference(&host->memory);

		if (offset != UINT64_MAX)
			oracle_fail(&sim->oracle, "host %u: the byte at %" PRIu64 " is wrong", i,
				    offset);
		if (host->pattern.pattern_wrong != 0)
			oracle_fail(&sim->oracle, "host %u: the pattern was written wrong", i);
	}
}

static void verify(struct sim *sim)
{
	uint64_t silent_by_ns = sim->net.now_ns + SILENCE_BUDGET_NS;

	while (step(sim, silent_by_ns))
		continue;
	if (next_ns(sim) != UINT64_MAX)
		stuck(sim, "the network does not fall silent");
	retire_all(sim);
	check_states(sim);
	for (uint32_t i = 0; i < sim->qp_count; i++)
		sim_enter_error(sim->qps[i]);
	for (uint32_t i = 0; i < sim->qp_count; i++)
		oracle_finish(&sim->qps[i]->end);
	for (uint32_t i = 0; i < sim->net.host_count; i++)
		sim_srq_adopt_rest(&sim->hosts[i]);
	check_memory(sim);
	for (uint32_t i = 0; i < sim->net.host_count; i++)
		sim_host_check_counters(&sim->hosts[i]);
}

static void destroy(struct sim *sim)
{
	for (uint32_t i = 0; i < sim->qp_count; i++) {
		struct sim_qp *qp = sim->qps[i];

		qp_destroy(qp->qp);
		sim_window_drop(qp);
		ah_fini(&qp->ah);
		if (qp->send_cq.references != 0 || qp->recv_cq.references != 0)
			oracle_fail(&sim->oracle, "%s: its CQ is still referenced", qp->end.name);
		oracle_end_fini(&qp->end);
		free(qp->ring);
		free(qp);
	}
	for (uint32_t i = 0; i < sim->net.host_count; i++)
		sim_host_fini(&sim->hosts[i]);
	sim_posts_free(sim);
	sim_net_fini(&sim->net);
	oracle_fini(&sim->oracle);
	free(sim->qps);
	free(sim->hosts);
}

const char *sim_finish(struct sim *sim)
{
	static char failure[ORACLE_FAILURE_BYTES];

	if (!oracle_has_failed(&sim->oracle))
		verify(sim);
	destroy(sim);
	memcpy(failure, sim->oracle.failure, sizeof(failure));
	free(sim);
	return failure[0] == '\0' ? NULL : failure;
}
