/* SPDX-License-Identifier: MIT */
/* Lambda mode: a function that travels to its data. See lab_modes.h. */
#ifndef TOOLS_LAB_MODES_LAB_LAMBDA_H
#define TOOLS_LAB_MODES_LAB_LAMBDA_H

#include "tools/lab/lambda/lambda_seal.h"
#include "tools/lab/modes/lab_modes.h"

int lab_lambda_prepare(const struct lab_options *options, struct lab_watch *watch);
int lab_lambda_serve(struct lab_meeting *meeting);
int lab_lambda_use(struct lab_meeting *meeting);

/* As lambda_secret_read(), and prints errors. */
int lambda_secret_load(const char *path, struct lambda_secret *secret);

#endif
