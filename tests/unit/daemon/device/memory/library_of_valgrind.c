/* SPDX-License-Identifier: MIT */
/* Stands for the library that valgrind brings into programs: its name is all that counts. */
int vgpreload_core_test_has_no_code;
