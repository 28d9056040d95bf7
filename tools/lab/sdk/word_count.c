/* SPDX-License-Identifier: MIT */
/* Lambda: the lines, words and bytes of the input, as wc(1) counts them. */
#include <rnic/lambda.h>

static int is_blank(char character)
{
	return character == ' ' || (character >= '\t' && character <= '\r');
}

int64_t rnic_lambda(const struct rnic_lambda_call *call)
{
	const char *text = call->input;
	uint64_t lines = 0, words = 0;
	int64_t at;

	for (uint64_t i = 0; i < call->input_bytes; i++) {
		lines += text[i] == '\n';
		words += !is_blank(text[i]) && (i == 0 || is_blank(text[i - 1]));
	}
	at = rnic_lambda_put_number(call, 0, lines);
	at = rnic_lambda_put_text(call, at, " lines, ");
	at = rnic_lambda_put_number(call, at, words);
	at = rnic_lambda_put_text(call, at, " words, ");
	at = rnic_lambda_put_number(call, at, call->input_bytes);
	return rnic_lambda_put_text(call, at, " bytes");
}
