/* SPDX-License-Identifier: MIT */
/* Lambda: every forbidden act of a function, chosen by the first word of the input. */
#include <rnic/lambda.h>

static long system_call(long number, long first)
{
	long result;

#if defined(__x86_64__)
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(first), "S"(0L), "d"(0L)
			 : "rcx", "r11", "memory");
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = first;

	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8) : "memory");
	result = x0;
#endif
	return result;
}

/* getpid() by the other door that x86 has. */
static void call_by_interrupt(void)
{
#if defined(__x86_64__)
	__asm__ volatile("int $0x80" : : "a"(20L) : "memory");
#endif
}

__attribute__((noinline)) static uint64_t descend(uint64_t depth)
{
	volatile uint8_t room[4096];

	room[depth % sizeof(room)] = (uint8_t)depth;
	if (depth == UINT64_MAX)
		return 0;
	return descend(depth + 1) + room[depth % sizeof(room)];
}

static void loop(void)
{
	for (volatile int i = 0;; i = i + 1)
		;
}

static int is(const struct rnic_lambda_call *call, const char *word)
{
	const char *input = call->input;
	uint64_t i = 0;

	while (word[i] && i < call->input_bytes && input[i] == word[i])
		i++;
	return !word[i] && i == call->input_bytes;
}

/* An address that the compiler cannot judge. */
static volatile uint8_t *at(uint64_t address)
{
	__asm__("" : "+r"(address));
	return (volatile uint8_t *)address;
}

static int64_t compute(const struct rnic_lambda_call *call)
{
	volatile int dividend = 10, zero = 0;

	if (is(call, "fail"))
		return -7;
	if (is(call, "overflow"))
		return (int64_t)call->output_room + 1;
	if (is(call, "loop"))
		loop();
	if (is(call, "deep"))
		return (int64_t)descend(0);
	if (is(call, "divide"))
		return dividend / zero;
	if (is(call, "trap"))
		__builtin_trap();
	return 0;
}

static int64_t reach(const struct rnic_lambda_call *call)
{
	uint64_t input = (uint64_t)call->input, table = (uint64_t)call->table;

	if (is(call, "read null"))
		return *at(8);
	if (is(call, "read beyond input"))
		return *at((input | 4095) + 1);
	if (is(call, "write null"))
		*at(8) = 1;
	if (is(call, "write input"))
		*at(input) = 1;
	if (is(call, "write table"))
		*at(table) = 1;
	if (is(call, "write code"))
		*at((uint64_t)&rnic_lambda) = 1;
	if (is(call, "write beyond output"))
		*at((uint64_t)call->output + call->output_room) = 1;
	if (is(call, "write before output"))
		*at((uint64_t)call->output - call->output_room - 4096) = 1;
	return 0;
}

static int64_t call_out(const struct rnic_lambda_call *call)
{
	enum { OPEN = 2, EXIT = 60, EXIT_GROUP = 231, GETPID_X32 = 0x40000027 };
	enum { EXIT_OTHERS = 93, EXIT_GROUP_OTHERS = 94 };

	if (is(call, "call"))
		return system_call(OPEN, (long)call->input);
	if (is(call, "call x32"))
		return system_call(GETPID_X32, 0);
	if (is(call, "interrupt"))
		call_by_interrupt();
#if defined(__x86_64__)
	if (is(call, "exit"))
		return system_call(EXIT, 0);
	if (is(call, "exit all"))
		return system_call(EXIT_GROUP, 0);
#else
	if (is(call, "exit"))
		return system_call(EXIT_OTHERS, 0);
	if (is(call, "exit all"))
		return system_call(EXIT_GROUP_OTHERS, 0);
#endif
	return 0;
}

static int64_t tell(const struct rnic_lambda_call *call, uint64_t word)
{
	*(uint64_t *)call->output = word;
	return sizeof(word);
}

static uint64_t stack_guard(void)
{
	uint64_t guard = 0;

#if defined(__x86_64__)
	__asm__ volatile("mov %%fs:0x28, %0" : "=r"(guard));
#endif
	return guard;
}

/* Without a misdeed: the input, and the first bytes of the table. */
int64_t rnic_lambda(const struct rnic_lambda_call *call)
{
	const uint8_t *input = call->input, *table = call->table;
	uint8_t *output = call->output;
	int64_t result = compute(call) | reach(call) | call_out(call);
	int64_t at = 0;

	if (result)
		return result;
	if (is(call, "tell caller"))
		return tell(call, (uint64_t)__builtin_return_address(0));
	if (is(call, "tell stack guard"))
		return tell(call, stack_guard());
	for (uint64_t i = 0; i < call->input_bytes; i++)
		output[at++] = input[i];
	for (uint64_t i = 0; i < call->table_bytes && i < 4; i++)
		output[at++] = table[i];
	return at;
}
