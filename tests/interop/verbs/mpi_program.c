/* SPDX-License-Identifier: MIT */
/*
 * Two ranks of MPI: messages there and back, a window with a fence, and additions to one number.
 * mpi_program ROUNDS: rank 0 prints a line for each tenth round, and "right" at the end.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MESSAGE_BYTES (1 << 20)
#define LINE_ROUNDS   10

static int rank;
static unsigned char message[MESSAGE_BYTES];

static void must(int is_right, const char *what)
{
	if (is_right)
		return;
	printf("wrong at rank %d: %s\n", rank, what);
	MPI_Abort(MPI_COMM_WORLD, 3);
}

static int is_filled_with(unsigned char byte)
{
	return message[0] == byte && memcmp(message, message + 1, sizeof(message) - 1) == 0;
}

static void send_filled(unsigned char byte)
{
	memset(message, byte, sizeof(message));
	MPI_Send(message, sizeof(message), MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD);
}

static void receive_filled(unsigned char byte)
{
	MPI_Recv(message, sizeof(message), MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD,
		 MPI_STATUS_IGNORE);
	must(is_filled_with(byte), "a message");
}

static void run_round(int round)
{
	const unsigned char byte = (unsigned char)round;

	if (rank == 0)
		send_filled(byte);
	else
		receive_filled(byte);
	if (rank == 1)
		send_filled(byte ^ 0xff);
	else
		receive_filled(byte ^ 0xff);
	if (rank == 0 && round % LINE_ROUNDS == 0)
		printf("round %d\n", round);
}

/* Rank 0 fills the window of rank 1. */
static void put(void)
{
	MPI_Win window;

	memset(message, rank == 0 ? 0x5a : 0, sizeof(message));
	MPI_Win_create(message, sizeof(message), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
	MPI_Win_fence(0, window);
	if (rank == 0)
		MPI_Put(message, sizeof(message), MPI_BYTE, 1, 0, sizeof(message), MPI_BYTE,
			window);
	MPI_Win_fence(0, window);
	must(is_filled_with(0x5a), "a window");
	MPI_Win_free(&window);
}

/* Both ranks add to a number of rank 0. */
static void add(void)
{
	const long one = 1, times = 100;
	long number = 0, before;
	MPI_Win window;

	MPI_Win_create(&number, sizeof(number), sizeof(number), MPI_INFO_NULL, MPI_COMM_WORLD,
		       &window);
	MPI_Win_lock_all(0, window);
	for (long i = 0; i < times; i++) {
		MPI_Fetch_and_op(&one, &before, MPI_LONG, 0, 0, MPI_SUM, window);
		MPI_Win_flush(0, window);
	}
	MPI_Win_unlock_all(window);
	MPI_Barrier(MPI_COMM_WORLD);
	must(rank != 0 || number == 2 * times, "a sum");
	MPI_Win_free(&window);
}

int main(int argc, char *argv[])
{
	const int rounds = argc > 1 ? atoi(argv[1]) : 1;

	setvbuf(stdout, NULL, _IOLBF, 0);
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int round = 0; round < rounds; round++)
		run_round(round);
	put();
	add();
	MPI_Finalize();
	if (rank == 0)
		printf("right\n");
	return 0;
}
