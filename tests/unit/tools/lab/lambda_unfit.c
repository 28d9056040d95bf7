/* SPDX-License-Identifier: MIT */
/* Files that cannot be a lambda, one reason at a time. */
#include <rnic/lambda.h>

#if defined(VARIABLE)
int64_t rnic_lambda(const struct rnic_lambda_call *call)
{
	static uint64_t sum;

	sum += call->input_bytes;
	return (int64_t)sum;
}
#elif defined(POINTERS)
int64_t rnic_lambda(const struct rnic_lambda_call *call)
{
	static const char *const names[] = {"one", "two", "three"};

	return rnic_lambda_put_text(call, 0, names[call->input_bytes % 3]);
}
#elif defined(UNDEFINED)
int puts(const char *text);

int64_t rnic_lambda(const struct rnic_lambda_call *call)
{
	return puts(call->input);
}
#elif defined(NO_ENTRY)
int64_t lambda(const struct rnic_lambda_call *call);

__attribute__((used)) int64_t lambda(const struct rnic_lambda_call *call)
{
	return (int64_t)call->input_bytes;
}
#elif defined(NO_FUNCTION)
__asm__(".section .rodata\n.globl rnic_lambda\nrnic_lambda: .quad 0\n");
#endif
