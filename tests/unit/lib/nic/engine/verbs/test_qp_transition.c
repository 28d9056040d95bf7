/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/verbs/qp_transition.h"

#include "proto/base/bits.h"
#include "tests/unit/unit_test.h"

#define A(name) RNIC_QP_ATTR_##name

#define RC  RNIC_QP_TYPE_RC
#define UC  RNIC_QP_TYPE_UC
#define UD  RNIC_QP_TYPE_UD
#define INI RNIC_QP_TYPE_XRC_INITIATOR
#define TGT RNIC_QP_TYPE_XRC_TARGET

#define RESET RNIC_QP_STATE_RESET
#define INIT  RNIC_QP_STATE_INIT
#define RTR   RNIC_QP_STATE_RTR
#define RTS   RNIC_QP_STATE_RTS
#define SQD   RNIC_QP_STATE_SQD
#define SQE   RNIC_QP_STATE_SQE
#define ERR   RNIC_QP_STATE_ERR

#define PORTED	  (A(PKEY_INDEX) | A(PORT) | A(ACCESS_FLAGS))
#define PORTED_UD (A(PKEY_INDEX) | A(PORT) | A(QKEY))
#define PEER	  (A(AV) | A(PATH_MTU) | A(DEST_QPN) | A(RQ_PSN))
#define RC_PEER	  (PEER | A(MAX_DEST_RD_ATOMIC) | A(MIN_RNR_TIMER))
#define KEPT	  (A(ALTERNATE_PATH) | A(ACCESS_FLAGS) | A(PKEY_INDEX))
#define RC_SEND	  (A(TIMEOUT) | A(RETRY_COUNT) | A(RNR_RETRY) | A(SQ_PSN) | A(MAX_RD_ATOMIC))
#define LIVE	  (A(CURRENT_STATE) | A(ALTERNATE_PATH) | A(ACCESS_FLAGS) | A(PATH_MIGRATION_STATE))
#define LIVE_RNR  (LIVE | A(MIN_RNR_TIMER))
#define LIVE_UD	  (A(CURRENT_STATE) | A(QKEY))
#define DRAINED	  (KEPT | A(PATH_MIGRATION_STATE))
#define RETRIES	  (A(TIMEOUT) | A(RETRY_COUNT) | A(RNR_RETRY))

/* Every transition that takes or demands attributes. */
static const struct row {
	enum rnic_qp_type type;
	enum rnic_qp_state from;
	enum rnic_qp_state to;
	uint32_t required;
	uint32_t optional;
} rows[] = {
	{RC, RESET, INIT, PORTED, 0},
	{UC, RESET, INIT, PORTED, 0},
	{UD, RESET, INIT, PORTED_UD, 0},
	{INI, RESET, INIT, PORTED, 0},
	{TGT, RESET, INIT, PORTED, 0},
	{RC, INIT, INIT, 0, PORTED},
	{UC, INIT, INIT, 0, PORTED},
	{UD, INIT, INIT, 0, PORTED_UD},
	{INI, INIT, INIT, 0, PORTED},
	{TGT, INIT, INIT, 0, PORTED},
	{RC, INIT, RTR, RC_PEER, KEPT},
	{UC, INIT, RTR, PEER, KEPT},
	{UD, INIT, RTR, 0, A(PKEY_INDEX) | A(QKEY)},
	{INI, INIT, RTR, PEER, KEPT},
	{TGT, INIT, RTR, RC_PEER, KEPT},
	{RC, RTR, RTS, RC_SEND, LIVE_RNR},
	{UC, RTR, RTS, A(SQ_PSN), LIVE},
	{UD, RTR, RTS, A(SQ_PSN), LIVE_UD},
	{INI, RTR, RTS, RC_SEND, LIVE},
	{TGT, RTR, RTS, A(TIMEOUT) | A(SQ_PSN), LIVE_RNR},
	{RC, RTS, RTS, 0, LIVE_RNR},
	{UC, RTS, RTS, 0, LIVE},
	{UD, RTS, RTS, 0, LIVE_UD},
	{INI, RTS, RTS, 0, LIVE},
	{TGT, RTS, RTS, 0, LIVE_RNR},
	{RC, RTS, SQD, 0, A(EN_SQD_ASYNC_NOTIFY)},
	{UC, RTS, SQD, 0, A(EN_SQD_ASYNC_NOTIFY)},
	{UD, RTS, SQD, 0, A(EN_SQD_ASYNC_NOTIFY)},
	{INI, RTS, SQD, 0, A(EN_SQD_ASYNC_NOTIFY)},
	{TGT, RTS, SQD, 0, A(EN_SQD_ASYNC_NOTIFY)},
	{RC, SQD, RTS, 0, LIVE_RNR},
	{UC, SQD, RTS, 0, LIVE},
	{UD, SQD, RTS, 0, LIVE_UD},
	{INI, SQD, RTS, 0, LIVE},
	{TGT, SQD, RTS, 0, LIVE_RNR},
	{RC, SQD, SQD, 0,
	 DRAINED | A(PORT) | A(AV) | RETRIES | A(MAX_RD_ATOMIC) | A(MAX_DEST_RD_ATOMIC) |
		 A(MIN_RNR_TIMER)},
	{UC, SQD, SQD, 0, DRAINED | A(AV)},
	{UD, SQD, SQD, 0, A(PKEY_INDEX) | A(QKEY)},
	{INI, SQD, SQD, 0, DRAINED | A(PORT) | A(AV) | RETRIES | A(MAX_RD_ATOMIC)},
	{TGT, SQD, SQD, 0,
	 DRAINED | A(PORT) | A(AV) | A(TIMEOUT) | A(MAX_DEST_RD_ATOMIC) | A(MIN_RNR_TIMER)},
	{UC, SQE, RTS, 0, A(CURRENT_STATE) | A(ACCESS_FLAGS)},
	{UD, SQE, RTS, 0, LIVE_UD},
};

