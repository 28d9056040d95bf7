/* SPDX-License-Identifier: MIT */
/*
 * A user's program that makes work for whoever serves it, in one of the ways by which one user once
 * slowed all others. It speaks by the library and writes its own pages of shared memory, so that it
 * needs nothing but the rights of a user. It runs under rnic-run.
 *
 * usage: user_attacker WAY AMOUNT
 *
 * Prepares, says "ready", and goes on until somebody ends it. The ways are in the table at the end.
 */
#include "tests/hostile/users/attack_ways.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	const struct attack_way *way = argc == 3 ? attack_way_find(argv[1]) : NULL;
	struct bench *bench = NULL;

	if (way == NULL) {
		fprintf(stderr, "usage: user_attacker WAY AMOUNT\n");
		return 1;
	}
	if (way->needs_bench)
		bench = bench_start(IBV_QPT_RC);
	if (way->prepare != NULL)
		way->prepare(bench, (unsigned)atoi(argv[2]));
	printf("ready\n");
	fflush(stdout);
	for (;;)
		way->turn(bench);
}
