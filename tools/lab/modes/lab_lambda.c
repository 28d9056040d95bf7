/* SPDX-License-Identifier: MIT */
#include "tools/lab/modes/lab_lambda.h"

const struct lab_mode lab_lambda_mode = {
	.name = "lambda",
	.prepare = lab_lambda_prepare,
	.serve = lab_lambda_serve,
	.use = lab_lambda_use,
};