static const enum rnic_qp_type types[] = {RC, UC, UD, INI, TGT};

static void test_every_row(void **state)
{
	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(rows); i++) {
		const struct row *row = &rows[i];

		assert_true(qp_transition_check(row->type, row->from, row->to, row->required));
		assert_true(qp_transition_check(row->type, row->from, row->to,
						row->required | row->optional | A(STATE)));
		for (uint32_t bit = 1; bit < UINT32_C(1) << 26; bit <<= 1) {
			bool is_known = (bit & (row->required | row->optional | A(STATE))) != 0;

			assert_int_equal(qp_transition_check(row->type, row->from, row->to,
							     row->required | bit),
					 is_known);
			if (bit & row->required)
				assert_false(qp_transition_check(row->type, row->from, row->to,
								 row->required & ~bit));
		}
	}
}

static bool is_in_rows(enum rnic_qp_type type, enum rnic_qp_state from, enum rnic_qp_state to)
{
	for (size_t i = 0; i < RNIC_COUNT_OF(rows); i++) {
		if (rows[i].type == type && rows[i].from == from && rows[i].to == to)
			return true;
	}
	return to == RESET || (to == ERR && from != RESET);
}

/* A transition without a row does not exist, even with the most generous mask of any row. */
static void test_nothing_else(void **state)
{
	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(types); i++) {
		for (uint32_t from = 0; from < RNIC_QP_STATE_COUNT; from++) {
			for (uint32_t to = 0; to < RNIC_QP_STATE_COUNT; to++) {
				bool is_possible = qp_transition_check(types[i], from, to, 0);

				for (size_t r = 0; r < RNIC_COUNT_OF(rows); r++)
					is_possible |= qp_transition_check(types[i], from, to,
									   rows[r].required);
				assert_int_equal(is_possible, is_in_rows(types[i], from, to));
			}
		}
	}
}

static void test_reset_and_error_take_nothing(void **state)
{
	(void)state;
	for (uint32_t from = 0; from < RNIC_QP_STATE_COUNT; from++) {
		assert_true(qp_transition_check(RC, from, RESET, A(STATE)));
		assert_false(qp_transition_check(RC, from, RESET, A(STATE) | A(PORT)));
		assert_int_equal(qp_transition_check(RC, from, ERR, A(STATE)), from != RESET);
		assert_false(qp_transition_check(RC, from, ERR, A(STATE) | A(PORT)));
	}
}

static void test_nonsense(void **state)
{
	(void)state;
	assert_false(qp_transition_check(RC, RNIC_QP_STATE_COUNT, RESET, 0));
	assert_false(qp_transition_check(RC, RESET, RNIC_QP_STATE_COUNT, 0));
	assert_false(qp_transition_check((enum rnic_qp_type)5, RESET, RESET, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_row),
		cmocka_unit_test(test_nothing_else),
		cmocka_unit_test(test_reset_and_error_take_nothing),
		cmocka_unit_test(test_nonsense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
