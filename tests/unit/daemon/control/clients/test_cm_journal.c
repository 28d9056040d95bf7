/* SPDX-License-Identifier: MIT */
#include "daemon/control/clients/cm_journal.h"

#include "tests/unit/unit_test.h"

#define ALICE 1000

static struct cm_journal journal;

static int empty(void **state)
{
	(void)state;
	journal = (struct cm_journal){0};
	return 0;
}

static void note(uid_t account, bool is_of_device, uint64_t at_ns, uint32_t qpn)
{
	const struct cm_journal_entry entry = {
		.at_ns = at_ns, .uid = account, .qpn = qpn, .kind = RNIC_CM_REQ, .is_sent = true};

	cm_journal_note(&journal, account, is_of_device, &entry);
}

/* The share of the user; NULL: nothing is kept of them. */
static const struct cm_journal_share *share_of(uid_t account, bool is_of_device)
{
	for (uint32_t i = 0; i < CM_JOURNAL_USERS; i++)
		if (journal.shares[i].used_ns != 0 && journal.shares[i].account == account &&
		    journal.shares[i].is_of_device == is_of_device)
			return &journal.shares[i];
	return NULL;
}

static void test_last_messages_stay(void **state)
{
	(void)state;
	for (uint32_t i = 1; i <= 10 * CM_JOURNAL_ENTRIES + 7; i++)
		note(ALICE, false, i, i);
	for (uint32_t n = 0; n < CM_JOURNAL_ENTRIES; n++)
		assert_int_equal(cm_journal_nth(share_of(ALICE, false), n)->qpn,
				 9 * CM_JOURNAL_ENTRIES + 8 + n);
	assert_null(cm_journal_nth(share_of(ALICE, false), CM_JOURNAL_ENTRIES));
}

static void test_repeats_are_one_entry(void **state)
{
	(void)state;
	for (uint64_t i = 1; i <= 300; i++)
		note(ALICE, false, i, 7);
	assert_int_equal(cm_journal_nth(share_of(ALICE, false), 0)->run, UINT8_MAX);
	assert_int_equal(cm_journal_nth(share_of(ALICE, false), 0)->at_ns, 300);
	assert_null(cm_journal_nth(share_of(ALICE, false), 1));
}

/* The same message after the program let go, or of another id of the user, is another entry. */
static void test_late_ones_are_others(void **state)
{
	struct cm_journal_entry entry = {.at_ns = 1, .uid = ALICE, .kind = RNIC_CM_DREQ};

	(void)state;
	cm_journal_note(&journal, ALICE, false, &entry);
	entry.is_late = true;
	cm_journal_note(&journal, ALICE, false, &entry);
	entry.uid++;
	cm_journal_note(&journal, ALICE, false, &entry);
	assert_non_null(cm_journal_nth(share_of(ALICE, false), 2));
}

/* A user who connects without end displaces no other user's messages, and none of the device's. */
static void test_users_have_shares(void **state)
{
	(void)state;
	note(ALICE, false, 1, 1);
	note(0, true, 2, 2);
	for (uint32_t i = 0; i < 1000; i++)
		note(ALICE + 1, false, 3 + i, i);
	assert_int_equal(cm_journal_nth(share_of(ALICE, false), 0)->qpn, 1);
	assert_int_equal(cm_journal_nth(share_of(0, true), 0)->qpn, 2);
}

/* With more users than shares, the user who was silent for longest loses theirs, and starts anew.
 */
static void test_silent_user_gives_place(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < CM_JOURNAL_USERS; i++)
		note(ALICE + i, false, 1 + i, i);
	note(ALICE, false, 100, 50);
	note(ALICE + CM_JOURNAL_USERS, false, 101, 60);
	assert_null(share_of(ALICE + 1, false));
	assert_int_equal(cm_journal_nth(share_of(ALICE, false), 1)->qpn, 50);
	assert_int_equal(cm_journal_nth(share_of(ALICE + CM_JOURNAL_USERS, false), 0)->qpn, 60);
	assert_null(cm_journal_nth(share_of(ALICE + CM_JOURNAL_USERS, false), 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_last_messages_stay, empty),
		cmocka_unit_test_setup(test_repeats_are_one_entry, empty),
		cmocka_unit_test_setup(test_late_ones_are_others, empty),
		cmocka_unit_test_setup(test_users_have_shares, empty),
		cmocka_unit_test_setup(test_silent_user_gives_place, empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
