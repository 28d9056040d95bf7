/* SPDX-License-Identifier: MIT */
#include "lib/nic/engine/objects/ah.h"

#include "proto/wire/gid.h"
#include "tests/unit/lib/nic/engine/engine_fixture.h"
#include "tests/unit/unit_test.h"

static void paths_are_judged(void **state)
{
	const struct rnic_gid group = rnic_gid_from_ipv4((const uint8_t[]){239, 1, 2, 3});
	const struct rnic_gid ipv6 = {{0x20, 0x01, 0x0d, 0xb8, [15] = 2}};
	const struct rnic_gid ipv6_group = {{0xff, 0x15, [15] = 7}};
	const struct rnic_gid zero = {{0}};
	struct engine_fixture *fixture = fixture_create(&fixture_defaults);
	const struct {
		struct rnic_path path;
		bool is_usable;
		bool is_usable_for_datagrams;
	} cases[] = {
		{{.dest_gid = fixture->peer_gid, .port = 1, .is_global = 1}, true, true},
		{{.dest_gid = group, .port = 1, .is_global = 1}, false, true},
		{{.dest_gid = fixture->peer_gid, .port = 2, .is_global = 1}, false, false},
		{{.dest_gid = fixture->peer_gid, .port = 1}, false, false},
		{{.dest_gid = zero, .port = 1, .is_global = 1}, false, false},
		{{.dest_gid = ipv6, .port = 1, .is_global = 1}, false, false},
		{{.dest_gid = ipv6_group, .port = 1, .is_global = 1}, false, false},
		{{.dest_gid = fixture->peer_gid, .port = 1, .is_global = 1, .source_gid_index = 1},
		 false,
		 false},
		{{.dest_gid = fixture->peer_gid,
		  .port = 1,
		  .is_global = 1,
		  .source_gid_index = 255},
		 false,
		 false},
	};

	(void)state;
	for (size_t i = 0; i < RNIC_COUNT_OF(cases); i++) {
		uint32_t references = fixture->pd.references;
		struct ah ah;
		int result = ah_init(&fixture->engine, &ah, &fixture->pd, &cases[i].path);

		assert_int_equal(ah_path_is_usable(&fixture->engine, &cases[i].path, false),
				 cases[i].is_usable);
		assert_int_equal(result, cases[i].is_usable_for_datagrams ? 0 : -EINVAL);
		assert_int_equal(fixture->pd.references, references + (result == 0));
		if (result == 0)
			ah_fini(&ah);
	}
	fixture_destroy(fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_are_judged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
