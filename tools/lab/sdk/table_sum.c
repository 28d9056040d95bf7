/* SPDX-License-Identifier: MIT */
/*
 * Lambda: reduces the table in the server's memory, decimal numbers with anything between them, to
 * their count, sum, smallest and largest. The table stays in its place; four numbers travel.
 */
#include <rnic/lambda.h>

struct reduction {
	uint64_t count;
	uint64_t sum;
	uint64_t smallest;
	uint64_t largest;
};

static void table_sum_take(struct reduction *reduction, uint64_t number)
{
	reduction->count++;
	reduction->sum += number;
	if (number < reduction->smallest)
		reduction->smallest = number;
	if (number > reduction->largest)
		reduction->largest = number;
}

static int is_digit(char character)
{
	return character >= '0' && character <= '9';
}

int64_t rnic_lambda(const struct rnic_lambda_call *call)
{
	struct reduction reduction = {.smallest = UINT64_MAX};
	const char *table = call->table;
	uint64_t number = 0;
	int64_t at;

	for (uint64_t i = 0; i < call->table_bytes; i++) {
		if (is_digit(table[i]))
			number = number * 10 + (uint64_t)(table[i] - '0');
		if (is_digit(table[i]) && (i + 1 == call->table_bytes || !is_digit(table[i + 1]))) {
			table_sum_take(&reduction, number);
			number = 0;
		}
	}
	if (reduction.count == 0)
		return rnic_lambda_put_text(call, 0, "no numbers");
	at = rnic_lambda_put_number(call, 0, reduction.count);
	at = rnic_lambda_put_text(call, at, " numbers, sum ");
	at = rnic_lambda_put_number(call, at, reduction.sum);
	at = rnic_lambda_put_text(call, at, ", ");
	at = rnic_lambda_put_number(call, at, reduction.smallest);
	at = rnic_lambda_put_text(call, at, " to ");
	return rnic_lambda_put_number(call, at, reduction.largest);
}
